//! `bentpipe measure`: measures the path to a server that allows it, and makes a scenario of it.

use super::import;
use crate::args::measure::Measure as Args;
use crate::output::{self, say};
use crate::status::{FAILED, OK, USAGE};
use bentpipe_lab::LabError;
use bentpipe_net::RealClock;
use bentpipe_net::measure::{
    Loaded, Measurement, Outcome, PING_INTERVAL, Progress, Sample, Secret, Start,
};
use bentpipe_recordings::instants::{self, Period};
use bentpipe_recordings::{
    Direction, Import, ImportError, Input, Options, Probe, Summary, probing,
};
use bentpipe_units::{Bytes, Span, Time};
use std::fmt::Write;
use std::io::IsTerminal;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::time::UNIX_EPOCH;
use tokio::sync::mpsc;

/// Time after an instant of the path at which transfers begin.
const AFTER: Span = Span::from_secs(1);
/// Most bytes of each transfer.
const TRANSFER: Bytes = Bytes::from_mb(45);
/// File of the pings.
const PINGS: &str = "pings.json";
/// The period that scenarios know.
const SLOT: i64 = 15 * SECOND;
const SECOND: i64 = 1_000_000_000;
/// How far a period may be from that.
const NEAR: i64 = 200_000_000;

/// Error message and exit status.
type Failed = (String, u8);

/// Measures, prints what was found and writes the scenario.
pub fn run(args: &Args) -> Result<u8, LabError> {
    if let Some(file) = &args.make_token {
        return Ok(Secret::make(file)
            .map_or_else(|error| output::refuse(&error.to_string(), USAGE), |()| OK));
    }
    let (Some(server), Some(token), Some(out)) = (&args.server, &args.token, &args.out) else {
        return Ok(output::refuse("HOST:PORT, --token and --out are needed", USAGE));
    };
    // Before anything is sent, as it would be lost.
    import::check_empty(out)?;
    match measured(args, server, token) {
        Ok((outcome, base)) => found(&outcome, base, out),
        Err((reason, status)) => Ok(output::refuse(&reason, status)),
    }
}

/// Measures. Returns the outcome, and what turns its times into nanoseconds since 1970.
fn measured(args: &Args, server: &str, token: &Path) -> Result<(Outcome, i64), Failed> {
    let secret = Secret::from_file(token).map_err(|error| (error.to_string(), USAGE))?;
    let address = resolve(server)?;
    consent(args, address)?;
    let clock = RealClock::new();
    let unix = clock.system().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let base = i64::try_from(unix).unwrap_or(i64::MAX) - nanos(clock.now());
    let measurement = Measurement {
        server: address,
        token: secret,
        bytes: args.size,
        time: args.time,
        pings: args.pings,
        transfer: (args.transfer, TRANSFER),
        start: start(),
    };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|error| (error.to_string(), FAILED))?;
    let outcome = runtime.block_on(async {
        let (progress, mut told) = mpsc::channel(8);
        let say = tokio::spawn(async move {
            while let Some(step) = told.recv().await {
                tell(step);
            }
        });
        let outcome = measurement.run(&clock, progress).await;
        // It has told everything once the other end is dropped.
        let _ = say.await;
        outcome
    });
    Ok((outcome.map_err(|reason| (reason, FAILED))?, base))
}

fn resolve(server: &str) -> Result<SocketAddr, Failed> {
    let wrong = |reason: String| {
        (format!("{}: {reason}; allowed: HOST:PORT", output::printable(server)), USAGE)
    };
    let mut addresses = server.to_socket_addrs().map_err(|error| wrong(error.to_string()))?;
    addresses.next().ok_or_else(|| wrong("it has no address".to_owned()))
}

/// Says what will be sent, and asks unless the command line has answered.
fn consent(args: &Args, server: SocketAddr) -> Result<(), Failed> {
    say!(
        "Measures the path to {server}: up to {} and {}, with pings for {}, a download and an \
         upload",
        args.size,
        args.time,
        args.pings
    );
    if args.yes {
        return Ok(());
    }
    if !std::io::stdin().is_terminal() {
        return Err(("nobody to ask whether to send; allowed: --yes".to_owned(), USAGE));
    }
    say!("Send? [y/N]");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).map_err(|error| (error.to_string(), FAILED))?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(("nothing was sent".to_owned(), FAILED)),
    }
}

fn tell(step: Progress) {
    match step {
        Progress::Granted(bytes, time, pings) => {
            say!("granted: {bytes}, {time}; pings for {:.0} s", pings.as_secs_f64());
        }
        Progress::Waiting(time) => {
            say!("waits {:.1} s for the path's next instant", time.as_secs_f64());
        }
        Progress::Download => say!("download"),
        Progress::Upload => say!("upload"),
    }
}

fn nanos(time: Time) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

/// Lets transfers begin a second after an instant of a path that reconfigures.
fn start() -> Start {
    Box::new(|samples| {
        let probes = probes(samples, 0);
        let period = instants::find(&probes)?;
        let last = probes.last()?.sent;
        let next = last + (period.at - last).rem_euclid(period.length);
        u64::try_from(next).ok().map(|nanos| Time::from_nanos(nanos) + AFTER)
    })
}

/// Returns the pings on the clock that begins `base` before ours.
fn probes(samples: &[Sample], base: i64) -> Vec<Probe> {
    let probe = |sample: &Sample| {
        let rtt = sample.rtt().and_then(|rtt| i64::try_from(rtt.as_nanos()).ok());
        Probe {
            sent: base + nanos(sample.sent),
            rtt,
            one_way: sample.delays.filter(|_| rtt.is_some()),
            loss: f64::from(u8::from(rtt.is_none())),
            lost_in: sample
                .arrived
                .filter(|_| rtt.is_none())
                .map(|arrived| if arrived { Direction::Down } else { Direction::Up }),
        }
    };
    samples.iter().map(probe).collect()
}

/// Writes and prints what was found.
fn found(outcome: &Outcome, base: i64, out: &Path) -> Result<u8, LabError> {
    let (probes, drift) = probing::without_drift(&probes(&outcome.samples, base));
    let period = instants::find(&probes);
    let [down, up] = &outcome.transfers;
    let options = Options {
        phase: period.and_then(phase),
        transfers: [up, down].map(|transfer| probing::highest_second(&transfer.bins)),
        ..Options::default()
    };
    let interval = nanos(Time::ZERO + PING_INTERVAL);
    let pings = probing::irtt_json(&probes, interval);
    let transfers = ("transfers.csv".to_owned(), rows(&outcome.transfers));
    // Before anything else: nothing may cost what was measured.
    import::write(out, &[(PINGS.to_owned(), pings.clone()), transfers])?;
    let bytes = pings.into_bytes();
    let input = Input { name: PINGS.to_owned(), bytes, format: None, direction: None };
    let mut import = match Import::new(vec![input], &options) {
        Ok(import) => import,
        Err(error) => {
            let mut summary = Summary::default();
            add(&mut summary, outcome, period, drift);
            output::print(&import::summary(&summary))?;
            let reason = without_scenario(&options, &error, out);
            return Ok(output::refuse(&reason, FAILED));
        }
    };
    add(&mut import.summary, outcome, period, drift);
    import::write(out, &import.files)?;
    let mut text = import::summary(&import.summary);
    let scenario = out.join("scenario.toml");
    let _ = writeln!(text, "\nTo run it: bentpipe run {}", scenario.display());
    output::print(&text)
}

/// Says why there is no scenario, and what makes one of the pings.
fn without_scenario(options: &Options, error: &ImportError, out: &Path) -> String {
    let missing: Vec<&str> = ["up", "down"]
        .into_iter()
        .zip(options.transfers)
        .filter_map(|(name, rate)| rate.is_none().then_some(name))
        .collect();
    let directory = out.display();
    if missing.is_empty() {
        return format!("no scenario: {error}; {directory} has what was measured");
    }
    let phase = options
        .phase
        .map_or_else(String::new, |phase| format!(" --phase {:.3}s", phase.as_secs_f64()));
    format!(
        "no scenario, as nothing measured the rate {}; `bentpipe import {directory}/{PINGS} --rate \
         RATE{phase} -o NEW` makes one of the pings",
        missing.join(" and ")
    )
}

/// Returns the phase of a period of 15 s, as `import` takes it.
fn phase(period: Period) -> Option<Span> {
    ((period.length - SLOT).abs() <= NEAR)
        .then(|| u64::try_from(period.at.rem_euclid(SLOT)).ok().map(Span::from_nanos))?
}

/// Adds what an import does not know to its lists.
fn add(summary: &mut Summary, outcome: &Outcome, period: Option<Period>, drift: f64) {
    for (name, Loaded { bins, rtt }) in ["download", "upload"].iter().zip(&outcome.transfers) {
        let bytes = Bytes::new(bins.iter().sum());
        let rate = probing::highest_second(bins).map_or_else(|| "-".to_owned(), |r| r.to_string());
        let rtt =
            rtt.map_or_else(|| "-".to_owned(), |rtt| format!("{:.1} ms", rtt.as_millis_f64()));
        summary.measured.push(format!(
            "{name}: {bytes} of IP packets, best second {rate}, smoothed RTT up to {rtt}"
        ));
    }
    let Outcome { used, took, .. } = outcome;
    summary.measured.push(format!("used: {used} of UDP payload in {:.1} s", took.as_secs_f64()));
    if let Some(reason) = &outcome.ended {
        summary.unknown.push(format!("rates of the transfers that are missing: {reason}"));
    }
    summary.inferred.push(match period {
        Some(period) => said(period),
        None => "no period: fewer than 3 steps or outages agree".to_owned(),
    });
    summary.inferred.push(format!("drift of the far clock: {:.1} ppm, taken away", drift * 1e6));
}

/// Says when a path reconfigures. A length that was measured is off by milliseconds, so that its
/// multiples since 1970 say nothing: one instant is said by its time of day.
fn said(Period { at, length, agree }: Period) -> String {
    let day = at.rem_euclid(86_400 * SECOND);
    let (minutes, seconds) = (day / SECOND / 60, (day % (60 * SECOND)) as f64 / 1e9);
    format!(
        "instants every {:.2} s, one of them at {:02}:{:02}:{seconds:05.2} UTC: {agree} steps or \
            outages agree",
        length as f64 / 1e9,
        minutes / 60,
        minutes % 60
    )
}

/// Returns the transfers as rows: bytes of IP packets at the receiver in each 100 ms.
fn rows(transfers: &[Loaded; 2]) -> String {
    let mut text = "direction,time_s,bytes\n".to_owned();
    for (name, transfer) in ["down", "up"].iter().zip(transfers) {
        for (index, bytes) in transfer.bins.iter().enumerate() {
            let _ = writeln!(text, "{name},{}.{},{bytes}", index / 10, index % 10);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_units::Rate;

    #[test]
    fn the_time_of_an_instant_does_not_depend_on_what_its_period_is_off() {
        // 2026-11-30 10:57:12 UTC, and periods that are off by as much as a measurement is.
        let at = 1_796_036_232_000_000_000;
        for length in [14_999_700_000, 15_000_000_000, 15_000_400_000] {
            let line = said(Period { at, length, agree: 4 });
            let expected =
                "instants every 15.00 s, one of them at 10:57:12.00 UTC: 4 steps or outages agree";
            assert_eq!(line, expected);
        }
    }
    /// A path whose pings all came back, and transfers of so many bins.
    fn outcome(bins: [usize; 2]) -> Outcome {
        let sample = |number: u64| Sample {
            sent: Time::from_millis(10 * number),
            delays: Some((20_000_000, 20_000_000)),
            arrived: None,
        };
        Outcome {
            samples: (1..=100).map(sample).collect(),
            transfers: bins.map(|bins| Loaded { bins: vec![125_000; bins], rtt: None }),
            ..Outcome::default()
        }
    }

    /// What took minutes over a path that costs money is kept, whatever is missing.
    #[test]
    fn what_was_measured_is_written_before_the_scenario_is_made() {
        let raw = ["pings.json", "transfers.csv"];
        for (bins, whole) in [([20, 20], true), ([20, 0], false), ([0, 0], false)] {
            let directory = tempfile::tempdir().expect("a directory");
            let out = directory.path();
            let status = found(&outcome(bins), 1_796_036_232_000_000_000, out).expect("written");
            assert_eq!(status, if whole { OK } else { FAILED }, "{bins:?}");
            assert!(raw.iter().all(|name| out.join(name).exists()), "{bins:?}");
            assert_eq!(out.join("scenario.toml").exists(), whole, "{bins:?}");
        }
        let missing = |up: Option<Rate>| {
            let options = Options {
                transfers: [up, None],
                phase: Some(Span::from_millis(12_345)),
                ..Options::default()
            };
            let error = ImportError::Together("no rate".to_owned());
            without_scenario(&options, &error, Path::new("m"))
        };
        assert_eq!(
            missing(Some(Rate::from_mbps(1))),
            "no scenario, as nothing measured the rate down; `bentpipe import m/pings.json --rate \
             RATE --phase 12.345s -o NEW` makes one of the pings"
        );
        assert!(missing(None).contains("the rate up and down; "));
    }
}

//! Recorded paths, against the numbers of the recordings themselves. The files are real: their
//! `ORIGIN.md` says whose.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use bentpipe_link::random::stream;
use bentpipe_link::{
    AtEnd, DirectionConfig, DirectionModel, DirectionPatch, Ecn, InputFiles, Link, LinkContext,
    ReadFiles, ReplayClock,
};
use bentpipe_units::{Rate, Span, Time};
use common::{Arrival, RTT, direction, model, run, steady};
use std::path::{Path, PathBuf};

const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/validation/recorded");

fn text(name: &str) -> String {
    Path::new(RECORDED).read(Path::new(name)).unwrap().to_string()
}

/// Loads a direction from TOML, with a recording of this text as `down.csv`.
fn recorded(toml: &str, csv: &str) -> DirectionModel {
    let files = [(PathBuf::from("down.csv"), csv.into())];
    let config: DirectionConfig = direction(toml);
    config.load(&InputFiles::from_texts(files.into())).unwrap_or_else(|error| panic!("{error}"))
}

fn link(model: &DirectionModel) -> Link<usize> {
    let context = LinkContext { rtt: RTT, seed: 1, run: 0, name: "test".into() };
    Link::new(model, &context, 1)
}

fn leocc_rate() -> String {
    format!("rate = {{ trace = \"{RECORDED}/leocc-rate.trace.gz\" }}")
}

/// Quantile by linear interpolation between the order statistics (type 7).
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = (sorted.len() - 1) as f64 * share;
    let (low, high) = (at.floor() as usize, at.ceil() as usize);
    sorted[low] + (sorted[high] - sorted[low]) * (at - low as f64)
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

#[track_caller]
fn assert_near(what: &str, found: f64, expected: f64, within: f64) {
    assert!((found - expected).abs() <= within, "{what}: {found}, expected {expected} ± {within}");
}

/// A row of dish telemetry: time in nanoseconds after the first row, RTT, ratio of lost pings.
type Row = (u64, Option<Span>, f64);

fn telemetry(name: &str) -> Vec<Row> {
    let text = text(name);
    let day = |stamp: &str| -> u64 {
        let part = |range: std::ops::Range<usize>| stamp[range].parse::<u64>().unwrap();
        let (days, hours, minutes) = (part(8..10), part(11..13), part(14..16));
        let secs = ((days * 24 + hours) * 60 + minutes) * 60 + part(17..19);
        secs * 1_000_000_000 + part(20..23) * 1_000_000
    };
    let mut rows: Vec<Row> = Vec::new();
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let rtt = fields[2].parse::<f64>().ok();
        let nanos = rtt.map(|ms| Span::from_nanos((ms * 1e6).round() as u64));
        rows.push((day(fields[0]), nanos, fields[1].parse().unwrap()));
    }
    let first = rows[0].0;
    rows.iter().map(|(at, rtt, lost)| (at - first, *rtt, *lost)).collect()
}

/// The telemetry as a recording of one direction: half of the RTT, and the loss of the whole way.
fn as_recording(rows: &[Row]) -> String {
    let mut csv = "time_s,delay_ms,loss\n".to_owned();
    for (at, rtt, lost) in rows {
        let half = rtt.map(|rtt| format!("{:.6}", rtt.as_nanos() as f64 / 2e6)).unwrap_or_default();
        csv += &format!("{:.3},{half},{lost}\n", *at as f64 / 1e9);
    }
    csv
}

/// RTTs in milliseconds of pings that are sent at `times` through two such directions, and how many
/// are lost. Only one of them loses packets.
fn pings(csv: &str, times: &[Time]) -> (Vec<f64>, usize) {
    let there = recorded(
        "rate = \"1 Gbps\"\ndelay = { recording = \"down.csv\" }\n\
         loss = { model = \"recording\", file = \"down.csv\" }",
        csv,
    );
    let back = recorded("rate = \"1 Gbps\"\ndelay = { recording = \"down.csv\" }", csv);
    let send = |at: Time| Arrival { at, port: 0, bytes: 84, ecn: Ecn::NotEct };
    let arrivals: Vec<Arrival> = times.iter().map(|at| send(*at)).collect();
    let mut sent = Vec::new();
    let mut answers = Vec::new();
    for outcome in run(&mut link(&there), &arrivals, |_| ()) {
        if outcome.lost.is_none() {
            sent.push(times[outcome.packet]);
            answers.push(send(outcome.at));
        }
    }
    let transmission =
        2.0 * Rate::from_mbps(1000).time_for(bentpipe_units::Bytes::new(84)).as_millis_f64();
    let rtts = run(&mut link(&back), &answers, |_| ());
    let rtts = rtts.iter().map(|answer| answer.at.since(sent[answer.packet]).as_millis_f64());
    (sorted(rtts.map(|ms| ms - transmission)), times.len() - answers.len())
}

/// V1 of specs/recorded-paths.md.
#[test]
fn a_sender_faster_than_the_trace_gets_what_the_trace_offers() {
    let config = format!("{}\ndelay = \"10 ms\"\nqueue = \"3000 packets\"", leocc_rate());
    let model = model(&direction(&config));
    // 100 Mbps, into a queue that stays full: the trace offers 30 to 73.
    let arrivals = steady(1_000_500, Span::from_micros(120), Ecn::NotEct);
    let mut bins = vec![0u64; 130];
    let mut total = 0;
    let opportunities: Vec<u64> =
        text("leocc-rate.trace.gz").lines().map(|ms| ms.parse().unwrap()).collect();
    for outcome in run(&mut link(&model), &arrivals, |_| ()) {
        if outcome.lost.is_none() {
            let left = outcome.at.saturating_sub(Span::from_millis(10)).as_nanos();
            // The last queue drains after the trace has begun again.
            if left <= 120_052_000_000 {
                total += 1;
                bins[(left / 1_000_000) as usize / 1000] += 1;
            }
        }
    }
    assert_near("Mbps", total as f64 * 12_000.0 / 120.052 / 1e6, 48.744, 0.05);
    for second in 5..120u64 {
        let of_file = opportunities.iter().filter(|ms| *ms / 1000 == second).count();
        assert_near(&format!("second {second}"), bins[second as usize] as f64, of_file as f64, 1.0);
    }
}

/// V2 of specs/recorded-paths.md, for files that both have the wait for grants.
#[test]
fn a_wait_in_both_files_is_counted_twice() {
    let mut csv = "time_s,delay_ms\n".to_owned();
    for (index, line) in text("leocc-delay.txt").lines().enumerate() {
        csv += &format!("{:.2},{line}\n", index as f64 / 100.0);
    }
    let name = format!("{RECORDED}/leocc-rate.trace.gz");
    let files =
        [("down.csv".into(), csv.into()), ((&name).into(), text("leocc-rate.trace.gz").into())];
    let toml =
        format!("{}\ndelay = {{ recording = \"down.csv\" }}\nqueue = \"1 MB\"", leocc_rate());
    let model = direction(&toml).load(&InputFiles::from_texts(files.into())).unwrap();
    let lengths: Vec<Span> = model.recorded_sources().iter().map(|source| source.length).collect();
    assert_eq!(lengths, [Span::from_millis(120_052), Span::from_millis(119_990)]);
    let clock =
        ReplayClock { start: Span::ZERO, length: lengths[1], at_end: AtEnd::Cut, period: None };
    let mut random = stream(3, 0, "phase");
    let arrivals: Vec<Arrival> = (0..11_990)
        .map(|number| Arrival {
            at: Time::from_nanos(number * 10_000_000 + random.below(10_000_000)),
            port: 0,
            bytes: 1500,
            ecn: Ecn::NotEct,
        })
        .collect();
    let outcomes = run(&mut link(&model.replayed(&clock)), &arrivals, |_| ());
    let delays = sorted(
        outcomes
            .iter()
            .map(|outcome| outcome.at.since(arrivals[outcome.packet].at).as_millis_f64()),
    );
    for (share, ms) in [(0.05, 9.4), (0.5, 12.6), (0.95, 16.8)] {
        assert_near(&format!("quantile {share}"), quantile(&delays, share), ms, 0.3);
    }
    assert_near("mean", delays.iter().sum::<f64>() / delays.len() as f64, 13.07, 0.3);
    assert!(quantile(&delays, 0.999) > 90.0, "an outage waited for and measured");
}

/// V3 and V5 of specs/recorded-paths.md.
#[test]
fn pings_over_a_recording_meet_its_quantiles() {
    for (name, expected, loss) in [
        ("fjordlink-2024-12-12.csv.gz", [27.52, 40.20, 48.88], 0.001571),
        ("fjordlink-2025-03-20.csv.gz", [24.42, 32.55, 39.24], 0.001383),
    ] {
        let rows = telemetry(name);
        let csv = as_recording(&rows);
        let times: Vec<Time> = rows.iter().map(|(at, ..)| Time::from_nanos(*at)).collect();
        let (rtts, lost) = pings(&csv, &times);
        for (share, ms) in [0.5, 0.95, 0.99].into_iter().zip(expected) {
            // To the rounding of the numbers; a lost ping takes its RTT with it.
            assert_near(&format!("{name}, quantile {share}"), quantile(&rtts, share), ms, 0.15);
        }
        let error = (loss / times.len() as f64).sqrt();
        assert_near("loss", lost as f64 / times.len() as f64, loss, 3.0 * error);
        // Without loss the quantiles are exact.
        let lossless: Vec<Row> = rows.iter().map(|(at, rtt, _)| (*at, *rtt, 0.0)).collect();
        let csv = as_recording(&lossless);
        let (rtts, lost) = pings(&csv, &times);
        assert_eq!(lost, 0);
        for (share, ms) in [0.5, 0.95, 0.99].into_iter().zip(expected) {
            assert_near(&format!("{name}, quantile {share}"), quantile(&rtts, share), ms, 0.006);
        }
        // Pings at other times: ten a second, at a random phase.
        let mut random = stream(1, 0, "phase");
        let every =
            |number: u64| Time::from_nanos(number * 100_000_000 + random.below(100_000_000));
        let (rtts, _) = pings(&csv, &(0..36_220).map(every).collect::<Vec<_>>());
        let within = |ms: f64| f64::max(0.5, 0.01 * ms);
        assert_near("p50", quantile(&rtts, 0.5), expected[0], within(expected[0]));
        assert_near("p95", quantile(&rtts, 0.95), expected[1], within(expected[1]));
        assert_near("p99", quantile(&rtts, 0.99), expected[2], 0.03 * expected[2]);
    }
}

/// V6 of specs/recorded-paths.md.
#[test]
fn everything_is_read_at_the_same_time_and_repeats() {
    let toml = "rate = { recording = \"down.csv\" }\ndelay = { recording = \"down.csv\" }\n\
                loss = { model = \"recording\", file = \"down.csv\" }";
    let csv = std::fs::read_to_string("tests/data/recorded.csv").unwrap();
    let model = recorded(toml, &csv);
    let length = Span::from_millis(40);
    assert_eq!(model.recorded_sources().len(), 3);
    for start in [0, 7, 10, 33] {
        let clock = ReplayClock {
            start: Span::from_millis(start),
            length,
            at_end: AtEnd::Cut,
            period: None,
        };
        let replayed = model.replayed(&clock);
        for ms in 0..120 {
            let at = Time::from_millis(ms);
            let step = (ms + start) as usize % 40 / 10;
            assert_eq!(replayed.rate_at(at), Rate::from_mbps([12, 0, 12, 24][step]), "{ms} ms");
            assert_eq!(replayed.delay_at(at), Span::from_millis([20, 21, 45, 22][step]), "{ms} ms");
            assert_eq!(replayed.rate_at(at), replayed.rate_at(at + length));
        }
        assert_eq!(replayed.base_delay(), Span::from_millis(21), "the median, for all starts");
        assert_eq!(replayed.nominal_rate(), Rate::from_mbps(12), "the mean");
    }
}

/// V6: the outages of the LeoCC example lie 8.69 s after each multiple of 15 s.
#[test]
fn a_start_at_a_multiple_of_the_period_keeps_the_outages() {
    let model = model(&direction(&format!("{}\ndelay = \"10 ms\"", leocc_rate())));
    let length = Span::from_secs(120);
    for slot in 0..8u64 {
        let clock = ReplayClock {
            start: Span::from_secs(15 * slot),
            length,
            at_end: AtEnd::Cut,
            period: None,
        };
        let replayed = model.replayed(&clock);
        for period in 0..8 {
            // Each outage lasts 59 ms or more and begins at 8.687 to 8.699 s.
            let from = Time::from_millis(15_000 * period + 8_701);
            let bytes = replayed.capacity(from, from + Span::from_millis(40)).get();
            assert_eq!(bytes, 0, "start {slot}, period {period}");
        }
    }
}

#[test]
fn a_recording_of_a_direction_gives_the_columns_that_are_left_open() {
    let csv = std::fs::read_to_string("tests/data/recorded.csv").unwrap();
    let files = InputFiles::from_texts([("down.csv".into(), csv.into())].into());
    let patch = |toml: &str| -> Result<DirectionPatch, String> {
        let patch: DirectionPatch = toml::from_str(toml).unwrap();
        patch.with_recording(&files).map_err(|error| error.to_string())
    };
    let all = patch("recording = \"down.csv\"").unwrap();
    assert!(all.rate.is_some() && all.delay.is_some() && all.loss.is_some());
    let some = patch("recording = \"down.csv\"\nrate = \"5 Mbps\"\nloss = 0").unwrap();
    assert_eq!(some.rate, Some(bentpipe_link::RateConfig::Constant(Rate::from_mbps(5))));
    assert!(some.delay.is_some() && some.loss == Some(bentpipe_link::LossConfig::none()));
    let none = patch("recording = \"down.csv\"\nrate = \"5 Mbps\"\ndelay = \"1 s\"\nloss = 0");
    assert!(none.unwrap_err().contains("no column that the keys beside it leave open"));
    let other = patch("recording = \"up.csv\"");
    assert!(other.unwrap_err().contains("up.csv"));
}

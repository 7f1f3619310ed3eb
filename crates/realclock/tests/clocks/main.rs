//! The same runs on both clocks: datagrams, applications, paths over constellations, time budgets.
//!
//! Without root, which namespaces need in a process of several threads, the tests print the reason
//! and pass.

#![allow(clippy::unwrap_used)]

mod applications;
mod lateness;

use bentpipe_lab::{Changes, Plan, Task};
use bentpipe_realclock::RealClock;
use bentpipe_sim::{FlowOutcome, RunError, RunOutcome, Runner, Simulator};
use bentpipe_timeseries::TimePart;
use bentpipe_units::{Span, Time};
use lateness::Lateness;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// A route that changes after 3.9 s, by 3.4 ms.
const MOVING: &str = r#"
name = "moving"
time_limit = "30 s"
[path.orbit]
constellation = "starlink-550"
at = "5.5 s"
links.all = { rate = "50 Mbps", queue = "100 packets" }
[output]
time_series = "all"
"#;

fn plan(text: &str) -> Plan {
    Plan::parse("test.toml", text, Path::new("."), &Changes::default()).unwrap()
}

/// Runs the first task of `text` on both clocks. `None` without the permission to do so.
fn both(text: &str) -> Option<[RunOutcome; 2]> {
    let task = Task { case: 0, run: 0 };
    let stop = AtomicBool::new(false);
    let real = plan(text).on_real_clock(&RealClock::default()).unwrap().spec(task).unwrap();
    let real = match RealClock::default().run(&real, "test", &stop) {
        Err(RunError::Failed(error)) if error.contains("Needed:") => {
            eprintln!("skipped: {error}");
            return None;
        }
        outcome => outcome.unwrap(),
    };
    let simulated = plan(text).spec(task).unwrap();
    let simulated = Simulator.run(&simulated, "test", &stop).unwrap();
    Some([simulated, real])
}

/// The share of late wake-ups in a tenth of a second from which the machine is not calm. Without
/// other work it is up to a fifth, beside four endless loops less.
const NOT_CALM: f64 = 0.25;

/// Compares both clocks' runs of `text`, up to five times: other work on the machine delays the
/// real clock's packets now and then, but not in five runs in turn.
///
/// A machine that lets no program run when it is due delays them in each run. Runs beside which
/// it did so prove nothing: after twenty of them the test prints that, and passes.
fn compare(text: &str, check: impl Fn(&RunOutcome, &RunOutcome)) {
    let mut calm = 0;
    for attempt in 1..=20 {
        let watched = Lateness::watch();
        let outcomes = both(text);
        let late = watched.worst();
        let Some([simulated, real]) = outcomes else { return };
        let checked = catch_unwind(AssertUnwindSafe(|| check(&simulated, &real)));
        let Err(failure) = checked else { return };
        calm += u32::from(late < NOT_CALM);
        if calm == 5 {
            resume_unwind(failure);
        }
        eprintln!("attempt {attempt} failed; {:.0} % of wake-ups late in 100 ms", late * 100.0);
    }
    eprintln!("skipped: the machine did not let programs run when they were due, twenty times");
}

/// Returns the RTTs of the first flow's pings, by the times at which they returned since the start
/// of the visit.
fn rtts(outcome: &RunOutcome) -> Vec<(Span, f64)> {
    let flow = &outcome.trace.as_ref().unwrap().flows[0];
    let series = flow.series.iter().find(|series| series.name == "rtt").unwrap();
    series.points.iter().map(|&(at, rtt)| (at.since(flow.start), rtt)).collect()
}

/// Returns the smallest RTT of the pings that returned in the 100 ms before `at`. Others may have
/// waited for the CPU.
fn rtt_at(rtts: &[(Span, f64)], at: Span) -> f64 {
    let recent =
        rtts.iter().filter(|(back, _)| *back <= at && at <= *back + Span::from_millis(100));
    recent.map(|(_, rtt)| *rtt).reduce(f64::min).unwrap()
}

fn close(flow: &str, one: Option<Span>, other: Option<Span>, within_ms: f64) {
    let (one, other) = (one.unwrap().as_millis_f64(), other.unwrap().as_millis_f64());
    assert!((one - other).abs() < within_ms, "{flow}: {one} ms and {other} ms");
}

#[test]
fn a_moving_path_has_the_same_rtt_at_the_same_time_on_both_clocks() {
    let ping = "[[flow]]\nname = \"ping\"\nfrom = \"London\"\nto = \"New York\"\n\
        ping = { interval = \"20 ms\", duration = \"6 s\" }\n";
    compare(&format!("{MOVING}{ping}"), the_path_moves_alike);
}

fn the_path_moves_alike(simulated: &RunOutcome, real: &RunOutcome) {
    let [one, other] = [simulated, real].map(rtts);
    // The network starts with the emulator, and the visit a few milliseconds later.
    for ms in (200..5900).step_by(100).filter(|ms| !(3850..4150).contains(ms)) {
        let at = Span::from_millis(ms);
        let (one, other) = (rtt_at(&one, at), rtt_at(&other, at));
        assert!((one - other).abs() < 1.0, "after {at}: {one} ms and {other} ms");
    }
    let step = |rtts: &[(Span, f64)]| {
        rtt_at(rtts, Span::from_millis(4200)) - rtt_at(rtts, Span::from_millis(3800))
    };
    assert!(step(&other) > 2.5 && (step(&other) - step(&one)).abs() < 1.0);
    // Either run may end after another route change.
    let links = |outcome: &RunOutcome| {
        let used = outcome.links.iter().filter(|link| link.counters.packets_in > 0);
        used.map(|link| link.name.clone()).collect::<BTreeSet<_>>()
    };
    assert!(links(simulated).len() > 5);
    assert_eq!(links(simulated), links(real));
    let paths = |outcome: &RunOutcome| -> Vec<(Time, Vec<u32>)> {
        let paths = outcome.trace.as_ref().unwrap().paths.iter();
        let early = paths.filter(|path| path.at < Time::from_millis(5000));
        early.map(|path| (path.at, path.nodes.clone())).collect()
    };
    assert!(paths(simulated).len() > 1);
    assert_eq!(paths(simulated), paths(real));
}

/// A terminal whose path goes from one shell to another 3 s after the start.
const SHELLS: &str = r#"
name = "shells"
time_limit = "30 s"
[path.orbit]
constellation = "starlink"
at = "324 s"
isl = "none"
satellite_selection = "slots"
links.all = { rate = "20 Mbps", queue = "10 packets" }
links.shell.starlink-570 = { up.rate = "4 Mbps", down.rate = "4 Mbps" }
station = [
  { name = "terminal", city = "Copenhagen" },
  { name = "gateway", city = "Hamburg", satellite_selection = "all" },
]
[workload]
from = "terminal"
to = "gateway"
cbr = { rate = "8 Mbps", duration = "4.5 s" }
"#;

#[test]
fn a_path_has_the_rate_of_its_shell_on_both_clocks() {
    compare(SHELLS, |simulated, real| {
        for outcome in [simulated, real] {
            let tenths = outcome.flows[0].received_by_tenth.to_vec();
            let mbps = |from: usize, to: usize| {
                tenths[from..to].iter().sum::<u64>() as f64 * 80.0 / (to - from) as f64 / 1e6
            };
            let (slow, fast) = (mbps(3, 28), mbps(33, 43));
            assert!((3.7..4.2).contains(&slow), "{slow} Mbps over the slow shell: {tenths:?}");
            assert!((7.5..8.2).contains(&fast), "{fast} Mbps over the fast one: {tenths:?}");
        }
    });
}

#[test]
fn flows_between_several_places_share_the_links_of_a_constellation() {
    // The first two share the antenna in London. The third is in the opposite direction.
    let flow = |name: &str, from: &str, to: &str| {
        format!(
            "[[flow]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\n\
             cbr = {{ rate = \"4 Mbps\", duration = \"3 s\", packet = \"1000 B\" }}\n"
        )
    };
    let flows = flow("one", "New York", "London")
        + &flow("two", "Paris", "London")
        + &flow("three", "London", "Madrid");
    let slow =
        MOVING.replace("50 Mbps\", queue = \"100 packets\"", "6 Mbps\", queue = \"10 packets\"");
    compare(&format!("{slow}{flows}"), antennas_lose_alike);
}

fn antennas_lose_alike(simulated: &RunOutcome, real: &RunOutcome) {
    let lost = |flow: &FlowOutcome| flow.packets_lost_queue as f64 / flow.packets_sent as f64;
    for (one, other) in simulated.flows.iter().zip(&real.flows) {
        assert_eq!((one.transport, &one.congestion), (other.transport, &other.congestion));
        assert!(one.packets_sent.abs_diff(other.packets_sent) <= 3, "{one:?}\n{other:?}");
    }
    // 8 Mbps leave London over 6 Mbps: a quarter is lost, whoever loses it.
    let sum = |outcome: &RunOutcome| outcome.flows[..2].iter().map(lost).sum::<f64>() / 2.0;
    assert!((sum(simulated) - 0.25).abs() < 0.02, "{}", sum(simulated));
    assert!((sum(real) - sum(simulated)).abs() < 0.02, "{}", sum(real));
    assert_eq!((lost(&simulated.flows[2]), lost(&real.flows[2])), (0.0, 0.0));
}

#[test]
fn kernel_tcp_crosses_a_constellation() {
    let flow = "[[flow]]\nname = \"tcp\"\nfrom = \"London\"\nto = \"New York\"\n\
        download = \"2 MB\"\ntransport = \"tcp\"\nhttp = \"raw\"\ntcp.buffers = \"linux\"\n\
        congestion = \"cubic\"\nslow_start = \"hystart\"\n";
    compare(&format!("{MOVING}{flow}"), |simulated, real| {
        let (one, other) = (&simulated.flows[0], &real.flows[0]);
        assert!(one.completed && other.completed, "{:?}", other.error);
        let (one, other) = (one.completion.unwrap(), other.completion.unwrap());
        let ratio = other.as_secs_f64() / one.as_secs_f64();
        assert!((0.8..1.5).contains(&ratio), "{one} and {other}");
    });
}

#[test]
fn ping_and_cbr_agree_on_hops() {
    let text = "name = \"datagrams\"\ntime_limit = \"20 s\"\n[path]\n\
        forward = { rate = \"8 Mbps\", delay = \"40 ms\", queue = \"20 packets\", \
        loss = \"2 %\" }\n\
        return = { rate = \"2 Mbps\", delay = \"60 ms\" }\n\
        [[flow]]\nname = \"ping\"\nping = { interval = \"10 ms\", duration = \"2 s\" }\n\
        [[flow]]\nname = \"cbr\"\n\
        cbr = { rate = \"2 Mbps\", duration = \"2 s\", packet = \"500 B\" }\n\
        [[flow]]\nname = \"bursts\"\n\
        cbr = { rate = \"4 Mbps\", duration = \"2 s\", packet = \"500 B\", on = \"100 ms\", \
        off = \"100 ms\" }\n[output]\ntime_series = \"all\"\n";
    compare(text, datagrams_agree);
}

fn datagrams_agree(simulated: &RunOutcome, real: &RunOutcome) {
    for (one, other) in simulated.flows.iter().zip(&real.flows) {
        let name = &one.name;
        assert_eq!((one.transport, one.connections), (other.transport, other.connections));
        assert!(other.completed, "{name}: {:?}", other.error);
        // The last datagram may be due at the end.
        assert!(one.packets_sent.abs_diff(other.packets_sent) <= 2, "{name}: {one:?}\n{other:?}");
        // The same draws meet packets in another order if flows share a link.
        let lost = |flow: &FlowOutcome| flow.packets_lost_channel as f64;
        let (few, many) = (lost(one).min(lost(other)), lost(one).max(lost(other)));
        assert!(many - few <= 5.0 + many.sqrt() * 3.0, "{name}: {few} and {many}");
        let received = one.received.abs_diff(other.received) as f64 / one.received as f64;
        assert!(received < 0.06, "{name}: {} and {}", one.received, other.received);
    }
    let [one, other] = [simulated, real].map(|outcome| &outcome.flows[0]);
    close("minimum", one.rtt_min, other.rtt_min, 1.0);
    close("mean", one.rtt_mean, other.rtt_mean, 1.0);
    assert_eq!(real.flows[1].rtt_min, None);
}

#[test]
fn datagrams_without_space_for_their_time_are_refused() {
    let text = "name = \"small\"\n[path]\nforward = { rate = \"8 Mbps\", delay = \"40 ms\" }\n\
        return = { rate = \"2 Mbps\", delay = \"40 ms\" }\n\
        [workload]\nping = { interval = \"1 s\", duration = \"2 s\", packet = \"29 B\" }\n";
    let error = plan(text).on_real_clock(&RealClock::default()).unwrap_err().to_string();
    assert!(error.contains("29 B") && error.contains("allowed"), "{error}");
}

#[test]
fn results_name_what_carries_out_the_congestion_control() {
    let path = "name = \"named\"\n[path]\nforward = { rate = \"8 Mbps\", delay = \"40 ms\" }\n\
        return = { rate = \"2 Mbps\", delay = \"40 ms\" }\n[workload]\ndownload = \"1 MB\"\n\
        [defaults]\n";
    let real = |keys: &str| plan(&format!("{path}{keys}\n")).on_real_clock(&RealClock::default());
    for (keys, named) in [
        ("transport = \"tcp\"", "cubic of the kernel + hystart start"),
        ("transport = \"tcp\"\ncongestion = \"bbr1\"", "bbr of the kernel"),
        ("loss_filter = \"none\"", "cubic + long-path start"),
        // The preset sets parameters of BBR, too.
        (
            "transport = \"tcp\"\npreset = \"draft\"\nslow_start = \"hystart\"",
            "cubic of the kernel + hystart start",
        ),
    ] {
        let plan = real(keys).unwrap();
        assert_eq!(plan.cases[0].settings[0].congestion.as_deref(), Some(named));
    }
    // The controller's own default, which the server does not have.
    let error = real("congestion = \"prague\"").unwrap_err().to_string();
    assert!(error.contains("quic.ecn") && error.contains("ECT(0)"), "{error}");
    real("congestion = \"prague\"\nquic.ecn = \"ect0\"").unwrap();
}

/// A download over the kernel's TCP, for whose windows there is room everywhere.
const TCP: &str = r#"
name = "budget"
time_limit = "30 s"
[workload]
download = "2 MB"
[defaults]
transport = "tcp"
http = "raw"
slow_start = "standard"
congestion = "newreno"
tcp.receive_autotune = false
tcp.receive_buffer = "64 MB"
flow_control.send_buffer = "64 MB"
[path]
return = { rate = "10 Mbps", delay = "50 ms" }
"#;

fn parts_are_alike(simulated: &RunOutcome, real: &RunOutcome) {
    let [one, other] = [simulated, real].map(|outcome| &outcome.flows[0]);
    let (known, told) = (one.time_budget.unwrap(), other.time_budget.unwrap());
    assert_eq!(Some(told.total()), other.completion, "the parts add up");
    for part in TimePart::ALL {
        let (one, other) = (known.get(part), told.get(part));
        let tolerated = Span::from_millis(40).max(one / 10);
        let difference = one.max(other).saturating_sub(one.min(other));
        assert!(difference <= tolerated, "{part:?}: {one} and {other}");
    }
}

#[test]
fn time_on_the_real_clock_is_spent_on_the_same_parts() {
    let forward = "forward = { rate = \"10 Mbps\", delay = \"50 ms\", queue = \"2 BDP\" }\n";
    compare(&format!("{TCP}{forward}"), parts_are_alike);
}

#[test]
fn an_outage_on_the_real_clock_has_its_time() {
    let forward = "forward = { rate = { schedule = [{ at = \"0 s\", rate = \"10 Mbps\" }, \
        { at = \"1 s\", rate = \"0 bps\" }, { at = \"2.5 s\", rate = \"10 Mbps\" }] }, \
        delay = \"50 ms\", queue = \"4 BDP\" }\n";
    compare(&format!("{TCP}{forward}"), |simulated, real| {
        for outcome in [simulated, real] {
            let outage = outcome.flows[0].time_budget.unwrap().get(TimePart::Outage);
            assert!((1.35..1.55).contains(&outage.as_secs_f64()), "{outage}");
        }
    });
}

#[test]
fn a_rate_that_grows_on_demand_costs_the_same_on_the_real_clock() {
    let forward = "forward = { rate = { demand = { base = \"4 Mbps\", ceiling = \"16 Mbps\", \
        rise = \"2 s\" } }, delay = \"50 ms\", queue = \"4 BDP\" }\n\
        [output]\ntime_series = \"all\"\n";
    compare(&format!("{TCP}{forward}"), |simulated, real| {
        parts_are_alike(simulated, real);
        for outcome in [simulated, real] {
            let growth = outcome.flows[0].time_budget.unwrap().get(TimePart::Capacity);
            assert!(growth > Span::from_millis(400), "{growth}");
            let links = &outcome.trace.as_ref().unwrap().links;
            let forward = links.iter().find(|link| link.name.ends_with("/forward")).unwrap();
            let rate = forward.series.iter().find(|series| series.name == "rate").unwrap();
            let rates: Vec<f64> = rate.points.iter().map(|(_, mbps)| *mbps).collect();
            let most = rates.iter().copied().fold(0.0, f64::max);
            assert!(rates[0] == 4.0 && most > 10.0, "{rates:?}");
        }
    });
}

/// A carrier over a recorded fade: 3.56 Mbps in clear sky, nothing in the fade of 600 ms, and after
/// it QPSK 1/4 with 0.98 Mbps until the loop of 200 ms has closed.
const FADE: &str = r#"
name = "fade"
time_limit = "20 s"
[path]
return = { rate = "2 Mbps", delay = "10 ms" }
[path.forward]
delay = "10 ms"
queue = "5 packets"
[path.forward.rate.acm]
symbol_rate = "2 MBd"
modcods = "dvb-s2"
clear_sky_esn0 = "6.5 dB"
loop_delay = "200 ms"
framing = 1
fade = { recording = "tests/clocks/fade.csv" }
[path.recording]
loop = "hold"
[workload]
cbr = { rate = "2 Mbps", duration = "1.9 s", packet = "500 B" }
"#;

#[test]
fn a_recorded_fade_has_its_rates_and_losses_on_both_clocks() {
    compare(FADE, |simulated, real| {
        for outcome in [simulated, real] {
            let tenths = outcome.flows[0].received_by_tenth.to_vec();
            let mbps = |from: usize, to: usize| {
                tenths[from..to].iter().sum::<u64>() as f64 * 80.0 / (to - from) as f64 / 1e6
            };
            let (clear, faded, back) = (mbps(1, 5), mbps(7, 12), mbps(15, 19));
            assert!((1.8..2.1).contains(&clear), "{clear} Mbps before: {tenths:?}");
            assert!(faded == 0.0, "{faded} Mbps in the fade: {tenths:?}");
            assert!((1.8..2.1).contains(&back), "{back} Mbps after: {tenths:?}");
            let robust = mbps(13, 15);
            assert!((0.8..1.4).contains(&robust), "{robust} Mbps before the loop: {tenths:?}");
        }
    });
}

/// V7 of specs/recorded-paths.md: quantiles of the RTT over a recording, of the smallest of five
/// pings.
#[test]
fn pings_over_a_recording_agree_on_both_clocks() {
    let file = "../../scenarios/validation/recorded/leocc-delay.csv";
    let text = format!(
        "name = \"recorded\"\ntime_limit = \"30 s\"\n[path]\n\
         forward = {{ recording = \"{file}\", rate = \"50 Mbps\" }}\n\
         return = {{ recording = \"{file}\", rate = \"50 Mbps\" }}\n\
         [workload]\nping = {{ interval = \"20 ms\", duration = \"10 s\" }}\n\
         [output]\ntime_series = \"all\"\n"
    );
    compare(&text, |simulated, real| {
        assert!(rtts(simulated).len() > 450 && rtts(real).len() > 450);
        let [one, other] = [simulated, real].map(smallest);
        for share in [0.05, 0.25, 0.5, 0.75, 0.95] {
            let at = |rtts: &[f64]| rtts[((rtts.len() - 1) as f64 * share) as usize];
            let (one, other) = (at(&one), at(&other));
            assert!((one - other).abs() < 0.5, "{share}: {one} and {other} ms");
        }
    });
}

/// Returns the smallest RTT of the pings of each 100 ms, in order of size. Others may have waited
/// for the CPU, which would show in their quantiles.
fn smallest(outcome: &RunOutcome) -> Vec<f64> {
    let mut parts: BTreeMap<u64, f64> = BTreeMap::new();
    for (back, rtt) in rtts(outcome) {
        let sent = back.saturating_sub(Span::from_secs_f64(rtt / 1e3));
        let part = (sent.as_secs_f64() * 10.0) as u64;
        parts.entry(part).and_modify(|least| *least = least.min(rtt)).or_insert(rtt);
    }
    let mut rtts: Vec<f64> = parts.into_values().collect();
    rtts.sort_by(f64::total_cmp);
    rtts
}

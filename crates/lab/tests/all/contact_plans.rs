//! Runs over random contact plans, beside the earliest arrival that the plans allow.

#![allow(clippy::disallowed_methods, reason = "tests make files as they need")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use bentpipe_lab::Lab;
use bentpipe_orbit::contacts::{ContactPlan, Route, ion, wire_bytes};
use bentpipe_units::{Bytes, Time};
use proptest::prelude::*;
use std::fmt::Write;

/// End of all plans, in seconds.
const END: u64 = 4_000;
/// A request of `ping`, and its answer.
const PING: Bytes = Bytes::new(84);
/// A download, and the packets that bring it.
const SIZE: Bytes = Bytes::new(20_000);
const PACKET: Bytes = Bytes::new(1500);

/// A gap and a contact in seconds, the rate in bytes per second, the light time in milliseconds.
type Drawn = (u64, u64, u64, u64);

/// Returns a plan of a line of nodes: for each link the contacts of either direction.
fn text(links: &[[Vec<Drawn>; 2]]) -> String {
    let mut text = String::new();
    for (node, directions) in links.iter().enumerate() {
        let ends = [(node, node + 1), (node + 1, node)];
        for ((from, to), contacts) in ends.into_iter().zip(directions) {
            let mut at = 0;
            for (gap, length, rate, light_ms) in contacts {
                let (start, end) = (at + gap, at + gap + length);
                let light = *light_ms as f64 / 1e3;
                let _ = writeln!(text, "a contact +{start} +{end} {from} {to} {rate}");
                let _ = writeln!(text, "a range +{start} +{end} {from} {to} {light}");
                at = end;
            }
            // The last contact is long enough for whatever waits. Its light time is the others':
            // what is sent again over a shorter one could overtake what was sent first.
            let light = contacts.last().map_or(1.0, |(.., light_ms)| *light_ms as f64 / 1e3);
            let _ = writeln!(text, "a contact +{} +{END} {from} {to} 1000000", at + 1);
            let _ = writeln!(text, "a range +{} +{END} {from} {to} {light}", at + 1);
        }
    }
    text
}

fn plans() -> impl Strategy<Value = String> {
    // One light time for a link of a plan: a transmitter does not wait for a shorter one.
    let contacts = || proptest::collection::vec((0..200_u64, 1..200_u64, 500..2_000_000_u64), 0..5);
    let link = (contacts(), contacts(), 1..60_000_u64).prop_map(|(there, back, light)| {
        [there, back].map(|contacts| {
            contacts.into_iter().map(|(gap, length, rate)| (gap, length, rate, light)).collect()
        })
    });
    proptest::collection::vec(link, 1..4).prop_map(|links: Vec<[Vec<Drawn>; 2]>| text(&links))
}

/// Runs `workload` over `plan`, and returns the metrics of its flow.
fn run(plan: &str, nodes: usize, workload: &str) -> bentpipe_results::FlowMetrics {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("plan.ionrc"), plan).unwrap();
    let file = directory.path().join("plan.toml");
    let text = format!(
        "name = \"plan\"\ntime_limit = \"{END} s\"\n[path.contacts]\nfile = \"plan.ionrc\"\n\
         from = \"0\"\nto = \"{}\"\n[workload]\n{workload}\n",
        nodes - 1
    );
    std::fs::write(&file, text).unwrap();
    let mut results = Lab::new().run_file(&file).unwrap();
    results.runs.swap_remove(0).flows.swap_remove(0).metrics
}

/// Returns the plan, and the route over all of its nodes there and back.
fn nodes(plan: &ContactPlan) -> [Vec<String>; 2] {
    let there = plan.nodes().to_vec();
    let back = there.iter().rev().cloned().collect();
    [there, back]
}

/// The implied first visit is as short as a sender that is told its rate needs it, and the second
/// one takes an RTT and the transfer: 100 kB are 0.83 s at 1 Mbps, and what the client sends takes
/// 10 s at 1 kbps.
#[test]
fn a_repeat_visit_to_mars_takes_an_rtt() {
    let text = "name = \"repeat\"\ntime_limit = \"12 h\"\n[path]\nprofile = \"mars\"\n\
                [workload]\ndownload = \"100 kB\"\n[defaults]\npreset = \"deep-space\"\n\
                handshake = \"0rtt\"\n";
    let results = Lab::new().run(text).unwrap();
    let flow = &results.runs[0].flows[0];
    let seconds = flow.metrics.completion_s.unwrap();
    assert!((1812.0..1815.0).contains(&seconds), "{seconds} s");
}

/// 48 cases, each of them simulations, or as many as PROPTEST_CASES says.
fn cases() -> ProptestConfig {
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => ProptestConfig::default(),
        None => ProptestConfig::with_cases(48),
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn a_ping_over_a_plan_takes_as_long_as_its_earliest_arrival(text in plans()) {
        let plan = ion::parse(&text).unwrap();
        let [there, back] = nodes(&plan);
        let (there, back) = (Route::new(&plan, &there).unwrap(), Route::new(&plan, &back).unwrap());
        let (_, asked) = there.last_arrival(Time::ZERO, PING, PING).unwrap();
        let (_, answered) = back.last_arrival(asked, PING, PING).unwrap();
        let count = plan.nodes().len();
        let once = format!("ping = {{ interval = \"{END} s\", duration = \"{END} s\" }}");
        let metrics = run(&text, count, &once);
        let measured = metrics.rtt_mean_ms.unwrap() / 1e3;
        let bound = answered.as_secs_f64();
        prop_assert!((measured - bound).abs() < 1e-6, "{measured} s, not {bound}, over\n{text}");
    }

    #[test]
    fn no_download_over_a_plan_is_sooner_than_its_earliest_arrival(text in plans()) {
        let plan = ion::parse(&text).unwrap();
        let [there, back] = nodes(&plan);
        let (there, back) = (Route::new(&plan, &there).unwrap(), Route::new(&plan, &back).unwrap());
        let least = (Bytes::new(60), wire_bytes(SIZE, PACKET));
        let bound = there.exchange(&back, Time::ZERO, least, PACKET, false).unwrap();
        let count = plan.nodes().len();
        let metrics = run(&text, count, &format!("download = \"{SIZE}\""));
        let measured = metrics.completion_s.unwrap_or(f64::INFINITY);
        prop_assert!(measured >= bound.last.as_secs_f64(), "{measured} s: {bound:?}\n{text}");
    }
}

//! The utilisation of links.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "helpers of tests")]

use crate::common;

use bentpipe_sim::{DatagramTraffic, FlowSpec, HopSpec, Stack, Visit};
use bentpipe_units::{Bytes, Rate, Span};
use common::{flow, hop, link, run, run_spec};

const DELAY: Span = Span::from_millis(20);

/// Datagrams of 1500 bytes at `mbps` for `duration`.
fn datagrams(name: &str, mbps: u64, duration: Span) -> FlowSpec {
    let stack = Stack::DatagramTraffic(DatagramTraffic::Constant {
        rate: Rate::from_mbps(mbps),
        packet: Bytes::new(1500),
        bursts: None,
    });
    flow(name, stack, vec![Visit { duration: Some(duration), ..Visit::default() }])
}

#[test]
fn of_a_trace_it_is_the_used_part_of_the_opportunities() {
    // 100 opportunities in the first 100 ms, and one more in the rest of the second.
    let lines: String = (1..=100).chain([1000]).map(|ms| format!("{ms}\n")).collect();
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("fast-then-slow.trace");
    std::fs::write(&file, lines).unwrap();
    let rate = Rate::from_mbps(1);
    let forward = link(rate, DELAY, &format!("rate = {{ trace = {file:?} }}"));
    let hops = vec![hop("link", forward, link(rate, DELAY, ""))];
    for (mbps, expected) in [(3, 0.25), (6, 0.5), (24, 1.0)] {
        let flows = vec![datagrams("main", mbps, Span::from_millis(80))];
        let outcome = run(&run_spec(DELAY * 2, hops.clone(), flows));
        let utilisation = outcome.links[0].utilisation;
        assert!((utilisation - expected).abs() < 0.03 && utilisation <= 1.0, "{utilisation}");
    }
}

#[test]
fn it_counts_from_the_first_packet_of_the_link() {
    let rate = Rate::from_mbps(10);
    let hops = vec![HopSpec {
        shared: false,
        ..hop("access", link(rate, DELAY, ""), link(rate, DELAY, ""))
    }];
    let early = datagrams("early", 5, Span::from_secs(1));
    let late = FlowSpec {
        terminal: 1,
        start: Span::from_secs(9),
        ..datagrams("late", 5, Span::from_secs(1))
    };
    let mut spec = run_spec(DELAY * 2, hops, vec![early, late]);
    spec.terminals = 2;
    let outcome = run(&spec);
    for name in ["access/forward#0", "access/forward#1"] {
        let found = outcome.links.iter().find(|link| link.name == name).unwrap();
        assert!((found.utilisation - 0.5).abs() < 0.02, "{name}: {}", found.utilisation);
    }
}

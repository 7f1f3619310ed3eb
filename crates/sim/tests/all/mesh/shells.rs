//! Shells whose satellites have links of their own.

use super::setup::*;
use bentpipe_orbit::{
    Network, Node, RouteTimeline, RouteUpdates, SatelliteSelection, Shell, Station,
    mean_motion_rev_per_day,
};
use bentpipe_sim::{FlowOutcome, RunOutcome, SatelliteLinks};
use bentpipe_units::{Span, Time};
use std::sync::Arc;

/// Index of the shell with links of its own.
const SLOW: u32 = 1;
/// Offered rate, between those of the two shells.
const KBPS: u64 = 4_000;
/// The time before and after the change of shell in which the flow sends.
const AROUND: Span = Span::from_secs(3);

/// Two stations next to each other, which take the same satellite, under two shells.
fn two_shells() -> Arc<Network> {
    let fast = Shell { name: "fast".into(), ..shell(12, 12) };
    let slow = Shell {
        name: "slow".into(),
        mean_motion_rev_per_day: mean_motion_rev_per_day(1_100.0),
        ..shell(13, 13)
    };
    let one_at_a_time =
        |station: Station| Station { selection: SatelliteSelection::Highest, ..station };
    let stations = [toronto(), station("next door", 43.7, -79.399)].map(one_at_a_time);
    network_of(&[fast, slow], stations.into())
}

/// Returns the first time at which the path between both stations leaves the fast shell for the
/// slow one, if it stays on each for longer than a flow sends. Links join satellites of one shell
/// only.
fn into_the_slow_shell(network: &Arc<Network>) -> Time {
    let ends = [network.station(0), network.station(1)];
    let mut timeline =
        RouteTimeline::new(network.clone(), RouteUpdates::Stepped(STEP), &ends).unwrap();
    let mut shells: Vec<(Time, Option<u32>)> = Vec::new();
    while timeline.topology().at() < Time::from_secs(7_200) {
        let nodes = timeline.routes().path(ends[0], 1).map_or_else(Vec::new, |path| path.nodes);
        let slot = |node: Node| network.constellation().slot(node.0 as usize);
        let satellite = nodes.get(1).filter(|node| network.station_of(**node).is_none());
        let shell = satellite.and_then(|node| slot(*node)).map(|slot| slot.shell);
        if shells.last().is_none_or(|(_, last)| *last != shell) {
            shells.push((timeline.topology().at(), shell));
        }
        if let [.., (fast, Some(0)), (slow, Some(SLOW)), (end, _)] = shells[..]
            && slow.since(fast) > AROUND * 2
            && end.since(slow) > AROUND * 2
        {
            return slow;
        }
        timeline.advance().unwrap();
    }
    panic!("no such change: {shells:?}");
}

/// Bytes received in each 100 ms of `from` to `to` after the first byte, without the first 300 ms,
/// in which a queue may empty.
fn received(flow: &FlowOutcome, from: Span, to: Span) -> Vec<u64> {
    let tenths = flow.received_by_tenth.to_vec();
    let first = tenths.iter().position(|&bytes| bytes > 0).unwrap();
    let index = |span: Span| first + (span.as_nanos() / 100_000_000) as usize;
    tenths[index(from) + 3..index(to) - 1].to_vec()
}

#[test]
fn a_path_has_the_rate_of_the_shell_that_it_goes_through() {
    let network = two_shells();
    let at = into_the_slow_shell(&network);
    let fast =
        SatelliteLinks { isl: direction(10, 5), up: direction(10, 5), down: direction(10, 5) };
    let cases = [
        (SatelliteLinks { up: direction(2, 5), ..fast.clone() }, false),
        (SatelliteLinks { down: direction(2, 5), ..fast.clone() }, false),
        (SatelliteLinks { down: direction(2, 5), ..fast.clone() }, true),
    ];
    for (slow, shared_ground) in cases {
        let mut flow = datagrams("udp", constant(KBPS), AROUND * 2);
        flow.start = at.since_start() - AROUND;
        let mut spec = spec(network.clone(), vec![flow]);
        let mesh = mesh(&mut spec);
        (mesh.links, mesh.shared_ground) = (fast.clone(), shared_ground);
        mesh.shells.insert(SLOW, slow);
        let outcome: RunOutcome = run(&spec);
        let flow = &outcome.flows[0];
        // 4 Mbps of packets of 1250 B, and what 2 Mbps carry of them.
        for bytes in received(flow, Span::ZERO, AROUND) {
            assert!((48_750..=51_250).contains(&bytes), "{bytes} B over the fast shell");
        }
        for bytes in received(flow, AROUND, AROUND * 2) {
            assert!((23_750..=26_250).contains(&bytes), "{bytes} B over the slow shell");
        }
        // A station has a transmitter for each shell with links of its own.
        let names: Vec<&str> = outcome.links.iter().map(|link| link.name.as_str()).collect();
        assert!(
            names.contains(&"Toronto>sky") && names.contains(&"Toronto>sky (slow)"),
            "{names:?}"
        );
    }
}

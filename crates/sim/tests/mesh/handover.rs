//! Which packets a handover loses.

use super::setup::*;
use bentpipe_orbit::HandoverLoss;
use bentpipe_orbit::{Network, RouteTimeline, RouteUpdates, SatelliteSelection, Station};
use bentpipe_sim::{FlowOutcome, RunOutcome, RunSpec};
use bentpipe_units::{Span, Time};
use std::sync::Arc;

/// Silence while a station turns.
const SILENCE: Span = Span::from_millis(300);

fn turning(station: Station, handover_outage: Span) -> Station {
    Station { selection: SatelliteSelection::Longest, handover_outage, ..station }
}

/// When station `index` turns for the first time after `after`.
fn turn(network: &Arc<Network>, index: usize, after: Time) -> Time {
    let mut timeline =
        RouteTimeline::new(network.clone(), RouteUpdates::Stepped(STEP), &[network.station(0)])
            .unwrap();
    loop {
        let turned = timeline.advance().unwrap().handovers.contains(&index);
        if turned && timeline.topology().at() > after {
            return timeline.topology().at();
        }
    }
}

/// Datagrams from Toronto to Wuhan for the second before Toronto or Wuhan turns and two after it.
fn over_a_turn(
    index: usize,
    handover_outage: Span,
    kbps: u64,
    change: impl FnOnce(&mut RunSpec),
) -> (RunOutcome, Time) {
    let stations = vec![turning(toronto(), handover_outage), turning(wuhan(), handover_outage)];
    let network = network(shell(12, 12), stations);
    let at = turn(&network, index, Time::from_secs(5));
    let mut flow = datagrams("udp", constant(kbps), Span::from_secs(3));
    flow.start = at.since_start() - Span::from_secs(1);
    let mut spec = spec(network, vec![flow]);
    change(&mut spec);
    (run(&spec), at)
}

/// Tenths of a second in which nothing arrived, between the first and the last in which something
/// did.
fn gap(flow: &FlowOutcome) -> usize {
    let tenths = &flow.received_by_tenth;
    let first = tenths.iter().position(|&bytes| bytes > 0).unwrap();
    let last = tenths.iter().rposition(|&bytes| bytes > 0).unwrap();
    tenths[first..=last].iter().filter(|&&bytes| bytes == 0).count()
}

fn lost(flow: &FlowOutcome) -> u64 {
    flow.packets_lost_route + flow.packets_lost_queue + flow.packets_lost_random
}

/// Packets that left a queue before their link could send them.
fn withdrawn(outcome: &RunOutcome) -> u64 {
    outcome.links.iter().map(|link| link.counters.withdrawn.packets).sum()
}

#[test]
fn a_silence_delays_and_loses_nothing() {
    for index in [0, 1] {
        let (outcome, _) = over_a_turn(index, SILENCE, 1_000, |_| ());
        let flow = &outcome.flows[0];
        assert_eq!(lost(flow), 0, "station {index}: {flow:?}");
        assert!((2..=4).contains(&gap(flow)), "station {index}: {:?}", flow.received_by_tenth);
        // All but what was on the way when the time was over.
        let missing = flow.packets_sent - flow.received / 1222;
        assert!(
            missing < 20,
            "station {index}: {missing} packets missing of {}",
            flow.packets_sent
        );
        let (outcome, _) = over_a_turn(index, Span::ZERO, 1_000, |_| ());
        assert_eq!((lost(&outcome.flows[0]), gap(&outcome.flows[0])), (0, 0));
    }
}

#[test]
fn what_waits_in_a_silence_fits_the_queue_or_is_dropped_there() {
    // Half as much again as the queue takes in the silence: 300 ms of 5 Mbps are 150 packets.
    for index in [0, 1] {
        let (outcome, _) = over_a_turn(index, SILENCE, 5_000, |_| ());
        let flow = &outcome.flows[0];
        assert!((45..=60).contains(&flow.packets_lost_queue), "station {index}: {flow:?}");
        assert_eq!(flow.packets_lost_route, 0);
        let dropped: u64 =
            outcome.links.iter().map(|link| link.counters.dropped_queue.packets).sum();
        assert_eq!(dropped, flow.packets_lost_queue);
    }
}

#[test]
fn packets_that_wait_for_a_link_that_ends_take_the_new_one() {
    // More than the link takes: its queue is full when the station turns.
    let with = |handover| {
        let (outcome, _) =
            over_a_turn(0, Span::ZERO, 12_000, |spec| mesh(spec).handover = handover);
        let flow = &outcome.flows[0];
        (withdrawn(&outcome), flow.packets_lost_route, flow.received)
    };
    let (update, none, all) = with(HandoverLoss::None);
    assert_eq!(none, 0);
    // The turn comes 1.0 s after the first packet, when 2 Mbps too many have filled the queue of
    // 100.
    assert!((98..=100).contains(&update), "{update} packets changed their satellite");
    let (taken, queued, fewer) = with(HandoverLoss::Queued);
    assert_eq!((taken, queued), (update, update), "what waits is lost");
    let (taken, flying, fewest) = with(HandoverLoss::InFlight);
    assert_eq!(taken, flying);
    // A packet of 1 ms being sent, and those in the 4 to 12 ms of air.
    assert!(
        (queued + 4..queued + 16).contains(&flying),
        "{queued} queued, {flying} with those in the air"
    );
    assert!(all >= fewer && fewer >= fewest, "{all} {fewer} {fewest}");
}

#[test]
fn packets_at_the_old_satellite_go_on_to_the_new_one() {
    // The last link is the slow one: packets wait at Wuhan's satellite when Wuhan turns.
    for (shared, slow) in [(true, "ground"), (false, "Wuhan")] {
        let with = |handover| {
            let (outcome, at) = over_a_turn(1, SILENCE, 3_000, |spec| {
                let mesh = mesh(spec);
                (mesh.down, mesh.shared_ground, mesh.handover) =
                    (direction(2, 1000), shared, handover);
            });
            assert!(outcome.links.iter().any(|link| link.name.ends_with(slow)));
            let flow = outcome.flows[0].clone();
            (withdrawn(&outcome), flow, at)
        };
        let (update, flow, _) = with(HandoverLoss::None);
        assert_eq!(lost(&flow), 0, "{flow:?}");
        assert!((70..120).contains(&update), "{update} packets were sent on");
        let (taken, flow, _) = with(HandoverLoss::Queued);
        assert_eq!((taken, flow.packets_lost_route), (update, update));
    }
}

#[test]
fn a_transfer_over_a_turn_arrives_whole_whatever_they_lose() {
    let stations = vec![turning(toronto(), SILENCE), turning(wuhan(), SILENCE)];
    let stations = stations
        .into_iter()
        .map(|station| Station { selection: SatelliteSelection::Highest, ..station })
        .collect();
    let network = network(shell(12, 12), stations);
    // The data's sender turns ten seconds after the flows have begun to fill its queue.
    let start = turn(&network, 1, Time::from_secs(20)).since_start() - Span::from_secs(10);
    for handover in [HandoverLoss::None, HandoverLoss::Queued, HandoverLoss::InFlight] {
        let mut flows = vec![
            download("tcp", tcp(Default::default()), 20_000_000),
            download("quic", quic(), 20_000_000),
        ];
        flows.iter_mut().for_each(|flow| flow.start = start);
        let mut spec = spec(network.clone(), flows);
        mesh(&mut spec).handover = handover;
        let outcome = run(&spec);
        assert!(
            outcome.flows.iter().all(|flow| flow.completed),
            "{handover:?}: {:?}",
            outcome.flows
        );
        let lost: u64 = outcome.flows.iter().map(|flow| flow.packets_lost_route).sum();
        assert_eq!(lost > 0, handover != HandoverLoss::None, "{handover:?}: {lost} lost");
    }
}

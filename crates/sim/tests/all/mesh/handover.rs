//! Packets during handovers, and those that a handover loses.

use super::setup::*;
use bentpipe_orbit::HandoverLoss;
use bentpipe_orbit::{Network, RouteTimeline, RouteUpdates, SatelliteSelection, Station};
use bentpipe_sim::{FlowOutcome, RunOutcome, RunSpec};
use bentpipe_timeseries::{LinkSeries, SeriesLimit};
use bentpipe_units::{Span, Time};
use std::sync::Arc;

/// Outage at each handover.
const OUTAGE: Span = Span::from_millis(300);

fn with_outage(station: Station, handover_outage: Span) -> Station {
    Station { selection: SatelliteSelection::Longest, handover_outage, ..station }
}

/// Returns the time of the first handover of station `index` after `after`.
fn handover(network: &Arc<Network>, index: usize, after: Time) -> Time {
    let mut timeline =
        RouteTimeline::new(network.clone(), RouteUpdates::Stepped(STEP), &[network.station(0)])
            .unwrap();
    loop {
        let hands_over = timeline.advance().unwrap().handovers.contains(&index);
        if hands_over && timeline.topology().at() > after {
            return timeline.topology().at();
        }
    }
}

/// Sends datagrams from Toronto to Wuhan, from one second before a handover of station `index` to
/// two seconds after it.
fn over_a_handover(
    index: usize,
    handover_outage: Span,
    kbps: u64,
    change: impl FnOnce(&mut RunSpec),
) -> (RunOutcome, Time) {
    let stations =
        vec![with_outage(toronto(), handover_outage), with_outage(wuhan(), handover_outage)];
    let network = network(shell(12, 12), stations);
    let at = handover(&network, index, Time::from_secs(5));
    let mut flow = datagrams("udp", constant(kbps), Span::from_secs(3));
    flow.start = at.since_start() - Span::from_secs(1);
    let mut spec = spec(network, vec![flow]);
    change(&mut spec);
    (run(&spec), at)
}

/// Number of 100 ms intervals without arrivals, between the first and the last with arrivals.
fn gap(flow: &FlowOutcome) -> usize {
    let tenths = flow.received_by_tenth.to_vec();
    let first = tenths.iter().position(|&bytes| bytes > 0).unwrap();
    let last = tenths.iter().rposition(|&bytes| bytes > 0).unwrap();
    tenths[first..=last].iter().filter(|&&bytes| bytes == 0).count()
}

fn lost(flow: &FlowOutcome) -> u64 {
    flow.packets_lost_routing + flow.packets_lost_queue + flow.packets_lost_channel
}

/// Number of packets that left a queue before their link could send them.
fn withdrawn(outcome: &RunOutcome) -> u64 {
    outcome.links.iter().map(|link| link.counters.withdrawn.packets).sum()
}

#[test]
fn an_outage_delays_packets_without_loss() {
    for index in [0, 1] {
        let (outcome, _) = over_a_handover(index, OUTAGE, 1_000, |_| ());
        let flow = &outcome.flows[0];
        assert_eq!(lost(flow), 0, "station {index}: {flow:?}");
        assert!((2..=4).contains(&gap(flow)), "station {index}: {:?}", flow.received_by_tenth);
        // All packets but those in flight at the end.
        let missing = flow.packets_sent - flow.received / 1222;
        assert!(
            missing < 20,
            "station {index}: {missing} packets missing of {}",
            flow.packets_sent
        );
        let (outcome, _) = over_a_handover(index, Span::ZERO, 1_000, |_| ());
        assert_eq!((lost(&outcome.flows[0]), gap(&outcome.flows[0])), (0, 0));
    }
}

#[test]
fn the_recorded_rate_of_links_is_zero_during_an_outage_and_without_a_link() {
    for (index, name) in [(0, "Toronto>sky"), (1, "Wuhan>sky")] {
        let traced = |spec: &mut RunSpec| {
            spec.trace = Some(SeriesLimit::DEFAULT);
            // Data in both directions, so that both stations send.
            let mut back = spec.flows[0].clone();
            back.name = "back".to_owned();
            back.ends = back.ends.map(|(client, server)| (server, client));
            spec.flows.push(back);
            mesh(spec).shared_ground = false;
        };
        let (outcome, at) = over_a_handover(index, OUTAGE, 1_000, traced);
        let links = outcome.trace.unwrap().links;
        let names: Vec<_> = links.iter().map(|link| link.name.as_str()).collect();
        let series = |link: &LinkSeries, name: &str| {
            let found = link.series.iter().find(|series| series.name == name);
            found.map(|series| series.points.to_vec())
        };
        let up = links
            .iter()
            .find(|link| link.name == name)
            .unwrap_or_else(|| panic!("{}", names.join(", ")));
        let rate = series(up, "rate").expect("it changes");
        let nominal = up.rate.expect("the rate is constant otherwise").as_mbps_f64();
        let dip = rate.iter().position(|(from, _)| *from == at).expect("a point at the handover");
        assert_eq!(&rate[dip..dip + 2], [(at, 0.0), (at + OUTAGE, nominal)], "{name}: {rate:?}");
        // Nothing leaves while it is zero, except what was being sent.
        let mut zero = 0;
        for (from, mbps) in series(up, "throughput").unwrap() {
            let bin = Span::from_millis(50);
            let within = from >= at + bin && from + bin <= at + OUTAGE;
            assert!(!within || mbps == 0.0, "{name}: {mbps} Mbps at {from}");
            zero += u32::from(within);
        }
        assert!(zero >= 2, "{name}: {zero} bins in the outage");

        // The satellite that the station has left carries nothing from then on.
        let station = name.split_once('>').unwrap().0;
        let down = links.iter().filter(|link| link.name.ends_with(&format!(">{station}")));
        let rates: Vec<_> = down.filter_map(|link| series(link, "rate")).collect();
        let left = |rate: &Vec<(Time, f64)>| rate.last() == Some(&(at, 0.0));
        let taken = |rate: &Vec<(Time, f64)>| rate.last() == Some(&(at + OUTAGE, nominal));
        assert!(rates.iter().any(left) && rates.iter().any(taken), "{station}: {rates:?}");
    }
}

#[test]
fn packets_beyond_the_queue_limit_are_dropped_during_an_outage() {
    // 1.5 times the queue limit arrives during the outage: 300 ms at 5 Mbps are 150 packets.
    for index in [0, 1] {
        let (outcome, _) = over_a_handover(index, OUTAGE, 5_000, |_| ());
        let flow = &outcome.flows[0];
        assert!((45..=60).contains(&flow.packets_lost_queue), "station {index}: {flow:?}");
        assert_eq!(flow.packets_lost_routing, 0);
        let dropped: u64 =
            outcome.links.iter().map(|link| link.counters.dropped_queue.packets).sum();
        assert_eq!(dropped, flow.packets_lost_queue);
    }
}

#[test]
fn packets_queued_for_an_old_link_take_the_new_one() {
    // More than the link carries, so that its queue is full at the handover.
    let with = |handover| {
        let (outcome, _) =
            over_a_handover(0, Span::ZERO, 12_000, |spec| mesh(spec).handover = handover);
        let flow = &outcome.flows[0];
        (withdrawn(&outcome), flow.packets_lost_routing, flow.received)
    };
    let (rerouted, none, all) = with(HandoverLoss::None);
    assert_eq!(none, 0);
    // The handover comes 1.0 s after the first packet, when an excess of 2 Mbps has filled the
    // queue of 100.
    assert!((98..=100).contains(&rerouted), "{rerouted} packets were rerouted");
    let (taken, queued, fewer) = with(HandoverLoss::Queued);
    assert_eq!((taken, queued), (rerouted, rerouted), "queued packets are lost");
    let (taken, in_flight, fewest) = with(HandoverLoss::InFlight);
    assert_eq!(taken, in_flight);
    // One packet of 1 ms in transmission, and those in the propagation delay of 4 to 12 ms.
    assert!(
        (queued + 4..queued + 16).contains(&in_flight),
        "{queued} queued, {in_flight} including those in flight"
    );
    assert!(all >= fewer && fewer >= fewest, "{all} {fewer} {fewest}");
}

#[test]
fn packets_at_the_old_satellite_continue_to_the_new_one() {
    // The last link is the slowest, so packets wait at Wuhan's satellite at Wuhan's handover.
    for (shared, slow) in [(true, "ground"), (false, "Wuhan")] {
        let with = |handover| {
            let (outcome, at) = over_a_handover(1, OUTAGE, 3_000, |spec| {
                let mesh = mesh(spec);
                (mesh.links.down, mesh.shared_ground, mesh.handover) =
                    (direction(2, 1000), shared, handover);
            });
            assert!(outcome.links.iter().any(|link| link.name.ends_with(slow)));
            let flow = outcome.flows[0].clone();
            (withdrawn(&outcome), flow, at)
        };
        let (rerouted, flow, _) = with(HandoverLoss::None);
        assert_eq!(lost(&flow), 0, "{flow:?}");
        assert!((70..120).contains(&rerouted), "{rerouted} packets were rerouted");
        let (taken, flow, _) = with(HandoverLoss::Queued);
        assert_eq!((taken, flow.packets_lost_routing), (rerouted, rerouted));
    }
}

#[test]
fn transfers_complete_despite_handover_losses() {
    let stations = vec![with_outage(toronto(), OUTAGE), with_outage(wuhan(), OUTAGE)];
    let stations = stations
        .into_iter()
        .map(|station| Station { selection: SatelliteSelection::Highest, ..station })
        .collect();
    let network = network(shell(12, 12), stations);
    // The data's sender hands over ten seconds after the start of the flows, which have filled its
    // queue.
    let start = handover(&network, 1, Time::from_secs(20)).since_start() - Span::from_secs(10);
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
        let lost: u64 = outcome.flows.iter().map(|flow| flow.packets_lost_routing).sum();
        assert_eq!(lost > 0, handover != HandoverLoss::None, "{handover:?}: {lost} lost");
    }
}

//! Packets over moving constellations.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod handover;
mod setup;
mod shells;

use bentpipe_orbit::{Network, Node, RouteTimeline, RouteUpdates, SPEED_OF_LIGHT, Topology};
use bentpipe_quic::congestion::{CongestionConfig, PathChangeResponse};
use bentpipe_sim::{CapturePoint, DatagramTraffic, FlowOutcome, HopEnd, RunOutcome};
use bentpipe_timeseries::SeriesLimit;
use bentpipe_units::{Bytes, Span, Time};
use setup::*;
use std::sync::Arc;

fn report(outcome: &RunOutcome) -> String {
    format!("{:?} {:?} {} {}", outcome.flows, outcome.links, outcome.events, outcome.end)
}

#[test]
fn transfers_over_a_moving_constellation_complete() {
    let network = network(shell(10, 10), vec![toronto(), wuhan()]);
    let flows = vec![
        download("quic", quic(), 20_000_000),
        download("tcp", tcp(CongestionConfig::default()), 20_000_000),
    ];
    let mut spec = spec(network.clone(), flows);
    let start = change(&network, Time::from_secs(20)).since_start() - Span::from_secs(10);
    spec.flows.iter_mut().for_each(|flow| flow.start = start);
    spec.trace = Some(SeriesLimit::DEFAULT);
    let outcome = run(&spec);
    for flow in &outcome.flows {
        assert!(flow.completed && flow.received == 20_000_000, "{flow:?}");
        // 40 MB over a link of 10 Mbps, on routes of about 12,000 km in each direction.
        assert!((25.0..80.0).contains(&flow.completion.unwrap().as_secs_f64()), "{flow:?}");
        assert!((0.08..0.3).contains(&flow.rtt_min.unwrap().as_secs_f64()), "{flow:?}");
    }
    // Paths change in the meantime. Each starts at the data's sender, and both flows have the same.
    let paths = outcome.trace.unwrap().paths;
    for flow in 0..2 {
        let own: Vec<_> = paths
            .iter()
            .filter(|path| path.flow == flow)
            .map(|path| (path.at, &path.nodes))
            .collect();
        assert!(own.len() > 1, "the path never changed: {own:?}");
        assert_eq!(
            (own[0].0, own[0].1[0], *own[0].1.last().unwrap()),
            (Time::ZERO, network.station(1).0, network.station(0).0)
        );
        assert!(own.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 != two[1].1));
        let others =
            paths.iter().filter(|path| path.flow != flow).map(|path| (path.at, &path.nodes));
        assert!(own.iter().copied().eq(others));
    }
}

#[test]
fn runs_are_deterministic_with_and_without_recording() {
    let network = network(shell(10, 10), vec![toronto(), wuhan()]);
    let flows = vec![
        download("quic", quic(), 2_000_000),
        download("tcp", tcp(CongestionConfig::default()), 2_000_000),
    ];
    let mut spec = spec(network, flows);
    let once = report(&run(&spec));
    assert_eq!(once, report(&run(&spec)));
    spec.trace = Some(SeriesLimit::DEFAULT);
    assert_eq!(once, report(&run(&spec)));
}

#[test]
fn flows_from_one_station_share_its_transmitter() {
    let network = network(shell(10, 10), vec![toronto(), wuhan()]);
    let duration = Span::from_secs(20);
    let flows = vec![
        datagrams("one", constant(8_000), duration),
        datagrams("two", constant(8_000), duration),
    ];
    let outcome = run(&spec(network, flows));
    let sky = outcome.links.iter().find(|link| link.name == "Toronto>sky").unwrap();
    let carried: Vec<u64> = sky.carried.iter().map(|(_, bytes)| *bytes).collect();
    assert_eq!((carried.len(), carried.iter().sum::<u64>()), (2, sky.counters.bytes_out));
    assert!(sky.utilisation > 0.99 && sky.counters.dropped_queue.packets > 0, "{sky:?}");
    let rate = sky.counters.bytes_out as f64 * 8.0 / 20e6;
    assert!((9.9..=10.0).contains(&rate), "{rate} Mbps over a link of 10");
    // No other link drops packets.
    let lost: u64 = outcome.links.iter().map(|link| link.counters.dropped_queue.packets).sum();
    assert_eq!(lost, sky.counters.dropped_queue.packets);
    assert_eq!(lost, outcome.flows.iter().map(|flow| flow.packets_lost_queue).sum::<u64>());
}

/// Returns the time at which a packet of `bytes` that leaves `from` at `at` over an empty network
/// of 10 Mbps reaches the end of `path`. Each hop has the length at the end of transmission.
fn arrival(network: &Network, path: &[Node], mut at: Time, bytes: u64) -> Time {
    for hop in path.windows(2) {
        at += bentpipe_units::Rate::from_mbps(10).time_for(Bytes::new(bytes));
        let there = Topology::new(network, at).unwrap();
        let distance = there.position(hop[0]).distance_m(there.position(hop[1]));
        at += Span::from_secs_f64(distance / SPEED_OF_LIGHT);
    }
    at
}

#[test]
fn rtt_matches_the_geometry() {
    let network = network(shell(10, 10), vec![toronto(), wuhan()]);
    for seconds in [0, 13, 100] {
        let ping =
            DatagramTraffic::Ping { interval: Span::from_secs(10), packet: Bytes::new(1250) };
        let mut flow = datagrams("ping", ping, Span::from_secs(5));
        flow.start = Span::from_secs(seconds) + Span::from_millis(33);
        let start = Time::ZERO + flow.start;
        let outcome = run(&spec(network.clone(), vec![flow]));
        let measured = outcome.flows[0].rtt_min.unwrap();
        let ends = [network.station(0), network.station(1)];
        let mut timeline =
            RouteTimeline::new(network.clone(), RouteUpdates::Stepped(STEP), &ends).unwrap();
        while timeline.next() <= start {
            timeline.advance().unwrap();
        }
        let there = timeline.routes().path(ends[0], 1).unwrap();
        let reflected = arrival(&network, &there.nodes, start, 1250);
        let back =
            arrival(&network, &timeline.routes().path(ends[1], 0).unwrap().nodes, reflected, 1250);
        let expected = back.since(start);
        let off = measured.as_nanos().abs_diff(expected.as_nanos());
        assert!(off < 1000, "at {seconds} s: measured {measured}, expected {expected}");
        assert!(expected > there.delay * 2);
    }
}

#[test]
fn tiny_constellations_work() {
    for (planes, per_plane) in [(1, 1), (2, 3), (1, 2)] {
        let network = network(shell(planes, per_plane), vec![toronto(), wuhan()]);
        let mut spec = spec(
            network,
            vec![
                download("quic", quic(), 10_000),
                datagrams("udp", constant(100), Span::from_secs(20)),
            ],
        );
        spec.time_limit = Span::from_secs(20);
        let outcome = run(&spec);
        assert_eq!(outcome.flows.len(), 2, "{planes} x {per_plane}");
    }
}

#[test]
fn flows_without_a_route_are_given_up_with_the_reason() {
    // A satellite over the equator is never visible at the poles.
    let mut flat = shell(1, 1);
    flat.inclination_deg = 0.0;
    let network = network(flat, vec![station("North", 89.0, 0.0), station("South", -89.0, 0.0)]);
    for stack in [quic(), tcp(CongestionConfig::default())] {
        let mut spec = spec(network.clone(), vec![download("lost", stack, 10_000)]);
        spec.time_limit = Span::from_secs(30);
        let outcome = run(&spec);
        let FlowOutcome { completed, error, received, .. } = &outcome.flows[0];
        assert_eq!((*completed, *received), (false, 0));
        assert!(error.as_ref().unwrap().contains("found no route"), "{error:?}");
        assert!(outcome.links.is_empty());
    }
}

#[test]
fn traffic_resumes_when_the_path_returns() {
    // One satellite, and two stations that it passes over about eleven minutes after the start.
    let alone = network(shell(1, 1), vec![toronto()]);
    let there =
        Topology::new(&alone, Time::from_secs(700)).unwrap().position(Node(0)).to_geodetic();
    let near = |name, degrees| station(name, there.latitude_deg + degrees, there.longitude_deg);
    let network = network(shell(1, 1), vec![near("A", 0.0), near("B", -2.0)]);
    let mut spec = spec(network, vec![datagrams("udp", constant(100), Span::from_secs(1800))]);
    spec.time_limit = Span::from_secs(2000);
    let outcome = run(&spec);
    let flow = &outcome.flows[0];
    let counts = flow.received_by_tenth.iter();
    let some: Vec<usize> = counts.filter(|(_, bytes)| *bytes > 0).map(|(tenth, _)| tenth).collect();
    let (first, last) = (some[0], *some.last().unwrap());
    assert!(
        (2_000..7_000).contains(&first) && (7_000..14_000).contains(&last),
        "{first} to {last}"
    );
    // One packet per 100 ms while the satellite is visible, without loss.
    assert_eq!(some.len(), last - first + 1);
    assert_eq!(flow.packets_sent, flow.packets_lost_routing + flow.received / 1222, "{flow:?}");
    assert!(flow.packets_lost_routing > 5_000);
}

#[test]
fn a_download_survives_an_outage() {
    let alone = network(shell(1, 1), vec![toronto()]);
    let there =
        Topology::new(&alone, Time::from_secs(500)).unwrap().position(Node(0)).to_geodetic();
    let near = |name, degrees| station(name, there.latitude_deg + degrees, there.longitude_deg);
    let network = network(shell(1, 1), vec![near("A", 0.0), near("B", -2.0)]);
    let outcome =
        run(&spec(network, vec![download("tcp", tcp(CongestionConfig::default()), 1_000_000)]));
    let flow = &outcome.flows[0];
    assert!(flow.completed, "{:?}", flow.error);
    assert!(flow.first_byte.unwrap() > Span::from_secs(10), "{:?}", flow.first_byte);
}

#[test]
fn path_change_notices_affect_only_controllers_that_use_them() {
    let network = network(shell(10, 10), vec![toronto(), wuhan()]);
    let start = change(&network, Time::from_secs(20)).since_start() - Span::from_secs(10);
    let with = |notice: Option<Span>, hold: bool| {
        let uses = PathChangeResponse {
            shift_rtt: hold,
            suppress_loss: hold,
            pre_drain: hold,
            ..PathChangeResponse::default()
        };
        let congestion = CongestionConfig {
            controller: "vegas".parse().unwrap(),
            path_change: uses,
            ..CongestionConfig::default()
        };
        let mut spec = spec(network.clone(), vec![download("tcp", tcp(congestion), 30_000_000)]);
        spec.flows[0].start = start;
        mesh(&mut spec).path_change_notice = notice;
        let outcome = run(&spec);
        assert!(outcome.flows[0].completed);
        (outcome.flows[0].completion, outcome.flows[0].packets_sent)
    };
    let horizon = Some(Span::from_secs(1));
    let without = with(None, true);
    assert_eq!(without, with(horizon, false));
    assert_ne!(without, with(horizon, true));
}

#[test]
fn settings_without_support_in_a_mesh_are_rejected() {
    let network = network(shell(2, 3), vec![toronto(), wuhan()]);
    let valid = || spec(network.clone(), vec![download("quic", quic(), 1000)]);
    let with = |change: &dyn Fn(&mut bentpipe_sim::RunSpec)| {
        let mut spec = valid();
        change(&mut spec);
        run_error(&spec)
    };
    assert_eq!(
        with(&|spec| spec.terminals = 2),
        "2 terminals in a satellite network are not possible; allowed: 1"
    );
    let point = CapturePoint { hop: "x".to_owned(), end: HopEnd::Server };
    assert!(with(&|spec| spec.capture = Some(point.clone())).contains("capture of `x`"));
    assert!(with(&|spec| spec.flows[0].ends = None).contains("has no ends"));
    assert!(
        with(&|spec| spec.flows[0].ends = Some((0, 2)))
            .contains("stations 0 and 2; allowed: 0 to 1")
    );
    assert!(with(&|spec| spec.flows[0].ends = Some((1, 1))).contains("both ends at station 1"));
    assert!(with(&|spec| mesh(spec).step = RouteUpdates::Stepped(Span::ZERO)).contains("step"));
    let hop = |spec: &mut bentpipe_sim::RunSpec| {
        let (forward, reverse) = (direction(1, 1), direction(1, 1));
        spec.hops.push(bentpipe_sim::HopSpec {
            name: "hop".into(),
            forward,
            reverse,
            shared: true,
        });
    };
    assert!(with(&hop).contains("1 hops together with"));
    let _: Arc<Network> = network.clone();
}

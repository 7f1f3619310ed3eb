//! Flows of fixed duration, and datagrams without congestion control.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use bentpipe_link::DirectionModel;
use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_quic::{Handshake, Http, QuicSettings};
use bentpipe_sim::{
    DatagramTraffic, Direction, FlowOutcome, FlowSpec, Object, RunSpec, Stack, Visit,
};
use bentpipe_tcp::http::Version;
use bentpipe_timeseries::SeriesLimit;
use bentpipe_units::{Bytes, Rate, Span};
use common::{download, hop, link, run, run_error, run_spec, tcp_stack};

/// More than any path can carry.
const ENDLESS: Bytes = Bytes::new(1 << 60);
const WINDOW: Bytes = Bytes::from_mb(4);

fn direction(rate_mbps: u64, patch: &str) -> DirectionModel {
    link(Rate::from_mbps(rate_mbps), Span::from_millis(50), patch)
}

fn timed_visit(direction: Direction, duration: Span, objects: Vec<Object>) -> Visit {
    let duration = Some(duration);
    Visit { duration, direction, objects, ..download(0, Handshake::OneRtt) }
}

fn flow(name: &str, stack: Stack, visit: Visit) -> FlowSpec {
    common::flow(name, stack, vec![visit])
}

/// 10 Mbps in both directions, RTT 100 ms, queues of one BDP.
fn spec(flows: Vec<FlowSpec>) -> RunSpec {
    let direction = direction(10, r#"queue = "1 BDP""#);
    RunSpec {
        time_limit: Span::from_secs(60),
        trace: Some(SeriesLimit::DEFAULT),
        ..run_spec(Span::from_millis(100), vec![hop("link", direction.clone(), direction)], flows)
    }
}

fn quic(http: Http) -> Stack {
    Stack::quic(QuicSettings {
        http,
        stream_window: WINDOW,
        connection_window: WINDOW,
        send_buffer: WINDOW,
        ..QuicSettings::default()
    })
}

fn tcp(version: Version) -> Stack {
    Stack::Tcp(Box::new(tcp_stack(version, CongestionConfig::default(), WINDOW)))
}

fn constant(rate_mbps: u64, bursts: Option<(Span, Span)>) -> Stack {
    Stack::DatagramTraffic(DatagramTraffic::Constant {
        rate: Rate::from_mbps(rate_mbps),
        packet: Bytes::new(1500),
        bursts,
    })
}

fn ping() -> Stack {
    Stack::DatagramTraffic(DatagramTraffic::Ping {
        interval: Span::from_millis(100),
        packet: Bytes::new(84),
    })
}

fn datagrams(name: &str, stack: Stack, direction: Direction, duration: Span) -> FlowSpec {
    flow(name, stack, timed_visit(direction, duration, Vec::new()))
}

#[test]
fn a_flow_of_fixed_duration_ends_on_time_over_any_transport() {
    let duration = Span::from_secs(4);
    let stacks =
        [quic(Http::H3), quic(Http::Raw), tcp(Version::Raw), tcp(Version::H1), tcp(Version::H2)];
    for stack in stacks {
        for direction in [Direction::Download, Direction::Upload] {
            let visit = timed_visit(direction, duration, vec![Object::new("endless", ENDLESS)]);
            let outcome = run(&spec(vec![flow("main", stack.clone(), visit)]));
            let flow = &outcome.flows[0];
            let what = format!("{:?} {direction:?}: {flow:?}", stack);
            assert!(flow.completed && flow.error.is_none(), "{what}");
            assert_eq!(
                (flow.completion, outcome.end.since_start()),
                (Some(duration), duration),
                "{what}"
            );
            assert_eq!((flow.bytes, flow.objects.len()), (flow.received, 0), "{what}");
            // Of 5 MB in four seconds, headers, handshake, slow start and its losses take a part.
            assert!((2_000_000..4_900_000).contains(&flow.received), "{what}");
            assert_eq!(flow.received, flow.received_by_tenth.sum(0..usize::MAX), "{what}");
        }
    }
}

#[test]
fn both_ends_stop_when_one_of_two_flows_ends() {
    for stack in [quic(Http::H3), tcp(Version::H2)] {
        let visit = |seconds| {
            timed_visit(
                Direction::Download,
                Span::from_secs(seconds),
                vec![Object::new("endless", ENDLESS)],
            )
        };
        let flows =
            vec![flow("short", stack.clone(), visit(4)), flow("long", stack.clone(), visit(10))];
        let outcome = run(&spec(flows));
        let of = |index: usize| {
            outcome.links[0].carried.iter().find(|(flow, _)| *flow == index).unwrap().1
        };
        // Packets in flight and in the queue still arrive: two BDP of 125 kB, and the headers of
        // the rest.
        let limit = outcome.flows[0].received as f64 * 1.1 + 2.0 * 125_000.0;
        assert!((of(0) as f64) < limit, "{} B of {limit}", of(0));
        // During its last six seconds, the other flow has the link mostly to itself.
        let last = outcome.flows[1].received_by_tenth.sum(60..usize::MAX);
        assert!(last > 3_500_000, "{last} B of 5 MB");
    }
}

#[test]
fn a_flow_longer_than_the_time_limit_is_given_up() {
    let visit =
        timed_visit(Direction::Download, Span::from_secs(5), vec![Object::new("endless", ENDLESS)]);
    let mut spec = spec(vec![flow("main", quic(Http::H3), visit)]);
    spec.time_limit = Span::from_secs(3);
    let outcome = run(&spec);
    assert!(!outcome.flows[0].completed && outcome.flows[0].completion.is_none());
    assert!(
        outcome.flows[0].error.as_ref().unwrap().contains("given up after 3 s"),
        "{:?}",
        outcome.flows[0].error
    );
}

#[test]
fn a_constant_rate_arrives_unchanged() {
    for direction in [Direction::Download, Direction::Upload] {
        let outcome =
            run(&spec(vec![datagrams("cross", constant(6, None), direction, Span::from_secs(10))]));
        let flow = &outcome.flows[0];
        assert!(flow.completed, "{:?}", flow.error);
        assert_eq!(
            (flow.transport, flow.congestion.as_str(), flow.connections),
            ("cbr", "none", 0)
        );
        // One packet every 2 ms. The last ones, within 51.2 ms of the end, do not arrive in time.
        assert_eq!(flow.packets_sent, 5_000);
        assert_eq!(flow.received, (5_000 - 25) * 1472);
        assert_eq!((flow.packets_lost_queue, flow.reverse_packets, flow.rtt_min), (0, 0, None));
        assert_eq!(flow.received_by_tenth.sum(50..51), 50 * 1472);
    }
}

#[test]
fn traffic_above_the_link_rate_is_lost_in_the_queue() {
    let outcome = run(&spec(vec![datagrams(
        "cross",
        constant(20, None),
        Direction::Download,
        Span::from_secs(10),
    )]));
    let flow = &outcome.flows[0];
    let rate = flow.received as f64 * 1500.0 / 1472.0 * 8.0 / 10e6;
    assert!((9.8..=10.0).contains(&rate), "{rate} Mbps");
    // A packet sent has arrived, was lost, or is in flight: one BDP on the path, one in the queue,
    // and one packet.
    let missing = flow.packets_sent - flow.received / 1472 - flow.packets_lost_queue;
    assert!((100..180).contains(&missing), "{missing} packets in flight");
    assert_eq!(outcome.links[0].counters.dropped_queue.packets, flow.packets_lost_queue);
}

#[test]
fn pings_measure_the_rtt_including_queueing() {
    let alone = run(&spec(vec![datagrams("ping", ping(), Direction::Upload, Span::from_secs(10))]));
    let flow = &alone.flows[0];
    // 100 ms, and 84 bytes sent twice at 10 Mbps.
    let idle = Span::from_millis(100) + Rate::from_mbps(10).time_for(Bytes::new(84)) * 2;
    assert_eq!((flow.transport, flow.rtt_min, flow.rtt_mean), ("ping", Some(idle), Some(idle)));
    assert_eq!((flow.packets_sent, flow.reverse_packets), (100, 100));
    assert_eq!(flow.received, 99 * 56, "the last reply is in flight");
    let series = &alone.trace.as_ref().unwrap().flows[0].series;
    let rtt = series.iter().find(|series| series.name == "rtt").unwrap();
    assert_eq!((rtt.unit, rtt.points.len()), ("ms", 99));

    let flows = vec![
        datagrams("ping", ping(), Direction::Upload, Span::from_secs(10)),
        datagrams("cross", constant(20, None), Direction::Download, Span::from_secs(10)),
    ];
    let behind = run(&spec(flows));
    // A queue of one BDP takes 100 ms, and is full at once.
    let mean = behind.flows[0].rtt_mean.unwrap();
    assert!(mean > Span::from_millis(180) && mean < Span::from_millis(203), "{mean}");
}

#[test]
fn a_lost_reply_counts_as_a_lost_ping() {
    let mut spec = spec(vec![datagrams("ping", ping(), Direction::Upload, Span::from_secs(50))]);
    spec.hops[0].forward = direction(10, "loss = 0.3");
    let outcome = run(&spec);
    let flow = &outcome.flows[0];
    // Of 500 replies, 150 are lost with a standard error of 10. Allows four of them.
    assert!((110..190).contains(&flow.packets_lost_channel), "{}", flow.packets_lost_channel);
    assert_eq!(flow.received / 56 + flow.packets_lost_channel, 499);
}

#[test]
fn bursts_depend_only_on_seed_and_run() {
    let bursts = Some((Span::from_millis(200), Span::from_millis(200)));
    let flow = || datagrams("cross", constant(2, bursts), Direction::Download, Span::from_secs(20));
    let arrivals = |spec: &RunSpec| {
        let found = run(spec);
        let found: FlowOutcome = found.flows.into_iter().find(|flow| flow.name == "cross").unwrap();
        assert_eq!(found.transport, "on-off");
        found.received_by_tenth.to_vec()
    };
    let alone = arrivals(&spec(vec![flow()]));
    assert!(alone.contains(&0) && alone.contains(&(16 * 1472)), "{alone:?}");
    let other = datagrams("other", constant(1, bursts), Direction::Upload, Span::from_secs(20));
    assert_eq!(arrivals(&spec(vec![other, flow()])), alone);
    assert_ne!(arrivals(&RunSpec { run: 1, ..spec(vec![flow()]) }), alone);
}

#[test]
fn invalid_datagrams_are_rejected_with_allowed_values() {
    let second = Span::from_secs(1);
    let constant = |rate_mbps, packet, bursts| {
        Stack::DatagramTraffic(DatagramTraffic::Constant {
            rate: Rate::from_mbps(rate_mbps),
            packet: Bytes::new(packet),
            bursts,
        })
    };
    let mut endless = datagrams("x", ping(), Direction::Upload, second);
    endless.visits[0].duration = None;
    let flow = |stack| datagrams("x", stack, Direction::Download, second);
    let never = Stack::DatagramTraffic(DatagramTraffic::Ping {
        interval: Span::ZERO,
        packet: Bytes::new(84),
    });
    for (flow, expected) in [
        (endless, "visits with a duration"),
        (flow(constant(0, 1500, None)), "a rate above zero"),
        (flow(constant(1, 28, None)), "29 B to 65535 B"),
        (flow(constant(1, 70_000, None)), "packets of 70 kB"),
        (flow(constant(1, 1500, Some((second, Span::ZERO)))), "1 ms or more"),
        (flow(never), "an interval above zero"),
    ] {
        let error = run_error(&spec(vec![flow]));
        assert!(error.contains("flow `x`") && error.contains(expected), "{error}");
    }
}

/// Three hops of 50, 10 and 50 Mbps, with 50, 1 and 50 ms in each direction.
fn hop_path(flows: Vec<FlowSpec>) -> RunSpec {
    let hop = |name, rate, patch| hop(name, direction(rate, patch), direction(rate, patch));
    let middle = "delay = \"1 ms\"\nqueue = \"100 packets\"";
    RunSpec {
        hops: vec![hop("first", 50, ""), hop("middle", 10, middle), hop("last", 50, "")],
        ..spec(flows)
    }
}

#[test]
fn a_flow_can_cross_a_part_of_the_path() {
    for stack in [quic(Http::H3), tcp(Version::Raw)] {
        for direction in [Direction::Download, Direction::Upload] {
            let visit =
                timed_visit(direction, Span::from_secs(10), vec![Object::new("endless", ENDLESS)]);
            let whole = flow("whole", stack.clone(), visit.clone());
            let part = FlowSpec { ends: Some((1, 2)), ..flow("part", stack.clone(), visit) };
            let ping = datagrams("ping", ping(), Direction::Upload, Span::from_secs(10));
            let outcome =
                run(&hop_path(vec![whole, part, FlowSpec { ends: Some((0, 1)), ..ping }]));
            assert!(outcome.flows.iter().all(|flow| flow.completed));
            let rtt = |index: usize| outcome.flows[index].rtt_min.unwrap();
            let (long, short) = (Span::from_millis(202), Span::from_millis(2));
            // The shared queue may be full all the time: 100 packets of 1.2 ms.
            let queue = Span::from_millis(125);
            assert!(rtt(0) > long && rtt(0) < long + queue, "{}", rtt(0));
            assert!(rtt(1) > short && rtt(1) < short + queue, "{}", rtt(1));
            assert!(
                rtt(2) > Span::from_millis(100) && rtt(2) < Span::from_millis(120),
                "{}",
                rtt(2)
            );
            let crossed = |link: &str| {
                let link = outcome.links.iter().find(|found| found.name == link).unwrap();
                link.carried.iter().map(|&(flow, _)| flow).collect::<Vec<_>>()
            };
            assert_eq!(crossed("first/forward"), [0, 2]);
            assert_eq!(crossed("middle/forward"), [0, 1]);
            assert_eq!(crossed("last/return"), [0]);
        }
    }
}

#[test]
fn a_flow_between_unknown_nodes_is_rejected() {
    for ends in [(2, 1), (1, 1), (0, 4)] {
        let flow = datagrams("x", ping(), Direction::Upload, Span::from_secs(1));
        let spec = hop_path(vec![FlowSpec { ends: Some(ends), ..flow }]);
        let error = run_error(&spec);
        assert!(error.contains("allowed: from a node to a later one, 0 to 3"), "{error}");
    }
}

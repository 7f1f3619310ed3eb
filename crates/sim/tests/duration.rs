//! Flows that last for a time, and datagrams that nothing controls.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use bentpipe_link::{DirectionConfig, DirectionModel, DirectionPatch};
use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_quic::{Handshake, Http, Settings};
use bentpipe_sim::{
    DatagramTraffic, Direction, FlowOutcome, FlowSpec, HopSpec, Object, RunOutcome, RunSpec, Stack,
    TcpStack, Visit,
};
use bentpipe_tcp::http::Version;
use bentpipe_units::{Bytes, Rate, Span};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// More than any path carries.
const ENDLESS: Bytes = Bytes::new(1 << 60);
const WINDOW: Bytes = Bytes::from_mb(4);

fn direction(rate_mbps: u64, patch: &str) -> DirectionModel {
    let mut config = DirectionConfig::new(Rate::from_mbps(rate_mbps), Span::from_millis(50));
    let patch: DirectionPatch = toml::from_str(patch).unwrap();
    patch.apply_to(&mut config);
    config.load(Path::new(".")).unwrap()
}

fn lasting(direction: Direction, duration: Span, objects: Vec<Object>) -> Visit {
    Visit {
        duration: Some(duration),
        handshake: Handshake::OneRtt,
        idle_before: Span::ZERO,
        start_jitter: Span::ZERO,
        direction,
        objects,
        measured: true,
    }
}

fn flow(name: &str, stack: Stack, visit: Visit) -> FlowSpec {
    FlowSpec {
        ends: None,
        name: name.to_owned(),
        terminal: 0,
        server: "server".to_owned(),
        start: Span::ZERO,
        stack,
        visits: vec![visit],
    }
}

/// 10 Mbps both ways, 100 ms, queues of one BDP.
fn spec(flows: Vec<FlowSpec>) -> RunSpec {
    RunSpec {
        seed: 1,
        run: 0,
        base_rtt: Span::from_millis(100),
        mesh: None,
        hops: vec![HopSpec {
            name: "link".to_owned(),
            forward: direction(10, r#"queue = "1 BDP""#),
            reverse: direction(10, r#"queue = "1 BDP""#),
            shared: true,
        }],
        terminals: 1,
        flows,
        time_limit: Span::from_secs(60),
        trace: true,
        qlog: false,
        capture: None,
    }
}

fn run(spec: &RunSpec) -> RunOutcome {
    bentpipe_sim::run(spec, &AtomicBool::new(false)).unwrap()
}

fn quic(http: Http) -> Stack {
    Stack::quic(Settings {
        http,
        stream_window: WINDOW,
        connection_window: WINDOW,
        send_buffer: WINDOW,
        ..Settings::default()
    })
}

fn tcp(version: Version) -> Stack {
    Stack::Tcp(Box::new(TcpStack {
        tcp: Default::default(),
        congestion: CongestionConfig::default(),
        http: bentpipe_tcp::http::Settings {
            version,
            connections: 1,
            stream_window: WINDOW,
            connection_window: WINDOW,
        },
        pep: None,
    }))
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
    flow(name, stack, lasting(direction, duration, Vec::new()))
}

#[test]
fn a_flow_that_lasts_ends_when_its_time_is_over_whatever_it_speaks() {
    let duration = Span::from_secs(4);
    let stacks =
        [quic(Http::H3), quic(Http::Raw), tcp(Version::Raw), tcp(Version::H1), tcp(Version::H2)];
    for stack in stacks {
        for direction in [Direction::Download, Direction::Upload] {
            let visit = lasting(direction, duration, vec![Object::new("endless", ENDLESS)]);
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
            // Of 5 MB in four seconds: headers, the handshake, slow start and its losses take some.
            assert!((2_000_000..4_900_000).contains(&flow.received), "{what}");
            assert_eq!(flow.received, flow.received_by_tenth.iter().sum::<u64>(), "{what}");
        }
    }
}

#[test]
fn both_ends_stop_when_the_time_of_one_flow_of_two_is_over() {
    for stack in [quic(Http::H3), tcp(Version::H2)] {
        let visit = |seconds| {
            lasting(
                Direction::Download,
                Span::from_secs(seconds),
                vec![Object::new("endless", ENDLESS)],
            )
        };
        let flows =
            vec![flow("short", stack.clone(), visit(4)), flow("long", stack.clone(), visit(10))];
        let outcome = run(&spec(flows));
        let of = |place: usize| {
            outcome.links[0].carried.iter().find(|(flow, _)| *flow == place).unwrap().1
        };
        // What was on the way, and in the queue, still arrives: two BDP of 125 kB, and the headers
        // of the rest.
        let most = outcome.flows[0].received as f64 * 1.1 + 2.0 * 125_000.0;
        assert!((of(0) as f64) < most, "{} B of {most}", of(0));
        // Alone for its last six seconds, the other has the link to itself for most of them.
        let last: u64 = outcome.flows[1].received_by_tenth[60..].iter().sum();
        assert!(last > 3_500_000, "{last} B of 5 MB");
    }
}

#[test]
fn a_flow_that_lasts_beyond_the_time_limit_is_given_up() {
    let visit =
        lasting(Direction::Download, Span::from_secs(5), vec![Object::new("endless", ENDLESS)]);
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
fn a_constant_rate_arrives_as_it_was_sent() {
    for direction in [Direction::Download, Direction::Upload] {
        let outcome =
            run(&spec(vec![datagrams("cross", constant(6, None), direction, Span::from_secs(10))]));
        let flow = &outcome.flows[0];
        assert!(flow.completed, "{:?}", flow.error);
        assert_eq!(
            (flow.transport, flow.congestion.as_str(), flow.connections),
            ("cbr", "none", 0)
        );
        // A packet each 2 ms; 51.2 ms after the last one it would be there.
        assert_eq!(flow.packets_sent, 5_000);
        assert_eq!(flow.received, (5_000 - 25) * 1472);
        assert_eq!((flow.packets_lost_queue, flow.return_packets, flow.rtt_min), (0, 0, None));
        assert_eq!(flow.received_by_tenth[50], 50 * 1472);
    }
}

#[test]
fn more_than_the_link_carries_is_lost_at_its_queue() {
    let outcome = run(&spec(vec![datagrams(
        "cross",
        constant(20, None),
        Direction::Download,
        Span::from_secs(10),
    )]));
    let flow = &outcome.flows[0];
    let rate = flow.received as f64 * 1500.0 / 1472.0 * 8.0 / 10e6;
    assert!((9.8..=10.0).contains(&rate), "{rate} Mbps");
    // What was sent has arrived, was lost, or is on the way: a BDP on the path, one in the queue,
    // and one packet.
    let missing = flow.packets_sent - flow.received / 1472 - flow.packets_lost_queue;
    assert!((100..180).contains(&missing), "{missing} packets on the way");
    assert_eq!(outcome.links[0].counters.dropped_queue.packets, flow.packets_lost_queue);
}

#[test]
fn pings_measure_the_round_trip_and_the_queue_that_they_wait_in() {
    let alone = run(&spec(vec![datagrams("ping", ping(), Direction::Upload, Span::from_secs(10))]));
    let flow = &alone.flows[0];
    // 100 ms, and 84 bytes sent twice at 10 Mbps.
    let idle = Span::from_millis(100) + Rate::from_mbps(10).time_for(Bytes::new(84)) * 2;
    assert_eq!((flow.transport, flow.rtt_min, flow.rtt_mean), ("ping", Some(idle), Some(idle)));
    assert_eq!((flow.packets_sent, flow.return_packets), (100, 100));
    assert_eq!(flow.received, 99 * 56, "the last one's answer is on its way");
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
fn a_ping_is_lost_with_its_answer_too() {
    let mut spec = spec(vec![datagrams("ping", ping(), Direction::Upload, Span::from_secs(50))]);
    spec.hops[0].forward = direction(10, "loss = 0.3");
    let outcome = run(&spec);
    let flow = &outcome.flows[0];
    // 500 answers: 150 lost, standard error 10; four of them.
    assert!((110..190).contains(&flow.packets_lost_random), "{}", flow.packets_lost_random);
    assert_eq!(flow.received / 56 + flow.packets_lost_random, 499);
}

#[test]
fn bursts_are_the_same_in_each_run_of_the_same_number_whoever_else_sends() {
    let bursts = Some((Span::from_millis(200), Span::from_millis(200)));
    let flow = || datagrams("cross", constant(2, bursts), Direction::Download, Span::from_secs(20));
    let arrivals = |spec: &RunSpec| {
        let found = run(spec);
        let found: FlowOutcome = found.flows.into_iter().find(|flow| flow.name == "cross").unwrap();
        assert_eq!(found.transport, "on-off");
        found.received_by_tenth
    };
    let alone = arrivals(&spec(vec![flow()]));
    assert!(alone.contains(&0) && alone.contains(&(16 * 1472)), "{alone:?}");
    let other = datagrams("other", constant(1, bursts), Direction::Upload, Span::from_secs(20));
    assert_eq!(arrivals(&spec(vec![other, flow()])), alone);
    assert_ne!(arrivals(&RunSpec { run: 1, ..spec(vec![flow()]) }), alone);
}

#[test]
fn datagrams_that_cannot_be_sent_are_refused_with_what_is_allowed() {
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
    for (flow, says) in [
        (endless, "visits that last"),
        (flow(constant(0, 1500, None)), "a rate above zero"),
        (flow(constant(1, 28, None)), "29 B to 65535 B"),
        (flow(constant(1, 70_000, None)), "packets of 70 kB"),
        (flow(constant(1, 1500, Some((second, Span::ZERO)))), "1 ms or more"),
        (flow(never), "an interval above zero"),
    ] {
        let error =
            bentpipe_sim::run(&spec(vec![flow]), &AtomicBool::new(false)).unwrap_err().to_string();
        assert!(error.contains("flow `x`") && error.contains(says), "{error}");
    }
}

/// Three hops of 50, 10 and 50 Mbps; the first and the last with 50 ms each way, the one between
/// with 1 ms.
fn hop_path(flows: Vec<FlowSpec>) -> RunSpec {
    let hop = |name: &str, rate, patch: &str| HopSpec {
        name: name.to_owned(),
        forward: direction(rate, patch),
        reverse: direction(rate, patch),
        shared: true,
    };
    let middle = "delay = \"1 ms\"\nqueue = \"100 packets\"";
    RunSpec {
        hops: vec![hop("first", 50, ""), hop("middle", 10, middle), hop("last", 50, "")],
        ..spec(flows)
    }
}

#[test]
fn a_flow_can_cross_a_part_of_the_path_and_meet_others_there() {
    for stack in [quic(Http::H3), tcp(Version::Raw)] {
        for direction in [Direction::Download, Direction::Upload] {
            let visit =
                lasting(direction, Span::from_secs(10), vec![Object::new("endless", ENDLESS)]);
            let whole = flow("whole", stack.clone(), visit.clone());
            let part = FlowSpec { ends: Some((1, 2)), ..flow("part", stack.clone(), visit) };
            let ping = datagrams("ping", ping(), Direction::Upload, Span::from_secs(10));
            let outcome =
                run(&hop_path(vec![whole, part, FlowSpec { ends: Some((0, 1)), ..ping }]));
            assert!(outcome.flows.iter().all(|flow| flow.completed));
            let rtt = |place: usize| outcome.flows[place].rtt_min.unwrap();
            let (long, short) = (Span::from_millis(202), Span::from_millis(2));
            // The queue that they share may stand all the time: 100 packets of 1.2 ms.
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
fn a_flow_between_nodes_that_are_not_there_is_refused() {
    for ends in [(2, 1), (1, 1), (0, 4)] {
        let flow = datagrams("x", ping(), Direction::Upload, Span::from_secs(1));
        let spec = hop_path(vec![FlowSpec { ends: Some(ends), ..flow }]);
        let error = bentpipe_sim::run(&spec, &AtomicBool::new(false)).unwrap_err().to_string();
        assert!(error.contains("allowed: from a node to a later one, 0 to 3"), "{error}");
    }
}

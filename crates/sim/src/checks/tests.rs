//! A valid run passes, and each check detects a violation of its law and no other.

use super::*;
use crate::outcome::ObjectOutcome;
use crate::spec::{PepSpec, TcpStack};
use bentpipe_link::{DirectionConfig, PacketTotals};
use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_units::Rate;
use std::path::Path;

/// Bytes of the visit in the fake outcome.
const REQUESTED: u64 = 1_000_000;

fn model(mbps: u64, delay_ms: u64) -> DirectionModel {
    DirectionConfig::new(Rate::from_mbps(mbps), Span::from_millis(delay_ms))
        .load(Path::new("."))
        .unwrap()
}

/// A link that carried `bytes` in 1000 packets, each of which stayed inside for one second.
fn link<'a>(name: &'a str, model: &'a DirectionModel, bytes: u64) -> LinkAudit<'a> {
    let counters = Counters {
        packets_in: 1000,
        bytes_in: bytes,
        packets_out: 1000,
        bytes_out: bytes,
        ..Counters::default()
    };
    LinkAudit {
        name,
        model,
        counters,
        queue: QueueTime {
            occupied_packets: 70,
            occupied_bytes: 7000,
            waited_packets: 70,
            waited_bytes: 7000,
        },
        held: 0,
        first_in: Some(Time::ZERO),
        last_out: Time::from_secs(2),
        crossed: bytes,
    }
}

/// A download of 1 MB in two seconds.
fn outcome() -> FlowOutcome {
    FlowOutcome {
        name: "main".to_owned(),
        visit: 1,
        transport: "quic",
        congestion: "cubic".to_owned(),
        connections: 1,
        bytes: REQUESTED,
        received: REQUESTED,
        completed: true,
        handshake: Some(Span::from_millis(600)),
        first_byte: Some(Span::from_millis(1200)),
        completion: Some(Span::from_secs(2)),
        packets_sent: 1000,
        bytes_sent: 1_100_000,
        packets_declared_lost: Some(0),
        reverse_packets: 1000,
        rtt_min: Some(Span::from_millis(600)),
        objects: vec![ObjectOutcome {
            name: "object".to_owned(),
            bytes: REQUESTED,
            received: REQUESTED,
            start: Span::ZERO,
            completion: Some(Span::from_secs(2)),
        }],
        ..FlowOutcome::default()
    }
}

/// A run with one visit over a terrestrial hop of 50 ms in each direction and a satellite hop of
/// 250 ms, changed by `change`. Returns the failed check and its quantity.
fn failed_check(
    change: impl FnOnce(&mut [LinkAudit<'_>; 4], &mut Vec<FlowOutcome>),
) -> Option<(&'static str, String)> {
    let (satellite, terrestrial) = (model(10, 250), model(100, 50));
    let mut links = [
        link("satellite/forward", &satellite, 1_100_000),
        link("satellite/return", &satellite, 60_000),
        link("terrestrial/forward", &terrestrial, 1_100_000),
        link("terrestrial/return", &terrestrial, 60_000),
    ];
    let mut outcomes = vec![outcome()];
    change(&mut links, &mut outcomes);
    let visit = |outcome| VisitAudit {
        outcome,
        up: vec![&links[1], &links[3]],
        down: vec![&links[0], &links[2]],
        sampled: 0..2,
        light_time: Span::ZERO,
        nodes: NodeEffects::default(),
    };
    let visits: Vec<VisitAudit<'_>> = outcomes.iter().map(visit).collect();
    match run(&links, &visits, Time::from_secs(2)) {
        Err(SimError::Physics { check, what, .. }) => Some((check, what)),
        _ => None,
    }
}

fn check_of(
    change: impl FnOnce(&mut [LinkAudit<'_>; 4], &mut Vec<FlowOutcome>),
) -> Option<&'static str> {
    failed_check(change).map(|(check, _)| check)
}

#[test]
fn a_valid_run_passes() {
    assert_eq!(failed_check(|_, _| ()), None);
}

#[test]
fn an_uncounted_packet_or_byte_is_detected() {
    assert_eq!(check_of(|links, _| links[0].counters.packets_out -= 1), Some("conservation"));
    assert_eq!(check_of(|links, _| links[0].counters.bytes_in += 1), Some("conservation"));
    assert_eq!(check_of(|links, _| links[0].held = 1), Some("conservation"));
    assert_eq!(check_of(|links, _| links[0].counters.withdrawn.packets = 1), Some("conservation"));
    assert_eq!(check_of(|links, _| links[0].crossed -= 1), Some("conservation"));
    let dropped = |counters: &mut Counters| {
        counters.dropped_queue = PacketTotals { packets: 1, bytes: 100 };
        (counters.packets_in, counters.bytes_in) =
            (counters.packets_in + 1, counters.bytes_in + 100);
    };
    assert_eq!(check_of(|links, _| dropped(&mut links[0].counters)), None);
}

#[test]
fn a_link_faster_than_its_rate_is_detected() {
    // 10 Mbps for two seconds, less the 250 ms for which the last packet was in flight.
    let with = |bytes| {
        check_of(|links, _| {
            let counters = &mut links[0].counters;
            (counters.bytes_in, counters.bytes_out, links[0].crossed) = (bytes, bytes, bytes);
        })
    };
    assert_eq!(with(2_187_500), None);
    assert_eq!(with(2_187_501), Some("rate"));
}

#[test]
fn a_violation_of_littles_law_is_detected() {
    assert_eq!(check_of(|links, _| links[0].queue.occupied_packets += 1), Some("little"));
    assert_eq!(check_of(|links, _| links[0].queue.waited_bytes += 1), Some("little"));
}

#[test]
fn a_visit_with_missing_or_excess_bytes_is_detected() {
    assert_eq!(check_of(|_, outcomes| outcomes[0].received -= 1), Some("bytes"));
    assert_eq!(check_of(|_, outcomes| outcomes[0].objects[0].received -= 1), Some("bytes"));
    let give_up = |outcome: &mut FlowOutcome, received| {
        (outcome.completed, outcome.completion, outcome.objects[0].completion) =
            (false, None, None);
        (outcome.received, outcome.objects[0].received) = (received, received);
    };
    assert_eq!(check_of(|_, outcomes| give_up(&mut outcomes[0], REQUESTED - 1)), None);
    assert_eq!(check_of(|_, outcomes| give_up(&mut outcomes[0], REQUESTED + 1)), Some("bytes"));
}

#[test]
fn an_rtt_below_propagation_is_detected() {
    let rtt = |nanos| check_of(|_, outcomes| outcomes[0].rtt_min = Some(Span::from_nanos(nanos)));
    assert_eq!(rtt(600_000_000), None);
    assert_eq!(rtt(599_999_999), Some("round trip"));
    assert_eq!(check_of(|_, outcomes| outcomes[0].rtt_min = None), None);
}

#[test]
fn an_rtt_below_straight_line_light_time_is_detected() {
    let run = |rtt_ms, completion_ms| {
        let mut outcome = outcome();
        (outcome.rtt_min, outcome.completion) =
            (Some(Span::from_millis(rtt_ms)), Some(Span::from_millis(completion_ms)));
        outcome.objects[0].completion = outcome.completion;
        let visit = VisitAudit {
            outcome: &outcome,
            up: vec![],
            down: vec![],
            sampled: 0..0,
            light_time: Span::from_millis(20),
            nodes: NodeEffects::default(),
        };
        match run(&[], &[visit], Time::from_secs(2)) {
            Err(SimError::Physics { check, .. }) => Some(check),
            _ => None,
        }
    };
    assert_eq!(run(40, 40), None);
    assert_eq!(run(39, 40), Some("round trip"));
    assert_eq!(run(40, 39), Some("completion"));
}

#[test]
fn a_visit_that_completes_too_early_is_detected() {
    // The request takes 300 ms, 1 MB at 10 Mbps takes 800 ms, and its last byte 300 ms more.
    for direction in [Direction::Download, Direction::Upload] {
        let with = |ms| {
            failed_check(|links, outcomes| {
                for link in links {
                    let bytes = 1_100_000;
                    (link.counters.bytes_in, link.counters.bytes_out, link.crossed) =
                        (bytes, bytes, bytes);
                }
                outcomes[0].direction = direction;
                outcomes[0].completion = Some(Span::from_millis(ms));
            })
        };
        assert_eq!(with(1400), None, "{direction:?}");
        let (check, what) = with(1399).unwrap();
        assert!(check == "completion" && what.contains("satellite"), "{check}: {what}");
        assert_eq!(with(599).map(|(check, _)| check), Some("completion"), "{direction:?}");
    }
    let object = |ms| check_of(|_, outcomes| outcomes[0].objects[0].start = Span::from_millis(ms));
    assert_eq!((object(600), object(601)), (None, Some("completion")));
}

#[test]
fn flows_with_more_bytes_than_the_link_carried_are_detected() {
    assert_eq!(check_of(|_, outcomes| outcomes.push(outcome())), Some("shares"));
    // Two flows of 1.4 MB fit into 2.24 s at 10 Mbps, but not into two seconds.
    let two = |end| {
        check_of(|links, outcomes| {
            let outcome = &mut outcomes[0];
            (outcome.bytes, outcome.received) = (1_400_000, 1_400_000);
            (outcome.objects[0].bytes, outcome.objects[0].received) = (1_400_000, 1_400_000);
            outcome.completion = Some(end);
            outcomes.push(outcomes[0].clone());
            for link in links {
                let bytes = 2_800_000;
                (link.counters.bytes_in, link.counters.bytes_out, link.crossed) =
                    (bytes, bytes, bytes);
                link.last_out = Time::from_secs(4);
            }
        })
    };
    assert_eq!(two(Span::from_millis(2240)), None);
    assert_eq!(two(Span::from_millis(2239)), Some("shares"));
}

/// A node that has passed 100 packets of 1000 bytes, dropped one and copied two, changed by
/// `change`. Returns the quantity that does not hold.
fn failed_node(change: impl FnOnce(&mut NodeAudit<'_>)) -> Option<String> {
    let packets = |packets| PacketTotals { packets, bytes: packets * 1000 };
    let counters = NodeCounters {
        arrived: packets(101),
        copied: packets(2),
        dropped: packets(1),
        left: packets(100),
        ..NodeCounters::default()
    };
    let (offered, taken) = (Some(packets(101)), Some(packets(100)));
    let mut node = NodeAudit { name: "box", counters, held: packets(2), offered, taken };
    change(&mut node);
    match nodes(&[node]) {
        Err(SimError::Physics { check: "conservation", what, .. }) => Some(what),
        _ => None,
    }
}

#[test]
fn a_packet_that_a_node_lost_or_made_without_a_count_is_detected() {
    assert_eq!(failed_node(|_| ()), None);
    let inside = "packets that left, were dropped at or are inside node box";
    assert_eq!(failed_node(|node| node.counters.dropped.packets = 0).as_deref(), Some(inside));
    assert_eq!(failed_node(|node| node.counters.copied.bytes += 1).as_deref(), Some(inside));
    assert_eq!(failed_node(|node| node.held.packets += 1).as_deref(), Some(inside));
    assert_eq!(failed_node(|node| node.counters.made.packets = 1).as_deref(), Some(inside));
    let link = |totals: &mut Option<PacketTotals>| {
        totals.iter_mut().for_each(|totals| totals.packets += 1);
    };
    let before = failed_node(|node| link(&mut node.offered));
    assert_eq!(before.as_deref(), Some("packets passed to node box"));
    let behind = failed_node(|node| link(&mut node.taken));
    assert_eq!(behind.as_deref(), Some("packets taken from node box"));
    assert_eq!(failed_node(|node| (node.offered, node.taken) = (None, None)), None);
}

#[test]
fn what_nodes_have_made_or_added_widens_the_checks_of_their_flow() {
    let (satellite, outcome) = (model(10, 250), outcome());
    let links = [link("forward", &satellite, 900_000), link("return", &satellite, 60_000)];
    let check_with = |rtt_min, effects| {
        let outcome = FlowOutcome { rtt_min: Some(Span::from_millis(rtt_min)), ..outcome.clone() };
        let visit = VisitAudit {
            outcome: &outcome,
            up: vec![&links[1]],
            down: vec![&links[0]],
            sampled: 0..1,
            light_time: Span::ZERO,
            nodes: effects,
        };
        match run(&links, &[visit], Time::from_secs(2)) {
            Err(SimError::Physics { check, .. }) => Some(check),
            _ => None,
        }
    };
    let effects = NodeEffects::default();
    assert_eq!(check_with(500, effects), Some("shares"));
    let copied = NodeEffects { acted: true, added_bytes: 100_000, ..effects };
    assert_eq!(check_with(500, copied), None);
    assert_eq!(check_with(499, copied), Some("round trip"));
    assert_eq!(check_with(499, NodeEffects { made: true, ..copied }), None);
}

#[test]
fn with_proxies_only_the_hops_between_them_are_sampled() {
    let pep = |terminal, gateway| {
        Stack::Tcp(Box::new(TcpStack {
            tcp: bentpipe_tcp::TcpSettings::default(),
            congestion: CongestionConfig::default(),
            http: bentpipe_tcp::http::HttpSettings {
                version: Default::default(),
                connections: 1,
                stream_window: Bytes::from_mb(1),
                connection_window: Bytes::from_mb(1),
                priorities: false,
            },
            pep: Some(PepSpec {
                hop: 1,
                terminal,
                gateway,
                to_client: CongestionConfig::default(),
                to_server: CongestionConfig::default(),
                initial_window: 10,
                ack: bentpipe_tcp::AckPolicy::default(),
                buffer: Bytes::from_mb(1),
                ack_filter: None,
                failure: None,
            }),
        }))
    };
    assert_eq!(sampled_hops(&Stack::quic(bentpipe_quic::QuicSettings::default()), 3), 0..3);
    assert_eq!(sampled_hops(&pep(true, true), 3), 1..2);
    assert_eq!(sampled_hops(&pep(true, false), 3), 1..3);
    assert_eq!(sampled_hops(&pep(false, true), 3), 0..2);
}

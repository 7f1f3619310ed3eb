//! Flow queueing: a flow that sends little waits for little, and flows share alike.

use crate::common;

use bentpipe_link::{DropCause, Ecn, FlowKey, Link, Packet};
use bentpipe_units::{Span, Time};
use common::{PacketOutcome, direction, drain, link, offer};
use std::collections::BTreeMap;

/// A flow that sends packets of `bytes` at intervals of `gap`.
#[derive(Clone, Copy)]
struct Flow {
    key: u32,
    bytes: u32,
    gap: Span,
}

fn queue_of(rate: &str, queue: &str) -> Link<usize> {
    link(&direction(&format!("rate = \"{rate}\"\ndelay = \"0 s\"\nqueue = {queue}")), 1, 1)
}

/// Offers the packets of all flows until `end`. Returns the flow and the sending time of each
/// packet, and the outcomes. Each flow starts a little after the one before, as two senders do not
/// send at the same nanosecond.
fn send(
    link: &mut Link<usize>,
    flows: &[Flow],
    end: Time,
) -> (Vec<(u32, Time)>, Vec<PacketOutcome>) {
    let mut arrivals = Vec::new();
    for (number, flow) in flows.iter().enumerate() {
        let mut at = Time::from_nanos(1_000 * number as u64);
        while at < end {
            arrivals.push((at, flow.key, flow.bytes));
            at += flow.gap;
        }
    }
    arrivals.sort();
    let mut outcomes = Vec::new();
    for (number, (at, key, bytes)) in arrivals.iter().enumerate() {
        let flow = FlowKey(*key);
        let packet = Packet { flow, ..Packet::new(*bytes, Ecn::NotEct, number) };
        offer(link, *at, 0, packet, &mut outcomes);
    }
    drain(link, end, &mut outcomes);
    (arrivals.into_iter().map(|(at, key, _)| (key, at)).collect(), outcomes)
}

/// The longest time that a delivered packet of `key` took.
fn slowest(sent: &[(u32, Time)], outcomes: &[PacketOutcome], key: u32) -> Span {
    let own = outcomes.iter().filter(|outcome| outcome.lost.is_none());
    let own = own.filter(|outcome| sent[outcome.packet].0 == key);
    own.map(|outcome| outcome.at - sent[outcome.packet].1).max().expect("some are delivered")
}

/// Twice what 10 Mbps carry.
const BULK: Flow = Flow { key: 0, bytes: 1500, gap: Span::from_micros(600) };

fn sparse(key: u32) -> Flow {
    // 64 kbps.
    Flow { key, bytes: 160, gap: Span::from_millis(20) }
}

#[test]
fn a_sparse_flow_waits_for_one_packet_of_a_bulk_flow_and_one_of_each_other_sparse_flow() {
    // 1500 bytes take 1.2 ms, 160 bytes 0.128 ms.
    let own = Span::from_micros(128);
    for queue in ["{ aqm = \"fq\", hash = \"exact\" }", "{ aqm = \"fq-codel\", hash = \"exact\" }"]
    {
        for sparse_flows in [1, 2, 10] {
            let flows: Vec<Flow> =
                [BULK].into_iter().chain((1..=sparse_flows).map(sparse)).collect();
            let mut link = queue_of("10 Mbps", queue);
            let (sent, outcomes) = send(&mut link, &flows, Time::from_secs(10));
            let bound = Span::from_micros(1200) + own * u64::from(sparse_flows);
            for key in 1..=sparse_flows {
                let slowest = slowest(&sent, &outcomes, key);
                assert!(slowest <= bound, "{queue}, {key} of {sparse_flows}: {slowest}");
            }
            // The bound is met, and the bulk flow waits for its own queue.
            let slowest = slowest(&sent, &outcomes, 0);
            assert!(slowest > Span::from_millis(90), "{slowest}");
        }
    }
    // In one queue, the sparse flow waits as long as the bulk flow.
    let mut link = queue_of("10 Mbps", "\"1 BDP\"");
    let (sent, outcomes) = send(&mut link, &[BULK, sparse(1)], Time::from_secs(10));
    assert!(slowest(&sent, &outcomes, 1) > Span::from_millis(590));
}

#[test]
fn two_backlogged_flows_share_bytes_alike_whatever_their_packets() {
    for aqm in ["fq", "fq-codel"] {
        let queue = format!("{{ aqm = \"{aqm}\", hash = \"exact\", limit = \"10000 packets\" }}");
        let small = Flow { key: 1, bytes: 500, gap: Span::from_micros(200) };
        let mut link = queue_of("10 Mbps", &queue);
        let (sent, outcomes) = send(&mut link, &[BULK, small], Time::from_secs(10));
        let mut bytes = BTreeMap::new();
        for outcome in outcomes.iter().filter(|outcome| outcome.lost.is_none()) {
            *bytes.entry(sent[outcome.packet].0).or_insert(0) += outcome.bytes;
        }
        let (large, small) = (f64::from(bytes[&0]), f64::from(bytes[&1]));
        let share = large / (large + small);
        assert!((share - 0.5).abs() < 0.005, "{aqm}: {share}");
        assert!((large + small - 12_500_000.0).abs() < 3_000.0, "{aqm}: {}", large + small);
    }
}

#[test]
fn a_flow_at_twice_the_rate_gets_half_and_all_drops_beside_a_flow_with_a_window() {
    let end = Time::from_secs(10);
    let drops = |queue: &str, mut window: usize| {
        let mut link = queue_of("10 Mbps", queue);
        let (mut outcomes, mut seen, mut flows) = (Vec::new(), 0, Vec::new());
        let send = |link: &mut Link<usize>, at, key, flows: &mut Vec<u32>, outcomes: &mut _| {
            let packet = Packet::new(1500, Ecn::NotEct, flows.len());
            flows.push(key);
            offer(link, at, 0, Packet { flow: FlowKey(key), ..packet }, outcomes);
        };
        let mut at = Time::ZERO;
        // The flow with the window sends a packet for each that is delivered or lost.
        while at < end {
            send(&mut link, at, 0, &mut flows, &mut outcomes);
            for _ in 0..std::mem::take(&mut window) {
                send(&mut link, at, 1, &mut flows, &mut outcomes);
            }
            window = outcomes[seen..].iter().filter(|outcome| flows[outcome.packet] == 1).count();
            seen = outcomes.len();
            at += BULK.gap;
        }
        let of = |key, lost| {
            let outcomes = outcomes.iter().filter(|outcome| outcome.lost == lost);
            outcomes.filter(|outcome| flows[outcome.packet] == key).count()
        };
        [of(0, None), of(1, None), of(0, Some(DropCause::QueueFull)), {
            of(1, Some(DropCause::QueueFull))
        }]
    };
    let half = 10_000_000.0 * 10.0 / 2.0 / 12_000.0;
    let queue = |overflow| {
        format!(
            "{{ aqm = \"fq\", hash = \"exact\", limit = \"100 packets\", overflow = \"{overflow}\" \
             }}"
        )
    };
    let [cbr, window, cbr_drops, window_drops] = drops(&queue("fattest"), 20);
    for got in [cbr, window] {
        assert!((got as f64 / half - 1.0).abs() < 0.01, "{cbr} and {window}");
    }
    assert!(cbr_drops > 8_000 && window_drops == 0, "{cbr_drops} and {window_drops}");
    // Otherwise the flow with the window loses packets, too, if they wait as long as the others.
    for overflow in ["oldest", "arriving"] {
        let [.., cbr_drops, window_drops] = drops(&queue(overflow), 60);
        assert!(cbr_drops > 0 && window_drops > 0, "{overflow}: {cbr_drops} and {window_drops}");
    }
}

#[test]
fn a_full_queue_drops_half_of_the_largest_flow_up_to_a_batch() {
    // (batch, drops at the first overflow of 300 packets).
    for (batch, drops) in [(1, 1), (64, 64), (1000, 150)] {
        let queue = format!(
            "{{ aqm = \"fq-codel\", hash = \"exact\", limit = \"300 packets\", \
             drop_batch = {batch} }}"
        );
        let mut link = queue_of("10 Mbps", &queue);
        let mut outcomes = Vec::new();
        // The first goes into transmission.
        for number in 0..=301 {
            let packet = Packet::new(1500, Ecn::NotEct, number);
            offer(&mut link, Time::ZERO, 0, packet, &mut outcomes);
        }
        assert_eq!(link.counters().dropped_queue.packets, 0, "not returned yet");
        while link.poll(Time::ZERO).is_some() {}
        // Half of 301 packets, rounded down in bytes.
        let dropped = link.counters().dropped_queue.packets;
        assert_eq!(dropped, if batch == 1000 { drops + 1 } else { drops });
    }
}

#[test]
fn flow_queues_mark_what_can_be_marked() {
    let ended = |queue: &str, ecn| {
        let mut link = queue_of("10 Mbps", queue);
        let mut outcomes = Vec::new();
        for number in 0..2000 {
            let at = Time::ZERO + BULK.gap * number as u64;
            offer(&mut link, at, 0, Packet::new(1500, ecn, number), &mut outcomes);
        }
        drain(&mut link, Time::from_secs(10), &mut outcomes);
        (link.counters().dropped_aqm.packets > 0, link.counters().marked_ce)
    };
    let queue = |more: &str| format!("{{ aqm = \"fq-codel\", limit = \"10 MB\"{more} }}");
    assert_eq!(ended(&queue(""), Ecn::NotEct), (true, 0));
    let (dropped, marked) = ended(&queue(""), Ecn::Ect0);
    assert!(!dropped && marked > 0);
    assert_eq!(ended(&queue(", ecn = false"), Ecn::Ect0), (true, 0));
    // Of 2000 packets, one arrives each 0.6 ms and one leaves each 1.2 ms: those from the third on
    // wait for more than a millisecond.
    let threshold = queue(", ce_threshold = \"1 ms\"");
    let (dropped, marked) = ended(&threshold, Ecn::Ect0);
    assert_eq!((dropped, marked), (false, 1998));
    assert_eq!(ended(&threshold, Ecn::NotEct), (true, 0));
}

#[test]
fn a_sparse_flow_of_a_terminal_with_allocated_capacity_waits_for_its_frame_and_little_more() {
    let times = |queue: &str, flows: &[Flow]| {
        let config = direction(&format!(
            "rate = \"10 Mbps\"\ndelay = \"250 ms\"\nqueue = {queue}\n\
             capacity_allocation = {{ cra = \"2 Mbps\" }}"
        ));
        let (sent, outcomes) = send(&mut link(&config, 1, 2), flows, Time::from_secs(10));
        let own = outcomes.iter().filter(|outcome| sent[outcome.packet].0 == 1);
        own.map(|outcome| (sent[outcome.packet].1, outcome.at)).collect::<Vec<_>>()
    };
    let bulk = Flow { key: 0, bytes: 1500, gap: Span::from_millis(3) };
    let alone = times("\"1 BDP\"", &[sparse(1)]);
    assert!(alone.len() > 480);
    let longest = |times: &[(Time, Time)]| times.iter().map(|(sent, at)| *at - *sent).max();
    for aqm in ["fq", "fq-codel"] {
        let queue = format!("{{ aqm = \"{aqm}\", hash = \"exact\" }}");
        let beside = times(&queue, &[sparse(1), bulk]);
        for (alone, beside) in alone.iter().zip(&beside) {
            assert_eq!(alone.0, beside.0);
            // One packet of the bulk flow may be half sent at the start of the frame, and another
            // may have its turn.
            assert!(beside.1 - alone.1 <= Span::from_micros(2400), "{aqm}: {alone:?} {beside:?}");
        }
    }
    let beside = times("\"1 BDP\"", &[sparse(1), bulk]);
    assert!(longest(&beside) > longest(&alone).map(|longest| longest + Span::from_millis(400)));
}

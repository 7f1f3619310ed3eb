//! CAKE: terminals share alike whatever their flows, classes have their shares, and a flow that
//! sends little hardly waits.

use crate::common;

use bentpipe_link::{Dscp, Ecn, FlowKey, Link, Packet};
use bentpipe_units::{Span, Time};
use common::{PacketOutcome, direction, drain, link, offer};

/// A flow of packets of 1500 bytes.
#[derive(Clone, Copy)]
struct Flow {
    terminal: usize,
    dscp: &'static str,
    sends: Sends,
}

/// When a flow sends.
#[derive(Clone, Copy)]
enum Sends {
    /// A packet in each of these spans.
    Each(Span),
    /// A packet for each that is delivered or lost, so that about this many wait.
    Window(usize),
}

fn ten_mbps(queue: &str) -> Link<usize> {
    link(&direction(&format!("rate = \"10 Mbps\"\ndelay = \"0 s\"\nqueue = {queue}")), 1, 2)
}

/// Offers the packets of `flows` for 10 s. Returns how many of each are delivered, and when those
/// of the last flow are sent and how long they take.
fn served(queue: &str, flows: &[Flow]) -> (Vec<usize>, Vec<(Time, Span)>) {
    let mut link = ten_mbps(queue);
    let (step, end) = (Span::from_micros(100), Time::from_secs(10));
    let mut outcomes: Vec<PacketOutcome> = Vec::new();
    // The time and the flow of each packet.
    let mut sent: Vec<(Time, usize)> = Vec::new();
    let mut missing: Vec<usize> = flows.iter().map(|flow| flow.window()).collect();
    let (mut seen, mut at) = (0, Time::ZERO);
    while at < end {
        for (key, flow) in flows.iter().enumerate() {
            if let Sends::Each(gap) = flow.sends {
                missing[key] = usize::from(at.as_nanos() % gap.as_nanos() == 0);
            }
            let dscp: Dscp = flow.dscp.parse().unwrap_or_else(|error| panic!("{error}"));
            for _ in 0..std::mem::take(&mut missing[key]) {
                let packet = Packet::new(1500, Ecn::NotEct, sent.len());
                let packet = Packet { flow: FlowKey(key as u32), dscp, ..packet };
                sent.push((at, key));
                offer(&mut link, at, flow.terminal, packet, &mut outcomes);
            }
        }
        at += step;
        drain(&mut link, at, &mut outcomes);
        for outcome in &outcomes[seen..] {
            let (_, key) = sent[outcome.packet];
            missing[key] += usize::from(flows[key].window() > 0);
        }
        seen = outcomes.len();
    }
    let mut counts = vec![0; flows.len()];
    let mut delays = Vec::new();
    for outcome in outcomes.iter().filter(|outcome| outcome.lost.is_none()) {
        let (at, key) = sent[outcome.packet];
        counts[key] += 1;
        if key + 1 == flows.len() {
            delays.push((at, outcome.at - at));
        }
    }
    (counts, delays)
}

impl Flow {
    fn window(&self) -> usize {
        match self.sends {
            Sends::Window(packets) => packets,
            Sends::Each(_) => 0,
        }
    }
}

/// A flow that always has packets in the queue.
fn bulk(terminal: usize, dscp: &'static str) -> Flow {
    Flow { terminal, dscp, sends: Sends::Window(30) }
}

#[test]
fn terminals_share_alike_and_so_do_the_flows_of_each() {
    let mut flows: Vec<Flow> = (0..10).map(|_| bulk(0, "CS0")).collect();
    flows.push(bulk(1, "CS0"));
    // 8,333 packets in 10 s.
    let (counts, _) = served("{ aqm = \"cake\" }", &flows);
    let all = counts.iter().sum::<usize>() as f64;
    assert!((all - 8_333.0).abs() < 10.0, "{all}");
    assert!((counts[10] as f64 / all - 0.5).abs() < 0.02, "{counts:?}");
    for flow in &counts[..10] {
        assert!((*flow as f64 / all - 0.05).abs() < 0.02, "{counts:?}");
    }
    // The same with flows that do not respond: BLUE drops so much of each that the terminal with
    // one flow does not always have a packet.
    let each = Sends::Each(Span::from_micros(600));
    let deaf: Vec<Flow> = flows.iter().map(|flow| Flow { sends: each, ..*flow }).collect();
    let (counts, _) = served("{ aqm = \"cake\" }", &deaf);
    let share = counts[10] as f64 / all;
    assert!((0.45..0.52).contains(&share), "{share} of {counts:?}");
    // Without terminals, each of eleven flows has its share.
    let (counts, _) = served("{ aqm = \"fq-codel\", hash = \"exact\" }", &flows);
    assert!((counts[10] as f64 / all - 1.0 / 11.0).abs() < 0.02, "{counts:?}");
}

#[test]
fn classes_have_the_shares_of_their_weights() {
    let flows = ["CS0", "CS1", "AF41", "EF"].map(|dscp| bulk(0, dscp));
    let queue = "{ aqm = \"cake\", tins = \"diffserv4\", limit = \"4 MB\" }";
    let (counts, _) = served(queue, &flows);
    let all = counts.iter().sum::<usize>() as f64;
    for (count, weight) in counts.iter().zip([1024.0, 64.0, 512.0, 256.0]) {
        let share = *count as f64 / all;
        assert!((share - weight / 1856.0).abs() < 0.02, "{weight}: {share} of {counts:?}");
    }
    // In one class, all have the same.
    let (counts, _) = served("{ aqm = \"cake\", limit = \"4 MB\" }", &flows);
    assert!(counts.iter().all(|count| (*count as f64 / all - 0.25).abs() < 0.02), "{counts:?}");
}

#[test]
fn a_sparse_flow_waits_for_one_packet_of_each_class_at_most() {
    let packet = Span::from_micros(1_200);
    let slowest = |delays: &[(Time, Span)], from: Time| {
        delays.iter().filter(|(at, _)| *at >= from).map(|(_, delay)| *delay).max()
    };
    let sends = Sends::Each(Span::from_millis(20));
    let sparse = |dscp| Flow { terminal: 1, dscp, sends };
    let (counts, delays) = served("{ aqm = \"cake\" }", &[bulk(0, "CS0"), sparse("CS0")]);
    assert_eq!(counts[1], 500);
    // At first, the other flow has sent no quantum either: besides the packet in transmission, it
    // sends one as a sparse flow that came before.
    assert_eq!(delays[0], (Time::ZERO, packet * 3));
    // Later: the packet in transmission, and its own.
    let later = slowest(&delays, Time::from_millis(20));
    assert!(later.is_some_and(|delay| delay <= packet * 2), "{later:?}");
    // Five sparse flows wait for each other besides.
    let mut flows = vec![bulk(0, "CS0")];
    flows.extend([sparse("CS0"); 5]);
    let (_, delays) = served("{ aqm = \"cake\" }", &flows);
    let later = slowest(&delays, Time::from_millis(20));
    assert!(later.is_some_and(|delay| delay <= packet * 6), "{later:?}");
    let flows = [bulk(0, "CS0"), bulk(0, "CS1"), bulk(0, "AF41"), sparse("EF")];
    let (_, delays) = served("{ aqm = \"cake\", tins = \"diffserv4\" }", &flows);
    let all = slowest(&delays, Time::ZERO);
    assert!(all.is_some_and(|delay| delay <= packet * 5), "{all:?}");
}

#[test]
fn sparse_flows_do_not_count_among_those_that_share_a_quantum() {
    let sends = Sends::Each(Span::from_millis(20));
    let mut flows = vec![bulk(0, "CS0"), bulk(1, "CS0")];
    flows.extend([Flow { terminal: 0, dscp: "CS0", sends }; 5]);
    let (counts, _) = served("{ aqm = \"cake\" }", &flows);
    let difference = counts[0] as f64 / counts[1] as f64 - 1.0;
    assert!(difference.abs() < 0.02, "{counts:?}");
    assert!(counts[2..].iter().all(|count| *count >= 498), "{counts:?}");
}

/// Without a limit, CAKE holds four intervals of the link's rate, at least 4 MiB: a flow that
/// overshoots is no reason for BLUE.
#[test]
fn a_queue_without_a_limit_holds_what_linux_allows() {
    for (queue, held) in [
        ("{ aqm = \"cake\" }", 4 << 20),
        // 10 Mbps for 8 s.
        ("{ aqm = \"cake\", interval = \"2 s\" }", 10_000_000),
        ("{ limit = \"1 MB\", aqm = \"cake\" }", 1_000_000),
    ] {
        let mut link = ten_mbps(queue);
        let mut outcomes = Vec::new();
        for number in 0..8_000 {
            let packet = Packet { flow: FlowKey(1), ..Packet::new(1500, Ecn::NotEct, number) };
            offer(&mut link, Time::ZERO, 0, packet, &mut outcomes);
        }
        let most = held / 1500 * 1500;
        assert_eq!(link.queue_bytes(), most, "{queue}");
    }
}

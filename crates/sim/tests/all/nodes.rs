//! Nodes on the path: each thing that they can do, with its effect on a whole transfer.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_quic::{Handshake, QuicSettings};
use bentpipe_sim::node::{
    Action, Dscp, Ecn, Flags, Node, NodeContext, NodeOutcome, NodePacket, PathDirection,
    PlacedNode, Segment,
};
use bentpipe_sim::{FlowOutcome, HopEnd, RunOutcome, RunSpec, Stack, TcpStack};
use bentpipe_tcp::EcnSupport;
use bentpipe_tcp::http::Version;
use bentpipe_units::{Bytes, Rate, Span, Time};
use common::{download, flow, hop, link, run_spec, tcp_stack};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

const RTT: Span = Span::from_millis(100);

/// Returns a download of 1 MB over a hop of 10 Mbps and another of 100 Mbps, RTT 100 ms.
fn spec(stack: Stack, patch: &str) -> RunSpec {
    let direction = |mbps, ms, patch| link(Rate::from_mbps(mbps), Span::from_millis(ms), patch);
    let hops = vec![
        hop("satellite", direction(10, 40, patch), direction(10, 40, "")),
        hop("ground", direction(100, 10, ""), direction(100, 10, "")),
    ];
    run_spec(RTT, hops, vec![flow("main", stack, vec![download(1_000_000, Handshake::OneRtt)])])
}

fn tcp() -> TcpStack {
    tcp_stack(Version::Raw, CongestionConfig::default(), Bytes::from_mb(16))
}

fn over_tcp() -> RunSpec {
    spec(Stack::Tcp(Box::new(tcp())), "")
}

fn over_quic() -> RunSpec {
    spec(Stack::quic(QuicSettings::default()), "")
}

fn run(spec: &RunSpec, nodes: Vec<PlacedNode>) -> (RunOutcome, Vec<NodeOutcome>) {
    bentpipe_sim::run_with_nodes(spec, nodes, &AtomicBool::new(false)).unwrap()
}

/// Runs `spec` with one node at the client's end of its first hop.
fn run_with(spec: &RunSpec, node: impl Node + 'static) -> (FlowOutcome, NodeOutcome) {
    let place = PlacedNode::new("node", "satellite", HopEnd::Client, node);
    let (mut outcome, mut nodes) = run(spec, vec![place]);
    (outcome.flows.remove(0), nodes.remove(0))
}

/// A node that calls a function for each packet.
struct Calls<F>(F);

impl<F: FnMut(&mut NodePacket<'_>, &mut NodeContext<'_>) -> Action> Node for Calls<F> {
    fn on_packet(&mut self, packet: &mut NodePacket<'_>, context: &mut NodeContext<'_>) -> Action {
        (self.0)(packet, context)
    }
}

/// Makes a node of a function; the bounds tell the compiler the types of its arguments.
fn calls<F>(function: F) -> Calls<F>
where
    F: FnMut(&mut NodePacket<'_>, &mut NodeContext<'_>) -> Action,
{
    Calls(function)
}

fn is_data(packet: &NodePacket<'_>) -> bool {
    packet.toward() == PathDirection::ToClient
}

#[test]
fn nodes_that_only_pass_change_nothing_even_if_they_draw() {
    for spec in [over_tcp(), over_quic(), spec(Stack::quic(QuicSettings::default()), "loss = 0.01")]
    {
        let plain = bentpipe_sim::run(&spec, &AtomicBool::new(false)).unwrap();
        let draws = || {
            calls(|_, context| {
                context.random().unit();
                Action::Pass
            })
        };
        let places = [
            ("a", "satellite", HopEnd::Client),
            ("b", "satellite", HopEnd::Client),
            ("c", "satellite", HopEnd::Server),
            ("d", "ground", HopEnd::Client),
            ("e", "ground", HopEnd::Server),
        ];
        let nodes = places.map(|(name, hop, end)| PlacedNode::new(name, hop, end, draws()));
        let (outcome, nodes) = run(&spec, nodes.into());
        assert_eq!(format!("{:?}", outcome.flows), format!("{:?}", plain.flows));
        assert_eq!(format!("{:?}", outcome.links), format!("{:?}", plain.links));
        assert_eq!((outcome.events, outcome.end), (plain.events, plain.end));
        let links = &outcome.links;
        for node in &nodes {
            assert_eq!(node.to_client.arrived, node.to_client.left, "{}", node.name);
            assert!(node.to_client.arrived.packets > 600, "{}", node.name);
        }
        assert_eq!(nodes[4].to_client.arrived.packets, links[2].counters.packets_in);
        assert_eq!(nodes[0].to_client.left.packets, links[0].counters.packets_out);
    }
}

#[test]
fn dropped_acks_are_lost_packets_of_the_reverse_direction() {
    let mut acks = 0;
    let (flow, node) = run_with(
        &over_tcp(),
        calls(move |packet, _| {
            if !packet.segment().is_some_and(Segment::is_pure_ack) {
                return Action::Pass;
            }
            acks += 1;
            if acks % 50 == 0 { Action::Drop } else { Action::Pass }
        }),
    );
    assert!(flow.completed, "{:?}", flow.error);
    assert_eq!(flow.reverse_packets_lost, node.to_server.dropped.packets);
    assert_eq!(node.to_server.dropped.packets, flow.acknowledgements.unwrap().only / 50);
    assert!(node.to_server.dropped.packets >= 5, "{node:?}");
    assert_eq!(node.to_client.dropped.packets, 0);
}

#[test]
fn dropped_data_is_lost_on_the_channel_and_sent_again() {
    for spec in [over_tcp(), over_quic()] {
        let mut number = 0;
        let (flow, node) = run_with(
            &spec,
            calls(move |packet, _| {
                number += u64::from(is_data(packet));
                let drops = is_data(packet) && number % 100 == 0;
                if drops { Action::Drop } else { Action::Pass }
            }),
        );
        assert!(flow.completed, "{:?}", flow.error);
        assert!(flow.packets_lost_channel >= 6, "{}", flow.packets_lost_channel);
        assert_eq!(flow.packets_lost_channel, node.to_client.dropped.packets);
        assert_eq!(flow.packets_declared_lost, Some(flow.packets_lost_channel));
    }
}

#[test]
fn a_delay_is_a_part_of_every_rtt() {
    for spec in [over_tcp(), over_quic()] {
        let delay = Span::from_millis(30);
        let (flow, node) = run_with(&spec, calls(move |_, _| Action::Delay(delay)));
        assert!(flow.completed, "{:?}", flow.error);
        let rtt = flow.rtt_min.unwrap();
        assert!((RTT + delay * 2..RTT + delay * 2 + Span::from_millis(5)).contains(&rtt), "{rtt}");
        assert_eq!(node.to_client.delayed, node.to_client.arrived);
    }
}

#[test]
fn a_random_delay_reorders_packets_in_the_same_way_each_time() {
    let jitter = || {
        calls(|_, context: &mut NodeContext<'_>| {
            Action::Delay(Span::from_micros(context.random().below(5_000)))
        })
    };
    let (first, _) = run_with(&over_quic(), jitter());
    let (again, _) = run_with(&over_quic(), jitter());
    let (other, _) = run_with(&RunSpec { run: 1, ..over_quic() }, jitter());
    assert!(first.completed, "{:?}", first.error);
    assert_eq!(format!("{first:?}"), format!("{again:?}"));
    assert_ne!(first.completion, other.completion);
}

#[test]
fn copies_arrive_beside_their_originals() {
    for spec in [over_tcp(), over_quic()] {
        let (flow, node) = run_with(
            &spec,
            calls(|packet, context| {
                if is_data(packet) {
                    context.send_after(Span::from_millis(1), packet.copy());
                }
                Action::Pass
            }),
        );
        assert!(flow.completed, "{:?}", flow.error);
        assert_eq!(flow.received, 1_000_000);
        assert_eq!(node.to_client.copied, node.to_client.arrived);
        let arrived = flow.arrivals.unwrap().packets;
        let copied = node.to_client.copied.packets;
        // The visit ends before the last copies arrive.
        assert!((copied..=2 * copied).contains(&arrived), "{arrived} of {copied} twice");
        assert!(arrived > 1300, "{arrived}");
    }
}

#[test]
fn copies_and_made_packets_have_the_dscp_that_their_original_has_there() {
    let mut spec = over_quic();
    let [flow, other] = [34, 46].map(|code| Dscp::new(code).unwrap());
    spec.flows[0].marking.dscp = flow;
    let seen = Rc::new(RefCell::new(Vec::new()));
    let mut sent = false;
    let first = calls(move |packet, context| {
        if is_data(packet) && !sent {
            sent = true;
            // As it came, then as this node marks it, and one of the node's own.
            context.send(packet.copy());
            packet.dscp = other;
            context.send(packet.copy());
            context.send(packet.new_datagram(PathDirection::ToClient, b"not QUIC"));
        }
        Action::Pass
    });
    let log = seen.clone();
    let second = calls(move |packet, _| {
        if is_data(packet) {
            log.borrow_mut().push(packet.dscp);
        }
        Action::Pass
    });
    let nodes = vec![
        PlacedNode::new("first", "ground", HopEnd::Client, first),
        PlacedNode::new("second", "satellite", HopEnd::Server, second),
    ];
    let (outcome, _) = run(&spec, nodes);
    assert!(outcome.flows[0].completed, "{:?}", outcome.flows[0].error);
    let seen = seen.borrow();
    assert_eq!(seen[..4], [other, flow, other, other]);
    assert!(seen[4..].iter().all(|dscp| *dscp == flow), "the other packets are as they were sent");
}

#[test]
fn marks_reach_the_receiver() {
    let mut stack = tcp();
    stack.tcp.ecn = EcnSupport::Classic;
    let (flow, _) = run_with(
        &spec(Stack::Tcp(Box::new(stack)), ""),
        calls(|packet, _| {
            if is_data(packet) && packet.ecn == Ecn::Ect0 {
                packet.ecn = Ecn::Ce;
            }
            Action::Pass
        }),
    );
    assert!(flow.completed, "{:?}", flow.error);
    assert!(flow.arrivals.unwrap().marked_ce > 600, "{:?}", flow.arrivals);
    assert_eq!(flow.packets_declared_lost, Some(0));
}

#[test]
fn a_made_reset_ends_the_connection() {
    let mut segments = 0;
    let (flow, node) = run_with(
        &over_tcp(),
        calls(move |packet, context| {
            let Some(segment) = packet.segment().filter(|segment| segment.len > 0) else {
                return Action::Pass;
            };
            segments += u64::from(is_data(packet));
            if segments != 20 || !is_data(packet) {
                return Action::Pass;
            }
            let flags = Flags { rst: true, ack: true, ..Flags::default() };
            let reset = Segment { seq: segment.seq, flags, ..Segment::default() };
            context.send(packet.new_segment(PathDirection::ToClient, reset));
            Action::Drop
        }),
    );
    assert!(!flow.completed);
    assert_eq!(flow.error.as_deref(), Some("connection 0 was reset"));
    assert_eq!(node.to_client.made.packets, 1);
}

/// Sends the client a datagram that is not QUIC every 10 ms, after the first packet.
#[derive(Default)]
struct SendsGarbage {
    garbage: Option<bentpipe_sim::node::NewPacket>,
}

impl Node for SendsGarbage {
    fn on_packet(&mut self, packet: &mut NodePacket<'_>, context: &mut NodeContext<'_>) -> Action {
        if self.garbage.is_none() {
            self.garbage = Some(packet.new_datagram(PathDirection::ToClient, &[0x1f; 200]));
            context.wake_at(context.now());
        }
        Action::Pass
    }

    fn on_wake(&mut self, context: &mut NodeContext<'_>) {
        if let Some(garbage) = &self.garbage {
            context.send(garbage.clone());
            context.wake_at(context.now() + Span::from_millis(10));
        }
    }
}

#[test]
fn a_node_wakes_when_it_asks_for_it() {
    let (flow, node) = run_with(&over_quic(), SendsGarbage::default());
    assert!(flow.completed, "{:?}", flow.error);
    let expected = flow.completion.unwrap().as_millis_f64() / 10.0;
    let made = node.to_client.made;
    assert!((made.packets as f64 - expected).abs() < 3.0, "{} of {expected}", made.packets);
    assert_eq!(made.bytes, made.packets * 228);
}

#[test]
fn nodes_at_one_end_stand_in_order() {
    // From the client: `first`, then `second`, then the hop. Data meets `second` first.
    let drops_data = || {
        let mut number = 0;
        calls(move |packet: &mut NodePacket<'_>, _: &mut NodeContext<'_>| {
            number += u64::from(is_data(packet));
            if is_data(packet) && number == 100 { Action::Drop } else { Action::Pass }
        })
    };
    let place = |name, node| PlacedNode::new(name, "satellite", HopEnd::Client, node);
    let passes = calls(|_, _| Action::Pass);
    let nodes = vec![
        PlacedNode::new("first", "satellite", HopEnd::Client, passes),
        place("second", drops_data()),
    ];
    let (_, nodes) = run(&over_tcp(), nodes);
    assert_eq!(nodes[0].to_client.arrived.packets + 1, nodes[1].to_client.arrived.packets);
    assert_eq!(nodes[0].to_server.arrived, nodes[1].to_server.arrived);
}

#[test]
fn a_node_sees_segments_of_proxies() {
    let mut stack = tcp();
    stack.pep = Some(bentpipe_sim::PepSpec {
        hop: 0,
        terminal: false,
        gateway: true,
        to_client: CongestionConfig::default(),
        to_server: CongestionConfig::default(),
        initial_window: 10,
        ack: Default::default(),
        buffer: Bytes::from_mb(2),
        ack_filter: None,
        failure: None,
    });
    let spec = spec(Stack::Tcp(Box::new(stack)), "");
    let mut number = 0;
    let drops = calls(move |packet, _| {
        number += u64::from(is_data(packet));
        if is_data(packet) && number % 100 == 0 { Action::Drop } else { Action::Pass }
    });
    let place = PlacedNode::new("node", "satellite", HopEnd::Server, drops);
    let (outcome, nodes) = run(&spec, vec![place]);
    assert!(outcome.flows[0].completed, "{:?}", outcome.flows[0].error);
    assert!(nodes[0].to_client.dropped.packets >= 6);
    assert_eq!(outcome.flows[0].packets_lost_channel, nodes[0].to_client.dropped.packets);
}

#[test]
fn impossible_places_and_names_are_errors() {
    let passes = || calls(|_, _| Action::Pass);
    let error = |nodes| {
        let outcome = bentpipe_sim::run_with_nodes(&over_quic(), nodes, &AtomicBool::new(false));
        outcome.unwrap_err().to_string()
    };
    let nodes = vec![PlacedNode::new("a", "moon", HopEnd::Client, passes())];
    assert_eq!(error(nodes), "node `a`: no hop is named `moon`; allowed: satellite, ground");
    let nodes = ["satellite", "ground"]
        .map(|hop| PlacedNode::new("a", hop, HopEnd::Client, passes()))
        .into();
    assert_eq!(error(nodes), "node `a`: another node has this name; allowed: a name of its own");
}

#[test]
fn the_time_is_that_of_the_run() {
    let mut last = Time::ZERO;
    run_with(
        &over_quic(),
        calls(move |_, context| {
            assert!(context.now() >= last);
            last = context.now();
            Action::Pass
        }),
    );
}

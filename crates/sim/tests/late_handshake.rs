//! The end of a handshake that comes late, while the answer to early data fills the window.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use bentpipe_quic::congestion::{CongestionConfig, SlowStartName};
use bentpipe_quic::{Handshake, QuicSettings};
use bentpipe_sim::node::{Action, Node, NodeContext, NodePacket, PathDirection, PlacedNode};
use bentpipe_sim::{HopEnd, Stack, Visit};
use bentpipe_units::{Rate, Span, Time};
use common::{download, flow, hop, link, run_spec};
use std::sync::atomic::AtomicBool;

/// The second visit begins after this pause.
const PAUSE: Span = Span::from_secs(20);
/// Time after its first packet from which the client's packets are lost: after the early request,
/// before the end of the handshake.
const AFTER: Span = Span::from_millis(300);

/// Loses the client's packets of the second visit for a time.
struct Blocks {
    time: Span,
    last: Time,
    second: Option<Time>,
}

impl Node for Blocks {
    fn on_packet(&mut self, packet: &mut NodePacket<'_>, context: &mut NodeContext<'_>) -> Action {
        if packet.toward() == PathDirection::ToClient {
            return Action::Pass;
        }
        let now = context.now();
        if now.since(self.last) > PAUSE / 2 {
            self.second.get_or_insert(now);
        }
        self.last = now;
        let lost = self
            .second
            .is_some_and(|start| (start + AFTER..start + AFTER + self.time).contains(&now));
        if lost { Action::Drop } else { Action::Pass }
    }
}

#[test]
fn a_handshake_that_ends_late_does_not_stall_the_answer_to_early_data() {
    let mut settings = QuicSettings::default();
    settings.congestion = CongestionConfig {
        controller: "bbr1".parse().unwrap(),
        slow_start: SlowStartName::STANDARD,
        ..settings.congestion
    };
    let direction = |mbps| link(Rate::from_mbps(mbps), Span::from_millis(300), "");
    let again = Visit { idle_before: PAUSE, ..download(200_000, Handshake::ZeroRtt) };
    let spec = run_spec(
        Span::from_millis(600),
        vec![hop("satellite", direction(10), direction(2))],
        vec![flow(
            "main",
            Stack::quic(settings),
            vec![download(200_000, Handshake::OneRtt), again],
        )],
    );
    for seconds in 1..15 {
        let node = Blocks { time: Span::from_secs(seconds), last: Time::ZERO, second: None };
        let nodes = vec![PlacedNode::new("blocks", "satellite", HopEnd::Client, node)];
        let (outcome, _) =
            bentpipe_sim::run_with_nodes(&spec, nodes, &AtomicBool::new(false)).unwrap();
        let flow = &outcome.flows[1];
        assert!(flow.completed, "blocked for {seconds} s: {:?}", flow.error);
    }
}

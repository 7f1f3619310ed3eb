//! The end of a handshake that comes late, while early data, or the answer to it, fills the window.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use bentpipe_quic::congestion::{CongestionConfig, SlowStartName};
use bentpipe_quic::{Handshake, QuicSettings};
use bentpipe_sim::node::{Action, Node, NodeContext, NodePacket, PathDirection, PlacedNode};
use bentpipe_sim::{Direction, HopEnd, Stack, Visit};
use bentpipe_units::{Rate, Span, Time};
use common::{download, flow, hop, link, run_spec};
use std::sync::atomic::AtomicBool;

/// The second visit begins after this pause.
const PAUSE: Span = Span::from_secs(20);
/// Loses the packets of one direction for `time`, from `after` the second visit's first packet.
struct Blocks {
    lost: PathDirection,
    after: Span,
    time: Span,
    last: Time,
    second: Option<Time>,
}

impl Node for Blocks {
    fn on_packet(&mut self, packet: &mut NodePacket<'_>, context: &mut NodeContext<'_>) -> Action {
        let now = context.now();
        if packet.toward() == PathDirection::ToServer {
            if now.since(self.last) > PAUSE / 2 {
                self.second.get_or_insert(now);
            }
            self.last = now;
        }
        let lost = packet.toward() == self.lost
            && self
                .second
                .map(|start| start + self.after)
                .is_some_and(|from| (from..from + self.time).contains(&now));
        if lost { Action::Drop } else { Action::Pass }
    }
}

/// Runs a first visit and one with early data, of which packets in the direction `lost` are lost
/// for 1 to 14 s from `after` its first packet on, and requires that both complete.
fn completes(controller: &str, direction: Direction, lost: PathDirection, after: Span) {
    let mut settings = QuicSettings::default();
    settings.congestion = CongestionConfig {
        controller: controller.parse().unwrap(),
        slow_start: SlowStartName::STANDARD,
        ..settings.congestion
    };
    let link = |mbps| link(Rate::from_mbps(mbps), Span::from_millis(300), "");
    let first = Visit { direction, ..download(200_000, Handshake::OneRtt) };
    let again = Visit { idle_before: PAUSE, handshake: Handshake::ZeroRtt, ..first.clone() };
    let spec = run_spec(
        Span::from_millis(600),
        vec![hop("satellite", link(10), link(2))],
        vec![flow("main", Stack::quic(settings), vec![first, again])],
    );
    for seconds in 1..15 {
        let time = Span::from_secs(seconds);
        let node = Blocks { lost, after, time, last: Time::ZERO, second: None };
        let nodes = vec![PlacedNode::new("blocks", "satellite", HopEnd::Client, node)];
        let (outcome, _) =
            bentpipe_sim::run_with_nodes(&spec, nodes, &AtomicBool::new(false)).unwrap();
        let flow = &outcome.flows[1];
        assert!(
            flow.completed,
            "{controller}, {lost:?}, blocked for {seconds} s after {after}: {:?}",
            flow.error
        );
    }
}

#[test]
fn a_handshake_that_ends_late_does_not_stall_the_answer_to_early_data() {
    // After the early request, before the end of the handshake.
    let after = Span::from_millis(300);
    completes("bbr1", Direction::Download, PathDirection::ToServer, after);
}

#[test]
fn a_handshake_that_ends_late_does_not_stall_an_upload_in_early_data() {
    for controller in ["bbr1", "bbr3", "cubic", "newreno"] {
        // The server's first flight, then the end of the client's handshake, is lost or comes late.
        for (lost, after) in [
            (PathDirection::ToClient, 0),
            (PathDirection::ToClient, 300),
            (PathDirection::ToServer, 1),
            (PathDirection::ToServer, 601),
        ] {
            completes(controller, Direction::Upload, lost, Span::from_millis(after));
        }
    }
}

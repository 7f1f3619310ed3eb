//! What happens at ends of hops at which packets are captured or nodes stand. Few runs have any.

use super::{NODES, Simulation};
use crate::datagram::{Datagram, PathDirection};
use crate::event_queue::Component;
use crate::loss_reason::LossReason;
use crate::node::{Action, NewPacket, NodeRequests};
use crate::packet_arena::PacketId;
use crate::packet_network::PacketNetwork;
use crate::path_nodes::{Due, Onward, PathNodes, Place};
use crate::time_budget::{AckWait, Trip};
use bentpipe_link::Packet;
use bentpipe_units::Span;

impl<N: PacketNetwork> Simulation<N> {
    fn nodes(&mut self) -> Option<&mut PathNodes> {
        self.hop_ends.as_mut()?.nodes.as_mut()
    }

    /// Handles a packet that is about to enter link `index` at `port`.
    #[cold]
    pub(super) fn before_link(&mut self, index: usize, port: usize, packet: Packet<PacketId>) {
        match self.nodes().and_then(|nodes| nodes.entrance(index)) {
            Some(place) => self.at_nodes(place, packet),
            None => self.enter_captured(index, port, packet),
        }
    }

    /// Handles a packet that has left link `index` and reached `net_node`.
    #[cold]
    pub(super) fn behind_link(&mut self, index: usize, net_node: u32, packet: Packet<PacketId>) {
        self.capture(index, &packet, false);
        match self.nodes().and_then(|nodes| nodes.exit(index)) {
            Some(place) => self.at_nodes(place, packet),
            None => self.forward(net_node, packet),
        }
    }

    /// Captures a packet and offers it to a link.
    fn enter_captured(&mut self, index: usize, port: usize, packet: Packet<PacketId>) {
        self.capture(index, &packet, true);
        self.offer(index, port, packet);
    }

    /// Captures a packet that enters or leaves a link, if the run captures packets at that end.
    fn capture(&mut self, index: usize, packet: &Packet<PacketId>, entrance: bool) {
        let Some(capture) = self.hop_ends.as_mut().and_then(|ends| ends.capture.as_mut()) else {
            return;
        };
        let Some(captured) = self.links[index].captured else { return };
        if captured.entrance == entrance {
            let datagram = self.packet_arena.get(packet.payload);
            let progress = self.flows[datagram.flow as usize].progress();
            let side = datagram.toward.source();
            let ends =
                [side, side.peer()].map(|side| progress.address_in(datagram.visit as usize, side));
            let packet = packet.with_payload(datagram);
            capture.packet(self.now, captured.interface, ends, &packet);
        }
    }

    /// Passes a packet to the node at `place`, or on if it has passed all of them.
    fn at_nodes(&mut self, place: Place, mut packet: Packet<PacketId>) {
        let now = self.now;
        let PacketId { flow, toward, .. } = packet.payload;
        let progress = self.flows[flow as usize].progress();
        let Some(nodes) = self.hop_ends.as_mut().and_then(|ends| ends.nodes.as_mut()) else {
            return;
        };
        let Some(number) = nodes.node_at(place, toward) else {
            return match nodes.onward(place.point, toward, progress.terminal()) {
                Onward::Link(link, port) => self.enter_captured(link, port, packet),
                Onward::From(net_node) => self.forward(net_node, packet),
            };
        };
        let datagram = self.packet_arena.get(packet.payload);
        let (action, requests) =
            nodes.handle(now, number, &mut packet, datagram, &progress.spec.name);
        let behind = Place { next: place.next + 1, ..place };
        match action {
            Action::Pass => self.leave_node(number, behind, Span::ZERO, packet),
            Action::Delay(time) => self.leave_node(number, behind, time, packet),
            Action::Drop => self.lost(packet.payload, LossReason::Node, now),
        }
        self.serve_node(number, requests);
    }

    /// Lets a packet leave node `number` after `time` and go on from `place`.
    fn leave_node(&mut self, number: usize, place: Place, time: Span, packet: Packet<PacketId>) {
        let at = self.now + time;
        let Some(nodes) = self.nodes() else { return };
        if time.is_zero() {
            nodes.count_left(number, &packet);
            self.at_nodes(place, packet);
            return;
        }
        nodes.delay(at, number, place, packet);
        let deadline = nodes.deadline();
        self.packet_arena.get_mut(packet.payload).trip.queued += time;
        self.event_queue.schedule(NODES as Component, deadline);
    }

    /// Does what node `number` has asked for.
    fn serve_node(&mut self, number: usize, requests: NodeRequests) {
        for (time, packet) in requests.packets {
            let Some(nodes) = self.nodes() else { return };
            let place = nodes.count_new(number, &packet);
            let packet = self.store(packet);
            self.leave_node(number, place, time, packet);
        }
        let now = self.now;
        for at in requests.wakes {
            let Some(nodes) = self.nodes() else { return };
            nodes.wake_at(at.max(now), number);
            let deadline = nodes.deadline();
            self.event_queue.schedule(NODES as Component, deadline);
        }
    }

    /// Stores a packet that a node sends.
    fn store(&mut self, packet: NewPacket) -> Packet<PacketId> {
        let NewPacket { dscp, ecn, bytes, original, datagram } = packet;
        let flow = datagram.flow_key();
        let payload = match original {
            Some(original) => self.packet_arena.put_copy(datagram, original),
            None => self.packet_arena.put(Datagram {
                to: match datagram.toward {
                    PathDirection::ToServer => self.shared.last_node,
                    PathDirection::ToClient => 0,
                },
                trip: Trip::start(self.now, AckWait::default()),
                ..datagram
            }),
        };
        Packet { flow, dscp, ..Packet::new(bytes, ecn, payload) }
    }

    /// Lets nodes wake and release packets that are due.
    pub(super) fn advance_nodes(&mut self) {
        let now = self.now;
        while let Some(due) = self.nodes().and_then(|nodes| nodes.take_due(now)) {
            match due {
                Due::Packet(number, place, packet) => {
                    self.leave_node(number, place, Span::ZERO, packet);
                }
                Due::Wake(number) => {
                    let Some(nodes) = self.nodes() else { return };
                    let requests = nodes.wake(now, number);
                    self.serve_node(number, requests);
                }
            }
        }
        let deadline = self.nodes().and_then(|nodes| nodes.deadline());
        self.event_queue.schedule(NODES as Component, deadline);
    }
}

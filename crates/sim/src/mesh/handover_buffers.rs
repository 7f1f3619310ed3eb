//! Buffers for packets during handover outages: at the station, and at satellites that would send
//! to it.

use crate::packet_arena::PacketId;
use bentpipe_link::{DirectionModel, Packet, PacketTotals};
use bentpipe_orbit::Node;
use bentpipe_units::{Span, Time};

/// Packets that one node buffers for one station.
struct HandoverBuffer {
    station: usize,
    node: Node,
    /// Other end of the link that they wait for.
    to: Node,
    packets: Vec<Packet<PacketId>>,
    buffered: PacketTotals,
}

/// All handover buffers. There are few at a time, because a station hands over once in minutes.
#[derive(Default)]
pub struct HandoverBuffers(Vec<HandoverBuffer>);

impl HandoverBuffers {
    /// Buffers a packet at `node` for the link to `to` until the outage of `station` ends. Returns
    /// false if the buffer has reached the limit of `model`'s queue.
    pub fn hold(
        &mut self,
        station: usize,
        (node, to): (Node, Node),
        packet: &Packet<PacketId>,
        model: &DirectionModel,
        rtt: Span,
    ) -> bool {
        let index = self
            .0
            .iter()
            .position(|buffer| (buffer.station, buffer.node, buffer.to) == (station, node, to));
        let buffered = index.map(|index| self.0[index].buffered).unwrap_or_default();
        if !model.queue_has_room(rtt, buffered, packet.bytes) {
            return false;
        }
        let index = index.unwrap_or_else(|| {
            self.0.push(HandoverBuffer {
                station,
                node,
                to,
                packets: Vec::new(),
                buffered: PacketTotals::default(),
            });
            self.0.len() - 1
        });
        let buffer = &mut self.0[index];
        buffer.buffered.packets += 1;
        buffer.buffered.bytes += u64::from(packet.bytes);
        buffer.packets.push(*packet);
        true
    }

    /// Returns the earliest end of an outage that packets wait for.
    pub fn due(&self, outage_until: &[Time]) -> Time {
        self.0.iter().map(|buffer| outage_until[buffer.station]).min().unwrap_or(Time::MAX)
    }

    /// Moves packets whose outage has ended by `now` to `forward`, with their nodes.
    pub fn release(
        &mut self,
        now: Time,
        outage_until: &[Time],
        forward: &mut Vec<(u32, Packet<PacketId>)>,
    ) {
        self.0.retain_mut(|buffer| {
            let waits = outage_until[buffer.station] > now;
            if !waits {
                forward.extend(buffer.packets.drain(..).map(|packet| (buffer.node.0, packet)));
            }
            waits
        });
    }

    /// Removes packets that wait for the link between `a` and `b`, in either direction.
    pub fn withdraw(&mut self, a: Node, b: Node, mut removed: impl FnMut(Node, Packet<PacketId>)) {
        self.0.retain_mut(|buffer| {
            let is_it = (buffer.node, buffer.to) == (a, b) || (buffer.node, buffer.to) == (b, a);
            if is_it {
                buffer.packets.drain(..).for_each(|packet| removed(buffer.node, packet));
            }
            !is_it
        });
    }
}

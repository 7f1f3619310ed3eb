//! Packets that wait for a station to end its silence: at the station itself, and at satellites that would send to it.

use crate::packet_arena::PacketId;
use bentpipe_link::{DirectionModel, Packet, PacketTotals};
use bentpipe_orbit::Node;
use bentpipe_units::{Span, Time};

/// What one node holds back for the sake of one station.
struct HandoverBuffer {
    station: usize,
    node: Node,
    /// The node at the other end of the link that it waits for.
    to: Node,
    packets: Vec<Packet<PacketId>>,
    held: PacketTotals,
}

/// All that is held back. There are few rooms at a time: a station turns once in minutes.
#[derive(Default)]
pub struct HandoverBuffers(Vec<HandoverBuffer>);

impl HandoverBuffers {
    /// Holds a packet at `node` for the link to `to`, until `station` is silent no longer. False where as much waits there already as `model`'s queue holds.
    pub fn hold(
        &mut self,
        station: usize,
        (node, to): (Node, Node),
        packet: &Packet<PacketId>,
        model: &DirectionModel,
        rtt: Span,
    ) -> bool {
        let place = self.0.iter().position(|buffer| (buffer.station, buffer.node, buffer.to) == (station, node, to));
        let held = place.map(|place| self.0[place].held).unwrap_or_default();
        if !model.queue_has_room(rtt, held, packet.bytes) {
            return false;
        }
        let place = place.unwrap_or_else(|| {
            self.0.push(HandoverBuffer { station, node, to, packets: Vec::new(), held: PacketTotals::default() });
            self.0.len() - 1
        });
        let buffer = &mut self.0[place];
        buffer.held.packets += 1;
        buffer.held.bytes += u64::from(packet.bytes);
        buffer.packets.push(packet.clone());
        true
    }

    /// When the first silence ends that something waits for.
    pub fn due(&self, outage_until: &[Time]) -> Time {
        self.0.iter().map(|buffer| outage_until[buffer.station]).min().unwrap_or(Time::MAX)
    }

    /// What waited for silences that are over at `now`, with where it waited.
    pub fn release(&mut self, now: Time, outage_until: &[Time], forward: &mut Vec<(u32, Packet<PacketId>)>) {
        self.0.retain_mut(|buffer| {
            let waits = outage_until[buffer.station] > now;
            if !waits {
                forward.extend(buffer.packets.drain(..).map(|packet| (buffer.node.0, packet)));
            }
            waits
        });
    }

    /// Takes out what waited for the link between `a` and `b`, either way.
    pub fn withdraw(&mut self, a: Node, b: Node, mut taken: impl FnMut(Node, Packet<PacketId>)) {
        self.0.retain_mut(|buffer| {
            let is_it = (buffer.node, buffer.to) == (a, b) || (buffer.node, buffer.to) == (b, a);
            if is_it {
                buffer.packets.drain(..).for_each(|packet| taken(buffer.node, packet));
            }
            !is_it
        });
    }
}

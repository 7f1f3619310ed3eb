//! Packets under way, each written down once: links hand their numbers on.

use crate::datagram::{Body, Datagram};
use bytes::BytesMut;

/// Names a packet under way, from [`PacketArena::put`] until [`PacketArena::remove`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketId(u32);

/// All packets under way. A datagram is large, and moves through a queue, a transmitter and a delay line at each hop, so
/// that it stays here meanwhile; places are used again.
#[derive(Debug, Default)]
pub struct PacketArena {
    places: Vec<Datagram>,
    labels: Vec<PacketLabel>,
    free: Vec<PacketId>,
}

/// What every link and node asks of a packet, kept apart from the rest of it: labels of all packets under way stay in the processor's caches.
#[derive(Debug, Clone, Copy)]
pub struct PacketLabel {
    /// The flow, by its index in the run.
    pub flow: u32,
    /// The node of its flow that it is for.
    pub to: u16,
    /// Links that it has entered in a mesh.
    hops: u8,
}

impl PacketArena {
    /// Takes a packet in.
    pub fn put(&mut self, datagram: Datagram) -> PacketId {
        let label = PacketLabel { flow: datagram.flow, to: datagram.to, hops: 0 };
        match self.free.pop() {
            Some(packet_id) => {
                self.places[packet_id.0 as usize] = datagram;
                self.labels[packet_id.0 as usize] = label;
                packet_id
            }
            None => {
                self.places.push(datagram);
                self.labels.push(label);
                PacketId(self.places.len() as u32 - 1)
            }
        }
    }

    /// The packet.
    pub fn get(&self, packet_id: PacketId) -> &Datagram {
        &self.places[packet_id.0 as usize]
    }

    /// What is asked of it at each link.
    #[inline]
    pub fn label(&self, packet_id: PacketId) -> PacketLabel {
        self.labels[packet_id.0 as usize]
    }

    /// The packet, for one that takes its content out.
    pub fn get_mut(&mut self, packet_id: PacketId) -> &mut Datagram {
        &mut self.places[packet_id.0 as usize]
    }

    /// One more link: how many the packet has entered.
    #[inline]
    pub fn count_hop(&mut self, packet_id: PacketId) -> u8 {
        let hops = &mut self.labels[packet_id.0 as usize].hops;
        *hops = hops.saturating_add(1);
        *hops
    }

    /// It is no longer under way: its name is another's from now on.
    pub fn remove(&mut self, packet_id: PacketId) {
        // What a lost packet carried does not wait for the next one.
        if let Body::Udp(data) = &mut self.get_mut(packet_id).body {
            *data = BytesMut::new();
        }
        self.free.push(packet_id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datagram::PathDirection;

    fn datagram(visit: u32) -> Datagram {
        let body = Body::Udp(BytesMut::from(&b"data"[..]));
        Datagram { flow: 0, visit, toward: PathDirection::ToServer, to: 1, position: 0.0, body }
    }

    #[test]
    fn places_are_used_again_and_what_is_under_way_stays() {
        let mut packet_arena = PacketArena::default();
        let (first, second) = (packet_arena.put(datagram(1)), packet_arena.put(datagram(2)));
        packet_arena.remove(first);
        let third = packet_arena.put(datagram(3));
        assert_eq!((packet_arena.get(second).visit, packet_arena.get(third).visit), (2, 3));
        assert_eq!(packet_arena.places.len(), 2);
    }

    #[test]
    fn a_place_used_again_has_no_hops_behind_it() {
        let mut packet_arena = PacketArena::default();
        let first = packet_arena.put(datagram(1));
        assert_eq!((packet_arena.count_hop(first), packet_arena.count_hop(first)), (1, 2));
        packet_arena.remove(first);
        let again = packet_arena.put(datagram(2));
        assert_eq!(packet_arena.count_hop(again), 1);
    }

    #[test]
    fn what_a_packet_carried_is_freed_with_it() {
        let mut packet_arena = PacketArena::default();
        let packet_id = packet_arena.put(datagram(1));
        packet_arena.remove(packet_id);
        let Body::Udp(data) = &packet_arena.get(packet_id).body else { panic!("not UDP") };
        assert_eq!(data.capacity(), 0);
    }
}

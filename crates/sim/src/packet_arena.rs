//! Storage of packets in flight. Links pass only their IDs.

use crate::datagram::{Body, Datagram};
use bytes::BytesMut;

/// Identifies a packet in flight, from [`PacketArena::put`] until [`PacketArena::remove`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketId(u32);

/// All packets in flight.
///
/// A datagram is large and passes a queue, a transmitter and a delay line at each hop, so it is
/// stored here in the meantime. Slots are reused.
#[derive(Debug, Default)]
pub struct PacketArena {
    places: Vec<Datagram>,
    labels: Vec<PacketLabel>,
    free: Vec<PacketId>,
}

/// Properties of a packet that every link and node needs, stored separately so that they stay in
/// the CPU caches.
#[derive(Debug, Clone, Copy)]
pub struct PacketLabel {
    /// Index of the flow in the run.
    pub flow: u32,
    /// Destination node of its flow.
    pub to: u16,
    /// Number of links that it has entered in a mesh.
    hops: u8,
}

impl PacketArena {
    /// Stores a packet.
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

    /// Returns the packet.
    pub fn get(&self, packet_id: PacketId) -> &Datagram {
        &self.places[packet_id.0 as usize]
    }

    /// Returns the label of the packet.
    #[inline]
    pub fn label(&self, packet_id: PacketId) -> PacketLabel {
        self.labels[packet_id.0 as usize]
    }

    /// Returns the packet, to take its payload out.
    pub fn get_mut(&mut self, packet_id: PacketId) -> &mut Datagram {
        &mut self.places[packet_id.0 as usize]
    }

    /// Counts one more link. Returns the number of links that the packet has entered.
    #[inline]
    pub fn count_hop(&mut self, packet_id: PacketId) -> u8 {
        let hops = &mut self.labels[packet_id.0 as usize].hops;
        *hops = hops.saturating_add(1);
        *hops
    }

    /// Removes the packet. Its ID will be reused.
    pub fn remove(&mut self, packet_id: PacketId) {
        // Frees the payload of a lost packet now.
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
    fn slots_are_reused_and_packets_in_flight_stay() {
        let mut packet_arena = PacketArena::default();
        let (first, second) = (packet_arena.put(datagram(1)), packet_arena.put(datagram(2)));
        packet_arena.remove(first);
        let third = packet_arena.put(datagram(3));
        assert_eq!((packet_arena.get(second).visit, packet_arena.get(third).visit), (2, 3));
        assert_eq!(packet_arena.places.len(), 2);
    }

    #[test]
    fn a_reused_slot_has_no_hops() {
        let mut packet_arena = PacketArena::default();
        let first = packet_arena.put(datagram(1));
        assert_eq!((packet_arena.count_hop(first), packet_arena.count_hop(first)), (1, 2));
        packet_arena.remove(first);
        let again = packet_arena.put(datagram(2));
        assert_eq!(packet_arena.count_hop(again), 1);
    }

    #[test]
    fn removing_a_packet_frees_its_payload() {
        let mut packet_arena = PacketArena::default();
        let packet_id = packet_arena.put(datagram(1));
        packet_arena.remove(packet_id);
        let Body::Udp(data) = &packet_arena.get(packet_id).body else { panic!("not UDP") };
        assert_eq!(data.capacity(), 0);
    }
}

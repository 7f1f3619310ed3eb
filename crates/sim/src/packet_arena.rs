//! Storage of packets in flight. Links pass only their IDs.

use crate::datagram::{Body, Datagram, PathDirection};
use bytes::BytesMut;

/// Identifies a packet in flight, from [`PacketArena::put`] until [`PacketArena::remove`], and
/// carries what every link and node needs to know about it.
///
/// Reading that from the arena instead would cost a cache miss at each hop: thousands of packets
/// are in flight on a long path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketId {
    place: u32,
    /// Index of the flow in the run.
    pub flow: u32,
    /// Destination node of its flow.
    pub to: u16,
    /// Direction of the packet.
    pub toward: PathDirection,
    /// Number of links that it has entered in a mesh.
    hops: u8,
}

impl PacketId {
    /// Counts one more link. Returns the number of links that the packet has entered.
    #[inline]
    pub fn count_hop(&mut self) -> u8 {
        self.hops = self.hops.saturating_add(1);
        self.hops
    }
}

/// All packets in flight.
///
/// A datagram is large and passes a queue, a transmitter and a delay line at each hop, so it is
/// stored here in the meantime. The place that was freed last is reused first, because it is
/// in the CPU's cache: a ring of places, whose accesses would be sequential, took 25 % more time.
#[derive(Debug, Default)]
pub struct PacketArena {
    places: Vec<Datagram>,
    free: Vec<u32>,
}

impl PacketArena {
    /// Stores a packet.
    pub fn put(&mut self, datagram: Datagram) -> PacketId {
        let Datagram { flow, to, toward, .. } = datagram;
        let place = match self.free.pop() {
            Some(place) => {
                // The place has nothing to drop, and reading it could wait for memory.
                std::mem::forget(std::mem::replace(&mut self.places[place as usize], datagram));
                place
            }
            None => {
                self.places.push(datagram);
                self.places.len() as u32 - 1
            }
        };
        PacketId { place, flow, to, toward, hops: 0 }
    }

    /// Returns the packet.
    pub fn get(&self, packet_id: PacketId) -> &Datagram {
        &self.places[packet_id.place as usize]
    }

    /// Returns the packet, to take its payload out.
    pub fn get_mut(&mut self, packet_id: PacketId) -> &mut Datagram {
        &mut self.places[packet_id.place as usize]
    }

    /// Removes the packet. Its place, which keeps no allocation, will be reused.
    pub fn remove(&mut self, packet_id: PacketId) {
        // Frees the payload of a lost packet now.
        if let Body::Udp(data) = &mut self.get_mut(packet_id).body {
            *data = BytesMut::new();
        }
        self.free.push(packet_id.place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_reused_place_has_no_hops() {
        let mut packet_arena = PacketArena::default();
        let mut first = packet_arena.put(datagram(1));
        assert_eq!((first.count_hop(), first.count_hop()), (1, 2));
        packet_arena.remove(first);
        assert_eq!(packet_arena.put(datagram(2)).count_hop(), 1);
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

//! Storage of packets in flight. Links pass only their IDs.

use crate::datagram::{Body, Datagram, PathDirection};
use crate::udp_payload::UdpPayload;
use bentpipe_link::{Ecn, Packet, Service};
use bentpipe_units::Span;
use std::collections::VecDeque;

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
    /// Number of links that it has entered.
    hops: u8,
    /// Time on the slowest link so far, in nanoseconds.
    serialised: u32,
    /// Time that it has waited in queues, in nanoseconds, as far as its trip does not have it yet.
    queued: u32,
}

impl PacketId {
    /// Identifies a packet that is stored outside, by its number `place` there.
    pub fn outside(place: u32, flow: u32, to: u16) -> Self {
        let toward = if to == 0 { PathDirection::ToClient } else { PathDirection::ToServer };
        Self { place, flow, to, toward, hops: 0, serialised: 0, queued: 0 }
    }

    /// Returns the place of the packet.
    pub fn place(&self) -> u32 {
        self.place
    }

    /// Returns the number of links that the packet has entered, at most 255.
    #[inline]
    pub fn hops(&self) -> u8 {
        self.hops
    }

    /// Returns the time that the packet has occupied the slowest link so far, at most 4.29 s.
    #[inline]
    pub fn serialised(&self) -> Span {
        Span::from_nanos(u64::from(self.serialised))
    }

    /// Counts the time that the packet has occupied a link, in nanoseconds.
    #[inline]
    pub fn count_serialised(&mut self, nanos: u32) {
        self.serialised = self.serialised.max(nanos);
    }

    /// Counts the time that the packet has waited for others on a link. Returns false, and counts
    /// nothing, if it does not fit or the packet has waited for something else too: the trip has
    /// room for everything, but lies in memory that is not in the CPU's cache.
    #[inline]
    pub fn count_queued(&mut self, service: Service) -> bool {
        let queued = u32::try_from(service.queued.as_nanos()).ok();
        let sum = queued.and_then(|queued| self.queued.checked_add(queued));
        match sum {
            Some(sum) if service.blocked.is_zero() && service.framed.is_zero() => {
                self.queued = sum;
                true
            }
            _ => false,
        }
    }

    /// Returns the time of [`PacketId::count_queued`].
    #[inline]
    pub fn queued(&self) -> Span {
        Span::from_nanos(u64::from(self.queued))
    }

    /// Counts one more link.
    #[inline]
    pub fn count_hop(&mut self) {
        self.hops = self.hops.saturating_add(1);
    }
}

/// All packets in flight.
///
/// A datagram is large and passes a queue, a transmitter and a delay line at each hop, so it is
/// stored here in the meantime.
#[derive(Debug, Default)]
pub struct PacketArena {
    /// By direction.
    places: [Places; 2],
    /// Buffer for what is written before it becomes packets, shared by all flows: each would hold
    /// 64 kB otherwise.
    pub scratch: Vec<u8>,
}

/// Places for the packets of one direction.
///
/// The place that was freed first is reused first. Packets of one direction arrive roughly in the
/// order of sending, so that memory is accessed in order, which processors prefetch.
#[derive(Debug, Default)]
struct Places {
    datagrams: Vec<Datagram>,
    free: VecDeque<u32>,
}

impl PacketArena {
    /// Stores a packet.
    // Inlined, so that a packet is written where it stays.
    #[inline(always)]
    pub fn put(&mut self, datagram: Datagram) -> PacketId {
        let Datagram { flow, to, toward, .. } = datagram;
        let Places { datagrams, free } = &mut self.places[toward as usize];
        let place = match free.pop_front() {
            Some(place) => {
                // The place has nothing to drop, and reading it would wait for memory.
                std::mem::forget(std::mem::replace(&mut datagrams[place as usize], datagram));
                place
            }
            None => {
                datagrams.push(datagram);
                datagrams.len() as u32 - 1
            }
        };
        PacketId { place, flow, to, toward, hops: 0, serialised: 0, queued: 0 }
    }

    /// Stores a packet of `bytes`. Returns it as links see it.
    #[inline(always)]
    pub fn send(&mut self, bytes: u32, ecn: Ecn, datagram: Datagram) -> Packet<PacketId> {
        let (flow, dscp) = (datagram.flow_key(), datagram.dscp);
        Packet { flow, dscp, ..Packet::new(bytes, ecn, self.put(datagram)) }
    }

    /// Stores a copy of the packet `of`, which has come as far as that.
    pub fn put_copy(&mut self, datagram: Datagram, of: PacketId) -> PacketId {
        PacketId { place: self.put(datagram).place, ..of }
    }

    /// Returns the packet.
    pub fn get(&self, packet_id: PacketId) -> &Datagram {
        &self.places[packet_id.toward as usize].datagrams[packet_id.place as usize]
    }

    /// Returns the packet, to take its payload out.
    pub fn get_mut(&mut self, packet_id: PacketId) -> &mut Datagram {
        &mut self.places[packet_id.toward as usize].datagrams[packet_id.place as usize]
    }

    /// Removes the packet. Its place, which keeps no allocation, will be reused.
    pub fn remove(&mut self, packet_id: PacketId) {
        // Frees the payload of a lost packet now.
        if let Body::Udp(payload) = &mut self.get_mut(packet_id).body {
            *payload = UdpPayload::default();
        }
        self.places[packet_id.toward as usize].free.push_back(packet_id.place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time_budget::Trip;

    fn datagram(visit: u32) -> Datagram {
        let body = Body::Udp(UdpPayload::new(b"data"));
        Datagram {
            flow: 0,
            visit,
            toward: PathDirection::ToServer,
            to: 1,
            connection: 0,
            dscp: bentpipe_link::Dscp::BEST_EFFORT,
            position: 0.0,
            trip: Trip::default(),
            body,
        }
    }

    #[test]
    fn slots_are_reused_and_packets_in_flight_stay() {
        let mut packet_arena = PacketArena::default();
        let (first, second) = (packet_arena.put(datagram(1)), packet_arena.put(datagram(2)));
        packet_arena.remove(first);
        let third = packet_arena.put(datagram(3));
        assert_eq!((packet_arena.get(second).visit, packet_arena.get(third).visit), (2, 3));
        assert_eq!(packet_arena.places[0].datagrams.len(), 2);
    }

    #[test]
    fn a_reused_place_has_no_hops() {
        let mut packet_arena = PacketArena::default();
        let mut first = packet_arena.put(datagram(1));
        first.count_hop();
        first.count_hop();
        assert_eq!(first.hops(), 2);
        packet_arena.remove(first);
        assert_eq!(packet_arena.put(datagram(2)).hops(), 0);
    }

    #[test]
    fn waits_that_do_not_fit_are_left_to_the_trip() {
        let mut packet_arena = PacketArena::default();
        let mut packet_id = packet_arena.put(datagram(1));
        let waits = |queued: u64, blocked: u64| Service {
            queued: Span::from_millis(queued),
            blocked: Span::from_millis(blocked),
            ..Service::default()
        };
        assert!(packet_id.count_queued(waits(3000, 0)));
        assert!(!packet_id.count_queued(waits(2000, 0)), "more than 4.29 s together");
        assert!(!packet_id.count_queued(waits(5000, 0)));
        assert!(!packet_id.count_queued(waits(100, 40)), "the link could not send");
        let framed = Service { framed: Span::from_millis(1), ..waits(0, 0) };
        assert!(!packet_id.count_queued(framed), "it waited for the end of a frame");
        assert!(packet_id.count_queued(waits(1000, 0)));
        assert_eq!(packet_id.queued(), Span::from_millis(4000));
    }

    #[test]
    fn places_are_reused_in_the_order_in_which_they_were_freed() {
        let mut packet_arena = PacketArena::default();
        let packets: Vec<_> = (0..3).map(|visit| packet_arena.put(datagram(visit))).collect();
        [1, 0, 2].into_iter().for_each(|index: usize| packet_arena.remove(packets[index]));
        let places = [0; 3].map(|visit| packet_arena.put(datagram(visit)).place);
        assert_eq!(places, [1, 0, 2]);
    }

    #[test]
    fn removing_a_packet_frees_its_payload() {
        let mut packet_arena = PacketArena::default();
        let packet_id = packet_arena.put(datagram(1));
        packet_arena.remove(packet_id);
        let Body::Udp(payload) = &packet_arena.get(packet_id).body else { panic!("not UDP") };
        assert!(payload.bytes().is_empty());
    }
}

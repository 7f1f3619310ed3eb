//! Packets under way, each written down once: links hand their numbers on.

use crate::datagram::{Body, Datagram};
use bytes::BytesMut;

/// Names a packet under way, from [`Parcels::put`] until [`Parcels::remove`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parcel(u32);

/// All packets under way. A datagram is large, and moves through a queue, a transmitter and a delay line at each hop, so
/// that it stays here meanwhile; places are used again.
#[derive(Debug, Default)]
pub struct Parcels {
    places: Vec<Datagram>,
    labels: Vec<Label>,
    free: Vec<Parcel>,
}

/// What every link and node asks of a packet, kept apart from the rest of it: labels of all packets under way stay in the processor's caches.
#[derive(Debug, Clone, Copy)]
pub struct Label {
    /// The flow, by its index in the run.
    pub flow: u32,
    /// The node of its flow that it is for.
    pub to: u16,
    /// Links that it has entered in a mesh.
    hops: u8,
}

impl Parcels {
    /// Takes a packet in.
    pub fn put(&mut self, datagram: Datagram) -> Parcel {
        let label = Label { flow: datagram.flow, to: datagram.to, hops: 0 };
        match self.free.pop() {
            Some(parcel) => {
                self.places[parcel.0 as usize] = datagram;
                self.labels[parcel.0 as usize] = label;
                parcel
            }
            None => {
                self.places.push(datagram);
                self.labels.push(label);
                Parcel(self.places.len() as u32 - 1)
            }
        }
    }

    /// The packet.
    pub fn get(&self, parcel: Parcel) -> &Datagram {
        &self.places[parcel.0 as usize]
    }

    /// What is asked of it at each link.
    #[inline]
    pub fn label(&self, parcel: Parcel) -> Label {
        self.labels[parcel.0 as usize]
    }

    /// The packet, for one that takes its content out.
    pub fn get_mut(&mut self, parcel: Parcel) -> &mut Datagram {
        &mut self.places[parcel.0 as usize]
    }

    /// One more link: how many the packet has entered.
    #[inline]
    pub fn count_hop(&mut self, parcel: Parcel) -> u8 {
        let hops = &mut self.labels[parcel.0 as usize].hops;
        *hops = hops.saturating_add(1);
        *hops
    }

    /// It is no longer under way: its name is another's from now on.
    pub fn remove(&mut self, parcel: Parcel) {
        // What a lost packet carried does not wait for the next one.
        if let Body::Udp(data) = &mut self.get_mut(parcel).body {
            *data = BytesMut::new();
        }
        self.free.push(parcel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datagram::Way;

    fn datagram(visit: u32) -> Datagram {
        let body = Body::Udp(BytesMut::from(&b"data"[..]));
        Datagram { flow: 0, visit, way: Way::Up, to: 1, position: 0.0, body }
    }

    #[test]
    fn places_are_used_again_and_what_is_under_way_stays() {
        let mut parcels = Parcels::default();
        let (first, second) = (parcels.put(datagram(1)), parcels.put(datagram(2)));
        parcels.remove(first);
        let third = parcels.put(datagram(3));
        assert_eq!((parcels.get(second).visit, parcels.get(third).visit), (2, 3));
        assert_eq!(parcels.places.len(), 2);
    }

    #[test]
    fn a_place_used_again_has_no_hops_behind_it() {
        let mut parcels = Parcels::default();
        let first = parcels.put(datagram(1));
        assert_eq!((parcels.count_hop(first), parcels.count_hop(first)), (1, 2));
        parcels.remove(first);
        let again = parcels.put(datagram(2));
        assert_eq!(parcels.count_hop(again), 1);
    }

    #[test]
    fn what_a_packet_carried_is_freed_with_it() {
        let mut parcels = Parcels::default();
        let parcel = parcels.put(datagram(1));
        parcels.remove(parcel);
        let Body::Udp(data) = &parcels.get(parcel).body else { panic!("not UDP") };
        assert_eq!(data.capacity(), 0);
    }
}

//! Packets in several lists that share one piece of memory.

use crate::queue::accepted::Accepted;

/// No packet.
const NONE: u32 = u32::MAX;

/// The packets of several [`List`]s. It takes the memory of the most packets that waited at once,
/// in however many lists.
#[derive(Debug, Clone)]
pub(super) struct PacketLists<P> {
    places: Vec<Option<Accepted<P>>>,
    /// For each place: the next packet of its list, or the next free place.
    next: Vec<u32>,
    /// The first free place.
    free: u32,
}

/// A list of packets, first in, first out.
#[derive(Debug, Clone, Copy)]
pub(super) struct List {
    first: u32,
    last: u32,
}

impl List {
    /// Creates an empty list.
    pub fn new() -> Self {
        Self { first: NONE, last: NONE }
    }
}

impl<P> PacketLists<P> {
    /// Creates lists without packets.
    pub fn new() -> Self {
        Self { places: Vec::new(), next: Vec::new(), free: NONE }
    }

    /// Appends a packet. Returns it if there are more than four billion.
    #[inline]
    pub fn push(&mut self, list: &mut List, packet: Accepted<P>) -> Result<(), Accepted<P>> {
        let place = match self.next.get_mut(self.free as usize) {
            Some(next) => {
                let place = std::mem::replace(&mut self.free, *next);
                *next = NONE;
                self.places[place as usize] = Some(packet);
                place
            }
            None => {
                let place = u32::try_from(self.places.len()).unwrap_or(NONE);
                if place == NONE {
                    return Err(packet);
                }
                self.places.push(Some(packet));
                self.next.push(NONE);
                place
            }
        };
        match self.next.get_mut(list.last as usize) {
            Some(next) => *next = place,
            None => list.first = place,
        }
        list.last = place;
        Ok(())
    }

    /// Removes the first packet of a list.
    #[inline]
    pub fn pop(&mut self, list: &mut List) -> Option<Accepted<P>> {
        let place = list.first;
        let next = self.next.get_mut(place as usize)?;
        list.first = std::mem::replace(next, self.free);
        self.free = place;
        if list.first == NONE {
            list.last = NONE;
        }
        self.places[place as usize].take()
    }

    /// Removes the packets of `port` from a list, in their order.
    pub fn withdraw(&mut self, list: &mut List, port: u32) -> Vec<Accepted<P>> {
        let (mut kept, mut removed) = (List::new(), Vec::new());
        while let Some(packet) = self.pop(list) {
            if packet.port == port {
                removed.push(packet);
            } else {
                // The place of the packet is free.
                let _ = self.push(&mut kept, packet);
            }
        }
        *list = kept;
        removed
    }

    /// Returns the first packet of a list.
    pub fn first(&self, list: &List) -> Option<&Accepted<P>> {
        self.places.get(list.first as usize)?.as_ref()
    }

    /// Calls `see` with the packets of all lists, in any order.
    pub fn for_each(&self, see: impl FnMut(&Accepted<P>)) {
        self.places.iter().flatten().for_each(see);
    }
}

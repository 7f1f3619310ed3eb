//! Packets that wait for a station to end its silence: at the station itself, and at satellites that would send to it.

use crate::parcels::Parcel;
use bentpipe_link::{DirectionModel, Packet, Tally};
use bentpipe_orbit::Node;
use bentpipe_units::{Span, Time};

/// What one node holds back for the sake of one station.
struct Room {
    station: usize,
    node: Node,
    /// The node at the other end of the link that it waits for.
    to: Node,
    packets: Vec<Packet<Parcel>>,
    held: Tally,
}

/// All that is held back. There are few rooms at a time: a station turns once in minutes.
#[derive(Default)]
pub struct Rooms(Vec<Room>);

impl Rooms {
    /// Holds a packet at `node` for the link to `to`, until `station` is silent no longer. False where as much waits there already as `model`'s queue holds.
    pub fn hold(
        &mut self,
        station: usize,
        (node, to): (Node, Node),
        packet: &Packet<Parcel>,
        model: &DirectionModel,
        rtt: Span,
    ) -> bool {
        let place = self.0.iter().position(|room| (room.station, room.node, room.to) == (station, node, to));
        let held = place.map(|place| self.0[place].held).unwrap_or_default();
        if !model.queue_has_room(rtt, held, packet.bytes) {
            return false;
        }
        let place = place.unwrap_or_else(|| {
            self.0.push(Room { station, node, to, packets: Vec::new(), held: Tally::default() });
            self.0.len() - 1
        });
        let room = &mut self.0[place];
        room.held.packets += 1;
        room.held.bytes += u64::from(packet.bytes);
        room.packets.push(packet.clone());
        true
    }

    /// When the first silence ends that something waits for.
    pub fn due(&self, silent: &[Time]) -> Time {
        self.0.iter().map(|room| silent[room.station]).min().unwrap_or(Time::MAX)
    }

    /// What waited for silences that are over at `now`, with where it waited.
    pub fn release(&mut self, now: Time, silent: &[Time], forward: &mut Vec<(u32, Packet<Parcel>)>) {
        self.0.retain_mut(|room| {
            let waits = silent[room.station] > now;
            if !waits {
                forward.extend(room.packets.drain(..).map(|packet| (room.node.0, packet)));
            }
            waits
        });
    }

    /// Takes out what waited for the link between `a` and `b`, either way.
    pub fn withdraw(&mut self, a: Node, b: Node, mut taken: impl FnMut(Node, Packet<Parcel>)) {
        self.0.retain_mut(|room| {
            let is_it = (room.node, room.to) == (a, b) || (room.node, room.to) == (b, a);
            if is_it {
                room.packets.drain(..).for_each(|packet| taken(room.node, packet));
            }
            !is_it
        });
    }
}

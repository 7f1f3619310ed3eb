//! The packets that one end of a connection sent, each with its arrival at the other.
//!
//! QUIC numbers its packets; those that are not opened are known by their bytes. TCP's data is
//! known by its bytes and the timestamp of the copy: what is one segment at one end may be several
//! at the other, as network cards divide and join them. Segments without data are known by their
//! timestamps and what they acknowledge; those that are alike come in the order in which they were
//! sent.

use crate::event::{CapturedConnection, Event, Packet, Transport};
use bentpipe_units::Time;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Most copies of the same bytes that are told apart, and most arrivals among which a byte is
/// looked for: a card joins 64 kB at most, of segments that are hardly shorter than 536 bytes.
const MAX_COPIES: usize = 64;
const MAX_NEAR: usize = 256;

/// A packet, when it was sent and when it arrived, each by the clock of its file.
#[derive(Debug, Clone, Copy)]
pub struct Pair {
    pub number: u64,
    pub has_data: bool,
    pub sent: Time,
    pub arrived: Option<Time>,
}

/// What tells a segment without data: its timestamps, and the limit that it announces.
type Bare = (Option<(u32, u32)>, Option<u64>);

/// Returns the packets of the application that `sender` sent.
pub fn pairs(sender: &CapturedConnection, receiver: &CapturedConnection) -> Vec<Pair> {
    let mut arrivals = match sender.transport {
        Transport::Quic if sender.is_encrypted => {
            Arrivals::of_quic(receiver, |one| one.details.mark)
        }
        Transport::Quic => Arrivals::of_quic(receiver, |one| Some(one.number)),
        Transport::Tcp => Arrivals::of_tcp(receiver),
    };
    let sent = sender.events.iter().filter_map(|(at, event)| match event {
        Event::Sent(packet) if packet.is_application => Some((*at, packet)),
        _ => None,
    });
    let pair = |(sent, packet): (Time, &Packet)| Pair {
        number: packet.number,
        has_data: !packet.data.is_empty(),
        sent,
        arrived: arrivals.of(packet),
    };
    sent.map(pair).collect()
}

/// Bytes that arrived: their end, the time, and the timestamp of their packet.
type Piece = (u64, Time, Option<u32>);

/// What arrived at an end.
#[derive(Debug, Default)]
struct Arrivals {
    /// What tells packets of QUIC from each other: their number, or their mark.
    key: Option<fn(&Packet) -> Option<u64>>,
    /// Packets of QUIC by that key.
    keyed: HashMap<u64, Time>,
    /// Data of TCP by its offset, each copy.
    data: BTreeMap<u64, Vec<Piece>>,
    /// Bytes of the longest of them.
    longest: u64,
    /// Segments without data, in the order of their arrival.
    bare: HashMap<Bare, VecDeque<Time>>,
}

impl Arrivals {
    fn of_quic(receiver: &CapturedConnection, key: fn(&Packet) -> Option<u64>) -> Self {
        let mut keyed = HashMap::new();
        for (at, packet) in received(receiver) {
            if let Some(key) = key(packet) {
                keyed.entry(key).or_insert(at);
            }
        }
        Self { key: Some(key), keyed, ..Self::default() }
    }

    fn of_tcp(receiver: &CapturedConnection) -> Self {
        let mut found = Self::default();
        for (at, packet) in received(receiver) {
            let stamp = packet.timestamps.map(|(own, _)| own);
            for part in &packet.data {
                let end = part.offset.saturating_add(part.length);
                let copies = found.data.entry(part.offset).or_default();
                if copies.len() < MAX_COPIES {
                    copies.push((end, at, stamp));
                }
                found.longest = found.longest.max(part.length);
            }
            if packet.data.is_empty() {
                found.bare.entry(bare(packet)).or_default().push_back(at);
            }
        }
        found
    }

    /// Returns the arrival of a packet.
    fn of(&mut self, packet: &Packet) -> Option<Time> {
        if let Some(key) = self.key {
            return self.keyed.get(&key(packet)?).copied();
        }
        let Some(part) = packet.data.last() else {
            return self.bare.get_mut(&bare(packet))?.pop_front();
        };
        // The last byte of what a card divides is the last to arrive.
        let last = part.offset.saturating_add(part.length).checked_sub(1)?;
        let stamp = packet.timestamps.map(|(own, _)| own);
        let from = last.saturating_sub(self.longest);
        let within = self.data.range_mut(from..=last).rev().take(MAX_NEAR);
        for (_, pieces) in within {
            let of_copy = |(end, _, of): &Piece| *end > last && *of == stamp;
            if let Some(index) = pieces.iter().position(of_copy) {
                let (end, at, _) = pieces[index];
                // Without timestamps, copies arrive in the order in which they were sent.
                if stamp.is_none() && end == last + 1 {
                    pieces.remove(index);
                }
                return Some(at);
            }
        }
        None
    }
}

fn bare(packet: &Packet) -> Bare {
    (packet.timestamps, packet.max_data)
}

fn received(trace: &CapturedConnection) -> impl Iterator<Item = (Time, &Packet)> {
    trace.events.iter().filter_map(|(at, event)| match event {
        Event::Received(packet) if packet.is_application => Some((*at, packet)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Side, StreamPart};

    fn at(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    fn segment(number: u64, offset: u64, length: u64, stamp: Option<u32>) -> Packet {
        Packet {
            is_application: true,
            number,
            data: vec![StreamPart { stream: 0, offset, length }].into(),
            timestamps: stamp.map(|stamp| (stamp, 0)),
            ..Packet::default()
        }
    }

    fn arrivals(
        sent: Vec<(u64, Packet)>,
        received: Vec<(u64, Packet)>,
    ) -> Vec<(u64, Option<Time>)> {
        let trace = |side, events| CapturedConnection {
            events,
            ..CapturedConnection::empty(Transport::Tcp, side)
        };
        let sent = sent.into_iter().map(|(ms, packet)| (at(ms), Event::Sent(packet)));
        let received = received.into_iter().map(|(ms, packet)| (at(ms), Event::Received(packet)));
        let pairs =
            pairs(&trace(Side::Server, sent.collect()), &trace(Side::Client, received.collect()));
        pairs.into_iter().map(|pair| (pair.number, pair.arrived)).collect()
    }

    #[test]
    fn a_lost_copy_is_told_from_the_one_that_arrived() {
        let (stamp, again) = (Some(1), Some(9));
        let found = arrivals(
            vec![
                (0, segment(1, 0, 1000, stamp)),
                (1, segment(2, 1000, 1000, stamp)),
                (300, segment(3, 0, 1000, again)),
            ],
            vec![(101, segment(1, 1000, 1000, stamp)), (400, segment(2, 0, 1000, again))],
        );
        assert_eq!(found, [(1, None), (2, Some(at(101))), (3, Some(at(400)))]);
        // Without timestamps, in their order.
        let copies = |times: [u64; 2]| times.map(|ms| (ms, segment(ms, 0, 1000, None))).to_vec();
        let found = arrivals(copies([0, 300]), copies([100, 400]));
        assert_eq!(found, [(0, Some(at(100))), (300, Some(at(400)))]);
    }

    #[test]
    fn what_a_card_divides_arrives_with_its_last_byte() {
        let sent = vec![(0, segment(1, 0, 4000, Some(1)))];
        let part = |ms, offset, length| (ms, segment(offset, offset, length, Some(1)));
        let parts = vec![part(100, 0, 1500), part(101, 1500, 1500), part(102, 3000, 2500)];
        assert_eq!(arrivals(sent, parts), [(1, Some(at(102)))]);
    }

    #[test]
    fn segments_without_data_come_in_the_order_in_which_they_were_sent() {
        let bare = |stamp| Packet {
            is_application: true,
            timestamps: Some((stamp, 0)),
            max_data: Some(1000),
            ..Packet::default()
        };
        let sent = vec![(0, bare(1)), (1, bare(1)), (5, bare(2)), (9, bare(3))];
        let found = arrivals(sent, vec![(100, bare(1)), (101, bare(1)), (109, bare(3))]);
        let times: Vec<Option<Time>> = found.into_iter().map(|(_, time)| time).collect();
        assert_eq!(times, [Some(at(100)), Some(at(101)), None, Some(at(109))]);
    }
}

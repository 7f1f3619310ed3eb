//! Where a capture of a QUIC connection was made.

use super::version::Kind;
use crate::event::{Packet, Side};
use std::collections::BTreeMap;

/// Share of the RTT up to which the near end counts as the end that recorded.
const NEAR: f64 = 0.1;

/// The RTTs between the capture and each end: the smallest times from a packet to that end until
/// its answer.
#[derive(Debug, Default)]
pub struct HalfTrips {
    /// Packets of client and server that are not acknowledged, and when they passed, in
    /// nanoseconds.
    passed: [BTreeMap<(bool, u64), u64>; 2],
    /// Smallest times to client and server.
    smallest: [Option<u64>; 2],
    /// The same from the order of the handshake: from the last packet that an end may have answered
    /// to its first answer.
    by_order: [Option<u64>; 2],
    /// When that packet of client and server passed.
    asked: [Option<u64>; 2],
    /// The packets of client and server that came together last: when the last of them passed, and
    /// which packet of the other end they may answer.
    flights: [Option<(u64, Option<u64>)>; 2],
}

/// Longest time, in nanoseconds, between packets that an end sends together.
const TOGETHER: u64 = 5_000_000;

impl HalfTrips {
    /// Adds a packet that the client (0) or the server (1) sent.
    pub fn add(&mut self, at: u64, sender: usize, packet: &Packet) {
        let kind = packet.is_application;
        let largest = packet.largest_acknowledged();
        if let Some(passed) = largest.and_then(|one| self.passed[1 - sender].remove(&(kind, one))) {
            self.sample(sender, at.saturating_sub(passed));
        }
        self.passed[sender].insert((kind, packet.number), at);
    }

    /// Adds the time from a packet to an end until the answer of that end.
    pub fn sample(&mut self, end: usize, time: u64) {
        self.smallest[end] = self.smallest[end].into_iter().chain([time]).min();
    }

    /// Adds a packet of the handshake. The client's Initial packets are no answer: there may be
    /// several before any answer of the server. What passes between packets that an end sent
    /// together is not what the later of them answer.
    pub fn handshake(&mut self, at: u64, sender: usize, kind: Kind) {
        let flight = self.flights[sender].filter(|(last, _)| at.saturating_sub(*last) <= TOGETHER);
        let answers = flight.map_or(self.asked[1 - sender], |(_, answers)| answers);
        self.flights[sender] = Some((at, answers));
        if let Some(asked) = answers
            && (sender == 1 || kind == Kind::Handshake)
        {
            self.by_order[sender].get_or_insert(at.saturating_sub(asked));
        }
        self.asked[sender] = Some(at);
    }

    /// Returns the RTT to an end, in nanoseconds, if it is known.
    pub fn smallest(&self, end: usize) -> Option<u64> {
        self.smallest[end].or(self.by_order[end])
    }

    /// Returns the end that is nearer to the capture, and whether it is near.
    pub fn vantage(&self) -> (Side, bool) {
        let of = |end: usize| self.smallest[end].into_iter().chain(self.by_order[end]).min();
        let [client, server] = [of(0), of(1)];
        let (Some(client), Some(server)) = (client, server) else { return (Side::Client, false) };
        let (client, server) = (client as f64, server as f64);
        let near = client.min(server) <= NEAR * (client + server);
        (if server < client { Side::Server } else { Side::Client }, near)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn what_passes_between_packets_that_were_sent_together_is_not_what_they_answer() {
        // At a server, 200 ms away, that sends its flight again once the client's Initial packet
        // lets it; the Handshake packet of the client comes right behind that.
        let packets = [
            (0, 0, Kind::Initial),
            (1, 1, Kind::Initial),
            (4, 1, Kind::Handshake),
            (204, 0, Kind::Initial),
            (205, 1, Kind::Handshake),
            (206, 0, Kind::Handshake),
        ];
        let mut trips = HalfTrips::default();
        packets.iter().for_each(|(at, sender, kind)| trips.handshake(at * MS, *sender, *kind));
        assert_eq!([0, 1].map(|end| trips.smallest(end)), [Some(202 * MS), Some(MS)]);
        assert_eq!(trips.vantage(), (Side::Server, true));
    }
}

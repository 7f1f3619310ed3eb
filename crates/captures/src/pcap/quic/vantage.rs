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
}

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
    /// several before any answer of the server.
    pub fn handshake(&mut self, at: u64, sender: usize, kind: Kind) {
        if let Some(asked) = self.asked[1 - sender]
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

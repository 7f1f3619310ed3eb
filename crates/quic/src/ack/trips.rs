//! Round trips that a receiver measures by its own packets.

use crate::packets::{PacketSeen, Space};
use bentpipe_units::{Span, Time};
use std::collections::VecDeque;

/// Packets remembered at most: several round trips of them.
const MOST: usize = 64;

/// The ack-eliciting packets of this side that nobody has acknowledged, and how long others took.
#[derive(Debug, Clone, Default)]
pub(super) struct Trips {
    pending: VecDeque<(u64, Time)>,
    shortest: Option<Span>,
}

impl Trips {
    /// `packet` left.
    pub fn left(&mut self, now: Time, packet: &PacketSeen) {
        if packet.space == Space::Data && packet.frames.eliciting {
            if self.pending.len() >= MOST {
                self.pending.pop_front();
            }
            self.pending.push_back((packet.number, now));
        }
    }

    /// `packet` arrived. The round trip of the newest packet that it acknowledges for the first time.
    pub fn received(&mut self, now: Time, packet: &PacketSeen) -> Option<Span> {
        let acknowledges = packet.frames.acknowledges.filter(|_| packet.space == Space::Data)?;
        let mut trip = None;
        while let Some(&(_, sent)) = self.pending.front().filter(|(number, _)| *number <= acknowledges) {
            self.pending.pop_front();
            trip = Some(now.since(sent));
        }
        self.shortest = trip.into_iter().chain(self.shortest).min();
        trip
    }

    /// How long the oldest has waited.
    pub fn waiting(&self, now: Time) -> Option<Span> {
        self.pending.front().map(|&(_, sent)| now.since(sent))
    }

    /// When the newest left.
    pub fn newest(&self) -> Option<Time> {
        self.pending.back().map(|&(_, sent)| sent)
    }

    /// The shortest round trip so far.
    pub fn shortest(&self) -> Option<Span> {
        self.shortest
    }
}

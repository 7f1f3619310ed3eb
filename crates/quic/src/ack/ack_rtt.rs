//! Round trips that a receiver measures by its own packets.

use crate::packets::{PacketInfo, Space};
use bentpipe_units::{Span, Time};
use std::collections::VecDeque;

/// Largest packet counted, bytes: the time that a larger one takes to be sent on a thin link would
/// be taken for the path's.
const SMALL: u32 = 128;
/// Packets remembered at most: several round trips of them.
const MOST: usize = 64;
/// The shortest round trip is that of this time and of as much before, so that a path that became
/// longer is believed. As BBR's filter of ten seconds.
const MEMORY: Span = Span::from_secs(10);

/// The small ack-eliciting packets of this side that nobody has acknowledged, and how long others
/// took.
#[derive(Debug, Clone, Default)]
pub(super) struct AckRtt {
    pending: VecDeque<(u64, Time)>,
    /// The shortest since the time beside it.
    present: Option<(Span, Time)>,
    /// The shortest of the time before.
    past: Option<Span>,
    /// The peer has acknowledged something: it reads such packets.
    heard: bool,
}

impl AckRtt {
    /// `packet` left.
    pub fn left(&mut self, now: Time, packet: &PacketInfo) {
        if packet.space == Space::Data && packet.frames.eliciting && packet.bytes() <= SMALL {
            if self.pending.len() >= MOST {
                self.pending.pop_front();
            }
            self.pending.push_back((packet.number, now));
        }
    }

    /// `packet` arrived. The round trip of the newest packet that it acknowledges for the first
    /// time.
    pub fn received(&mut self, now: Time, packet: &PacketInfo) -> Option<Span> {
        let acknowledges = packet.frames.acknowledges.filter(|_| packet.space == Space::Data)?;
        self.heard = true;
        let mut trip = None;
        while let Some(&(_, sent)) =
            self.pending.front().filter(|(number, _)| *number <= acknowledges)
        {
            self.pending.pop_front();
            trip = Some(now.since(sent));
        }
        if let Some(trip) = trip {
            self.present = match self.present {
                Some((shortest, since)) if now.since(since) < MEMORY => {
                    Some((shortest.min(trip), since))
                }
                old => {
                    self.past = old.map(|(shortest, _)| shortest);
                    Some((trip, now))
                }
            };
        }
        trip
    }

    /// Whether the peer has acknowledged anything: before that, it may not even have the keys.
    pub fn heard(&self) -> bool {
        self.heard
    }

    /// How long the oldest has waited.
    pub fn waiting(&self, now: Time) -> Option<Span> {
        self.pending.front().map(|&(_, sent)| now.since(sent))
    }

    /// When the newest left.
    pub fn newest(&self) -> Option<Time> {
        self.pending.back().map(|&(_, sent)| sent)
    }

    /// The shortest round trip of late.
    pub fn shortest(&self) -> Option<Span> {
        self.present.map(|(shortest, _)| shortest).into_iter().chain(self.past).min()
    }
}

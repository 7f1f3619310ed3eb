//! RTT samples from a receiver's own small packets.

use crate::observer::{PacketInfo, Space};
use bentpipe_units::{Span, Time};
use std::collections::VecDeque;

/// Largest packet measured, in bytes: on a slow link, the transmission time of a larger one would
/// be taken for propagation.
const SMALL: u32 = 128;
/// Most packets tracked: several RTTs of them.
const MAX_PENDING: usize = 64;
/// Most bytes of packets with a PING that wait for an answer. The stack sends no ACK while a PING
/// waits for room in its congestion window. That has two packets of 1200 bytes at the least (RFC
/// 9002 §7.2), and the stack asks for room for a whole one.
const MAX_PING_BYTES: u32 = 1000;
/// Half of the window of the minimum filter: the minimum is that of the current period and the one
/// before, so that a path that became longer is noticed. As BBR's filter of ten seconds.
const PERIOD: Span = Span::from_secs(10);

/// The unacknowledged small ack-eliciting packets of this side, and the shortest RTT of others.
///
/// The stack's RTT does not serve here: `Connection::rtt` is smoothed and mixes in the large
/// packets of the handshake, and its minimum and latest sample are not accessible.
#[derive(Debug, Clone, Default)]
pub(super) struct AckRtt {
    pending: VecDeque<(u64, Time)>,
    /// Packets in flight with an ACK and a PING, of any size, and their bytes: ranges can make them
    /// large.
    pings: VecDeque<(u64, u32)>,
    ping_bytes: u32,
    /// When the last of them left.
    last_ping: Option<Time>,
    /// Minimum of the current period, and the period's start.
    current: Option<(Span, Time)>,
    /// Minimum of the period before.
    previous: Option<Span>,
    /// True once the peer has acknowledged something.
    any_acknowledged: bool,
}

impl AckRtt {
    /// Handles a packet that left.
    pub fn on_sent(&mut self, now: Time, packet: &PacketInfo) {
        if packet.space != Space::Data || !packet.frames.eliciting {
            return;
        }
        if packet.frames.ack > 0 && packet.frames.stream == 0 {
            self.pings.push_back((packet.number, packet.bytes()));
            self.ping_bytes = self.ping_bytes.saturating_add(packet.bytes());
            self.last_ping = Some(now);
        }
        if packet.bytes() <= SMALL {
            if self.pending.len() >= MAX_PENDING {
                self.pending.pop_front();
            }
            self.pending.push_back((packet.number, now));
        }
    }

    /// Handles a packet that arrived. Returns the RTT of the newest packet that it acknowledges for
    /// the first time.
    pub fn on_received(&mut self, now: Time, packet: &PacketInfo) -> Option<Span> {
        let acknowledges = packet.frames.acknowledges.filter(|_| packet.space == Space::Data)?;
        self.any_acknowledged = true;
        while let Some((_, bytes)) = self.pings.pop_front_if(|(number, _)| *number <= acknowledges)
        {
            self.ping_bytes = self.ping_bytes.saturating_sub(bytes);
        }
        let mut sample = None;
        while let Some(&(_, sent)) =
            self.pending.front().filter(|(number, _)| *number <= acknowledges)
        {
            self.pending.pop_front();
            sample = Some(now.since(sent));
        }
        if let Some(sample) = sample {
            self.current = match self.current {
                Some((min, since)) if now.since(since) < PERIOD => Some((min.min(sample), since)),
                old => {
                    self.previous = old.map(|(min, _)| min);
                    Some((sample, now))
                }
            };
        }
        sample
    }

    /// Returns true if the peer has acknowledged anything: before that, it may lack the keys.
    pub fn any_acknowledged(&self) -> bool {
        self.any_acknowledged
    }

    /// Returns the age of the oldest unacknowledged packet.
    pub fn waiting(&self, now: Time) -> Option<Span> {
        self.pending.front().map(|&(_, sent)| now.since(sent))
    }

    /// Returns true if a PING may leave at `now`, at most one in `interval`.
    pub fn may_ping(&self, now: Time, interval: Span) -> bool {
        let newest = self.pending.back().map(|&(_, sent)| sent).max(self.last_ping);
        self.ping_bytes < MAX_PING_BYTES
            && newest.is_none_or(|newest| now.since(newest) >= interval)
    }

    /// Returns the shortest RTT of the current period and the one before.
    pub fn min(&self) -> Option<Span> {
        self.current.map(|(min, _)| min).into_iter().chain(self.previous).min()
    }
}

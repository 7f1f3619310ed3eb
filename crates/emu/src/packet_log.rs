//! What became of each packet of a flow: where the account of its time comes from.

use bentpipe_link::Service;
use bentpipe_units::{Span, Time};

/// What the links of the path did with a packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PathService {
    /// Time that it waited for packets before it.
    pub queued: Span,
    /// Time that it waited for a link at rate zero.
    pub outage: Span,
    /// Time that it waited for allocated capacity, an opportunity, or a rate that grew.
    pub capacity: Span,
    /// Time that it waited for the ends of frames.
    pub framed: Span,
    /// Time that it occupied the slowest link.
    pub serialised: Span,
}

impl PathService {
    /// Adds a link. `has_outages` tells why it could not send while it was blocked.
    pub(crate) fn add(&mut self, service: Service, has_outages: bool) {
        self.queued += service.queued.saturating_sub(service.blocked);
        self.capacity += service.growing;
        let blocked = service.blocked.saturating_sub(service.growing);
        if has_outages {
            self.outage += blocked;
        } else {
            self.capacity += blocked;
        }
        self.framed += service.framed;
        self.serialised = self.serialised.max(service.serialised());
    }
}

/// A packet that has left the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketRecord {
    /// Time at which it entered the path.
    pub entered: Time,
    /// Time at which it was due at the end of the path, or was lost.
    pub left: Time,
    /// Size with all headers, in bytes.
    pub bytes: u32,
    /// Bytes above TCP or UDP.
    pub payload: u32,
    /// True if the path lost it.
    pub is_lost: bool,
    /// What the links did with it.
    pub service: PathService,
}

/// Packets of a part of a log: adding one to a full log must not copy the others, since the thread
/// that does it forwards packets.
const PART: usize = 4096;

/// The packets of a flow in one direction, in the order in which they left the path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PacketLog {
    parts: Vec<Vec<PacketRecord>>,
    /// True if there were more than the limit: the last ones are missing.
    pub is_cut: bool,
}

impl PacketLog {
    /// Adds a packet, if there are fewer than about `limit`.
    pub(crate) fn add(&mut self, record: PacketRecord, limit: usize) {
        if self.parts.last().is_none_or(|part| part.len() == PART) {
            if self.parts.len() * PART >= limit {
                self.is_cut = true;
                return;
            }
            self.parts.push(Vec::with_capacity(PART));
        }
        if let Some(part) = self.parts.last_mut() {
            part.push(record);
        }
    }

    /// Returns the packets.
    pub fn packets(&self) -> impl Iterator<Item = &PacketRecord> {
        self.parts.iter().flatten()
    }
}

impl FromIterator<PacketRecord> for PacketLog {
    fn from_iter<I: IntoIterator<Item = PacketRecord>>(packets: I) -> Self {
        let mut log = Self::default();
        packets.into_iter().for_each(|packet| log.add(packet, usize::MAX));
        log
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_ends_at_its_limit() {
        let record = PacketRecord {
            entered: Time::ZERO,
            left: Time::ZERO,
            bytes: 100,
            payload: 60,
            is_lost: false,
            service: PathService::default(),
        };
        let mut log = PacketLog::default();
        for bytes in 0..9000 {
            log.add(PacketRecord { bytes, ..record }, 2 * PART);
        }
        let sizes: Vec<u32> = log.packets().map(|packet| packet.bytes).collect();
        assert_eq!(sizes, (0..8192).collect::<Vec<_>>());
        assert!(log.is_cut);
    }
}

//! State of a loss recovery, and of undoing a spurious one.

use bentpipe_units::{Bytes, Time};

/// A recovery from losses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recovery {
    /// Position whose acknowledgement ends it: SND.NXT at its start.
    pub(crate) until: u64,
    /// True if the retransmission timer started it.
    pub(crate) timeout: bool,
}

/// State to detect a spurious recovery and undo it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Undo {
    /// Time of the first retransmission.
    pub(super) first: Option<Time>,
    /// Retransmissions that the peer has not reported as duplicates.
    pub(super) open: u64,
    /// True if the retransmission timer started it.
    pub(super) timeout: bool,
    /// SND.UNA and SND.NXT at the start.
    pub(super) from: u64,
    pub(super) until: u64,
    pub(super) window: Bytes,
    pub(super) ssthresh: Option<Bytes>,
}

impl Undo {
    pub(crate) fn retransmitted(&mut self, now: Time) {
        self.first.get_or_insert(now);
        self.open += 1;
    }

    /// Handles a segment that the peer received twice.
    pub(crate) fn duplicated(&mut self, start: u64, end: u64) {
        if self.first.is_some() && start >= self.from && end <= self.until {
            self.open = self.open.saturating_sub(1);
        }
    }

    /// Returns true if the peer received all retransmitted segments twice (RFC 3708).
    pub(crate) fn is_complete(&self) -> bool {
        self.open == 0 && self.first.is_some()
    }

    /// Returns true if the acknowledged segment was sent before the first retransmission, according
    /// to its timestamp `echo` (RFC 3522).
    pub(crate) fn is_answered_by(&self, echo: Time) -> bool {
        self.first.is_some_and(|first| echo < first)
    }

    /// Returns true if no segment was retransmitted.
    pub(crate) fn is_idle(&self) -> bool {
        self.first.is_none()
    }
}

//! How long packets take without waits: what tells a longer path from everything else.

use bentpipe_units::{Span, Time};

/// The longest transit time of the current and the previous round trip.
///
/// A packet that took longer than all of them has met a longer path.
#[derive(Debug, Default)]
pub(super) struct LongestTransit {
    since: Time,
    current: Option<Span>,
    previous: Option<Span>,
}

impl LongestTransit {
    pub(super) fn longest(&self) -> Span {
        self.current.max(self.previous).unwrap_or_default()
    }

    /// Adds the transit time of a packet that arrives now. Returns by how much it exceeds the
    /// others'.
    pub(super) fn growth(&mut self, now: Time, rtt: Span, transit: Span) -> Span {
        let known = self.current.max(self.previous);
        self.add(now, rtt, transit);
        known.map_or(Span::ZERO, |longest| transit.saturating_sub(longest))
    }

    pub(super) fn add(&mut self, now: Time, rtt: Span, transit: Span) {
        if now.since(self.since) > rtt {
            self.previous = self.current.take();
            self.since = now;
        }
        self.current = self.current.max(Some(transit));
    }
}

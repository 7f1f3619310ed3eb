//! What is remembered of a path between connections.

use bentpipe_units::{Bytes, Rate, Span, Time};

/// A set of saved parameters (RFC 9959 §3.1). Which path it is of, its keeper knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Saved {
    /// `saved_cwnd`: bytes that the path carried in one round trip.
    pub window: Bytes,
    /// `saved_rtt`: the smallest round trip while that was observed.
    pub rtt: Span,
    /// End of its Lifetime (§4.3.1); `None` where its keeper sees to that.
    pub valid_until: Option<Time>,
}

impl Saved {
    /// Whether the set says anything: a path that carried nothing, or answered in no time, was not observed.
    pub fn is_usable(&self) -> bool {
        !self.window.is_zero() && !self.rtt.is_zero()
    }

    /// Whether its Lifetime is over.
    pub fn is_expired(&self, now: Time) -> bool {
        self.valid_until.is_some_and(|until| now > until)
    }

    /// The rate at which the path carried the window.
    pub fn rate(&self) -> Rate {
        Rate::over(self.window, self.rtt)
    }
}

//! The parameters of a path that are saved between connections.

use bentpipe_units::{Bytes, Rate, Span, Time};

/// Saved parameters of a path (RFC 9959 §3.1). Only the store knows the path that they belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SavedParameters {
    /// `saved_cwnd`: bytes that the path carried in one RTT.
    pub window: Bytes,
    /// `saved_rtt`: minimum RTT during that observation.
    pub rtt: Span,
    /// Smallest RTT of the connection's first round, if its packets or their acknowledgements
    /// waited for capacity that is allocated on demand, and later ones did not. `None` elsewhere.
    pub first_rtt: Option<Span>,
    /// End of the Lifetime (§4.3.1). `None` if the store checks it.
    pub valid_until: Option<Time>,
}

impl SavedParameters {
    /// Returns the parameters of a path whose first packets wait for no capacity, without an end
    /// of their Lifetime.
    pub const fn new(window: Bytes, rtt: Span) -> Self {
        Self { window, rtt, first_rtt: None, valid_until: None }
    }

    /// Returns true if the parameters are an observation: neither the window nor the RTT may be
    /// zero.
    pub fn is_usable(&self) -> bool {
        !self.window.is_zero() && !self.rtt.is_zero()
    }

    /// Returns true if the Lifetime has expired.
    pub fn is_expired(&self, now: Time) -> bool {
        self.valid_until.is_some_and(|until| now > until)
    }

    /// Returns the rate at which the path carried the window.
    pub fn rate(&self) -> Rate {
        Rate::over(self.window, self.rtt)
    }
}

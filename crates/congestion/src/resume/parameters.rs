//! Parameters of Careful Resume.

use super::saved::SavedParameters;
use crate::parameters::parameters;
use bentpipe_units::{Bytes, Span};

parameters! {
    /// Parameters of [`CarefulResume`](super::CarefulResume).
    Parameters {
        max_jump: 16e6, 1e4 => 1e12, "bytes",
            "largest window to jump to (RFC 9959 §4.3, max_jump; our choice: half the volume of \
             400 Mbps in 640 ms)";
        jump_share: 0.5, 0.01 => 0.5, "",
            "fraction of the saved window to jump to (RFC 9959 §3.3: at most half)";
        least_jump: 2.0, 1.0 => 100.0, "",
            "smallest jump, relative to the congestion window at that time (our choice: a smaller \
             one saves less than an RTT, and a loss costs more; 1: any jump)";
        beta: 0.5, 0.1 => 1.0, "",
            "slow-start threshold after a retreat, as a fraction of PipeSize (RFC 9959 §3.5, \
             Beta)";
        rtt_low: 0.5, 0.5 => 1.0, "",
            "fraction of the saved RTT at or below which the path differs (RFC 9959 §3.2)";
        rtt_high: 10.0, 1.0 => 10.0, "",
            "multiple of the saved RTT above which the path differs (RFC 9959 §4.2.1)";
        minimum_saved_windows: 4.0, 0.0 => 1e6, "initial windows",
            "smallest window worth saving (RFC 9959 §3.1)";
        least_limited: 16.0, 0.0 => 1e6, "Mbps",
            "smallest rate of a round worth saving that the application or flow control limited \
             (our choice: eight times that of a start's first burst, ten packets in 50 ms)";
        observation_period: 300.0, 1.0 => 86_400.0, "s",
            "lifetime of an observation (RFC 9959 §4.1: five minutes, as an example)";
    }
}

impl Parameters {
    /// Returns the window to jump to: `jump_cwnd` (§3.3).
    pub(super) fn jump_window(&self, saved: &SavedParameters) -> Bytes {
        saved.window.mul_f64(self.jump_share).min(Bytes::new(self.max_jump as u64))
    }

    /// Returns the window to jump to from the congestion window `cwnd`. `None` if the jump would
    /// gain too little.
    pub(super) fn worthwhile_jump(&self, saved: &SavedParameters, cwnd: Bytes) -> Option<Bytes> {
        let window = self.jump_window(saved);
        (window > cwnd.mul_f64(self.least_jump)).then_some(window)
    }

    /// Returns true if the RTT is too short for the saved path (§3.2).
    pub(super) fn is_too_short(&self, rtt: Span, saved: &SavedParameters) -> bool {
        rtt <= saved.rtt.mul_f64(self.rtt_low)
    }

    /// Returns true if the RTT is too long for the saved path (§4.2.1).
    pub(super) fn is_too_long(&self, rtt: Span, saved: &SavedParameters) -> bool {
        rtt > saved.rtt.mul_f64(self.rtt_high)
    }
}

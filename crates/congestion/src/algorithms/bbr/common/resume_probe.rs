//! The rate probe of Careful Resume (RFC 9959 appendix C).

use super::arithmetic::volume;
use bentpipe_units::{Bytes, Rate, Span};

/// The state of a Careful Resume probe.
#[derive(Debug, Clone, Default)]
pub struct ResumeProbe {
    rate: Option<Rate>,
    window: Bytes,
    /// True during Drain after a failed probe.
    draining: bool,
}

impl ResumeProbe {
    /// Returns the minimum sending rate.
    pub fn rate(&self) -> Option<Rate> {
        self.rate
    }

    /// Returns the window of the probe, zero without one.
    pub fn window(&self) -> Bytes {
        self.window
    }

    /// Returns true if delivery-rate samples must be discarded.
    pub fn discards(&self) -> bool {
        self.draining
    }

    /// Ends the discarding of samples after Drain.
    pub fn drained(&mut self) {
        self.draining = false;
    }

    /// Sets the probing rate. The window follows with the next update.
    pub fn probe(&mut self, rate: Option<Rate>) {
        self.rate = rate;
    }

    /// Sets the window to max(bw, probing rate) · min_rtt · the cwnd gain of Startup. It is a lower
    /// bound next to the controller's window, and vanishes if the probe ends without validation.
    pub fn update(&mut self, bw: Rate, min_rtt: Option<Span>, cwnd_gain: f64) {
        if let Some(rate) = self.rate {
            let window = min_rtt.map(|min_rtt| volume(bw.max(rate), min_rtt));
            self.window = window.unwrap_or_default().mul_f64(cwnd_gain);
        }
    }

    /// Starts Drain after a failed probe, during which samples are discarded.
    pub fn drain(&mut self) {
        self.draining = true;
    }

    /// Ends the probe, which only Startup may have.
    pub fn end_probe(&mut self) {
        self.rate = None;
        self.window = Bytes::ZERO;
    }
}

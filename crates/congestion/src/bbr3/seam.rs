//! What layers in front ask: to go on from a capacity they found, and Careful Resume's probe (RFC 9959 appendix C).

use super::model::{UNBOUNDED, volume};
use super::{Bbr3, State};
use crate::controller::{Adjust, RateBased};
use bentpipe_units::{Bytes, Rate, Span, Time};

/// A probe of Careful Resume.
#[derive(Debug, Clone, Default)]
pub struct Resumption {
    rate: Option<Rate>,
    window: Bytes,
    /// Whether the Drain after a failed probe goes on.
    draining: bool,
}

impl Resumption {
    /// The rate to send at, at least.
    pub fn rate(&self) -> Option<Rate> {
        self.rate
    }

    /// The window to match; nothing without a probe.
    pub fn window(&self) -> Bytes {
        self.window
    }

    /// Whether delivery-rate samples are to be discarded.
    pub fn discards(&self) -> bool {
        self.draining
    }

    /// The Drain is over.
    pub fn drained(&mut self) {
        self.draining = false;
    }

    /// Probes at `rate`; the window follows with the next update.
    pub fn probe(&mut self, rate: Option<Rate>) {
        self.rate = rate;
    }

    /// Keeps the window at max(bw, probing rate) · min_rtt · the gain of Startup's window. A floor beside the controller's
    /// window, not the window itself: should the probe end unproven, nothing of it stays.
    pub fn update(&mut self, bw: Rate, min_rtt: Option<Span>, cwnd_gain: f64) {
        if let Some(rate) = self.rate {
            let window = min_rtt.map(|min_rtt| volume(bw.max(rate), min_rtt));
            self.window = window.unwrap_or_default().mul_f64(cwnd_gain);
        }
    }

    /// The probe failed: what the Drain measures is discarded.
    pub fn drain(&mut self) {
        self.draining = true;
    }

    /// No probe any more: Startup alone may have one.
    pub fn end_probe(&mut self) {
        self.rate = None;
        self.window = Bytes::ZERO;
    }
}

impl Bbr3 {
    /// Keeps the probe's window up to date.
    pub(super) fn update_probe(&mut self) {
        self.resumption.update(self.bw, self.min_rtt.get(), self.settings.cwnd_gain);
    }

    /// Goes on from where a layer wants it to.
    pub(super) fn take_over(&mut self, to: &Adjust) {
        self.recovery.answered = self.recovery.answered.max(to.answered);
        self.resumption = Resumption::default();
        self.short_term.reset_signals();
        self.short_term.reset_bounds();
        self.inflight_longterm = UNBOUNDED;
        self.cwnd = to.window.max(self.min_pipe());
        self.prior_cwnd = self.cwnd;
        if let Some(rtt) = to.min_rtt.filter(|rtt| !rtt.is_zero()) {
            self.min_rtt.seed(to.now, rtt);
        }
        self.full_pipe.look_again(Rate::ZERO);
        self.full_pipe.reached = to.ssthresh.is_some_and(|ssthresh| ssthresh <= to.window);
        let fitting = self.min_rtt.get().filter(|rtt| !rtt.is_zero()).map(|rtt| Rate::over(to.window, rtt));
        if !self.full_pipe.reached {
            self.enter_startup();
            // As InitPacingRate does for the initial window.
            let pacing = fitting.map(|rate| rate.mul_f64(self.settings.startup_pacing_gain));
            self.pacing_rate = self.pacing_rate.max(pacing);
            return;
        }
        if let Some(rate) = to.rate.filter(|rate| !rate.is_zero()).or(fitting) {
            self.max_bw.reset(rate);
            self.bw = rate;
        }
        if self.in_flight > self.inflight(self.bw, 1.0) {
            self.enter_drain();
        } else {
            self.start_down(to.now);
        }
        self.update_control(Bytes::ZERO, self.min_rtt.get().unwrap_or_default());
    }
}

impl RateBased for Bbr3 {
    fn bandwidth(&self) -> Option<Rate> {
        Some(self.max_bw.get()).filter(|rate| !rate.is_zero())
    }

    fn in_startup(&self) -> bool {
        self.state == State::Startup
    }

    fn in_drain(&self) -> bool {
        self.state == State::Drain
    }

    fn set_probing_rate(&mut self, rate: Option<Rate>) {
        self.resumption.end_probe();
        if self.state == State::Startup {
            if rate.is_none() {
                // The window was not needed while the probe's stood beside it: it catches up with what has been measured.
                self.cwnd = self.cwnd.max(self.bdp_times(self.bw, self.settings.cwnd_gain));
            }
            self.resumption.probe(rate);
            self.update_probe();
        }
    }

    fn retreat(&mut self, _: Time) {
        // In Drain it has left Startup by its own rules, on what the probe did.
        if !matches!(self.state, State::Startup | State::Drain) {
            return;
        }
        // The losses of what the probe has sent are answered hereby.
        self.recovery.answered = self.next_number;
        self.short_term.reset_signals();
        self.full_pipe.reached = true;
        self.resumption.drain();
        self.enter_drain();
        self.update_control(Bytes::ZERO, self.min_rtt.get().unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::Setup;
    use crate::parameter::Values;

    #[test]
    fn a_drain_entered_while_the_probe_ran_is_no_measure_either() {
        let setup = Setup {
            now: Time::ZERO,
            mtu: Bytes::new(1200),
            initial_window: Bytes::new(12_000),
            distance_m: None,
            rtt: None,
        };
        let mut bbr = Bbr3::new(&setup, &Values::defaults(super::super::PARAMETERS));
        assert!(!bbr.in_drain());
        bbr.enter_drain();
        bbr.retreat(Time::ZERO);
        assert!(bbr.in_drain() && bbr.resumption.discards());
        bbr.resumption.drained();
        bbr.start_down(Time::ZERO);
        bbr.retreat(Time::ZERO);
        assert!(!bbr.in_drain() && !bbr.resumption.discards());
    }
}

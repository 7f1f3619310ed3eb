//! Restarts by layers, and the probe of Careful Resume (RFC 9959 appendix C).

use super::model::UNBOUNDED;
use super::state::{Bbr3, State};
use crate::algorithms::bbr::common::ResumeProbe;
use crate::controller::{RateBased, Restart};
use bentpipe_units::{Bytes, Rate, Time};

impl Bbr3 {
    /// Updates the probe's window.
    pub(super) fn update_probe(&mut self) {
        self.resumption.update(self.bw, self.min_rtt.get(), self.parameters.cwnd_gain);
    }

    /// Restarts from the state that a layer sets.
    pub(super) fn restart_from(&mut self, to: &Restart) {
        self.recovery.recovery_start = self.recovery.recovery_start.max(to.recovery_start);
        self.resumption = ResumeProbe::default();
        self.short_term.reset_signals();
        self.short_term.reset_bounds();
        self.inflight_longterm = UNBOUNDED;
        self.cwnd = to.window.max(self.min_pipe());
        self.prior_cwnd = self.cwnd;
        if let Some(rtt) = to.min_rtt.filter(|rtt| !rtt.is_zero()) {
            self.min_rtt.seed(to.now, rtt);
        }
        self.full_pipe.restart_search(Rate::ZERO);
        self.full_pipe.reached = to.ssthresh.is_some_and(|ssthresh| ssthresh <= to.window);
        let fitting =
            self.min_rtt.get().filter(|rtt| !rtt.is_zero()).map(|rtt| Rate::over(to.window, rtt));
        if !self.full_pipe.reached {
            self.enter_startup();
            // As InitPacingRate does for the initial window.
            let pacing = fitting.map(|rate| rate.mul_f64(self.parameters.startup_pacing_gain));
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
                // The window did not grow while the probe's window applied: it catches up with the
                // measured BDP.
                self.cwnd = self.cwnd.max(self.bdp_times(self.bw, self.parameters.cwnd_gain));
            }
            self.resumption.probe(rate);
            self.update_probe();
        }
    }

    fn retreat(&mut self, _: Time) {
        // In Drain, the model has left Startup by its own rules because of the probe.
        if !matches!(self.state, State::Startup | State::Drain) {
            return;
        }
        // The retreat covers all losses of packets sent during the probe.
        self.recovery.recovery_start = self.next_number;
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
    use crate::controller::ControllerConfig;

    #[test]
    fn samples_are_discarded_in_a_drain_that_began_during_the_probe() {
        let config = ControllerConfig {
            now: Time::ZERO,
            mtu: Bytes::new(1200),
            initial_window: Bytes::new(12_000),
            distance_m: None,
            rtt: None,
        };
        let mut bbr = Bbr3::new(&config, &super::super::Parameters::default());
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

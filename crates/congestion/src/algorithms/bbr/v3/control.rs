//! Window, pacing rate and send quantum (draft §5.6).

use super::model::UNBOUNDED;
use super::state::{Bbr3, State};
use crate::algorithms::bbr::common::{first_pacing_rate, send_quantum, volume};
use bentpipe_units::{Bytes, Rate, Span};

impl Bbr3 {
    /// BBR.pacing_gain (§5.6.1).
    pub(super) fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => self.parameters.startup_pacing_gain,
            State::Drain => 0.5,
            State::Down => 0.9,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
            State::Up => 1.25,
        }
    }

    /// BBR.cwnd_gain (§5.6.1). ProbeRTT has a bound of its own.
    fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Up => self.parameters.cwnd_gain + 0.25,
            _ => self.parameters.cwnd_gain,
        }
    }

    /// BBR.cwnd_gain, with that of ProbeRTT.
    pub(super) fn reported_cwnd_gain(&self) -> f64 {
        if self.state == State::ProbeRtt { super::probe_rtt::CWND_GAIN } else { self.cwnd_gain() }
    }

    /// Returns the window, at least that of a Careful Resume probe.
    pub(super) fn window(&self) -> Bytes {
        self.cwnd.max(self.resumption.window())
    }

    /// MinPipeCwnd (§2.7).
    pub(super) fn min_pipe(&self) -> Bytes {
        Bytes::new(self.mtu.get().saturating_mul(4).max(1))
    }

    /// BBR.bdp.
    pub(super) fn bdp(&self) -> Bytes {
        self.bdp_times(self.bw, 1.0)
    }

    /// BDPMultiple: returns `gain` BDPs at `rate`.
    pub(super) fn bdp_times(&self, rate: Rate, gain: f64) -> Bytes {
        self.min_rtt
            .get()
            .map_or(self.initial_window, |min_rtt| volume(rate, min_rtt).mul_f64(gain))
    }

    /// Inflight: returns `gain` BDPs at `rate`, plus the minimum that hosts and ACKs need.
    pub(super) fn inflight(&self, rate: Rate, gain: f64) -> Bytes {
        self.quantization_budget(self.bdp_times(rate, gain))
    }

    /// QuantizationBudget. It allows one quantum, as for QUIC (§5.5.8), since no host here
    /// offloads.
    fn quantization_budget(&self, inflight: Bytes) -> Bytes {
        let quantum = self.pacing_rate.map_or(Bytes::ZERO, |rate| send_quantum(rate, self.mtu));
        let inflight = inflight.max(quantum).max(self.min_pipe());
        if self.state == State::Up { inflight + self.mtu + self.mtu } else { inflight }
    }

    /// UpdateControlParameters, after an ACK of `acked` bytes with the sample `rtt`.
    pub(super) fn update_control(&mut self, acked: Bytes, rtt: Span) {
        if self.pacing_rate.is_none() {
            self.pacing_rate =
                first_pacing_rate(self.initial_window, rtt, self.parameters.startup_pacing_gain);
        }
        self.set_pacing_rate(self.pacing_gain());
        self.set_cwnd(acked);
        self.update_probe();
    }

    /// SetPacingRateWithGain. Until the pipe is full, the rate never decreases.
    pub(super) fn set_pacing_rate(&mut self, gain: f64) {
        let rate = self.bw.mul_f64(gain * (1.0 - self.parameters.pacing_margin));
        if self.full_pipe.reached || self.pacing_rate.is_none_or(|pacing| rate > pacing) {
            self.pacing_rate = Some(rate);
        }
    }

    /// SetCwnd (§5.6.4.6).
    fn set_cwnd(&mut self, acked: Bytes) {
        let max_inflight = self.bdp_times(self.bw, self.cwnd_gain()) + self.aggregation.get();
        let max_inflight = self.quantization_budget(max_inflight);
        if self.full_pipe.reached {
            self.cwnd = (self.cwnd + acked).min(max_inflight);
        } else if self.cwnd < max_inflight || self.delivered < self.initial_window {
            self.cwnd += acked;
        }
        self.cwnd = self.cwnd.max(self.min_pipe());
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound_cwnd();
    }

    /// BoundCwndForModel (§5.6.4.7). The draft's table applies the long-term bound to Drain too,
    /// its pseudocode does not. This code follows the pseudocode: a Drain caused by loss has to get
    /// below that bound in any case.
    fn bound_cwnd(&mut self) {
        let cap = match self.state {
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::Cruise | State::ProbeRtt => self.inflight_with_headroom(),
            State::Startup | State::Drain => UNBOUNDED,
        };
        self.cwnd = self.cwnd.min(cap.min(self.short_term.inflight).max(self.min_pipe()));
    }

    /// SaveCwnd (§5.6.4.4).
    pub(super) fn save_cwnd(&mut self) {
        let modulated = self.recovery.is_active() || self.state == State::ProbeRtt;
        self.prior_cwnd = if modulated { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    /// RestoreCwnd.
    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
}

//! ProbeRTT (draft §5.3.4), and restarts from idle (§5.4).

use super::state::{AckSignals, Bbr3, State};
use bentpipe_units::{Bytes, Span, Time};

/// Minimum duration of ProbeRTT (§2.16.2, ProbeRTTDuration).
const DURATION: Span = Span::from_millis(200);

/// Window in bandwidth-delay products (§2.16.2, ProbeRTTCwndGain).
pub(super) const CWND_GAIN: f64 = 0.5;

impl Bbr3 {
    /// Returns ProbeRTTInterval. On a long path it has a minimum in RTTs.
    pub(super) fn probe_rtt_interval(&self) -> Span {
        let rounds = self.parameters.probe_rtt_rounds;
        self.min_rtt.get().map_or(self.probe_rtt_interval, |min_rtt| {
            self.probe_rtt_interval.max(min_rtt.mul_f64(rounds))
        })
    }

    /// CheckProbeRTT.
    pub(super) fn check_probe_rtt(&mut self, signals: &AckSignals) {
        if self.state != State::ProbeRtt && self.min_rtt.expired && !self.probe_rtt.idle_restart {
            self.save_cwnd();
            self.state = State::ProbeRtt;
            self.probe_rtt.done_at = None;
            self.cycle.stop();
            self.rounds.restart(self.delivered);
            // A Careful Resume probe is only possible in Startup, and the Drain of a failed one has
            // ended.
            self.resumption.end_probe();
            self.resumption.drained();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(signals.now);
        }
        if !signals.volume.is_zero() {
            self.probe_rtt.idle_restart = false;
        }
    }

    /// HandleProbeRTT.
    fn handle_probe_rtt(&mut self, now: Time) {
        self.limited.mark(self.next_number, self.delivered, self.in_flight);
        if self.probe_rtt.done_at.is_none() {
            if self.in_flight <= self.probe_rtt_cwnd() {
                self.probe_rtt.done_at = Some(now + DURATION);
                self.probe_rtt.round_done = false;
                self.rounds.restart(self.delivered);
            }
            return;
        }
        self.probe_rtt.round_done |= self.rounds.start;
        if self.probe_rtt.round_done {
            self.check_probe_rtt_done(now);
        }
    }

    /// CheckProbeRTTDone and ExitProbeRTT.
    fn check_probe_rtt_done(&mut self, now: Time) {
        if self.probe_rtt.done_at.is_none_or(|done| now <= done) {
            return;
        }
        self.min_rtt.schedule(now);
        self.restore_cwnd();
        self.short_term.reset_bounds();
        if self.full_pipe.reached {
            // The flight is already below the BDP: there is nothing to drain.
            self.start_down(now);
            self.start_cruise();
        } else {
            self.enter_startup();
        }
    }

    /// ProbeRTTCwnd.
    pub(super) fn probe_rtt_cwnd(&self) -> Bytes {
        self.bdp_times(self.bw, CWND_GAIN).max(self.min_pipe())
    }

    /// HandleRestartFromIdle.
    pub(super) fn restart_from_idle(&mut self, now: Time) {
        self.probe_rtt.idle_restart = true;
        self.aggregation.restart(now);
        if self.state.is_probe_bw() {
            self.set_pacing_rate(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(now);
        }
    }
}

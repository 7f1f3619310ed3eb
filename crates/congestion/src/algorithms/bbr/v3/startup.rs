//! Startup and Drain (draft §5.3.1, §5.3.2).

use super::state::{AckSignals, Bbr3, State};
use bentpipe_units::{Bytes, Time};

impl Bbr3 {
    /// EnterStartup.
    pub(super) fn enter_startup(&mut self) {
        self.state = State::Startup;
    }

    /// EnterDrain.
    pub(super) fn enter_drain(&mut self) {
        self.state = State::Drain;
        self.drain_start_round = self.rounds.count;
        self.resumption.end_probe();
    }

    /// CheckStartupDone.
    pub(super) fn check_startup_done(&mut self, signals: &AckSignals) {
        if self.short_term.round_start {
            // CheckStartupHighLoss (§5.3.1.3). A loss round starts with the first loss noted, so
            // that its end marks a full round in recovery.
            let ranges = self.recovery.take_ranges();
            if self.state == State::Startup
                && ranges >= self.parameters.startup_loss_ranges as u64
                && self.is_too_high(signals.lost, signals.tx_in_flight)
            {
                self.leave_startup_at(self.bdp().max(self.short_term.inflight_latest));
                return;
            }
        }
        if self.state == State::Startup && self.full_pipe.reached {
            self.enter_drain();
        }
    }

    /// Ends Startup because of congestion. `inflight` is the volume that the path holds.
    pub(super) fn leave_startup_at(&mut self, inflight: Bytes) {
        self.recovery.undo_state = Some(State::Startup);
        self.full_pipe.reached = true;
        self.inflight_longterm = inflight.max(self.min_pipe());
        self.enter_drain();
    }

    /// CheckDrainDone.
    pub(super) fn check_drain_done(&mut self, now: Time) {
        if self.state == State::Drain
            && (self.in_flight <= self.inflight(self.bw, 1.0)
                || self.rounds.count > self.drain_start_round + 3)
        {
            self.resumption.drained();
            self.start_down(now);
        }
    }
}

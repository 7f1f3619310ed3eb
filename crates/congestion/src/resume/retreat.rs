//! Safe Retreat: the unvalidated packets drain before anything grows again (RFC 9959 §3.5).

use super::layer::Resume;
use super::{Phase, Trigger};
use crate::controller::Ack;
use bentpipe_units::Time;

impl Resume {
    /// The jump met congestion, or the path is no longer the one that was confirmed.
    pub(super) fn retreat(&mut self, now: Time, trigger: Trigger) {
        let before = self.window_now();
        self.flight.close(self.next_number);
        self.notes.set_retreated();
        self.retreat = self.pipesize.mul_f64(0.5).min(before).max(self.minimum_window());
        self.answered = self.next_number;
        self.go(now, Phase::SafeRetreat, Some(trigger));
        // All of it may be accounted for already, the loss being its last word.
        self.end_retreat_when_settled(now);
    }

    /// An acknowledgement came during the retreat.
    pub(super) fn retreat_acked(&mut self, ack: &Ack<'_>) {
        self.count(ack);
        self.controller.on_ack(&Ack { app_limited: true, ..*ack });
        self.end_retreat_when_settled(ack.now);
    }

    /// Congestion among packets up to `newest` during the retreat. The flight that the retreat answers is given up already;
    /// what was sent at the retreat's own window and met congestion again halves that (RFC 9002 §7.3.2).
    pub(super) fn retreat_congested(&mut self, newest: u64) {
        if newest >= self.answered {
            self.answered = self.next_number;
            self.retreat = self.retreat.mul_f64(0.5).max(self.minimum_window());
        }
    }

    /// The retreat ends when the last unvalidated packet, or a later one, is acknowledged, or when every unvalidated packet
    /// is either acknowledged or lost: the last may be lost itself.
    pub(super) fn end_retreat_when_settled(&mut self, now: Time) {
        if self.flight.is_reached() || self.flight.is_settled() {
            self.end_retreat(now);
        }
    }

    pub(super) fn end_retreat(&mut self, now: Time) {
        // The controller may have set its own window lower: the path has changed.
        let window = self.retreat.min(self.controller.window());
        // Two packets at least, as RFC 5681 equation 4.
        let ssthresh = self.pipesize.mul_f64(self.limits.beta).max(self.minimum_window());
        self.set_controller(now, window, Some(ssthresh), self.next_number);
        self.go(now, Phase::Normal, Some(Trigger::ExitRecovery));
    }
}

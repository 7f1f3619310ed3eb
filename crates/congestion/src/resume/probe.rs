//! Careful Resume of a rate-based controller (RFC 9959 appendix C).
//!
//! The controller keeps its window and its pacing rate, and gets a probing rate for two of its
//! rounds. The first is the Unvalidated Phase, the second the Validating Phase. The controller's
//! Drain is the Safe Retreat.

use super::careful::CarefulResume;
use super::phase::{Jump, PhaseState, Retreat, Validation};
use super::saved::SavedParameters;
use super::transitions::Trigger;
use crate::controller::Ack;
use bentpipe_units::{Rate, Time};

impl CarefulResume {
    /// Sets the controller's probing rate, at the start of `round`.
    pub(super) fn start_probe(&mut self, now: Time, round: u64, saved: &SavedParameters) {
        let rate = Rate::over(self.parameters.jump_window(saved), saved.rtt);
        let Some(model) = self.controller.rate_based() else { return };
        if !model.in_startup() || model.bandwidth().is_some_and(|bandwidth| bandwidth >= rate) {
            self.go(now, PhaseState::Normal, None);
            return;
        }
        model.set_probing_rate(Some(rate));
        self.start_jump();
        self.go(
            now,
            PhaseState::Unvalidated(Jump::Rate(round)),
            Some(Trigger::CongestionWindowLimited),
        );
    }

    /// Handles an ACK while the controller probes or drains.
    pub(super) fn on_probe_ack(&mut self, ack: &Ack<'_>) {
        self.count(ack);
        self.controller.on_ack(ack);
        self.retreat_if_startup_ended(ack.now, None);
        let rounds = |start: u64| ack.round.saturating_sub(start);
        match self.phase {
            PhaseState::SafeRetreat(_) => self.end_drain_if_settled(ack.now),
            PhaseState::Unvalidated(_)
                if self
                    .saved
                    .is_some_and(|saved| self.parameters.is_too_short(ack.rtt, &saved)) =>
            {
                self.retreat_by_rate(ack.now, Some(Trigger::PathChanged));
            }
            PhaseState::Unvalidated(Jump::Rate(round)) if rounds(round) >= 1 => {
                self.unvalidated.close(self.next_number);
                if self.is_rate_limited() {
                    self.set_probing_rate(None);
                    self.go(ack.now, PhaseState::Normal, Some(Trigger::RateLimited));
                } else {
                    let validating = PhaseState::Validating(Validation::Rate(round));
                    self.go(ack.now, validating, Some(Trigger::FirstUnvalidatedPacketAcknowledged));
                }
            }
            PhaseState::Validating(Validation::Rate(round)) if rounds(round) >= 2 => {
                self.set_probing_rate(None);
                self.go(
                    ack.now,
                    PhaseState::Normal,
                    Some(Trigger::LastUnvalidatedPacketAcknowledged),
                );
            }
            _ => {}
        }
    }

    /// Retreats if the model has left Startup by its own rules during the probe, which distorts its
    /// samples.
    pub(super) fn retreat_if_startup_ended(&mut self, now: Time, trigger: Option<Trigger>) {
        if self.phase.probe_round().is_some()
            && !self.controller.rate_based().is_some_and(|model| model.in_startup())
        {
            self.retreat_by_rate(now, trigger);
        }
    }

    /// Retreats after the probe met congestion: the controller drains, and ignores all samples
    /// until it has.
    pub(super) fn retreat_by_rate(&mut self, now: Time, trigger: Option<Trigger>) {
        self.unvalidated.close(self.next_number);
        self.handle.set_retreated();
        if let Some(model) = self.controller.rate_based() {
            model.set_probing_rate(None);
            model.retreat(now);
        }
        self.go(now, PhaseState::SafeRetreat(Retreat::Rate), trigger);
    }

    /// Ends the retreat when Drain has ended and every unvalidated packet is accounted for.
    pub(super) fn end_drain_if_settled(&mut self, now: Time) {
        let draining = self.controller.rate_based().is_some_and(|model| model.in_drain());
        if !draining && (self.unvalidated.is_reached() || self.unvalidated.is_settled()) {
            self.go(now, PhaseState::Normal, Some(Trigger::ExitRecovery));
        }
    }

    pub(super) fn set_probing_rate(&mut self, rate: Option<Rate>) {
        if let Some(model) = self.controller.rate_based() {
            model.set_probing_rate(rate);
        }
    }
}

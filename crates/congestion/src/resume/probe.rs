//! Careful Resume of a controller that models rate and round trip (RFC 9959 appendix C).
//!
//! The controller keeps its window and its pace; it is told a rate to send at, for two of its rounds. The first is the
//! Unvalidated Phase, the second the Validating Phase, and the controller's Drain is the Safe Retreat.

use super::layer::Resume;
use super::{Phase, Saved, Trigger};
use crate::controller::Ack;
use bentpipe_units::{Rate, Time};

impl Resume {
    /// Tells the controller the probing rate, at the start of round `round`.
    pub(super) fn begin_probe(&mut self, now: Time, round: u64, saved: &Saved) {
        let rate = Rate::over(self.limits.jump(saved), saved.rtt);
        let rtt = self.recon.rtt.unwrap_or(saved.rtt);
        let Some(model) = self.controller.rate_based() else { return };
        if !model.in_startup() || model.bandwidth().is_some_and(|bandwidth| bandwidth >= rate) {
            self.go(now, Phase::Normal, None);
            return;
        }
        model.set_probing_rate(Some(rate));
        self.start_flight(rtt);
        self.by_rate = true;
        self.probe_round = round;
        self.go(now, Phase::Unvalidated, Some(Trigger::CongestionWindowLimited));
    }

    /// An acknowledgement came while the controller probes or drains.
    pub(super) fn probe_acked(&mut self, ack: &Ack<'_>) {
        self.count(ack);
        self.controller.on_ack(ack);
        let rounds = ack.round.saturating_sub(self.probe_round);
        self.retreat_where_startup_ended(ack.now, None);
        match self.phase {
            Phase::SafeRetreat => self.end_drain_when_settled(ack.now),
            Phase::Unvalidated if self.saved.is_some_and(|saved| self.limits.is_too_short(ack.rtt, &saved)) => {
                self.retreat_by_rate(ack.now, Some(Trigger::PathChanged));
            }
            Phase::Unvalidated if rounds >= 1 => {
                self.flight.close(self.next_number);
                if self.is_rate_limited() {
                    self.set_probing_rate(None);
                    self.go(ack.now, Phase::Normal, Some(Trigger::RateLimited));
                } else {
                    self.go(ack.now, Phase::Validating, Some(Trigger::FirstUnvalidatedPacketAcknowledged));
                }
            }
            Phase::Validating if rounds >= 2 => {
                self.set_probing_rate(None);
                self.go(ack.now, Phase::Normal, Some(Trigger::LastUnvalidatedPacketAcknowledged));
            }
            _ => {}
        }
    }

    /// The model has left Startup by its own rules while it probed: what it measures now is tainted.
    pub(super) fn retreat_where_startup_ended(&mut self, now: Time, trigger: Option<Trigger>) {
        let probing = self.by_rate && matches!(self.phase, Phase::Unvalidated | Phase::Validating);
        if probing && !self.controller.rate_based().is_some_and(|model| model.in_startup()) {
            self.retreat_by_rate(now, trigger);
        }
    }

    /// The probe met congestion: the controller drains, and measures nothing until it has.
    pub(super) fn retreat_by_rate(&mut self, now: Time, trigger: Option<Trigger>) {
        self.flight.close(self.next_number);
        self.notes.set_retreated();
        if let Some(model) = self.controller.rate_based() {
            model.set_probing_rate(None);
            model.retreat(now);
        }
        self.go(now, Phase::SafeRetreat, trigger);
    }

    /// The retreat is over when the Drain is, and every unvalidated packet is accounted for.
    pub(super) fn end_drain_when_settled(&mut self, now: Time) {
        let draining = self.controller.rate_based().is_some_and(|model| model.in_drain());
        if !draining && (self.flight.is_reached() || self.flight.is_settled()) {
            self.go(now, Phase::Normal, Some(Trigger::ExitRecovery));
        }
    }

    pub(super) fn set_probing_rate(&mut self, rate: Option<Rate>) {
        if let Some(model) = self.controller.rate_based() {
            model.set_probing_rate(rate);
        }
    }
}

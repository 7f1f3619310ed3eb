//! Reconnaissance: confirms that this is the path whose parameters were saved (RFC 9959 §3.2).

use super::careful::CarefulResume;
use super::handle::Refusal;
use super::phase::{Jump, PhaseState, WindowJump};
use super::saved::SavedParameters;
use super::transitions::Trigger;
use bentpipe_units::{Span, Time};

/// An event at which the connection may jump.
#[derive(Debug, Clone, Copy)]
pub(super) struct JumpOpportunity {
    pub(super) now: Time,
    /// True if cwnd limits the sender.
    pub(super) cwnd_limited: bool,
    /// The round that starts with the event, if any.
    pub(super) round: Option<u64>,
}

impl CarefulResume {
    /// Takes the handle's offer, and ends Careful Resume if it must not be used.
    fn take_offer(&mut self, now: Time) {
        let (saved, refusal) = self.handle.offered();
        self.saved = saved;
        if let Some(refusal) = refusal {
            let trigger = (refusal == Refusal::EndpointMismatch).then_some(Trigger::PathChanged);
            self.go(now, PhaseState::Normal, trigger);
            return;
        }
        let Some(saved) = saved else { return };
        let PhaseState::Reconnaissance(reconnaissance) = &self.phase else { return };
        if saved.is_expired(now) {
            self.handle.refuse(Refusal::Expired);
            self.go(now, PhaseState::Normal, None);
        } else if reconnaissance
            .min_rtt
            .is_some_and(|min| self.parameters.is_too_short(min, &saved))
        {
            // The minimum can only decrease: there is no need to wait for the jump.
            self.go(now, PhaseState::Normal, Some(Trigger::RttNotValidated));
        }
    }

    /// Jumps if the path is confirmed and the sender can use the window.
    pub(super) fn consider_jump(&mut self, opportunity: JumpOpportunity) {
        let now = opportunity.now;
        self.take_offer(now);
        let PhaseState::Reconnaissance(reconnaissance) = &self.phase else { return };
        let (Some(saved), Some(rtt)) = (self.saved, reconnaissance.rtt) else { return };
        if !opportunity.cwnd_limited || !reconnaissance.initial.is_settled() {
            return;
        }
        if !self.handle.holds_or_asks() {
            return;
        }
        if self.parameters.is_too_long(rtt, &saved) {
            self.go(now, PhaseState::Normal, Some(Trigger::RttNotValidated));
        } else if self.controller.rate_based().is_some() {
            if let Some(round) = opportunity.round {
                self.start_probe(now, round, &saved);
            }
        } else if self.controller.start_measures_path() && self.queue.shows_queue(&saved) {
            // Others use the path, or it is longer now. The slow start measures what they leave as
            // soon as a jump would have ended, and a jump that fails costs many RTTs beside them.
            self.go(now, PhaseState::Normal, Some(Trigger::RttNotValidated));
        } else {
            self.jump(now, rtt, &saved);
        }
    }

    /// Ends Careful Resume because of congestion before the jump, to which the controller responds.
    pub(super) fn abandon(&mut self, now: Time, trigger: Trigger) {
        if matches!(self.phase, PhaseState::Reconnaissance(_)) {
            self.go(now, PhaseState::Normal, Some(trigger));
        }
    }

    fn jump(&mut self, now: Time, rtt: Span, saved: &SavedParameters) {
        let cwnd = self.controller.send_control().cwnd;
        let Some(window) = self.parameters.worthwhile_jump(saved, cwnd) else {
            // The controller has reached the jump window, or much of it, by itself.
            self.go(now, PhaseState::Normal, None);
            return;
        };
        self.start_jump();
        let jump = WindowJump { window, rtt, first_sent_at: None };
        self.go(
            now,
            PhaseState::Unvalidated(Jump::Window(jump)),
            Some(Trigger::CongestionWindowLimited),
        );
    }
}

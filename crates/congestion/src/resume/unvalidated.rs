//! The Unvalidated and the Validating Phase of a window-based controller (RFC 9959 §3.3 and §3.4).

use super::careful::CarefulResume;
use super::phase::{Jump, PhaseState, Validation};
use super::transitions::Trigger;
use crate::controller::{Ack, SentPacket};
use bentpipe_units::Time;

impl CarefulResume {
    /// Handles a packet sent in the Unvalidated Phase.
    pub(super) fn on_unvalidated_packet_sent(&mut self, packet: &SentPacket) {
        self.unvalidated.on_packet_sent(packet.number);
        let PhaseState::Unvalidated(Jump::Window(jump)) = &mut self.phase else { return };
        jump.first_sent_at.get_or_insert(packet.sent_at);
        if jump.window.saturating_sub(packet.in_flight) < self.mtu {
            self.evaluate(packet.sent_at, Trigger::LastUnvalidatedPacketSent);
        } else if jump.is_overdue(packet.sent_at) {
            self.evaluate(packet.sent_at, Trigger::RttExceeded);
        }
    }

    /// Handles an ACK in the Unvalidated Phase.
    pub(super) fn on_unvalidated_ack(&mut self, ack: &Ack<'_>) {
        self.count(ack);
        // The window is that of the jump; the controller's own grows only by what was sent before,
        // which filled it. A start that measures the path may measure more than the jump admits.
        let is_jump = self.unvalidated.first().is_some_and(|first| ack.newest().number >= first);
        self.controller.on_ack(&Ack { app_limited: is_jump, ..*ack });
        let own = self.controller.send_control().cwnd;
        let PhaseState::Unvalidated(Jump::Window(jump)) = &mut self.phase else { return };
        jump.rtt = ack.rtt;
        let (overdue, exceeded) = (jump.is_overdue(ack.now), own >= jump.window);
        if exceeded {
            self.unvalidated.close(self.next_number);
            self.go(ack.now, PhaseState::Normal, None);
        } else if self.saved.is_some_and(|saved| self.parameters.is_too_short(ack.rtt, &saved)) {
            self.retreat(ack.now, Trigger::PathChanged);
        } else if is_jump {
            self.evaluate(ack.now, Trigger::FirstUnvalidatedPacketAcknowledged);
        } else if overdue {
            self.evaluate(ack.now, Trigger::RttExceeded);
        }
    }

    /// Ends the Unvalidated Phase: "check flight_size" (§3.3). The window shrinks by the unused
    /// part of the jump, but not below what it would be without one.
    pub(super) fn evaluate(&mut self, now: Time, trigger: Trigger) {
        self.unvalidated.close(self.next_number);
        if self.is_rate_limited() {
            let own = self.controller.send_control().cwnd;
            let window = self.pipesize.max(self.initial_window).max(own);
            self.controller.restart(&self.restart_to(now, window, None, 0));
            self.go(now, PhaseState::Normal, Some(Trigger::RateLimited));
        } else {
            self.raise_controller(now, self.flight_size);
            self.go(now, PhaseState::Validating(Validation::Window), Some(trigger));
        }
    }

    /// Handles an ACK in the Validating Phase.
    pub(super) fn on_validating_ack(&mut self, ack: &Ack<'_>) {
        self.count(ack);
        self.controller.on_ack(ack);
        if self.unvalidated.is_settled() {
            self.go(ack.now, PhaseState::Normal, Some(Trigger::LastUnvalidatedPacketAcknowledged));
        }
    }
}

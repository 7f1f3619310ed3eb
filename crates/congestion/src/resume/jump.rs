//! The jump of a controller with a window, and what becomes of it (RFC 9959 §3.3 and §3.4).

use super::layer::Resume;
use super::{Phase, Trigger};
use crate::controller::{Ack, Adjust, Packet};
use bentpipe_units::{Bytes, Rate, Time};

impl Resume {
    /// Exactly one jump's window each current round trip (§4.3.2).
    pub(super) fn jump_pace(&self) -> Rate {
        Rate::over(self.jump, self.rtt).max(Rate::from_bps(1))
    }

    /// A packet was sent in the Unvalidated Phase.
    pub(super) fn jump_sent(&mut self, packet: &Packet) {
        self.flight.sent(packet.number);
        self.entered.get_or_insert(packet.sent_at);
        if self.jump.saturating_sub(packet.in_flight) < self.mtu {
            self.evaluate(packet.sent_at, Trigger::LastUnvalidatedPacketSent);
        } else if self.is_overdue(packet.sent_at) {
            self.evaluate(packet.sent_at, Trigger::RttExceeded);
        }
    }

    /// An acknowledgement came in the Unvalidated Phase.
    pub(super) fn jump_acked(&mut self, ack: &Ack<'_>) {
        self.count(ack);
        self.rtt = ack.rtt;
        // The window is the jump's: the controller's own does not grow meanwhile.
        self.controller.on_ack(&Ack { app_limited: true, ..*ack });
        if self.saved.is_some_and(|saved| self.limits.is_too_short(ack.rtt, &saved)) {
            self.retreat(ack.now, Trigger::PathChanged);
        } else if self.flight.first().is_some_and(|first| ack.newest().number >= first) {
            self.evaluate(ack.now, Trigger::FirstUnvalidatedPacketAcknowledged);
        } else if self.is_overdue(ack.now) {
            self.evaluate(ack.now, Trigger::RttExceeded);
        }
    }

    /// More than a round trip has passed since the first unvalidated packet was sent. From the jump to that packet, the sender
    /// may wait as it may in Reconnaissance.
    fn is_overdue(&self, now: Time) -> bool {
        self.entered.is_some_and(|entered| now.since(entered) > self.rtt)
    }

    /// "Check flight_size" (§3.3): the part of the jump that was not used is given back.
    pub(super) fn evaluate(&mut self, now: Time, trigger: Trigger) {
        self.flight.close(self.next_number);
        if self.is_rate_limited() {
            let window = self.pipesize.max(self.initial_window);
            self.set_controller(now, window, None, 0);
            self.go(now, Phase::Normal, Some(Trigger::RateLimited));
        } else {
            self.set_controller(now, self.flight_size, None, 0);
            self.go(now, Phase::Validating, Some(trigger));
        }
    }

    /// The sender has put less in flight than the path was known to hold.
    pub(super) fn is_rate_limited(&self) -> bool {
        self.flight_size < self.initial_window || self.flight_size <= self.pipesize
    }

    /// An acknowledgement came in the Validating Phase.
    pub(super) fn validating_acked(&mut self, ack: &Ack<'_>) {
        self.count(ack);
        self.controller.on_ack(ack);
        if self.flight.is_settled() {
            self.go(ack.now, Phase::Normal, Some(Trigger::LastUnvalidatedPacketAcknowledged));
        }
    }

    /// Adds the unvalidated packets that `ack` covers to PipeSize.
    pub(super) fn count(&mut self, ack: &Ack<'_>) {
        self.pipesize += self.flight.acked(ack.packets, ack.next_number);
    }

    pub(super) fn set_controller(&mut self, now: Time, window: Bytes, ssthresh: Option<Bytes>, answered: u64) {
        let window = window.max(self.minimum_window());
        self.controller.adjust(&Adjust { now, window, ssthresh, rate: None, min_rtt: None, answered });
    }
}

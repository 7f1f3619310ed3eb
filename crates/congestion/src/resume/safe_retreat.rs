//! Safe Retreat: the unvalidated packets drain before the window grows again (RFC 9959 §3.5).

use super::careful::CarefulResume;
use super::phase::{PhaseState, Retreat, UndoRetreat};
use super::queue_check::CHANCE;
use super::transitions::Trigger;
use crate::controller::Ack;
use bentpipe_units::{Bytes, Time};

impl CarefulResume {
    /// Retreats because the jump met congestion, or the path is no longer the confirmed one.
    pub(super) fn retreat(&mut self, now: Time, trigger: Trigger) {
        let before = self.window();
        self.unvalidated.close(self.next_number);
        self.handle.set_retreated();
        let window = self.pipesize.mul_f64(0.5).min(before).max(self.minimum_window());
        let doubtful = trigger == Trigger::PacketLoss;
        self.undo = doubtful.then_some(UndoRetreat { window: before, late: false, until: None });
        let retreat = Retreat::Window { window, recovery_start: self.next_number, doubtful };
        self.go(now, PhaseState::SafeRetreat(retreat), Some(trigger));
        // The loss may have accounted for the last unvalidated packet.
        self.end_retreat_if_settled(now);
    }

    /// Handles an ACK during the retreat.
    pub(super) fn on_retreat_ack(&mut self, ack: &Ack<'_>) {
        self.count(ack);
        self.controller.on_ack(&Ack { app_limited: true, ..*ack });
        self.end_retreat_if_settled(ack.now);
    }

    /// Notes that more packets of the jump are lost.
    pub(super) fn note_jump_loss(&mut self) {
        if let Some(undo) = &mut self.undo {
            undo.late = false;
        }
    }

    /// Handles congestion during the retreat, among packets up to `newest`. The retreat covers the
    /// flight before it; congestion among later packets halves its window (RFC 9002 §7.3.2).
    pub(super) fn on_retreat_congestion(&mut self, newest: u64) {
        let minimum = self.minimum_window();
        if let PhaseState::SafeRetreat(Retreat::Window { window, recovery_start, doubtful }) =
            &mut self.phase
            && newest >= *recovery_start
        {
            *recovery_start = self.next_number;
            *window = window.mul_f64(0.5).max(minimum);
            *doubtful = false;
        }
    }

    /// Notes that something other than losses shows congestion.
    pub(super) fn clear_doubt(&mut self) {
        self.undo = None;
        if let PhaseState::SafeRetreat(Retreat::Window { doubtful, .. }) = &mut self.phase {
            *doubtful = false;
        }
    }

    /// Ends the retreat if the last unvalidated packet, or a later one, is acknowledged, or if
    /// every unvalidated packet is acknowledged or lost, since the last one may be lost itself.
    pub(super) fn end_retreat_if_settled(&mut self, now: Time) {
        if self.unvalidated.is_reached() || self.unvalidated.is_settled() {
            self.end_retreat(now);
        }
    }

    pub(super) fn end_retreat(&mut self, now: Time) {
        let PhaseState::SafeRetreat(Retreat::Window { window, doubtful, .. }) = self.phase else {
            return;
        };
        // The whole jump is accounted for: with no more losses than chance explains, a slow start
        // that would have passed over them without memory continues.
        let by_chance = doubtful && !self.unvalidated.is_congested(CHANCE);
        // The controller may have reduced its own window: the path has changed.
        let window = window.min(self.controller.send_control().cwnd);
        // At least two packets, as in equation 4 of RFC 5681.
        let ssthresh = self.pipesize.mul_f64(self.parameters.beta).max(self.minimum_window());
        let to = self.restart_to(now, window, Some(ssthresh), self.next_number);
        if by_chance {
            self.controller.restart_after_chance(&to);
        } else {
            self.controller.restart(&to);
        }
        self.go(now, PhaseState::Normal, Some(Trigger::ExitRecovery));
        if let Some(undo) = &mut self.undo {
            undo.until = Some(self.next_number);
            if undo.late {
                self.undo_retreat(now);
            }
        }
    }

    /// Handles that every packet declared lost has arrived, only late. Returns false if no retreat
    /// depends on it. The rules of a retreat hold until its end all the same (RFC 9959 §3.5).
    pub(super) fn on_late_jump(&mut self, now: Time) -> bool {
        let Some(undo) = &mut self.undo else { return false };
        undo.late = true;
        self.pipesize += self.unvalidated.forgive_losses();
        if undo.until.is_some() {
            self.undo_retreat(now);
        }
        true
    }

    /// Undoes a retreat that has ended: the whole jump has arrived, which validates it.
    fn undo_retreat(&mut self, now: Time) {
        let Some(undo) = self.undo.take() else { return };
        let window = undo.window.min(self.pipesize);
        if window > self.controller.send_control().cwnd {
            let to = self.restart_to(now, window, Some(Bytes::MAX), self.next_number);
            self.controller.restart_after_chance(&to);
        }
    }

    /// Makes a retreat final an RTT after its end: the sender forgets lost packets, so that a later
    /// report is not about all of them.
    pub(super) fn expire_undo(&mut self, ack: &Ack<'_>) {
        let newest = ack.newest().number;
        self.undo = self.undo.filter(|undo| undo.until.is_none_or(|until| newest < until));
    }
}

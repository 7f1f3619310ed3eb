//! Careful Resume as a [`Controller`].

use super::careful::CarefulResume;
use super::phase::{Jump, PhaseState, Retreat, WindowJump};
use super::reconnaissance::JumpOpportunity;
use super::transitions::Trigger;
use crate::controller::{
    Ack, Controller, EcnCe, Loss, PathChange, Restart, SendControl, SentPacket, forward_to,
};
use bentpipe_units::{Bytes, Rate, Time};

impl CarefulResume {
    fn observe(&mut self, ack: &Ack<'_>) {
        let in_slow_start = self.controller.send_control().in_slow_start;
        self.observer.on_ack(ack, in_slow_start, &self.handle);
    }

    /// Returns the pacing rate before a jump: at most that of the saved path. A slow start that
    /// knows nothing of the path may send its first burst faster than the link, and what overflows
    /// the queue would make the jump a retreat.
    fn limited_to_saved_rate(&self, rate: Rate, cwnd: Bytes) -> Rate {
        match self.saved {
            Some(saved) if self.parameters.worthwhile_jump(&saved, cwnd).is_some() => {
                rate.min(saved.rate())
            }
            _ => rate,
        }
    }

    /// Returns the pacing rate of a jump. Within the window of the controller itself, the jump does
    /// not slow it down.
    fn jump_pacing_rate(&self, jump: &WindowJump, inner: &SendControl) -> Rate {
        let rate = jump.pacing_rate();
        let saved = self.saved.map(|saved| saved.rate());
        match (inner.pacing_rate, saved) {
            (Some(own), Some(saved)) if self.flight_size + self.mtu <= inner.cwnd => {
                rate.max(own.min(saved))
            }
            _ => rate,
        }
    }

    /// Retreats from the jump, by window or rate.
    fn on_jump_congestion(&mut self, now: Time, trigger: Trigger) {
        if self.phase.is_by_rate() {
            self.retreat_by_rate(now, Some(trigger));
        } else {
            self.retreat(now, trigger);
        }
    }

    /// Returns the share of packets that may be lost by chance; zero if packets queue.
    fn chance_tolerance(&self) -> f64 {
        self.saved.map_or(0.0, |saved| self.queue.loss_tolerance(&saved))
    }

    /// Returns true if the controller tolerates the losses of the jump up to now.
    fn is_tolerated(&self) -> bool {
        let own = self.controller.send_control().loss_tolerance;
        let tolerance = if own > 0.0 { own } else { self.chance_tolerance() };
        tolerance > 0.0 && !self.unvalidated.is_congested(tolerance)
    }

    /// Returns true if the losses of the initial data up to now are no congestion: if the
    /// controller tolerates as many, or if no packet queues and a slow start has passed over them.
    /// `before` is the controller's state before it was notified of the latest.
    fn is_tolerated_before_jump(&self, before: &SendControl) -> bool {
        let PhaseState::Reconnaissance(reconnaissance) = &self.phase else { return false };
        if before.loss_tolerance > 0.0 {
            return !reconnaissance.initial.is_congested(before.loss_tolerance);
        }
        let chance = self.chance_tolerance();
        let after = self.controller.send_control();
        let passed_over = after.in_slow_start && after.cwnd >= before.cwnd;
        passed_over && chance > 0.0 && !reconnaissance.initial.is_congested(chance)
    }

    /// Responds to a loss between the jump and the end of the retreat. Returns true if the
    /// controller must be notified as well.
    fn on_jump_loss(&mut self, loss: &Loss<'_>) -> bool {
        self.unvalidated.on_loss(loss.packets);
        match self.phase {
            PhaseState::Unvalidated(_) | PhaseState::Validating(_) => {
                if !loss.persistent && self.is_tolerated() {
                    return true;
                }
                let by_rate = self.phase.is_by_rate();
                self.on_jump_congestion(loss.now, Trigger::PacketLoss);
                if loss.persistent && !by_rate {
                    self.clear_doubt();
                    self.end_retreat(loss.now);
                }
                by_rate || loss.persistent
            }
            PhaseState::SafeRetreat(Retreat::Rate) => {
                self.end_drain_if_settled(loss.now);
                true
            }
            _ => {
                self.note_jump_loss();
                self.on_retreat_congestion(loss.newest().number);
                self.end_retreat_if_settled(loss.now);
                if loss.persistent {
                    self.clear_doubt();
                    self.end_retreat(loss.now);
                }
                loss.persistent
            }
        }
    }
}

impl Controller for CarefulResume {
    forward_to!(controller: report_state, is_rate_based);

    fn on_packet_sent(&mut self, packet: &SentPacket) {
        (self.flight_size, self.next_number) = (packet.in_flight, packet.number.saturating_add(1));
        self.controller.on_packet_sent(packet);
        match &mut self.phase {
            PhaseState::Reconnaissance(reconnaissance) => {
                reconnaissance.on_packet_sent(packet.number);
                let cwnd = self.controller.send_control().cwnd;
                let cwnd_limited = cwnd.saturating_sub(packet.in_flight) < self.mtu;
                self.consider_jump(JumpOpportunity {
                    now: packet.sent_at,
                    cwnd_limited,
                    round: None,
                });
            }
            PhaseState::Unvalidated(Jump::Rate(_)) => {
                self.unvalidated.on_packet_sent(packet.number)
            }
            PhaseState::Unvalidated(Jump::Window(_)) => self.on_unvalidated_packet_sent(packet),
            _ => {}
        }
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        (self.flight_size, self.next_number) = (ack.bytes_in_flight, ack.next_number);
        self.queue.on_ack(ack.now, ack.rtt);
        match &mut self.phase {
            PhaseState::Reconnaissance(reconnaissance) => {
                reconnaissance.on_ack(ack);
                let round = reconnaissance.starting_round(ack.now);
                self.controller.on_ack(ack);
                self.observe(ack);
                self.consider_jump(JumpOpportunity {
                    now: ack.now,
                    cwnd_limited: !ack.app_limited,
                    round,
                });
            }
            PhaseState::Normal => {
                self.expire_undo(ack);
                self.controller.on_ack(ack);
                self.observe(ack);
            }
            phase if phase.is_by_rate() => self.on_probe_ack(ack),
            PhaseState::Unvalidated(_) => self.on_unvalidated_ack(ack),
            PhaseState::Validating(_) => self.on_validating_ack(ack),
            PhaseState::SafeRetreat(_) => self.on_retreat_ack(ack),
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        (self.flight_size, self.next_number) = (loss.bytes_in_flight, loss.next_number);
        match &mut self.phase {
            PhaseState::Reconnaissance(reconnaissance) => {
                reconnaissance.initial.on_loss(loss.packets);
                let before = self.controller.send_control();
                self.controller.on_loss(loss);
                if loss.persistent || !self.is_tolerated_before_jump(&before) {
                    self.abandon(loss.now, Trigger::PacketLoss);
                }
            }
            PhaseState::Normal => self.controller.on_loss(loss),
            _ => {
                if self.on_jump_loss(loss) {
                    self.controller.on_loss(loss);
                    self.retreat_if_startup_ended(loss.now, Some(Trigger::PacketLoss));
                }
            }
        }
    }

    fn on_ecn_ce(&mut self, ecn_ce: &EcnCe) {
        (self.flight_size, self.next_number) = (ecn_ce.bytes_in_flight, ecn_ce.next_number);
        match self.phase {
            PhaseState::Reconnaissance(_) | PhaseState::Normal => {
                self.controller.on_ecn_ce(ecn_ce);
                self.abandon(ecn_ce.now, Trigger::EcnCe);
            }
            PhaseState::Unvalidated(_) | PhaseState::Validating(_) => {
                let by_rate = self.phase.is_by_rate();
                self.on_jump_congestion(ecn_ce.now, Trigger::EcnCe);
                if by_rate {
                    self.controller.on_ecn_ce(ecn_ce);
                }
            }
            PhaseState::SafeRetreat(Retreat::Rate) => self.controller.on_ecn_ce(ecn_ce),
            PhaseState::SafeRetreat(Retreat::Window { .. }) => {
                self.clear_doubt();
                self.on_retreat_congestion(ecn_ce.newest)
            }
        }
    }

    fn on_timeout(&mut self, now: Time) {
        self.controller.on_timeout(now);
        if matches!(self.phase, PhaseState::Unvalidated(Jump::Window(_))) {
            self.evaluate(now, Trigger::RttExceeded);
        }
    }

    fn on_spurious_loss(&mut self, now: Time) {
        // The window of a jump is not the controller's to return to.
        if !self.on_late_jump(now) && !matches!(self.phase, PhaseState::SafeRetreat(_)) {
            self.controller.on_spurious_loss(now);
        }
    }

    fn on_path_change(&mut self, change: &PathChange) {
        let now = change.now;
        self.undo = None;
        match self.phase {
            PhaseState::Reconnaissance(_) => {
                self.go(now, PhaseState::Normal, Some(Trigger::PathChanged))
            }
            PhaseState::Unvalidated(_) | PhaseState::Validating(_) => {
                self.on_jump_congestion(now, Trigger::PathChanged);
            }
            PhaseState::SafeRetreat(_) | PhaseState::Normal => {}
        }
        self.controller.on_path_change(change);
        // The observations belong to the old path. The store has either read them already or loses
        // them.
        self.observer.on_path_change(&self.parameters, self.initial_window, self.next_number);
        self.handle.set_observed(None);
    }

    fn on_mtu_update(&mut self, mtu: Bytes) {
        self.mtu = mtu;
        self.controller.on_mtu_update(mtu);
    }

    fn restart(&mut self, to: &Restart) {
        self.controller.restart(to);
        if !matches!(self.phase, PhaseState::Normal) {
            // The other layer's restart takes precedence.
            if self.phase.is_by_rate() {
                self.set_probing_rate(None);
            }
            self.go(to.now, PhaseState::Normal, None);
        }
    }

    fn send_control(&self) -> SendControl {
        let inner = self.controller.send_control();
        let control = match self.phase {
            PhaseState::Reconnaissance(_) if self.saved.is_some() => SendControl {
                pacing_rate: inner
                    .pacing_rate
                    .map(|rate| self.limited_to_saved_rate(rate, inner.cwnd)),
                phase: "reconnaissance",
                ..inner
            },
            PhaseState::Reconnaissance(_) | PhaseState::Normal => inner,
            PhaseState::Unvalidated(Jump::Window(ref jump)) => {
                // No burst larger than the initial window (RFC 9959 §4.3.2).
                let send_quantum = inner
                    .send_quantum
                    .map_or(self.initial_window, |own| own.min(self.initial_window));
                SendControl {
                    cwnd: jump.window.max(inner.cwnd),
                    pacing_rate: Some(self.jump_pacing_rate(jump, &inner)),
                    send_quantum: Some(send_quantum),
                    in_slow_start: true,
                    phase: "unvalidated",
                    ..inner
                }
            }
            PhaseState::Unvalidated(Jump::Rate(_)) => SendControl { phase: "unvalidated", ..inner },
            PhaseState::Validating(_) => SendControl { phase: "validating", ..inner },
            PhaseState::SafeRetreat(Retreat::Window { window, .. }) => SendControl {
                cwnd: window,
                // The controller's own rate belongs to the window that it would have without the
                // layer.
                pacing_rate: None,
                in_slow_start: false,
                phase: "safe retreat",
                ..inner
            },
            PhaseState::SafeRetreat(Retreat::Rate) => {
                SendControl { phase: "safe retreat", ..inner }
            }
        };
        SendControl { cwnd: control.cwnd.max(self.minimum_window()), ..control }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self {
            controller: self.controller.clone_box(),
            handle: self.handle.clone(),
            phase: self.phase.clone(),
            unvalidated: self.unvalidated.clone(),
            observer: self.observer.clone(),
            queue: self.queue.clone(),
            ..*self
        })
    }
}

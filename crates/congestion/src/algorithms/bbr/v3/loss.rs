//! Responses to loss and ECN-CE, and their undo (draft §5.5.10, §5.5.11).

use super::state::{Bbr3, State};
use crate::controller::{EcnCe, Loss, SentPacket};
use bentpipe_units::{Bytes, Rate, Time};

impl Bbr3 {
    /// HandleLostPacket for each packet, and the draft's entry into recovery.
    pub(super) fn handle_loss(&mut self, loss: &Loss<'_>) {
        self.delivered = loss.delivered;
        self.in_flight = loss.bytes_in_flight;
        self.next_number = loss.next_number;
        let mut lost = loss.lost.saturating_sub(loss.bytes);
        let mut unanswered = false;
        for packet in loss.packets {
            lost += packet.bytes;
            if packet.number < self.recovery.recovery_start {
                self.recovery.answered_lost = lost;
                continue;
            }
            unanswered = true;
            self.note_loss();
            self.recovery.note(packet.number);
            if self.cycle.is_probe_sample {
                self.handle_lost_probe(packet, lost, loss.now);
            }
        }
        if loss.persistent {
            // OnEnterRTO (§5.6.4.4): all packets in flight may be lost.
            self.save_cwnd();
            self.save_state();
            self.cwnd = self.in_flight + self.mtu.max(Bytes::new(1));
            self.recovery.until = Some(loss.next_number);
        } else if unanswered && !self.recovery.is_active() {
            self.recovery.until = Some(loss.next_number);
        }
    }

    /// NoteLoss.
    fn note_loss(&mut self) {
        if self.short_term.note_loss(self.delivered) {
            self.save_cwnd();
            self.save_state();
        }
    }

    /// SaveStateUponLoss, except for the window.
    fn save_state(&mut self) {
        self.recovery.undo_state = None;
        self.recovery.rate = self.short_term.rate;
        self.recovery.inflight = self.short_term.inflight;
        self.recovery.longterm = self.inflight_longterm;
    }

    /// The part of HandleLostPacket for a packet of a probe. `lost` counts bytes since the start of
    /// the connection, this packet included.
    fn handle_lost_probe(&mut self, packet: &SentPacket, lost: Bytes, now: Time) {
        let lost = self.recovery.unanswered(lost.saturating_sub(packet.lost), packet.lost);
        if self.is_too_high(lost, packet.in_flight) {
            let in_flight = self.inflight_at_loss(packet, lost);
            self.handle_too_high(in_flight, packet.app_limited, now);
        }
    }

    /// IsInflightTooHigh: returns true if losses exceed the threshold. With a significance, random
    /// losses just below the threshold rarely exceed it: their number scatters by its square root
    /// (Poisson).
    pub(super) fn is_too_high(&self, lost: Bytes, in_flight: Bytes) -> bool {
        let expected = in_flight.get() as f64 * self.parameters.loss_threshold;
        let margin =
            self.parameters.loss_significance * libm::sqrt(expected * self.mtu.get() as f64);
        lost.get() as f64 > expected + margin
    }

    /// InflightAtLoss: returns the bytes in flight when losses crossed the threshold within
    /// `packet`.
    fn inflight_at_loss(&self, packet: &SentPacket, lost: Bytes) -> Bytes {
        let threshold = self.parameters.loss_threshold;
        let before = packet.in_flight.saturating_sub(packet.bytes);
        let lost_before = lost.saturating_sub(packet.bytes).get() as f64;
        let prefix = (threshold * before.get() as f64 - lost_before) / (1.0 - threshold);
        before + Bytes::new(prefix.clamp(0.0, packet.bytes.get() as f64) as u64)
    }

    /// HandleInflightTooHigh: responds to a probe that put more in flight than the path holds.
    fn handle_too_high(&mut self, in_flight: Bytes, app_limited: bool, now: Time) {
        self.cycle.prev_probe_too_high = true;
        self.cycle.is_probe_sample = false;
        if !app_limited {
            self.inflight_longterm = in_flight
                .max(self.target_inflight().mul_f64(self.parameters.beta))
                .max(self.min_pipe());
        }
        if self.state == State::Up {
            self.recovery.undo_state = Some(State::Up);
            self.start_down(now);
        }
    }

    /// Responds to ECN-CE, which the draft leaves open (§3.6). Our choice is the response to a
    /// round above the loss threshold, since a mark demands no less (RFC 3168 §5).
    pub(super) fn handle_mark(&mut self, ecn_ce: &EcnCe) {
        self.in_flight = ecn_ce.bytes_in_flight;
        if ecn_ce.newest < self.recovery.recovery_start {
            return;
        }
        self.recovery.recovery_start = ecn_ce.next_number;
        self.note_loss();
        if self.state == State::Startup {
            self.leave_startup_at(self.bdp().max(self.short_term.inflight_latest));
        } else if self.cycle.is_probe_sample {
            self.handle_too_high(ecn_ce.bytes_in_flight, false, ecn_ce.now);
        }
        // ECN-CE is never spurious.
        self.recovery.undo_state = None;
    }

    /// HandleSpuriousLossDetection.
    pub(super) fn undo(&mut self) {
        self.restore_cwnd();
        self.recovery.until = None;
        self.short_term.loss_in_round = false;
        self.full_pipe.restart_search(Rate::ZERO);
        self.short_term.rate = self.short_term.rate.max(self.recovery.rate);
        self.short_term.inflight = self.short_term.inflight.max(self.recovery.inflight);
        self.inflight_longterm = self.inflight_longterm.max(self.recovery.longterm);
        match self.recovery.undo_state.take() {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_pipe.reached = false;
                if self.state != State::ProbeRtt {
                    self.enter_startup();
                }
            }
            Some(State::Up) if self.state != State::Up && self.state != State::ProbeRtt => {
                self.start_refill()
            }
            _ => {}
        }
    }
}

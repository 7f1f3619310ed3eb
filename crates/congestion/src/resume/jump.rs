//! The unsafe alternative to Careful Resume: the whole saved window from the first flight on.

use super::handle::ResumeHandle;
use crate::controller::{
    Ack, Controller, ControllerConfig, EcnCe, Loss, PathChange, Restart, SendControl, SentPacket,
    forward_to,
};
use bentpipe_units::{Bytes, Rate, Time};

/// A jump whose first flight has not been acknowledged.
#[derive(Debug, Clone, Copy)]
struct OpenJump {
    /// Number of the first packet sent after it.
    first: u64,
    window: Bytes,
    /// Pacing rate: the saved window per saved RTT.
    rate: Rate,
    /// Rounds until a rate-based controller continues without a probing rate.
    rounds: u32,
}

/// A controller that jumps to the saved window without any check. It serves only for comparison.
#[derive(Debug)]
pub struct UnsafeJump {
    controller: Box<dyn Controller>,
    handle: ResumeHandle,
    jump: Option<OpenJump>,
    /// True if the jump was made, or is no longer possible.
    done: bool,
    next_number: u64,
}

impl UnsafeJump {
    /// Puts the layer around `controller`. It jumps when saved parameters are offered to `handle`.
    pub fn new(
        controller: Box<dyn Controller>,
        config: &ControllerConfig,
        handle: ResumeHandle,
    ) -> Self {
        let mut layer = Self { controller, handle, jump: None, done: false, next_number: 0 };
        layer.jump_if_offered(config.now);
        layer
    }

    fn jump_if_offered(&mut self, now: Time) {
        if self.done {
            return;
        }
        let (Some(saved), refusal) = self.handle.offered() else { return };
        self.done = true;
        self.handle.close();
        let current = self.controller.send_control().cwnd;
        if refusal.is_some() || saved.is_expired(now) || saved.window <= current {
            return;
        }
        self.handle.set_jumped();
        let rate = saved.rate().max(Rate::from_bps(1));
        self.jump =
            Some(OpenJump { first: self.next_number, window: saved.window, rate, rounds: 2 });
        let by_rate = self.controller.is_rate_based();
        self.controller.restart(&Restart {
            now,
            window: saved.window,
            // The path carried the saved window, so that slow start need not search beyond it. A
            // rate-based controller stays in Startup, the only state that takes a probing rate.
            ssthresh: (!by_rate).then_some(saved.window),
            rate: None,
            min_rtt: None,
            recovery_start: 0,
        });
        self.set_probing_rate(Some(rate));
    }

    /// Ends the jump when its first flight is acknowledged: with the first ACK of it, or two rounds
    /// later for a rate-based controller.
    fn end_if_acked(&mut self, ack: &Ack<'_>) {
        let Some(jump) = &mut self.jump else { return };
        if ack.newest().number < jump.first {
            return;
        }
        if ack.round_start {
            jump.rounds = jump.rounds.saturating_sub(1);
        }
        if jump.rounds == 0 || !self.controller.is_rate_based() {
            self.end();
        }
    }

    fn end(&mut self) {
        if self.jump.take().is_some() {
            self.set_probing_rate(None);
        }
        if !self.done {
            // Congestion before any offer: the controller's current window is a measured one.
            self.done = true;
            self.handle.close();
        }
    }

    fn set_probing_rate(&mut self, rate: Option<Rate>) {
        if let Some(model) = self.controller.rate_based() {
            model.set_probing_rate(rate);
        }
    }
}

impl Controller for UnsafeJump {
    forward_to!(controller: on_timeout, on_spurious_loss, on_mtu_update, report_state,
        is_rate_based);

    fn on_packet_sent(&mut self, packet: &SentPacket) {
        self.next_number = packet.number.saturating_add(1);
        self.controller.on_packet_sent(packet);
        self.jump_if_offered(packet.sent_at);
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.next_number = ack.next_number;
        self.jump_if_offered(ack.now);
        self.controller.on_ack(ack);
        self.end_if_acked(ack);
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.next_number = loss.next_number;
        self.controller.on_loss(loss);
        self.end();
    }

    fn on_ecn_ce(&mut self, ecn_ce: &EcnCe) {
        self.next_number = ecn_ce.next_number;
        self.controller.on_ecn_ce(ecn_ce);
        self.end();
    }

    fn on_path_change(&mut self, change: &PathChange) {
        self.end();
        self.controller.on_path_change(change);
    }

    fn restart(&mut self, to: &Restart) {
        self.end();
        self.controller.restart(to);
    }

    fn send_control(&self) -> SendControl {
        let inner = self.controller.send_control();
        let Some(jump) = &self.jump else { return inner };
        SendControl {
            cwnd: inner.cwnd.max(jump.window),
            pacing_rate: Some(inner.pacing_rate.map_or(jump.rate, |rate| rate.max(jump.rate))),
            phase: "jump",
            ..inner
        }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self {
            controller: self.controller.clone_box(),
            handle: self.handle.clone(),
            ..*self
        })
    }
}

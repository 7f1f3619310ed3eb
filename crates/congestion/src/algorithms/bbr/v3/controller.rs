//! BBRv3 as a [`Controller`]: the order of events (draft §5.2).

use super::model::UNBOUNDED;
use super::state::{Bbr3, State};
use crate::algorithms::bbr::common::{send_quantum, volume};
use crate::controller::{
    Ack, Controller, EcnCe, Loss, PathChange, RateBased, Restart, SendControl, SentPacket,
};
use crate::controller_state::StateField;
use bentpipe_units::{Bytes, Time};

impl Controller for Bbr3 {
    fn on_packet_sent(&mut self, packet: &SentPacket) {
        self.in_flight = packet.in_flight;
        self.next_number = packet.number.saturating_add(1);
        if packet.in_flight + self.mtu > self.window() {
            self.window_full.0 = true;
        }
        if packet.app_limited && packet.in_flight == packet.bytes {
            self.restart_from_idle(packet.sent_at);
        }
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        // In the order of the draft (§5.2.3).
        let signals = self.signals(ack);
        self.update_signals(&signals);
        self.aggregation.update(
            signals.now,
            signals.acked,
            self.bw,
            self.cwnd,
            self.rounds.count,
            self.full_pipe.reached,
        );
        self.full_pipe.update(self.rounds.start, signals.rate, signals.app_limited);
        self.check_startup_done(&signals);
        self.check_drain_done(signals.now);
        self.update_probe_bw(&signals);
        if ack.newest().sent_at >= self.path_since {
            self.min_rtt.update(signals.now, ack.rtt, self.probe_rtt_interval());
        }
        self.check_probe_rtt(&signals);
        self.short_term.end_ack(signals.rate, signals.volume);
        self.bw = self.max_bw.get().min(self.short_term.rate);
        if self.recovery.ends_with(ack.newest().number) {
            self.restore_cwnd();
        }
        self.update_control(signals.acked, ack.rtt);
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.handle_loss(loss);
    }

    fn on_ecn_ce(&mut self, ecn_ce: &EcnCe) {
        self.handle_mark(ecn_ce);
    }

    fn on_spurious_loss(&mut self, _: Time) {
        self.undo();
    }

    fn on_path_change(&mut self, change: &PathChange) {
        // The draft does not cover path changes; this response is our choice.
        self.path_since = change.since;
        if let Some((min_rtt, longer)) = change.shifted(self.min_rtt.get()).zip(change.rtt_increase)
        {
            // Only the length of the same path has changed: it holds more by what the rate fills in
            // the added RTT. Rates do not depend on the RTT.
            self.min_rtt.seed(change.now, min_rtt);
            let more = volume(self.bw, longer);
            let widened = |bound: Bytes| if bound == UNBOUNDED { bound } else { bound + more };
            self.inflight_longterm = widened(self.inflight_longterm);
            self.short_term.inflight = widened(self.short_term.inflight);
            return;
        }
        // RTT and loss-based bounds belonged to the old path. The rate remains as the best estimate
        // and is probed at once.
        self.min_rtt.renew(change.now);
        self.inflight_longterm = UNBOUNDED;
        self.short_term.reset_bounds();
        self.cycle.prev_probe_too_high = false;
        if self.state.is_probe_bw() {
            self.start_refill();
        }
    }

    fn on_mtu_update(&mut self, mtu: Bytes) {
        self.mtu = mtu;
        // With a window below one packet the sender would never send again, and no ACK could raise
        // it.
        self.cwnd = self.cwnd.max(self.mtu);
    }

    fn restart(&mut self, to: &Restart) {
        self.restart_from(to);
    }

    fn send_control(&self) -> SendControl {
        let pacing_rate =
            self.pacing_rate.max(self.resumption.rate()).filter(|rate| !rate.is_zero());
        let phase = match self.state {
            State::Startup => "startup",
            State::Drain => "drain",
            State::Down => "probe bw down",
            State::Cruise => "probe bw cruise",
            State::Refill => "probe bw refill",
            State::Up => "probe bw up",
            State::ProbeRtt => "probe rtt",
        };
        SendControl {
            pacing_rate,
            send_quantum: pacing_rate.map(|rate| send_quantum(rate, self.mtu)),
            loss_tolerance: self.parameters.loss_threshold,
            ..SendControl::window(self.window(), self.state == State::Startup, phase)
        }
    }

    fn report_state(&self, report: &mut dyn FnMut(StateField)) {
        self.report(report);
    }

    fn is_rate_based(&self) -> bool {
        true
    }

    fn rate_based(&mut self) -> Option<&mut dyn RateBased> {
        Some(self)
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

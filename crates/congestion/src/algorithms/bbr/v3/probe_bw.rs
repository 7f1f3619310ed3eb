//! The ProbeBW phases: Down, Cruise, Refill and Up (draft §5.3.3).

use super::cycle::AckPhase;
use super::model::UNBOUNDED;
use super::state::{AckSignals, Bbr3, State};
use bentpipe_units::{Bytes, Span, Time};

impl Bbr3 {
    /// StartProbeBW_DOWN.
    pub(super) fn start_down(&mut self, now: Time) {
        self.short_term.reset_signals();
        self.cycle.acked_per_packet = UNBOUNDED;
        // PickProbeWait (§5.3.3.8).
        let draw = self.jitter.next(now);
        self.cycle.rounds_since_probe = draw & 1;
        self.cycle.wait = Span::from_secs(2) + Span::from_nanos((draw >> 1) % 1_000_000_000);
        self.cycle.stamp = now;
        self.cycle.stop();
        self.rounds.restart(self.delivered);
        self.state = State::Down;
    }

    /// StartProbeBW_CRUISE.
    pub(super) fn start_cruise(&mut self) {
        self.state = State::Cruise;
    }

    /// StartProbeBW_REFILL.
    pub(super) fn start_refill(&mut self) {
        self.short_term.reset_bounds();
        self.cycle.up_rounds = 0;
        self.cycle.up_acked = Bytes::ZERO;
        self.cycle.prev_probe_precautionary = false;
        self.cycle.ack_phase = AckPhase::Refilling;
        self.rounds.restart(self.delivered);
        self.state = State::Refill;
    }

    /// StartProbeBW_UP.
    fn start_up(&mut self, signals: &AckSignals) {
        self.cycle.is_probe_sample = true;
        self.cycle.ack_phase = AckPhase::ProbeStarting;
        self.rounds.restart(self.delivered);
        self.full_pipe.restart_search(signals.rate);
        self.state = State::Up;
        self.raise_slope();
    }

    /// UpdateProbeBWCyclePhase.
    pub(super) fn update_probe_bw(&mut self, signals: &AckSignals) {
        if !self.full_pipe.reached || self.adapt_long_term(signals) {
            return;
        }
        let state = self.state;
        match state {
            State::Down | State::Cruise if self.is_time_to_probe(signals.now) => {
                self.start_refill()
            }
            State::Down if self.is_time_to_cruise() => self.start_cruise(),
            State::Refill if self.rounds.start => self.start_up(signals),
            State::Up if self.is_time_to_go_down(signals) => {
                self.cycle.prev_probe_too_high = false;
                self.start_down(signals.now);
            }
            _ => {}
        }
    }

    /// AdaptLongTermModel. Returns true if it changed the state.
    fn adapt_long_term(&mut self, signals: &AckSignals) -> bool {
        if self.cycle.ack_phase == AckPhase::ProbeStarting && self.rounds.start {
            self.cycle.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.cycle.ack_phase == AckPhase::ProbeStopping && self.rounds.start {
            self.cycle.is_probe_sample = false;
            self.cycle.ack_phase = AckPhase::Init;
            if self.state.is_probe_bw() {
                if !signals.app_limited {
                    self.max_bw.advance();
                }
                if self.cycle.prev_probe_precautionary && !self.cycle.prev_probe_too_high {
                    // The precautionary probe did no harm (§5.3.3.6): probe again at once, without
                    // precaution.
                    self.start_refill();
                    return true;
                }
            }
        }
        if self.inflight_longterm != UNBOUNDED
            && !self.is_too_high(signals.lost, signals.tx_in_flight)
        {
            self.inflight_longterm = self.inflight_longterm.max(signals.tx_in_flight);
            if self.state == State::Up {
                self.raise_long_term(signals.acked);
            }
        }
        false
    }

    /// IsTimeToProbeBW without its side effects, and IsRenoCoexistenceProbeTime.
    fn is_time_to_probe(&self, now: Time) -> bool {
        let target = self.target_inflight().get() / self.mtu.get().max(1);
        now.since(self.cycle.stamp) > self.cycle.wait
            || self.cycle.rounds_since_probe >= target.min(63)
    }

    /// IsTimeToCruise.
    fn is_time_to_cruise(&self) -> bool {
        self.in_flight <= self.inflight_with_headroom()
            && self.in_flight <= self.inflight(self.max_bw.get(), 1.0)
    }

    /// IsTimeToGoDown.
    fn is_time_to_go_down(&mut self, signals: &AckSignals) -> bool {
        if self.cycle.prev_probe_too_high && self.in_flight >= self.inflight_longterm {
            self.cycle.prev_probe_precautionary = true;
            return true;
        }
        if self.is_window_limited() && self.cwnd >= self.inflight_longterm {
            // The bound, rather than the path, limits the rate, so that no plateau can show.
            self.full_pipe.restart_search(signals.rate);
            return false;
        }
        self.full_pipe.now
    }

    /// C.is_cwnd_limited: the window was full at some time in the last round.
    fn is_window_limited(&self) -> bool {
        self.window_full.0 || self.window_full.1
    }

    /// RaiseInflightLongtermSlope: 1, 2, 4… packets per round.
    fn raise_slope(&mut self) {
        self.cycle.acked_per_packet =
            Bytes::new(self.cwnd.get() >> self.cycle.up_rounds).max(self.mtu);
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(30);
    }

    /// ProbeInflightLongtermUpward.
    fn raise_long_term(&mut self, acked: Bytes) {
        if !self.is_window_limited() || self.cwnd < self.inflight_longterm {
            return;
        }
        self.cycle.up_acked += acked;
        let step = self.cycle.acked_per_packet.get().max(1);
        let packets = self.cycle.up_acked.get() / step;
        if packets > 0 {
            self.cycle.up_acked = Bytes::new(self.cycle.up_acked.get() % step);
            self.inflight_longterm += Bytes::new(packets.saturating_mul(self.mtu.get()));
        }
        if self.rounds.start {
            self.raise_slope();
        }
    }

    /// InflightWithHeadroom.
    pub(super) fn inflight_with_headroom(&self) -> Bytes {
        if self.inflight_longterm == UNBOUNDED {
            return UNBOUNDED;
        }
        let headroom = self.inflight_longterm.mul_f64(self.parameters.headroom).max(self.mtu);
        self.inflight_longterm.saturating_sub(headroom).max(self.min_pipe())
    }

    /// TargetInflight: the BDP, or the window if congestion has reduced it below the BDP.
    pub(super) fn target_inflight(&self) -> Bytes {
        self.bdp().min(self.cwnd)
    }
}

//! ProbeBW: down, cruise, refill, up (draft §5.3.3).

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
        let draw = self.draws.next(now);
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
    fn start_up(&mut self, heard: &AckSignals) {
        self.cycle.is_probe_sample = true;
        self.cycle.ack_phase = AckPhase::ProbeStarting;
        self.rounds.restart(self.delivered);
        self.full_pipe.look_again(heard.rate);
        self.state = State::Up;
        self.raise_slope();
    }

    /// UpdateProbeBWCyclePhase.
    pub(super) fn update_probe_bw(&mut self, heard: &AckSignals) {
        if !self.full_pipe.reached || self.adapt_long_term(heard) {
            return;
        }
        let state = self.state;
        match state {
            State::Down | State::Cruise if self.is_time_to_probe(heard.now) => self.start_refill(),
            State::Down if self.is_time_to_cruise() => self.start_cruise(),
            State::Refill if self.rounds.start => self.start_up(heard),
            State::Up if self.is_time_to_go_down(heard) => {
                self.cycle.prev_probe_too_high = false;
                self.start_down(heard.now);
            }
            _ => {}
        }
    }

    /// AdaptLongTermModel. True where it has changed the state.
    fn adapt_long_term(&mut self, heard: &AckSignals) -> bool {
        if self.cycle.ack_phase == AckPhase::ProbeStarting && self.rounds.start {
            self.cycle.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.cycle.ack_phase == AckPhase::ProbeStopping && self.rounds.start {
            self.cycle.is_probe_sample = false;
            self.cycle.ack_phase = AckPhase::Init;
            if self.state.is_probe_bw() {
                if !heard.app_limited {
                    self.max_bw.advance();
                }
                if self.cycle.prev_probe_precautionary && !self.cycle.prev_probe_too_high {
                    // The cautious probe did no harm (§5.3.3.6): probe again at once, without
                    // caution.
                    self.start_refill();
                    return true;
                }
            }
        }
        if self.inflight_longterm != UNBOUNDED && !self.is_too_high(heard.lost, heard.tx_in_flight)
        {
            self.inflight_longterm = self.inflight_longterm.max(heard.tx_in_flight);
            if self.state == State::Up {
                self.raise_long_term(heard.acked);
            }
        }
        false
    }

    /// IsTimeToProbeBW without its consequence, and IsRenoCoexistenceProbeTime.
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
    fn is_time_to_go_down(&mut self, heard: &AckSignals) -> bool {
        if self.cycle.prev_probe_too_high && self.in_flight >= self.inflight_longterm {
            self.cycle.prev_probe_precautionary = true;
            return true;
        }
        if self.is_window_limited() && self.cwnd >= self.inflight_longterm {
            // The bound, not the path, limits the rate: no plateau can be seen.
            self.full_pipe.look_again(heard.rate);
            return false;
        }
        self.full_pipe.now
    }

    /// C.is_cwnd_limited: the window was full at some point of the last round trip.
    fn is_window_limited(&self) -> bool {
        self.window_full.0 || self.window_full.1
    }

    /// RaiseInflightLongtermSlope: 1, 2, 4… packets a round.
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

    /// TargetInflight: the BDP, unless congestion has cut the window below it.
    pub(super) fn target_inflight(&self) -> Bytes {
        self.bdp().min(self.cwnd)
    }
}

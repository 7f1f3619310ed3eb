//! BBRv1 (Cardwell, Cheng, Gunn, Yeganeh, Jacobson: "BBR: congestion-based congestion control", ACM
//! Queue 14(5), 2016; draft-cardwell-iccrg-bbr-congestion-control-00, from which function names in
//! comments are taken).
//!
//! A loss only affects the window during the first round trip of recovery. The allowance for
//! aggregated ACKs, which the draft does not have, is Linux's (6.18, `tcp_bbr.c`). Policer
//! detection, which the draft does not specify, is not implemented.

mod change_probe;
#[cfg(test)]
mod tests;

use crate::algorithms::bbr::common::{
    Aggregation, FullPipe, ProbeJitter, ResumeProbe, first_pacing_rate, send_quantum, volume,
};
use crate::controller::{
    Ack, ChangeProbe, Controller, ControllerConfig, EcnCe, Loss, PathChange, RateBased, Restart,
    SendControl, SentPacket,
};
use crate::limited_range::LimitedRange;
use crate::parameters::parameters;
use crate::round_trips::RoundTrips;
use crate::windowed::WindowedMax;
use bentpipe_units::{Bytes, Rate, Span, Time};

parameters! {
    /// Parameters of [`Bbr1`].
    Parameters {
        high_gain: 2.885, 1.1 => 10.0, "",
            "pacing and window gain of Startup (BBRHighGain, 2/ln 2); Drain paces at its inverse";
        cwnd_gain: 2.0, 1.0 => 10.0, "", "window in bandwidth-delay products after Drain";
        bandwidth_rounds: 10.0, 1.0 => 1000.0, "",
            "length of the bandwidth's maximum filter in rounds (BtlBwFilterLen)";
        min_rtt_window: 10.0, 0.1 => 3600.0, "s",
            "shortest time after which the minimum RTT is probed again (RTpropFilterLen)";
        probe_rtt_rounds: 100.0, 0.0 => 10_000.0, "RTTs",
            "shortest time after which the minimum RTT is probed again, in minimum RTTs: a probe \
             costs the volume of two RTTs (our choice); 0 as published", document 0.0;
        pacing_margin: 0.01, 0.0 => 0.5, "",
            "fraction of the estimated bandwidth that pacing leaves unused (as in Linux; the draft \
             has none)", document 0.0;
        extra_acked_gain: 1.0, 0.0 => 10.0, "",
            "share of the largest excess of acknowledged bytes in ten rounds by which the window \
             grows after Startup (as in Linux, bbr_extra_acked_gain); 0 as published", document 0.0;
    }
}

/// Pacing gains of the ProbeBW phases. Each phase lasts one minimum RTT.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

/// Index of the draining phase. A flow does not start ProbeBW with it.
const DRAINING: usize = 1;

/// Limit of the allowance for aggregated ACKs: what the bottleneck delivers in this time
/// (bbr_extra_acked_max_us).
const MAX_EXTRA_ACKED: Span = Span::from_millis(100);

/// Minimum duration of ProbeRTT (ProbeRTTDuration).
const PROBE_RTT: Span = Span::from_millis(200);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    /// The index of the phase in [`CYCLE`].
    ProbeBw(usize),
    ProbeRtt,
}

/// Loss recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Recovery {
    None,
    /// First round trip, counted from the loss: packet conservation.
    Conserving,
    /// Later rounds: the window grows as outside of recovery.
    Growing,
}

/// The BBRv1 controller.
#[derive(Debug, Clone)]
pub struct Bbr1 {
    high_gain: f64,
    cwnd_gain: f64,
    bandwidth_rounds: u64,
    min_rtt_window: Span,
    probe_rtt_rounds: f64,
    pacing_share: f64,
    extra_acked_gain: f64,
    mtu: Bytes,
    initial_window: Bytes,
    jitter: ProbeJitter,

    state: State,
    /// Round trips. Recovery and ProbeRTT start one of their own.
    rounds: RoundTrips,
    /// Bottleneck bandwidth in bits per second.
    bandwidth: WindowedMax,
    full_pipe: FullPipe,
    aggregation: Aggregation,
    min_rtt: Option<Span>,
    min_rtt_stamp: Time,
    /// True if the minimum RTT belongs to another path.
    min_rtt_stale: bool,
    /// Time since which packets take this path: earlier RTT samples belong to another.
    path_since: Time,
    phase_stamp: Time,
    lost_in_phase: bool,
    probe_rtt_done: Option<Time>,
    probe_rtt_round_done: bool,
    /// What the current ProbeRTT was entered for, if a change of the path was announced.
    change_probe: ChangeProbe,
    idle_restart: bool,
    /// Packets sent in ProbeRTT.
    limited: LimitedRange,

    recovery: Recovery,
    /// Recovery lasts until this packet, the next one at the last loss, is acknowledged, and the
    /// transport has repaired its losses.
    recovery_until: u64,
    /// Time of the ACK that ended the last recovery.
    recovery_ended: Option<Time>,
    /// Time and bytes of the latest ACK, which may reveal losses.
    latest_ack: (Time, Bytes),
    recovery_start: u64,

    cwnd: Bytes,
    prior_cwnd: Bytes,
    pacing_rate: Option<Rate>,
    in_flight: Bytes,
    next_number: u64,
    resumption: ResumeProbe,
}

impl Bbr1 {
    /// Creates a controller in Startup.
    pub fn new(config: &ControllerConfig, parameters: &Parameters) -> Self {
        let initial_window = config.initial_window.max(config.mtu).max(Bytes::new(1));
        let high_gain = parameters.high_gain;
        Self {
            high_gain,
            cwnd_gain: parameters.cwnd_gain,
            bandwidth_rounds: parameters.bandwidth_rounds as u64,
            min_rtt_window: Span::from_secs_f64(parameters.min_rtt_window),
            probe_rtt_rounds: parameters.probe_rtt_rounds,
            pacing_share: 1.0 - parameters.pacing_margin,
            extra_acked_gain: parameters.extra_acked_gain,
            mtu: config.mtu,
            initial_window,
            jitter: ProbeJitter::new(config),
            state: State::Startup,
            rounds: RoundTrips::default(),
            bandwidth: WindowedMax::new(),
            full_pipe: FullPipe::default(),
            aggregation: Aggregation::new(config.now),
            // As in Linux's bbr_init, the handshake RTT is the first sample and paces the first
            // window.
            min_rtt: config.rtt,
            min_rtt_stamp: config.now,
            min_rtt_stale: false,
            path_since: config.now,
            phase_stamp: config.now,
            lost_in_phase: false,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            change_probe: ChangeProbe::None,
            idle_restart: false,
            limited: LimitedRange::default(),
            recovery: Recovery::None,
            recovery_until: 0,
            recovery_ended: None,
            latest_ack: (config.now, Bytes::ZERO),
            recovery_start: 0,
            cwnd: initial_window,
            prior_cwnd: Bytes::ZERO,
            pacing_rate: config
                .rtt
                .and_then(|rtt| first_pacing_rate(initial_window, rtt, high_gain)),
            in_flight: Bytes::ZERO,
            next_number: 0,
            resumption: ResumeProbe::default(),
        }
    }

    fn window(&self) -> Bytes {
        self.cwnd.max(self.resumption.window())
    }

    fn bw(&self) -> Rate {
        Rate::from_bps(self.bandwidth.get())
    }

    fn min_pipe(&self) -> Bytes {
        Bytes::new(self.mtu.get().saturating_mul(4).max(1))
    }

    /// BBRInflight: returns `gain` bandwidth-delay products.
    fn bdp_times(&self, gain: f64) -> Bytes {
        self.min_rtt.map_or(self.initial_window, |min_rtt| volume(self.bw(), min_rtt).mul_f64(gain))
    }

    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => self.high_gain,
            State::Drain => 1.0 / self.high_gain,
            State::ProbeBw(phase) => CYCLE[phase % CYCLE.len()],
            State::ProbeRtt => 1.0,
        }
    }

    fn enter_drain(&mut self) {
        self.state = State::Drain;
        self.resumption.end_probe();
    }

    /// BBREnterProbeBW: starts in a random phase other than the draining one.
    fn enter_probe_bw(&mut self, now: Time) {
        let draw = (self.jitter.next(now) % (CYCLE.len() as u64 - 1)) as usize;
        self.enter_phase(if draw < DRAINING { draw } else { draw + 1 }, now);
    }

    fn enter_phase(&mut self, phase: usize, now: Time) {
        self.state = State::ProbeBw(phase % CYCLE.len());
        self.phase_stamp = now;
        self.lost_in_phase = false;
    }

    /// BBRCheckCyclePhase. The probing phase lasts until `gain` BDPs were in flight or a packet was
    /// lost; the draining phase ends as soon as the queue has drained.
    fn check_phase(&mut self, phase: usize, now: Time, was_in_flight: Bytes) {
        let passed = now.since(self.phase_stamp) > self.min_rtt.unwrap_or_default();
        let gain = CYCLE[phase % CYCLE.len()];
        let over = if gain > 1.0 {
            passed && (self.lost_in_phase || was_in_flight >= self.bdp_times(gain))
        } else if gain < 1.0 {
            passed || was_in_flight <= self.bdp_times(1.0)
        } else {
            passed
        };
        if over {
            self.enter_phase(phase + 1, now);
        }
    }

    /// BBRUpdateRTprop and BBRCheckProbeRTT.
    fn check_probe_rtt(&mut self, ack: &Ack<'_>) {
        let rounds = self.min_rtt.unwrap_or_default().mul_f64(self.probe_rtt_rounds);
        let expired = ack.now > self.min_rtt_stamp + self.min_rtt_window.max(rounds);
        let known = self.min_rtt.filter(|_| !expired && !self.min_rtt_stale);
        // An equal sample does not renew the filter: under a clock without noise, equal samples
        // would do so for ever (Linux since 2020; the draft's comparison includes them).
        if ack.newest().sent_at >= self.path_since && known.is_none_or(|min_rtt| ack.rtt < min_rtt)
        {
            self.min_rtt = Some(ack.rtt);
            self.min_rtt_stamp = ack.now;
            self.min_rtt_stale = false;
        }
        if expired && !self.idle_restart && self.state != State::ProbeRtt {
            self.enter_probe_rtt(ChangeProbe::None);
        }
        if self.state == State::ProbeRtt {
            self.limited.mark(ack.next_number, ack.delivered, ack.bytes_in_flight);
            match self.probe_rtt_done {
                None if ack.bytes_in_flight <= self.probe_rtt_window() => {
                    self.probe_rtt_done = Some(ack.now + self.probe_rtt_duration());
                    self.probe_rtt_round_done = false;
                    self.rounds.restart(ack.delivered);
                }
                None => {}
                Some(done) => {
                    self.probe_rtt_round_done |= self.rounds.start;
                    if self.probe_rtt_round_done && ack.now > done {
                        self.end_change_probe(ack);
                        self.exit_probe_rtt(ack.now);
                    }
                }
            }
        }
        self.idle_restart = false;
    }

    /// BBREnterProbeRTT, for a change of the path or because the minimum RTT is old.
    fn enter_probe_rtt(&mut self, cause: ChangeProbe) {
        self.save_cwnd();
        self.state = State::ProbeRtt;
        self.change_probe = cause;
        self.probe_rtt_done = None;
        self.resumption = ResumeProbe::default();
    }

    fn exit_probe_rtt(&mut self, now: Time) {
        self.min_rtt_stamp = now;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.full_pipe.reached {
            self.enter_probe_bw(now);
        } else {
            self.state = State::Startup;
        }
    }

    fn save_cwnd(&mut self) {
        let modulated = self.recovery != Recovery::None || self.state == State::ProbeRtt;
        self.prior_cwnd = if modulated { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    /// BBRSetPacingRate.
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = self.bw().mul_f64(gain * self.pacing_share);
        if self.full_pipe.reached || self.pacing_rate.is_none_or(|pacing| rate > pacing) {
            self.pacing_rate = Some(rate);
        }
    }

    /// Returns the allowance for aggregated ACKs (bbr_ack_aggregation_cwnd).
    fn extra_acked(&self) -> Bytes {
        if !self.full_pipe.reached {
            return Bytes::ZERO;
        }
        let most = volume(self.bw(), MAX_EXTRA_ACKED);
        self.aggregation.get().mul_f64(self.extra_acked_gain).min(most)
    }

    /// BBRSetCwnd.
    fn set_cwnd(&mut self, acked: Bytes, delivered: Bytes) {
        let gain = if matches!(self.state, State::Startup | State::Drain) {
            self.high_gain
        } else {
            self.cwnd_gain
        };
        // Three quanta cover the data in transit through the hosts.
        let quanta = self
            .pacing_rate
            .map_or(Bytes::ZERO, |rate| send_quantum(rate, self.mtu))
            .get()
            .saturating_mul(3);
        let target = self.bdp_times(gain) + self.extra_acked() + Bytes::new(quanta);
        if self.recovery == Recovery::Conserving {
            self.cwnd = self.cwnd.max(self.in_flight + acked);
        } else if self.full_pipe.reached {
            self.cwnd = (self.cwnd + acked).min(target);
        } else if self.cwnd < target || delivered < self.initial_window {
            self.cwnd += acked;
        }
        self.cwnd = self.cwnd.max(self.min_pipe());
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_window());
        }
    }

    fn update_resumption(&mut self) {
        self.resumption.update(self.bw(), self.min_rtt, self.high_gain);
    }
}

impl Controller for Bbr1 {
    fn on_packet_sent(&mut self, packet: &SentPacket) {
        self.in_flight = packet.in_flight;
        self.next_number = packet.number.saturating_add(1);
        if packet.app_limited && packet.in_flight == packet.bytes {
            // BBRHandleRestartFromIdle.
            self.idle_restart = true;
            self.aggregation.restart(packet.sent_at);
            if matches!(self.state, State::ProbeBw(_)) {
                self.set_pacing_rate(1.0);
            }
        }
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        let was_in_flight = ack.bytes_in_flight + ack.bytes;
        self.in_flight = ack.bytes_in_flight;
        self.next_number = ack.next_number;
        self.latest_ack = (ack.now, ack.bytes);
        self.rounds.update(ack.sample.prior_delivered, ack.delivered);
        if self.rounds.start && self.recovery == Recovery::Conserving {
            self.recovery = Recovery::Growing;
        }
        self.limited.update(ack.next_number, ack.delivered);
        let limited = ack.sample.app_limited || self.limited.contains(ack.newest().number);
        if let Some(rate) = ack.sample.rate.filter(|_| !self.resumption.discards())
            && (!limited || rate >= self.bw())
        {
            self.bandwidth.update(self.rounds.count, self.bandwidth_rounds, rate.as_bps());
        }
        self.aggregation.update(ack.now, ack.bytes, self.bw(), self.cwnd, self.rounds.count, true);
        self.full_pipe.update(self.rounds.start, self.bw(), limited);
        match self.state {
            State::Startup if self.full_pipe.reached => self.enter_drain(),
            State::ProbeBw(phase) => self.check_phase(phase, ack.now, was_in_flight),
            _ => {}
        }
        if self.state == State::Drain && self.in_flight <= self.bdp_times(1.0).max(self.min_pipe())
        {
            self.resumption.drained();
            self.enter_probe_bw(ack.now);
        }
        self.check_probe_rtt(ack);
        let repaired = !ack.repairing && ack.newest().number >= self.recovery_until;
        if self.recovery != Recovery::None && repaired {
            self.recovery = Recovery::None;
            self.recovery_ended = Some(ack.now);
            self.cwnd = self.cwnd.max(self.prior_cwnd);
        }
        if self.pacing_rate.is_none() {
            self.pacing_rate = first_pacing_rate(self.initial_window, ack.rtt, self.high_gain);
        }
        self.set_pacing_rate(self.pacing_gain());
        self.set_cwnd(ack.bytes, ack.delivered);
        self.update_resumption();
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.in_flight = loss.bytes_in_flight;
        self.next_number = loss.next_number;
        if loss.newest().number < self.recovery_start {
            return;
        }
        self.lost_in_phase = true;
        if loss.persistent {
            self.save_cwnd();
            self.cwnd = self.mtu.max(Bytes::new(1));
        } else if self.recovery == Recovery::None && self.recovery_ended != Some(loss.now) {
            self.save_cwnd();
            let (at, acked) = self.latest_ack;
            let acked = if at == loss.now { acked } else { Bytes::ZERO };
            self.cwnd = (loss.bytes_in_flight + acked.max(self.mtu)).max(self.min_pipe());
        } else {
            // BBRModulateCwndForRecovery.
            self.cwnd = self.cwnd.saturating_sub(loss.bytes).max(self.mtu).max(Bytes::new(1));
        }
        if loss.persistent || self.recovery_ended == Some(loss.now) {
            // After a timeout, the window grows from one packet. If the ACK that ended recovery
            // revealed more losses, recovery goes on.
            self.recovery = Recovery::Growing;
        } else if self.recovery == Recovery::None {
            // "After one round-trip in Fast Recovery" (draft §4.2.3.4): a round starts with the
            // loss, as in Linux. The one in progress may end with the next ACK.
            self.recovery = Recovery::Conserving;
            self.rounds.restart(loss.delivered);
        }
        // Every loss prolongs recovery, so that only its first round conserves packets under steady
        // random loss. In TCP, the gaps of later losses prolong recovery in the same way.
        self.recovery_until = loss.next_number;
    }

    fn on_ecn_ce(&mut self, _: &EcnCe) {
        // BBRv1 does not respond to ECN-CE. It only ends a probe, as a loss does. Senders with
        // BBRv1 should not negotiate ECN.
        self.lost_in_phase = true;
    }

    fn on_spurious_loss(&mut self, _: Time) {
        if self.recovery != Recovery::None {
            self.recovery = Recovery::None;
            self.cwnd = self.cwnd.max(self.prior_cwnd);
        }
    }

    fn on_path_change(&mut self, change: &PathChange) {
        // Our choice: the ProbeRTT interval restarts, since the minimum RTT is either known or
        // follows from the next sample; the old value remains until then. The bandwidth filter
        // forgets by itself.
        self.min_rtt_stamp = change.now;
        self.path_since = change.since;
        let shifted = change.shifted(self.min_rtt);
        self.min_rtt_stale = shifted.is_none();
        self.min_rtt = shifted.or(self.min_rtt);
    }

    fn on_upcoming_path_change(&mut self, probe: ChangeProbe) {
        self.probe_change(probe);
    }

    fn on_mtu_update(&mut self, mtu: Bytes) {
        self.mtu = mtu;
        // With a window below one packet the sender would never send again, and no ACK could raise
        // it.
        self.cwnd = self.cwnd.max(self.mtu);
    }

    fn restart(&mut self, to: &Restart) {
        self.recovery_start = self.recovery_start.max(to.recovery_start);
        self.resumption = ResumeProbe::default();
        self.recovery = Recovery::None;
        self.cwnd = to.window.max(self.min_pipe());
        self.prior_cwnd = self.cwnd;
        if let Some(rtt) = to.min_rtt.filter(|rtt| !rtt.is_zero()) {
            self.min_rtt = Some(rtt);
            self.min_rtt_stamp = to.now;
            self.min_rtt_stale = false;
        }
        self.full_pipe.restart_search(Rate::ZERO);
        self.full_pipe.reached = to.ssthresh.is_some_and(|ssthresh| ssthresh <= to.window);
        let fitting =
            self.min_rtt.filter(|rtt| !rtt.is_zero()).map(|rtt| Rate::over(to.window, rtt));
        if !self.full_pipe.reached {
            self.state = State::Startup;
            self.pacing_rate =
                self.pacing_rate.max(fitting.map(|rate| rate.mul_f64(self.high_gain)));
            return;
        }
        if let Some(rate) = to.rate.filter(|rate| !rate.is_zero()).or(fitting) {
            self.bandwidth.reset(self.rounds.count, rate.as_bps());
        }
        if self.in_flight > self.bdp_times(1.0).max(self.min_pipe()) {
            self.enter_drain();
        } else {
            self.enter_probe_bw(to.now);
        }
        self.set_pacing_rate(self.pacing_gain());
    }

    fn send_control(&self) -> SendControl {
        let pacing_rate =
            self.pacing_rate.max(self.resumption.rate()).filter(|rate| !rate.is_zero());
        let phase = match self.state {
            State::Startup => "startup",
            State::Drain => "drain",
            State::ProbeBw(0) => "probe bw up",
            State::ProbeBw(DRAINING) => "probe bw down",
            State::ProbeBw(_) => "probe bw cruise",
            State::ProbeRtt => "probe rtt",
        };
        SendControl {
            pacing_rate,
            send_quantum: pacing_rate.map(|rate| send_quantum(rate, self.mtu)),
            ..SendControl::window(self.window(), self.state == State::Startup, phase)
        }
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

impl RateBased for Bbr1 {
    fn bandwidth(&self) -> Option<Rate> {
        Some(self.bw()).filter(|rate| !rate.is_zero())
    }

    fn in_startup(&self) -> bool {
        self.state == State::Startup
    }

    fn in_drain(&self) -> bool {
        self.state == State::Drain
    }

    fn set_probing_rate(&mut self, rate: Option<Rate>) {
        self.resumption.end_probe();
        if self.state == State::Startup {
            self.resumption.probe(rate);
            self.update_resumption();
        }
    }

    fn retreat(&mut self, _: Time) {
        // In Drain, the model has left Startup by its own rules because of the probe.
        if !matches!(self.state, State::Startup | State::Drain) {
            return;
        }
        self.recovery_start = self.next_number;
        self.full_pipe.reached = true;
        self.resumption.drain();
        self.enter_drain();
        self.set_pacing_rate(self.pacing_gain());
    }
}

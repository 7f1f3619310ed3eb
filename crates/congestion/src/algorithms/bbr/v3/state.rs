//! The state of BBRv3, and the signals that it reads from an ACK.

use super::cycle::Cycle;
use super::model::{MaxBandwidth, MinRtt, ShortTerm, UNBOUNDED};
use super::parameters::Parameters;
use super::recovery::Recovery;
pub(super) use super::states::State;
use crate::algorithms::bbr::common::{
    Aggregation, FullPipe, ProbeJitter, ResumeProbe, first_pacing_rate,
};
use crate::controller::{Ack, ControllerConfig};
use crate::limited_range::LimitedRange;
use crate::round_trips::RoundTrips;
use bentpipe_units::{Bytes, Rate, Span, Time};

/// The signals of an ACK, without samples that the controller must discard.
#[derive(Debug, Clone, Copy)]
pub(super) struct AckSignals {
    pub(super) now: Time,
    pub(super) acked: Bytes,
    /// Delivery rate, zero without a reliable sample.
    pub(super) rate: Rate,
    pub(super) volume: Bytes,
    pub(super) lost: Bytes,
    pub(super) tx_in_flight: Bytes,
    pub(super) prior_delivered: Bytes,
    pub(super) app_limited: bool,
}

/// State of ProbeRTT.
#[derive(Debug, Clone, Default)]
pub(super) struct ProbeRtt {
    /// Earliest end, set once the flight is small (probe_rtt_done_stamp).
    pub(super) done_at: Option<Time>,
    /// True once a round has passed since then.
    pub(super) round_done: bool,
    /// True if the flow restarts from idle, which has already drained the queue (idle_restart).
    pub(super) idle_restart: bool,
}

/// The BBRv3 controller.
#[derive(Debug, Clone)]
pub struct Bbr3 {
    pub(super) parameters: Parameters,
    pub(super) probe_rtt_interval: Span,
    pub(super) mtu: Bytes,
    pub(super) initial_window: Bytes,
    pub(super) jitter: ProbeJitter,

    pub(super) state: State,
    pub(super) rounds: RoundTrips,
    pub(super) max_bw: MaxBandwidth,
    /// BBR.bw, the smaller of max_bw and the short-term bound.
    pub(super) bw: Rate,
    pub(super) min_rtt: MinRtt,
    pub(super) aggregation: Aggregation,
    pub(super) full_pipe: FullPipe,
    pub(super) short_term: ShortTerm,
    /// BBR.inflight_longterm.
    pub(super) inflight_longterm: Bytes,
    pub(super) drain_start_round: u64,
    pub(super) cycle: Cycle,
    pub(super) probe_rtt: ProbeRtt,
    pub(super) recovery: Recovery,

    pub(super) cwnd: Bytes,
    pub(super) pacing_rate: Option<Rate>,
    /// The last good window (BBR.prior_cwnd).
    pub(super) prior_cwnd: Bytes,
    /// Whether the window was full in this round and in the previous one (C.is_cwnd_limited).
    pub(super) window_full: (bool, bool),

    pub(super) delivered: Bytes,
    pub(super) in_flight: Bytes,
    pub(super) next_number: u64,
    /// Time since which packets take this path: earlier RTT samples belong to another.
    pub(super) path_since: Time,
    /// Packets sent in ProbeRTT.
    pub(super) limited: LimitedRange,
    pub(super) resumption: ResumeProbe,
}

impl Bbr3 {
    /// Creates a controller in Startup (§5.2.1).
    pub fn new(config: &ControllerConfig, parameters: &Parameters) -> Self {
        let initial_window = config.initial_window.max(config.mtu).max(Bytes::new(1));
        let mut min_rtt = MinRtt::new(config.now);
        config.rtt.into_iter().for_each(|rtt| min_rtt.seed(config.now, rtt));
        let pacing_rate = config
            .rtt
            .and_then(|rtt| first_pacing_rate(initial_window, rtt, parameters.startup_pacing_gain));
        Self {
            parameters: *parameters,
            probe_rtt_interval: Span::from_secs_f64(parameters.probe_rtt_interval),
            mtu: config.mtu,
            initial_window,
            jitter: ProbeJitter::new(config),
            state: State::Startup,
            rounds: RoundTrips::default(),
            max_bw: MaxBandwidth::default(),
            bw: Rate::ZERO,
            // BBROnInit (draft §5.2.1): SRTT, if there is one, is the first sample and paces the
            // first window.
            min_rtt,
            aggregation: Aggregation::new(config.now),
            full_pipe: FullPipe::default(),
            short_term: ShortTerm::default(),
            inflight_longterm: UNBOUNDED,
            drain_start_round: 0,
            cycle: Cycle::new(config.now),
            probe_rtt: ProbeRtt::default(),
            recovery: Recovery::default(),
            cwnd: initial_window,
            pacing_rate,
            prior_cwnd: Bytes::ZERO,
            window_full: (false, false),
            delivered: Bytes::ZERO,
            in_flight: Bytes::ZERO,
            next_number: 0,
            path_since: config.now,
            limited: LimitedRange::default(),
            resumption: ResumeProbe::default(),
        }
    }

    /// Returns the signals of `ack`.
    pub(super) fn signals(&mut self, ack: &Ack<'_>) -> AckSignals {
        self.delivered = ack.delivered;
        self.in_flight = ack.bytes_in_flight;
        self.next_number = ack.next_number;
        self.limited.update(ack.next_number, ack.delivered);
        let sample = &ack.sample;
        // RFC 9959 appendix C: rates measured while the queue of a failed probe drains are not
        // those of the path.
        let taken = !self.resumption.discards();
        AckSignals {
            now: ack.now,
            acked: ack.bytes,
            rate: if taken { sample.rate.unwrap_or_default() } else { Rate::ZERO },
            volume: if taken { sample.delivered } else { Bytes::ZERO },
            lost: self.recovery.unanswered(sample.lost, ack.newest().lost),
            tx_in_flight: sample.in_flight,
            prior_delivered: sample.prior_delivered,
            app_limited: sample.app_limited || self.limited.contains(ack.newest().number),
        }
    }

    /// UpdateLatestDeliverySignals and UpdateCongestionSignals (§5.5.10.3).
    pub(super) fn update_signals(&mut self, signals: &AckSignals) {
        self.short_term.begin_ack(
            signals.rate,
            signals.volume,
            signals.prior_delivered,
            self.delivered,
        );
        self.rounds.update(signals.prior_delivered, self.delivered);
        if self.rounds.start {
            self.cycle.rounds_since_probe += 1;
            self.window_full = (false, self.window_full.0);
        }
        if !signals.rate.is_zero() {
            self.max_bw.update(signals.rate, signals.app_limited);
        }
        if self.short_term.round_start {
            if self.short_term.loss_in_round && !self.state.is_probing() {
                self.short_term.lower(self.max_bw.get(), self.cwnd, self.parameters.beta);
            }
            self.short_term.loss_in_round = false;
        }
    }
}

//! BBRv3 (draft-ietf-ccwg-bbr, the editor's copy of 3 August 2026): a model of the path's rate and round trip decides.
//!
//! Section numbers in this folder are the draft's. An acknowledgement costs a fixed number of operations: nothing here
//! looks at packets in flight, and filters hold a bounded number of values.
//!
//! - `model`: the estimators;
//! - `startup`: Startup and Drain;
//! - `probe_bw`: the cycle that looks for more;
//! - `probe_rtt`: looking for the smallest round trip, and coming back from idleness;
//! - `loss`: what losses change, and how it is undone;
//! - `control`: window, pacing and quantum;
//! - `seam`: what layers in front ask of it.
//!
//! Where the draft leaves a choice, or this differs from it, the place says so.

mod control;
mod loss;
pub(crate) mod model;
mod probe_bw;
mod probe_rtt;
pub(crate) mod seam;
mod startup;
#[cfg(test)]
mod tests;

use crate::controller::{Ack, Adjust, Controller, Loss, Mark, Packet, PathChange, RateBased, Setup};
use crate::parameter::{Parameter, Values};
use bentpipe_units::{Bytes, Rate, Span, Time};
use model::{
    Aggregation, Draws, FullPipe, Limited, MaxBandwidth, MinRtt, Rounds, ShortTerm, UNBOUNDED, first_pace, quantum,
    volume,
};

/// Parameters of [`Bbr3`].
pub const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "loss_threshold",
        default: 0.02,
        range: (0.001, 0.5),
        unit: "",
        about: "share of a round that may be lost while probing (draft-ietf-ccwg-bbr §2.7, LossThresh)",
    },
    Parameter {
        name: "loss_significance",
        default: 0.0,
        range: (0.0, 10.0),
        unit: "",
        about: "standard errors (of packets lost at random) above loss_threshold that a round's loss must lie to count; \
                0 as in the draft, 3 where a link loses at random just below the threshold (our choice)",
    },
    Parameter {
        name: "startup_loss_ranges",
        default: 6.0,
        range: (1.0, 1000.0),
        unit: "",
        about: "separate ranges of lost packets in a round before Startup ends on loss (§5.3.1.3, BBRStartupFullLossCnt)",
    },
    Parameter {
        name: "beta",
        default: 0.7,
        range: (0.1, 1.0),
        unit: "",
        about: "share of the short-term bounds kept in a round with losses (§2.7, Beta)",
    },
    Parameter {
        name: "headroom",
        default: 0.15,
        range: (0.0, 0.9),
        unit: "",
        about: "share of inflight_longterm left free for others (§2.7, Headroom)",
    },
    Parameter {
        name: "startup_pacing_gain",
        default: 2.77,
        range: (1.1, 10.0),
        unit: "",
        about: "pacing gain of Startup (§2.4, StartupPacingGain, 4 ln 2)",
    },
    Parameter {
        name: "cwnd_gain",
        default: 2.0,
        range: (1.0, 10.0),
        unit: "",
        about: "window in bandwidth-delay products (§2.5, DefaultCwndGain)",
    },
    Parameter {
        name: "pacing_margin",
        default: 0.01,
        range: (0.0, 0.5),
        unit: "",
        about: "share of the estimated bandwidth that pacing leaves unused (§2.4, PacingMarginPercent)",
    },
    Parameter {
        name: "probe_rtt_interval",
        default: 5.0,
        range: (0.1, 3600.0),
        unit: "s",
        about: "time between two looks for the smallest round trip (§2.16.2, ProbeRTTInterval)",
    },
];

/// Parameters as read.
#[derive(Debug, Clone)]
struct Settings {
    loss_threshold: f64,
    loss_significance: f64,
    startup_loss_ranges: u64,
    beta: f64,
    headroom: f64,
    startup_pacing_gain: f64,
    cwnd_gain: f64,
    pacing_share: f64,
    probe_rtt_interval: Span,
}

/// The states (§5.1); the middle four are ProbeBW.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    /// IsInAProbeBWState.
    fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// IsProbingBW.
    fn is_probing(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }
}

/// What an acknowledgement says, once our own reservations are applied to its sample.
#[derive(Debug, Clone, Copy)]
struct Heard {
    now: Time,
    acked: Bytes,
    /// Zero where there is no reliable sample.
    rate: Rate,
    volume: Bytes,
    lost: Bytes,
    tx_in_flight: Bytes,
    prior_delivered: Bytes,
    app_limited: bool,
}

/// The controller.
#[derive(Debug, Clone)]
pub struct Bbr3 {
    settings: Settings,
    mtu: Bytes,
    initial_window: Bytes,
    draws: Draws,

    state: State,
    rounds: Rounds,
    max_bw: MaxBandwidth,
    /// BBR.bw, the smaller of max_bw and the short-term bound.
    bw: Rate,
    min_rtt: MinRtt,
    aggregation: Aggregation,
    full_pipe: FullPipe,
    short_term: ShortTerm,
    /// BBR.inflight_longterm.
    inflight_longterm: Bytes,
    drain_start_round: u64,
    cycle: probe_bw::Cycle,
    probe_rtt: probe_rtt::ProbeRtt,
    recovery: loss::Recovery,

    cwnd: Bytes,
    pacing_rate: Option<Rate>,
    /// The last good window (BBR.prior_cwnd).
    prior_cwnd: Bytes,
    /// Whether the window was full in this round, and in the one before (C.is_cwnd_limited).
    window_full: (bool, bool),

    delivered: Bytes,
    in_flight: Bytes,
    next_number: u64,
    /// When packets began to take this path: round trips of earlier ones are another's.
    path_since: Time,
    /// Packets sent in ProbeRTT.
    limited: Limited,
    resumption: seam::Resumption,
}

impl Bbr3 {
    /// A controller in Startup (§5.2.1).
    pub fn new(setup: &Setup, values: &Values) -> Self {
        let settings = Settings {
            loss_threshold: values.get("loss_threshold"),
            loss_significance: values.get("loss_significance"),
            startup_loss_ranges: values.get("startup_loss_ranges") as u64,
            beta: values.get("beta"),
            headroom: values.get("headroom"),
            startup_pacing_gain: values.get("startup_pacing_gain"),
            cwnd_gain: values.get("cwnd_gain"),
            pacing_share: 1.0 - values.get("pacing_margin"),
            probe_rtt_interval: Span::from_secs_f64(values.get("probe_rtt_interval")),
        };
        let initial_window = setup.initial_window.max(setup.mtu).max(Bytes::new(1));
        let mut min_rtt = MinRtt::new(setup.now);
        setup.rtt.into_iter().for_each(|rtt| min_rtt.seed(setup.now, rtt));
        let pacing_rate = setup.rtt.and_then(|rtt| first_pace(initial_window, rtt, settings.startup_pacing_gain));
        Self {
            settings,
            mtu: setup.mtu,
            initial_window,
            draws: Draws::new(setup),
            state: State::Startup,
            rounds: Rounds::default(),
            max_bw: MaxBandwidth::default(),
            bw: Rate::ZERO,
            // BBROnInit (draft §5.2.1): SRTT, where there is one, is the first sample, and paces the first window.
            min_rtt,
            aggregation: Aggregation::new(setup.now),
            full_pipe: FullPipe::default(),
            short_term: ShortTerm::default(),
            inflight_longterm: UNBOUNDED,
            drain_start_round: 0,
            cycle: probe_bw::Cycle::new(setup.now),
            probe_rtt: probe_rtt::ProbeRtt::default(),
            recovery: loss::Recovery::default(),
            cwnd: initial_window,
            pacing_rate,
            prior_cwnd: Bytes::ZERO,
            window_full: (false, false),
            delivered: Bytes::ZERO,
            in_flight: Bytes::ZERO,
            next_number: 0,
            path_since: setup.now,
            limited: Limited::default(),
            resumption: seam::Resumption::default(),
        }
    }

    /// What `ack` says, with our own reservations.
    fn hear(&mut self, ack: &Ack<'_>) -> Heard {
        self.delivered = ack.delivered;
        self.in_flight = ack.bytes_in_flight;
        self.next_number = ack.next_number;
        self.limited.update(ack.next_number, ack.delivered);
        let sample = &ack.sample;
        // RFC 9959 appendix C: rates measured while the queue of a failed probe drains are not the path's.
        let taken = !self.resumption.discards();
        Heard {
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
    fn update_signals(&mut self, heard: &Heard) {
        self.short_term.begin_ack(heard.rate, heard.volume, heard.prior_delivered, self.delivered);
        self.rounds.update(heard.prior_delivered, self.delivered);
        if self.rounds.start {
            self.cycle.rounds_since_probe += 1;
            self.window_full = (false, self.window_full.0);
        }
        if !heard.rate.is_zero() {
            self.max_bw.update(heard.rate, heard.app_limited);
        }
        if self.short_term.round_start {
            if self.short_term.loss_in_round && !self.state.is_probing() {
                self.short_term.lower(self.max_bw.get(), self.cwnd, self.settings.beta);
            }
            self.short_term.loss_in_round = false;
        }
    }
}

impl Controller for Bbr3 {
    fn on_packet_sent(&mut self, packet: &Packet) {
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
        // The order is the draft's (§5.2.3).
        let heard = self.hear(ack);
        self.update_signals(&heard);
        self.aggregation.update(heard.now, heard.acked, self.bw, self.cwnd, self.rounds.count, self.full_pipe.reached);
        self.full_pipe.update(self.rounds.start, heard.rate, heard.app_limited);
        self.check_startup_done(&heard);
        self.check_drain_done(heard.now);
        self.update_probe_bw(&heard);
        if ack.newest().sent_at >= self.path_since {
            self.min_rtt.update(heard.now, ack.rtt, self.settings.probe_rtt_interval);
        }
        self.check_probe_rtt(&heard);
        self.short_term.end_ack(heard.rate, heard.volume);
        self.bw = self.max_bw.get().min(self.short_term.rate);
        if self.recovery.ends_with(ack.newest().number) {
            self.restore_cwnd();
        }
        self.update_control(heard.acked, ack.rtt);
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.handle_loss(loss);
    }

    fn on_mark(&mut self, mark: &Mark) {
        self.handle_mark(mark);
    }

    fn on_spurious_loss(&mut self, _: Time) {
        self.undo();
    }

    fn on_path_change(&mut self, change: &PathChange) {
        // Our choice: the draft says nothing of it.
        self.path_since = change.since;
        if let Some((min_rtt, longer)) = change.shifted(self.min_rtt.get()).zip(change.longer_by) {
            // The same path but for its length: it holds more by what the rate fills of that. Rates are nothing of a round trip.
            self.min_rtt.seed(change.now, min_rtt);
            let more = volume(self.bw, longer);
            let widened = |bound: Bytes| if bound == UNBOUNDED { bound } else { bound + more };
            self.inflight_longterm = widened(self.inflight_longterm);
            self.short_term.inflight = widened(self.short_term.inflight);
            return;
        }
        // The round trip and what losses have taught belonged to the old path; the rate is kept as the best guess, and is checked at once.
        self.min_rtt.renew(change.now);
        self.inflight_longterm = UNBOUNDED;
        self.short_term.reset_bounds();
        self.cycle.prev_probe_too_high = false;
        if self.state.is_probe_bw() {
            self.start_refill();
        }
    }

    fn on_mtu(&mut self, mtu: Bytes) {
        self.mtu = mtu;
        // A window below a packet would let nothing go, and nothing would come to raise it.
        self.cwnd = self.cwnd.max(self.mtu);
    }

    fn adjust(&mut self, to: &Adjust) {
        self.take_over(to);
    }

    fn window(&self) -> Bytes {
        self.cwnd.max(self.resumption.window())
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_rate.max(self.resumption.rate()).filter(|rate| !rate.is_zero())
    }

    fn send_quantum(&self) -> Option<Bytes> {
        self.pacing_rate().map(|rate| quantum(rate, self.mtu))
    }

    fn in_slow_start(&self) -> bool {
        self.state == State::Startup
    }

    fn phase(&self) -> &'static str {
        match self.state {
            State::Startup => "startup",
            State::Drain => "drain",
            State::Down => "probe bw down",
            State::Cruise => "probe bw cruise",
            State::Refill => "probe bw refill",
            State::Up => "probe bw up",
            State::ProbeRtt => "probe rtt",
        }
    }

    fn loss_tolerance(&self) -> f64 {
        self.settings.loss_threshold
    }

    fn rate_based(&mut self) -> Option<&mut dyn RateBased> {
        Some(self)
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

//! Measurements of the path, and the current window and rate.

use super::super::algorithm::{CapacityEstimate, Progress};
use super::ack_aggregation::AckAggregation;
use super::arrivals::{Arrivals, FRAMES};
use super::delay::Delay;
use super::frames::Frames;
use super::parameters::Tuning;
use super::sharing::Sharing;
use crate::chance::most_by_chance;
use crate::controller::minimum_window;
use crate::controller::{Ack, ControllerConfig, Loss};
use bentpipe_units::{Bytes, Rate, Span, Time};

/// Longest RTT for which time windows are sized. A longer one only slows the algorithm down.
const LONGEST: Span = Span::from_secs(10);

/// Minimum aggregation time. Senders and receivers themselves aggregate ACKs for a few
/// milliseconds, with timers, batches and ACKs of ten packets.
const LEAST_AGGREGATION: Span = Span::from_millis(5);

/// Losses of a round.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Losses {
    bytes: Bytes,
    packets: u64,
}

impl Losses {
    pub(super) fn note(&mut self, loss: &Loss<'_>) {
        self.note_from(loss, 0);
    }

    /// Counts losses of packet `first` and later ones.
    pub(super) fn note_from(&mut self, loss: &Loss<'_>, first: u64) {
        for packet in loss.packets.iter().filter(|packet| packet.number >= first) {
            self.bytes += packet.bytes;
            self.packets = self.packets.saturating_add(1);
        }
    }

    /// Returns true if random losses of the fraction `share` of `of` may be as many.
    fn may_be_chance(&self, share: f64, of: Bytes) -> bool {
        let size = self.bytes.get() as f64 / self.packets.max(1) as f64;
        self.packets as f64 <= most_by_chance(share * of.get() as f64 / size.max(1.0))
    }

    /// Returns true if they exceed the fraction `share` of `of`. Fewer than four packets do not
    /// count, since they may be one burst of noise.
    pub(super) fn exceed(&self, share: f64, of: Bytes) -> bool {
        self.packets >= 4 && self.bytes.get() as f64 > share * of.get() as f64
    }
}

/// Measurements shared by all steps.
#[derive(Debug, Clone)]
pub(super) struct Path {
    pub(super) tuning: Tuning,
    mtu: Bytes,
    /// Congestion window, and the initial one.
    pub(super) window: Bytes,
    initial_window: Bytes,
    /// Pacing rate in bytes per second.
    pub(super) rate: Option<f64>,
    /// Bytes of the first burst.
    pub(super) first_flight: Bytes,
    /// Shares into which the first burst is divided.
    pub(super) shares: u64,
    /// Bytes sent in this round; `None` until the first burst is acknowledged.
    pub(super) burst: Option<Bytes>,
    /// True if the RTT has shown that others may use the path.
    pub(super) busy: bool,
    /// Whether rates have shown that they do.
    pub(super) sharing: Sharing,
    /// First RTT: the scale of all times.
    pub(super) scale: Span,
    pub(super) arrivals: Arrivals,
    pub(super) delay: Delay,
    pub(super) ack_aggregation: AckAggregation,
    /// Whether frames release the ACKs.
    pub(super) frames: Frames,
    /// End of the latest gap between ACKs. A rate across it would include the gap.
    pub(super) gap: Time,
    /// Proven rate in bytes per second.
    pub(super) proven: f64,
    /// The rate that is proven if frames are found, in bytes per second.
    pub(super) proven_by_frames: f64,
    /// Rounds up to now; bytes delivered at the start of this one; its ACKs and losses.
    pub(super) round: u64,
    round_delivered: Bytes,
    acks: u64,
    pub(super) losses: Losses,
    /// Window and bytes delivered from which this round's growth counts: those at its start, or
    /// when another layer set the window.
    grown_from: (Bytes, Bytes),
    /// The window that another layer set during the bursts, as a jump of Careful Resume does; zero
    /// without one.
    pub(super) resumed: Bytes,
    /// True until the first loss.
    pub(super) lossless: bool,
    /// Fraction of losses that the controller tolerates.
    pub(super) chance: f64,
    /// Variation of the RTT by itself, fixed once the bursts have ended.
    swing: Option<Span>,
    /// Bytes per ACK in the last round.
    pub(super) bytes_per_ack: f64,
}

impl Path {
    /// Creates the measurements before the first RTT.
    pub(super) fn new(config: &ControllerConfig, tuning: Tuning) -> Self {
        let initial_window = config.initial_window.max(minimum_window(config.mtu));
        Self {
            mtu: config.mtu,
            window: initial_window,
            initial_window,
            rate: None,
            first_flight: Bytes::ZERO,
            shares: 1,
            burst: None,
            busy: false,
            sharing: Sharing::new(tuning.share, Span::ZERO),
            scale: Span::ZERO,
            arrivals: Arrivals::new(Span::ZERO),
            delay: Delay::new(Span::MAX, tuning.max_ack_aggregation),
            ack_aggregation: AckAggregation::new(LEAST_AGGREGATION, tuning.max_ack_aggregation),
            frames: Frames::default(),
            gap: Time::ZERO,
            proven: 0.0,
            proven_by_frames: 0.0,
            round: 0,
            round_delivered: Bytes::ZERO,
            acks: 0,
            losses: Losses::default(),
            grown_from: (Bytes::ZERO, Bytes::ZERO),
            resumed: Bytes::ZERO,
            lossless: true,
            chance: 0.0,
            swing: None,
            bytes_per_ack: f64::INFINITY,
            tuning,
        }
    }

    /// Sets window and rate of the first burst after the first RTT sample.
    pub(super) fn begin(&mut self, ack: &Ack<'_>) {
        self.scale = ack.rtt.min(LONGEST);
        self.arrivals = Arrivals::new(self.scale);
        self.sharing = Sharing::new(self.tuning.share, self.scale);
        self.round_delivered = ack.delivered;
        let burst = (10.0 * self.scale.as_secs_f64() / 0.05).min(self.tuning.first_flight);
        let window = self.mtu.mul_f64(burst / self.shares.max(1) as f64).max(self.window);
        self.first_flight = window;
        self.send(window.get() as f64, self.first_rate());
        self.note(ack, false);
    }

    /// Adds an ACK to all measurements. `of_bursts` is true for ACKs of the bursts: what was sent
    /// before them says nothing about aggregation, since the receiver's timer holds back the ACK of
    /// the last packet, and no rate is known that would tell.
    pub(super) fn note(&mut self, ack: &Ack<'_>, of_bursts: bool) {
        if ack.round_start {
            let delivered =
                ack.delivered.saturating_sub(ack.bytes).saturating_sub(self.round_delivered);
            if self.acks > 0 {
                self.bytes_per_ack = delivered.get() as f64 / self.acks as f64;
            }
            self.round += 1;
            self.round_delivered = ack.delivered.saturating_sub(ack.bytes);
            self.grown_from = (self.window, self.round_delivered);
            self.acks = 0;
            self.burst = self.burst.map(|_| Bytes::ZERO);
            self.losses = Losses::default();
        }
        self.acks += 1;
        let quiet = self.arrivals.last_at().map_or(Span::MAX, |last| ack.now.since(last));
        let idle = (self.scale / 8).max(Span::from_millis(75));
        if quiet > idle {
            self.gap = ack.now;
        }
        self.frames.note(ack.now, quiet);
        if of_bursts {
            self.ack_aggregation.note(ack.now, ack.delivered, self.proven, idle);
        }
        self.arrivals.note(ack.now, ack.delivered, ack.newest().sent_at);
        self.delay.note(ack.now, ack.rtt, ack.round_start);
        let covered = ack.now.since(self.gap) >= self.tuning.max_ack_aggregation;
        let queueing = self.delay.queue() >= self.calm();
        self.busy |= covered && queueing;
        self.sharing.note(
            ack,
            quiet,
            ack.rtt.saturating_sub(self.delay.base()),
            queueing,
            self.ack_aggregation.span(),
            self.proven,
        );
    }

    /// Returns the RTT increase from which on others may use the path. Frames delay ACKs by up to
    /// their length, and a first burst that is faster than the link queues behind itself.
    fn calm(&self) -> Span {
        let alone = if self.round <= 2 || self.ack_aggregation.span() > FRAMES {
            self.tuning.max_ack_aggregation
        } else {
            Span::ZERO
        };
        self.tuning.calm.max(alone)
    }

    /// Handles a change of the maximum packet size.
    pub(super) fn on_mtu_update(&mut self, mtu: Bytes) {
        self.mtu = mtu;
        self.window = self.window.max(minimum_window(mtu));
    }

    /// Returns the smallest window: the initial one until a loss. Who has little to send proves
    /// little; a window of that would stop the acknowledgements too, which a stack holds back with
    /// the frames that do not fit.
    fn least_window(&self) -> Bytes {
        if self.lossless { self.initial_window } else { minimum_window(self.mtu) }
    }

    /// Sets the window in bytes and the rate in bytes per second.
    pub(super) fn send(&mut self, window: f64, rate: f64) {
        self.window = Bytes::new(window as u64).max(self.least_window());
        self.pace(rate);
    }

    /// Sets the rate in bytes per second, at least that of the smallest window. After pauses, what
    /// was proven may be a few bytes per second, and a packet would take minutes.
    pub(super) fn pace(&mut self, rate: f64) {
        self.rate = Some(rate.max(self.least_window().get() as f64 / self.base()));
    }

    /// Returns the rate of bursts relative to the proven rate.
    fn gain(&self) -> f64 {
        if self.busy { self.tuning.busy_gain } else { self.tuning.gain }
    }

    /// Returns the maximum growth of the window per round.
    pub(super) fn max_growth(&self) -> f64 {
        if self.sharing.found() {
            1.0
        } else if self.busy {
            self.tuning.busy_growth
        } else {
            self.tuning.max_growth
        }
    }

    /// Sets the rate of the bursts: that of a burst until its volume is sent, then that of the
    /// window.
    pub(super) fn set_burst_rate(&mut self) {
        let window = self.window.get() as f64;
        let sent = self.burst.unwrap_or_default().get() as f64;
        let rate = if sent < self.burst_volume() {
            (self.gain() * self.proven).max(1.25 * window / self.base())
        } else {
            self.tuning.pace * window / self.base()
        };
        // Two rounds of few packets prove little and must not reduce the rate.
        let least = if self.round <= 2 { self.first_rate() } else { 0.0 };
        self.send(window, rate.max(least));
    }

    /// Returns the bytes that may be in flight by what is proven: as many as an RTT delivers, and
    /// `excess` more.
    pub(super) fn full_volume(&self) -> f64 {
        (1.0 + self.tuning.excess) * (self.proven * self.base())
    }

    /// Returns the volume of a burst in bytes. After a jump it is the full one, since memory and
    /// the jump's deliveries agree about the path, unless others may use it.
    fn burst_volume(&self) -> f64 {
        let part = self.tuning.burst * self.proven * self.base();
        if self.jumped() && !self.busy { part.max(self.full_volume()) } else { part }
    }

    /// Returns the rate of the first burst in bytes per second. It is sent within a tenth of an
    /// RTT. If that were shorter, rates over steps of milliseconds could not prove it; if longer,
    /// there would be less to prove.
    fn first_rate(&self) -> f64 {
        self.first_flight.get() as f64 / (0.1 * self.scale.as_secs_f64())
    }

    /// Returns the rate in bytes per second that the first burst proves if it is delivered within
    /// an RTT.
    pub(super) fn first_flight_rate(&self) -> f64 {
        self.first_flight.get() as f64 / self.scale.as_secs_f64().max(0.001)
    }

    /// Returns the minimum RTT in seconds, at least a millisecond.
    pub(super) fn base(&self) -> f64 {
        self.delay.base().as_secs_f64().max(0.001)
    }

    /// Returns the window from which this round's growth counts, and the bytes delivered since.
    pub(super) fn growth(&self) -> (f64, f64) {
        let (window, delivered) = self.grown_from;
        (window.get() as f64, self.arrivals.delivered().saturating_sub(delivered).get() as f64)
    }

    /// Continues with the window that another layer set: its deliveries prove the rate as well as a
    /// burst does, and growth counts from it.
    pub(super) fn resume(&mut self, window: Bytes) {
        self.resumed = window;
        self.grown_from = (window, self.arrivals.delivered());
        self.send(window.get() as f64, 1.25 * window.get() as f64 / self.base());
    }

    /// Returns true once another layer has set the window during the bursts.
    pub(super) fn jumped(&self) -> bool {
        !self.resumed.is_zero()
    }

    /// Returns the bytes delivered or lost in this round.
    pub(super) fn judged(&self, delivered: Bytes) -> Bytes {
        delivered.saturating_sub(self.round_delivered) + self.losses.bytes
    }

    /// Returns true if the losses of this round show that the path is full. Where no packet queues,
    /// they must exceed `max_loss` by more than chance explains: of the first hundred packets, five
    /// may be lost where the mean is two.
    pub(super) fn losses_show_congestion(&self, delivered: Bytes) -> bool {
        let judged = self.judged(delivered);
        self.losses.exceed(self.tuning.max_loss, judged)
            && !(self.is_empty() && self.losses.may_be_chance(self.tuning.max_loss, judged))
    }

    /// Returns true if the RTT has grown by more than the variation of the path itself.
    pub(super) fn is_queueing(&self) -> bool {
        let swing = self.swing.unwrap_or(self.delay.swing()).mul_f64(1.5).min(self.scale / 4);
        let rise_share = if self.sharing.found() { 0.0 } else { self.tuning.rise_share };
        self.delay.queue() >= self.tuning.rise.max(self.scale.mul_f64(rise_share)).max(swing)
    }

    /// Returns true if the RTT is at its minimum, up to the effect of frames.
    pub(super) fn is_empty(&self) -> bool {
        self.delay.queue() < self.tuning.max_ack_aggregation
    }

    /// Returns true if the ACKs alone may fill the return link: there are enough of them for a slow
    /// one, and their delay looks like that of a full forward link.
    pub(super) fn may_be_return(&self) -> bool {
        /// Size in bits of an IP packet with a QUIC ACK.
        const ACK_BITS: f64 = 8.0 * 75.0;
        self.proven / self.bytes_per_ack.max(1.0) * ACK_BITS >= self.tuning.return_doubt
    }

    /// Returns the window between the bursts and the end of the slow start, relative to the proven
    /// rate times the RTT.
    pub(super) fn settle(&self) -> f64 {
        if self.sharing.found() { self.tuning.shared_margin } else { self.tuning.settle }
    }

    /// Returns the window after the slow start, relative to the proven rate times the RTT.
    fn margin(&self) -> f64 {
        if self.sharing.found() { self.tuning.shared_margin } else { self.tuning.margin }
    }

    /// Ends the slow start with the capacity found, given the window that it had while it settled.
    pub(super) fn found(&mut self, window: Bytes, recovery_start: u64) -> Progress {
        let window = window.mul_f64(self.margin() / self.settle());
        self.window = window.max(self.least_window());
        let rate = Some(Rate::from_bps((self.proven * 8.0) as u64)).filter(|rate| !rate.is_zero());
        Progress::Found(CapacityEstimate {
            window: self.window,
            rate,
            min_rtt: self.delay.base(),
            recovery_start,
        })
    }

    /// Returns the delivery rate of the last RTT in bytes per second.
    pub(super) fn round_trip_rate(&self) -> f64 {
        self.arrivals.rate(self.scale, Span::ZERO, Time::ZERO).unwrap_or_default()
    }

    /// Ends the bursts. From now on the queue drains, and decreases of the RTT do not measure the
    /// path's variation. Returns the latest rate and that of the last RTT, in bytes per second.
    pub(super) fn end_bursts(&mut self, now: Time) -> (Option<f64>, f64) {
        self.swing = Some(self.delay.swing());
        let window = (self.scale / 8).max(Span::from_millis(80));
        let since =
            Time::from_nanos(now.as_nanos().saturating_sub(window.as_nanos())).max(self.gap);
        let last = self.arrivals.rate_since(since, self.ack_aggregation.span());
        (last, self.round_trip_rate())
    }
}

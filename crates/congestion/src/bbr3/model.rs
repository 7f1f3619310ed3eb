//! What BBR believes of the path: small estimators, each fed once an acknowledgement (draft §5.5).

use crate::controller::Setup;
use crate::windowed::WindowedMax;
use bentpipe_units::{Bytes, Rate, Span, Time};

/// A volume that bounds nothing ("Infinity" in the draft).
pub const UNBOUNDED: Bytes = Bytes::MAX;

/// A rate that bounds nothing.
pub const UNBOUNDED_RATE: Rate = Rate::from_bps(u64::MAX);

/// Length of the filter of [`Aggregation`] after Startup, in rounds (draft §2.12, ExtraAckedFilterLen).
const EXTRA_ACKED_ROUNDS: u64 = 10;

/// Window of the smallest round trip (draft §2.16.1, MinRTTFilterLen).
const MIN_RTT_WINDOW: Span = Span::from_secs(10);

/// `rate` for `span`, as a volume. In floating point: 128-bit division would be the dearest thing an acknowledgement does.
pub fn volume(rate: Rate, span: Span) -> Bytes {
    // The cast saturates.
    Bytes::new((rate.as_bps() as f64 * span.as_nanos() as f64 / 8e9) as u64)
}

/// What may be handed to the network at once: a millisecond of `rate`, within two packets and 64 kB (draft §5.6.3).
pub fn quantum(rate: Rate, mtu: Bytes) -> Bytes {
    volume(rate, Span::from_millis(1)).min(Bytes::new(64 * 1024)).max(mtu + mtu)
}

/// InitPacingRate: the first window in a round trip, at Startup's `gain`; none without a round trip, when the sender itself paces.
pub fn first_pace(window: Bytes, rtt: Span, gain: f64) -> Option<Rate> {
    (!rtt.is_zero()).then(|| Rate::over(window, rtt).mul_f64(gain))
}

/// Draws for the times of probes: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) over what the setup says. Stirred with the
/// time of the draw, so that flows that begin together do not probe together.
#[derive(Debug, Clone)]
pub struct Draws(u64);

impl Draws {
    /// Draws for a connection.
    pub fn new(setup: &Setup) -> Self {
        let (mtu, window) = (setup.mtu.get(), setup.initial_window.get());
        Self(setup.now.as_nanos() ^ mtu.rotate_left(48) ^ window.rotate_left(24))
    }

    /// One draw.
    pub fn next(&mut self, now: Time) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ now.as_nanos();
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Packet-timed round trips (draft §5.5.1). The ledger's own cannot serve: a change of state begins a new one.
#[derive(Debug, Clone, Default)]
pub struct Rounds {
    /// Rounds so far.
    pub count: u64,
    /// Whether this acknowledgement began one.
    pub start: bool,
    /// A packet sent once this much was delivered ends the round.
    next_delivered: Bytes,
}

impl Rounds {
    /// UpdateRound.
    pub fn update(&mut self, prior_delivered: Bytes, delivered: Bytes) {
        self.start = prior_delivered >= self.next_delivered;
        if self.start {
            self.count += 1;
            self.restart(delivered);
        }
    }

    /// StartRound.
    pub fn restart(&mut self, delivered: Bytes) {
        self.next_delivered = delivered;
    }
}

/// The largest delivery rate of this and the previous probing cycle (draft §5.5.3: MaxBwFilterLen is 2).
#[derive(Debug, Clone, Default)]
pub struct MaxBandwidth {
    previous: Rate,
    current: Rate,
}

impl MaxBandwidth {
    /// BBR.max_bw.
    pub fn get(&self) -> Rate {
        self.previous.max(self.current)
    }

    /// UpdateMaxBw: a sample that the application limited counts only where it shows more than was known.
    pub fn update(&mut self, rate: Rate, app_limited: bool) {
        if !app_limited || rate >= self.get() {
            self.current = self.current.max(rate);
        }
    }

    /// AdvanceMaxBwFilter. A cycle without a sample is no reason to forget the one before.
    pub fn advance(&mut self) {
        if !self.current.is_zero() {
            self.previous = self.current;
            self.current = Rate::ZERO;
        }
    }

    /// Believes `rate` and nothing else.
    pub fn reset(&mut self, rate: Rate) {
        *self = Self { previous: Rate::ZERO, current: rate };
    }
}

/// Whether the path is full: three rounds without a quarter more (draft §5.3.1.2).
#[derive(Debug, Clone, Default)]
pub struct FullPipe {
    /// Ever since the connection began (full_bw_reached).
    pub reached: bool,
    /// Since looking began (full_bw_now).
    pub now: bool,
    baseline: Rate,
    rounds: u32,
    /// The best sample since the round began. The draft looks at the one sample that begins a round; where a return link
    /// bunches acknowledgements single samples scatter, and a round that grows could count as one that does not.
    best: Rate,
}

impl FullPipe {
    /// ResetFullBW, with a first rate to compare with.
    pub fn look_again(&mut self, baseline: Rate) {
        *self = Self { reached: self.reached, baseline, ..Self::default() };
    }

    /// CheckFullBWReached.
    pub fn update(&mut self, round_start: bool, rate: Rate, app_limited: bool) {
        if self.now || app_limited {
            return;
        }
        self.best = self.best.max(rate);
        if !round_start || self.best.is_zero() {
            return;
        }
        let best = std::mem::take(&mut self.best);
        if best.as_bps() as f64 >= self.baseline.as_bps() as f64 * 1.25 {
            self.look_again(best);
            return;
        }
        self.rounds += 1;
        self.now = self.rounds >= 3;
        self.reached |= self.now;
    }
}

/// The smallest round trip, and when to look for it again (draft §5.3.4.3, UpdateMinRTT).
#[derive(Debug, Clone)]
pub struct MinRtt {
    value: Option<Span>,
    stamp: Time,
    /// The smallest within the interval of ProbeRTT (probe_rtt_min_delay).
    recent: Option<Span>,
    recent_stamp: Time,
    /// Whether a ProbeRTT is due (probe_rtt_expired).
    pub expired: bool,
    /// Whether the value is that of another path.
    stale: bool,
}

impl MinRtt {
    /// No sample yet.
    pub fn new(now: Time) -> Self {
        Self { value: None, stamp: now, recent: None, recent_stamp: now, expired: false, stale: false }
    }

    /// BBR.min_rtt.
    pub fn get(&self) -> Option<Span> {
        self.value
    }

    /// UpdateMinRTT. `interval` is ProbeRTTInterval.
    pub fn update(&mut self, now: Time, rtt: Span, interval: Span) {
        self.expired = now > self.recent_stamp + interval;
        if self.expired || self.recent.is_none_or(|recent| rtt < recent) {
            self.recent = Some(rtt);
            self.recent_stamp = now;
        }
        if let Some(recent) = self.recent
            && (self.stale || now > self.stamp + MIN_RTT_WINDOW || self.value.is_none_or(|value| recent < value))
        {
            self.stale = false;
            self.value = Some(recent);
            self.stamp = self.recent_stamp;
        }
    }

    /// The next ProbeRTT is an interval from now.
    pub fn schedule(&mut self, now: Time) {
        self.recent_stamp = now;
    }

    /// Takes over a round trip that somebody else has measured.
    pub fn seed(&mut self, now: Time, rtt: Span) {
        *self =
            Self { value: Some(rtt), stamp: now, recent: Some(rtt), recent_stamp: now, expired: false, stale: false };
    }

    /// The path is another: the next sample counts, whatever it says, and until then the old value stands.
    pub fn renew(&mut self, now: Time) {
        *self = Self { value: self.value, stale: true, ..Self::new(now) };
    }
}

/// How much more than expected is acknowledged at a time: aggregation of data or acknowledgements (draft §5.5.9).
#[derive(Debug, Clone)]
pub struct Aggregation {
    since: Time,
    delivered: Bytes,
    filter: WindowedMax,
}

impl Aggregation {
    /// Nothing seen.
    pub fn new(now: Time) -> Self {
        Self { since: now, delivered: Bytes::ZERO, filter: WindowedMax::new() }
    }

    /// BBR.extra_acked.
    pub fn get(&self) -> Bytes {
        Bytes::new(self.filter.get())
    }

    /// Silence from here on was nobody's fault.
    pub fn restart(&mut self, now: Time) {
        self.since = now;
    }

    /// UpdateACKAggregation: `acked` bytes arrived where `bandwidth` was expected.
    pub fn update(&mut self, now: Time, acked: Bytes, bandwidth: Rate, cwnd: Bytes, round: u64, pipe_full: bool) {
        let mut expected = volume(bandwidth, now.since(self.since));
        if self.delivered <= expected {
            self.delivered = Bytes::ZERO;
            self.since = now;
            expected = Bytes::ZERO;
        }
        self.delivered += acked;
        let extra = self.delivered.saturating_sub(expected).min(cwnd);
        let window = if pipe_full { EXTRA_ACKED_ROUNDS } else { 1 };
        self.filter.update(round, window, extra.get());
    }

    /// Entries that the filter keeps.
    #[cfg(test)]
    pub fn kept(&self) -> usize {
        self.filter.kept()
    }
}

/// What a round delivered, and the bounds that its losses set until the next probe (draft §5.5.10.3).
#[derive(Debug, Clone)]
pub struct ShortTerm {
    /// Whether a loss was noted in this loss round (is_loss_in_round).
    pub loss_in_round: bool,
    /// Whether this acknowledgement ends a loss round.
    pub round_start: bool,
    round_delivered: Bytes,
    /// Largest rate of the round (bw_latest).
    rate_latest: Rate,
    /// Largest volume delivered over a sample of the round (inflight_latest).
    pub inflight_latest: Bytes,
    /// BBR.bw_shortterm.
    pub rate: Rate,
    /// BBR.inflight_shortterm.
    pub inflight: Bytes,
}

impl Default for ShortTerm {
    fn default() -> Self {
        Self {
            loss_in_round: false,
            round_start: false,
            round_delivered: Bytes::ZERO,
            rate_latest: Rate::ZERO,
            inflight_latest: Bytes::ZERO,
            rate: UNBOUNDED_RATE,
            inflight: UNBOUNDED,
        }
    }
}

impl ShortTerm {
    /// UpdateLatestDeliverySignals.
    pub fn begin_ack(&mut self, rate: Rate, volume: Bytes, prior_delivered: Bytes, delivered: Bytes) {
        self.rate_latest = self.rate_latest.max(rate);
        self.inflight_latest = self.inflight_latest.max(volume);
        self.round_start = prior_delivered >= self.round_delivered;
        if self.round_start {
            self.round_delivered = delivered;
        }
    }

    /// AdvanceLatestDeliverySignals.
    pub fn end_ack(&mut self, rate: Rate, volume: Bytes) {
        if self.round_start {
            self.rate_latest = rate;
            self.inflight_latest = volume;
        }
    }

    /// NoteLoss. True for the first loss of a round, which begins the loss round.
    pub fn note_loss(&mut self, delivered: Bytes) -> bool {
        let first = !self.loss_in_round;
        if first {
            self.round_delivered = delivered;
        }
        self.loss_in_round = true;
        first
    }

    /// InitLowerBounds and LossLowerBounds: down to what the round delivered, by no more than to `beta`.
    pub fn lower(&mut self, max_bw: Rate, cwnd: Bytes, beta: f64) {
        if self.rate == UNBOUNDED_RATE {
            self.rate = max_bw;
        }
        if self.inflight == UNBOUNDED {
            self.inflight = cwnd;
        }
        self.rate = self.rate_latest.max(self.rate.mul_f64(beta));
        self.inflight = self.inflight_latest.max(self.inflight.mul_f64(beta));
    }

    /// ResetCongestionSignals.
    pub fn reset_signals(&mut self) {
        self.loss_in_round = false;
        self.rate_latest = Rate::ZERO;
        self.inflight_latest = Bytes::ZERO;
    }

    /// ResetShortTermModel.
    pub fn reset_bounds(&mut self) {
        self.rate = UNBOUNDED_RATE;
        self.inflight = UNBOUNDED;
    }
}

/// Packets sent in ProbeRTT, whose samples say nothing of the path's rate: what MarkConnectionAppLimited marks (draft
/// §5.3.4.3), kept here as a range of packets since the ledger is the sender's.
#[derive(Debug, Clone, Default)]
pub struct Limited {
    from: u64,
    to: u64,
    until: Bytes,
    active: bool,
}

impl Limited {
    /// Packets from `next_number` on are limited until what is in flight now has been delivered.
    pub fn mark(&mut self, next_number: u64, delivered: Bytes, in_flight: Bytes) {
        if !self.active {
            self.from = next_number;
            self.active = true;
        }
        self.to = u64::MAX;
        self.until = delivered + in_flight;
    }

    /// The bubble ends once it is delivered.
    pub fn update(&mut self, next_number: u64, delivered: Bytes) {
        if self.active && delivered > self.until {
            self.to = next_number;
            self.active = false;
        }
    }

    /// Whether packet `number` is one of them.
    pub fn contains(&self, number: u64) -> bool {
        (self.from..self.to).contains(&number)
    }
}

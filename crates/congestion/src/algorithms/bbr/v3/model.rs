//! The path model: small estimators, each updated once per ACK (draft §5.5).

use bentpipe_units::{Bytes, Rate, Span, Time};

/// A volume that does not limit ("Infinity" in the draft).
pub const UNBOUNDED: Bytes = Bytes::MAX;

/// A rate that does not limit.
pub const UNBOUNDED_RATE: Rate = Rate::from_bps(u64::MAX);

/// Length of the minimum-RTT filter (draft §2.16.1, MinRTTFilterLen).
const MIN_RTT_WINDOW: Span = Span::from_secs(10);

/// The largest delivery rate of this and the previous probing cycle (draft §5.5.3: MaxBwFilterLen
/// is 2).
#[derive(Debug, Clone, Default)]
pub struct MaxBandwidth {
    previous: Rate,
    current: Rate,
}

impl MaxBandwidth {
    /// Returns BBR.max_bw.
    pub fn get(&self) -> Rate {
        self.previous.max(self.current)
    }

    /// Adds a sample (UpdateMaxBw). An application-limited sample counts only if it is at least the
    /// maximum.
    pub fn update(&mut self, rate: Rate, app_limited: bool) {
        if !app_limited || rate >= self.get() {
            self.current = self.current.max(rate);
        }
    }

    /// Starts the next cycle (AdvanceMaxBwFilter). A cycle without samples does not displace the
    /// previous one.
    pub fn advance(&mut self) {
        if !self.current.is_zero() {
            self.previous = self.current;
            self.current = Rate::ZERO;
        }
    }

    /// Replaces all samples by `rate`.
    pub fn reset(&mut self, rate: Rate) {
        *self = Self { previous: Rate::ZERO, current: rate };
    }
}

/// The minimum RTT, and the time of the next ProbeRTT (draft §5.3.4.3, UpdateMinRTT).
#[derive(Debug, Clone)]
pub struct MinRtt {
    value: Option<Span>,
    stamp: Time,
    /// Minimum of the ProbeRTT interval (probe_rtt_min_delay).
    recent: Option<Span>,
    recent_stamp: Time,
    /// True if a ProbeRTT is due (probe_rtt_expired).
    pub expired: bool,
    /// True if the value belongs to another path.
    stale: bool,
}

impl MinRtt {
    /// Creates an estimator without a sample.
    pub fn new(now: Time) -> Self {
        Self {
            value: None,
            stamp: now,
            recent: None,
            recent_stamp: now,
            expired: false,
            stale: false,
        }
    }

    /// Returns BBR.min_rtt.
    pub fn get(&self) -> Option<Span> {
        self.value
    }

    /// Returns BBR.probe_rtt_min_delay and BBR.probe_rtt_min_stamp.
    pub fn probe_rtt_min(&self) -> (Option<Span>, Time) {
        (self.recent, self.recent_stamp)
    }

    /// Adds a sample (UpdateMinRTT). `interval` is ProbeRTTInterval; the filter is never shorter
    /// (§2.16.1).
    pub fn update(&mut self, now: Time, rtt: Span, interval: Span) {
        let window = MIN_RTT_WINDOW.max(interval * 2);
        self.expired = now > self.recent_stamp + interval;
        if self.expired || self.recent.is_none_or(|recent| rtt < recent) {
            self.recent = Some(rtt);
            self.recent_stamp = now;
        }
        if let Some(recent) = self.recent
            && (self.stale
                || now > self.stamp + window
                || self.value.is_none_or(|value| recent < value))
        {
            self.stale = false;
            self.value = Some(recent);
            self.stamp = self.recent_stamp;
        }
    }

    /// Sets the next ProbeRTT to one interval from now.
    pub fn schedule(&mut self, now: Time) {
        self.recent_stamp = now;
    }

    /// Sets the minimum to an RTT from another source.
    pub fn seed(&mut self, now: Time, rtt: Span) {
        *self = Self {
            value: Some(rtt),
            stamp: now,
            recent: Some(rtt),
            recent_stamp: now,
            expired: false,
            stale: false,
        };
    }

    /// Handles a new path: its first sample replaces the value, which remains until then.
    pub fn renew(&mut self, now: Time) {
        *self = Self { value: self.value, stale: true, ..Self::new(now) };
    }
}

/// Delivery signals of a round, and the short-term bounds that its losses set until the next probe
/// (draft §5.5.10.3).
#[derive(Debug, Clone)]
pub struct ShortTerm {
    /// True if there was a loss in this loss round (is_loss_in_round).
    pub loss_in_round: bool,
    /// True if this ACK ends a loss round.
    pub round_start: bool,
    round_delivered: Bytes,
    /// Largest rate of the round (bw_latest).
    rate_latest: Rate,
    /// Largest volume delivered over one sample of the round (inflight_latest).
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
    pub fn begin_ack(
        &mut self,
        rate: Rate,
        volume: Bytes,
        prior_delivered: Bytes,
        delivered: Bytes,
    ) {
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

    /// NoteLoss. Returns true for the first loss of a round, which starts a loss round.
    pub fn note_loss(&mut self, delivered: Bytes) -> bool {
        let first = !self.loss_in_round;
        if first {
            self.round_delivered = delivered;
        }
        self.loss_in_round = true;
        first
    }

    /// InitLowerBounds and LossLowerBounds: lowers the bounds to what the round delivered, but at
    /// most by the factor `beta`.
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

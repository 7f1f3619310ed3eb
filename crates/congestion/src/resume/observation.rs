//! Observation of the volume that a path carries per RTT, and the choice of values worth saving
//! (RFC 9959 §3.1 and §4.1).
//!
//! **Measured value.** At the end of a round, the bytes delivered while its newest packet was in
//! flight: the used capacity rather than the window, which overshoots at the end of slow start. A
//! standing queue increases the RTT and fills it with bytes that the path does not hold, so the
//! value is scaled by the minimum RTT over the current one. In slow start a round delivers the
//! packets of the previous round, about half of the current window: the halving that §4.1 suggests.
//! Lost bytes are not delivered, so a round with losses counts only the bytes that arrived.
//!
//! **Excluded rounds.** Rounds that Careful Resume itself controlled, and rounds in which the
//! application or flow control limited the sender, unless they delivered more than the current
//! value (§4.1): a browser's flow control may limit the very round that fills the path. Without a
//! current value they count from a rate on: the path may carry more, and a jump to half of little
//! would take the place of a start that soon sends as much.
//!
//! **The last round** of what the application had is over once its packets are delivered.
//!
//! **Replacement.** The largest value of the last period is reported. A larger one replaces it at
//! once. A smaller one replaces an earlier observation or the offered saved parameters only if the
//! path was really used: after [`USED_ROUNDS`] rounds that only cwnd limited, all after slow start.
//! A short transfer, which never leaves slow start, therefore does not reduce the saved capacity of
//! its path.

use super::first_rounds::FirstRounds;
use super::handle::ResumeHandle;
use super::parameters::Parameters;
use super::saved::SavedParameters;
use crate::controller::Ack;
use crate::limited_range::LimitedRange;
use bentpipe_units::{Bytes, Rate, Span, Time};

/// Rounds of use after which a smaller value is reported. Our choice: they take five seconds on a
/// geostationary path.
const USED_ROUNDS: u32 = 8;

/// Number of buckets per period: its start moves in steps of a tenth.
const BUCKETS: usize = 10;

/// Extremes of one bucket.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    began: Time,
    window: Bytes,
    rtt: Span,
}

/// Measures the path of a connection.
#[derive(Debug, Clone)]
pub(super) struct PathObserver {
    /// The newest bucket is the first.
    buckets: [Option<Bucket>; BUCKETS],
    period: Span,
    /// Windows smaller than this are not worth saving.
    minimum: Bytes,
    /// Nor are, as a first value, rounds that cwnd did not limit and that were slower than this.
    least_limited: Rate,
    first_rounds: FirstRounds,
    /// Latest report.
    reported: Option<SavedParameters>,
    /// Rounds since the value decreased that only cwnd limited.
    used: u32,
    /// True if something other than cwnd limited the current round.
    limited: bool,
    /// Packets sent while something other than cwnd limited the sender.
    limited_packets: LimitedRange,
    /// Rounds count whose newest packet has this number or a larger one.
    from: u64,
}

impl PathObserver {
    pub(super) fn new(parameters: &Parameters, initial_window: Bytes) -> Self {
        Self {
            buckets: [None; BUCKETS],
            period: Span::from_secs_f64(parameters.observation_period),
            minimum: initial_window.mul_f64(parameters.minimum_saved_windows),
            least_limited: Rate::from_bps((1e6 * parameters.least_limited) as u64),
            first_rounds: FirstRounds::default(),
            reported: None,
            used: 0,
            limited: false,
            limited_packets: LimitedRange::default(),
            from: 0,
        }
    }

    /// Begins again on another path, once packet `from` is acknowledged. The connection's first
    /// packets did not go over it, so that a delayed round is no wait for capacity.
    pub(super) fn on_path_change(&mut self, parameters: &Parameters, window: Bytes, from: u64) {
        *self = Self { first_rounds: FirstRounds::over(), ..Self::new(parameters, window) };
        self.pause(from);
    }

    /// Pauses the measurement until packet `from` is acknowledged.
    pub(super) fn pause(&mut self, from: u64) {
        self.from = from;
        self.limited = false;
    }

    /// Handles an ACK.
    pub(super) fn on_ack(&mut self, ack: &Ack<'_>, in_slow_start: bool, handle: &ResumeHandle) {
        let newest = ack.newest();
        self.bucket(ack.now).rtt_at_most(ack.rtt);
        self.first_rounds.on_ack(ack.rtt, ack.round_start);
        self.limited_packets.update(ack.next_number, ack.delivered);
        if ack.app_limited {
            self.limited_packets.mark(ack.next_number, ack.delivered, ack.bytes_in_flight);
        }
        let was_limited = newest.app_limited || self.limited_packets.contains(newest.number);
        self.limited |= ack.app_limited || was_limited;
        let delivered = ack.delivered.saturating_sub(newest.delivered);
        // The last round of what the application had ends with its own packets, since none follow
        // that would begin another. A few may be missing: the peer may close before it acknowledges
        // them.
        let over = ack.app_limited && ack.bytes_in_flight.mul_f64(8.0) <= delivered;
        if !ack.round_start && !over {
            return;
        }
        let limited = if ack.round_start { std::mem::take(&mut self.limited) } else { true };
        if newest.number < self.from || ack.rtt.is_zero() {
            return;
        }
        let rtt = self.min_rtt().min(ack.rtt);
        let window = delivered.mul_f64(rtt.as_secs_f64() / ack.rtt.as_secs_f64());
        // A round that cwnd did not limit is no sign of less capacity, but the path did carry the
        // delivered bytes.
        let least = self.reported.or_else(|| handle.current()).map(|current| current.window);
        if limited && window <= least.unwrap_or_else(|| self.least_limited.bytes_in(rtt)) {
            return;
        }
        self.bucket(ack.now).window_at_least(window);
        self.report(in_slow_start, handle);
    }

    /// Reports the largest window of the period if it may replace the current value.
    fn report(&mut self, in_slow_start: bool, handle: &ResumeHandle) {
        let window =
            self.buckets.iter().flatten().map(|bucket| bucket.window).max().unwrap_or_default();
        if self.reported.or_else(|| handle.current()).is_some_and(|current| window < current.window)
        {
            self.used = if in_slow_start { 0 } else { self.used.saturating_add(1) };
            if self.used < USED_ROUNDS {
                return;
            }
        }
        self.used = 0;
        if window >= self.minimum {
            let rtt = self.min_rtt();
            let first_rtt = self.first_rounds.wait_for_capacity(rtt);
            self.reported = Some(SavedParameters { window, rtt, first_rtt, valid_until: None });
            handle.set_observed(self.reported);
        }
    }

    /// Returns the minimum RTT of the period.
    fn min_rtt(&self) -> Span {
        self.buckets.iter().flatten().map(|bucket| bucket.rtt).min().unwrap_or(Span::MAX)
    }

    /// Returns the bucket of `now`, and clears those that have left the period.
    fn bucket(&mut self, now: Time) -> &mut Bucket {
        let length = self.period / BUCKETS as u64;
        if self.buckets[0].is_none_or(|newest| now.since(newest.began) >= length) {
            for bucket in &mut self.buckets {
                if bucket.is_some_and(|bucket| now.since(bucket.began) >= self.period) {
                    *bucket = None;
                }
            }
            self.buckets.rotate_right(1);
            self.buckets[0] = None;
        }
        self.buckets[0].get_or_insert(Bucket { began: now, window: Bytes::ZERO, rtt: Span::MAX })
    }
}

impl Bucket {
    fn rtt_at_most(&mut self, rtt: Span) {
        self.rtt = self.rtt.min(rtt);
    }

    fn window_at_least(&mut self, window: Bytes) {
        self.window = self.window.max(window);
    }
}

//! Less in flight before a path that holds less.
//!
//! **The rule.** From one smoothed round trip before the change on, the window W of that moment is limited to
//!
//! > L = W · min(1, RTT after / RTT before) · min(1, rate after / rate so far),
//!
//! the rate so far being the largest delivery rate of the last ten rounds, and factors that are not known being 1. Before a silence of length s
//! it is limited further, to L · (1 − min(1, s / RTT)) + Q, where that is less: what arrives at the link that is silent waits, and no more than
//! Q = W / RTT · (largest − smallest round trip of the last ten seconds), what queues have been seen to hold, is to wait. An
//! outage without a known end counts as a silence of a round trip. The limit goes one round trip of the new path after the change and its
//! silence, or, where nothing is heard, with the next acknowledgement. It is never below two packets (RFC 9002 §7.2).

use crate::controller::Ack;
use crate::filter::TimeFilter;
use crate::hints::PathHint;
use crate::windowed::WindowedMax;
use bentpipe_units::{Bytes, Rate, Span, Time};

/// Rounds over which the rate is remembered, as in BBRv1 (BtlBwFilterLen).
const ROUNDS: u64 = 10;

/// How long round trips are remembered.
const REMEMBERED: Span = Span::from_secs(10);

/// A limit for a while.
#[derive(Debug, Clone, Copy)]
struct Limit {
    window: Bytes,
    until: Time,
}

/// Limits of the window, and what they are reckoned from.
#[derive(Debug, Clone)]
pub(super) struct Drain {
    smallest: TimeFilter,
    largest: TimeFilter,
    /// Bits a second.
    rate: WindowedMax,
    limit: Option<Limit>,
    /// When limits held: the last one's first and last moment.
    held: (Time, Time),
}

impl Default for Drain {
    fn default() -> Self {
        Self {
            smallest: TimeFilter::smallest(),
            largest: TimeFilter::largest(),
            rate: WindowedMax::new(),
            limit: None,
            held: (Time::MAX, Time::ZERO),
        }
    }
}

impl Drain {
    /// The limit.
    pub(super) fn limit(&self) -> Option<Bytes> {
        self.limit.map(|limit| limit.window)
    }

    /// Whether a limit held at `sent_at`.
    pub(super) fn covers(&self, sent_at: Time) -> bool {
        self.held.0 <= sent_at && sent_at <= self.held.1
    }

    /// An acknowledgement; `next` is the next change, `window` the controller's.
    pub(super) fn on_ack(&mut self, ack: &Ack<'_>, next: Option<&PathHint>, window: Bytes, least: Bytes) {
        let smallest = self.smallest.update(ack.now, REMEMBERED, ack.rtt);
        let largest = self.largest.update(ack.now, REMEMBERED, ack.rtt);
        if let Some(rate) = ack.sample.rate {
            self.rate.update(ack.round, ROUNDS, rate.as_bps());
        }
        if self.limit.is_some_and(|limit| ack.now >= limit.until) {
            self.held.1 = ack.now;
            self.limit = None;
        }
        let rtt = ack.smoothed_rtt;
        let Some(hint) = next.filter(|hint| self.limit.is_none() && ack.now + rtt >= hint.at) else { return };
        let rate = Rate::from_bps(self.rate.get());
        let limited = limited(hint, window, rtt, rate, largest.saturating_sub(smallest));
        if limited < window {
            let until = hint.at + hint.silence + hint.rtt_after.unwrap_or(rtt);
            self.limit = Some(Limit { window: limited.max(least), until });
            self.held = (ack.now, Time::MAX);
        }
    }
}

/// What of `window` may be in flight when the change comes; `queue` is the waiting time that queues have been seen to hold.
fn limited(hint: &PathHint, window: Bytes, rtt: Span, rate: Rate, queue: Span) -> Bytes {
    let ratio = |after: f64, before: f64| if before > 0.0 { (after / before).min(1.0) } else { 1.0 };
    let shorter = match (hint.rtt_before, hint.rtt_after) {
        (Some(before), Some(after)) => ratio(after.as_secs_f64(), before.as_secs_f64()),
        _ => 1.0,
    };
    let slower = hint.rate_after.map_or(1.0, |after| ratio(after.as_bps() as f64, rate.as_bps() as f64));
    let fits = window.mul_f64(shorter * slower);
    let silent = if hint.rtt_after.is_none() { 1.0 } else { ratio(hint.silence.as_secs_f64(), rtt.as_secs_f64()) };
    if silent <= 0.0 || hint.rtt_before.is_none() {
        return fits;
    }
    let waits = window.mul_f64(ratio(queue.as_secs_f64(), rtt.as_secs_f64()));
    fits.min(fits.mul_f64(1.0 - silent) + waits)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Bytes = Bytes::new(100_000);
    const RTT: Span = Span::from_millis(40);

    fn hint(before: Option<u64>, after: Option<u64>, silence_ms: u64, rate_mbps: Option<u64>) -> PathHint {
        PathHint {
            at: Time::from_secs(1),
            rtt_before: before.map(Span::from_millis),
            rtt_after: after.map(Span::from_millis),
            rate_after: rate_mbps.map(Rate::from_mbps),
            silence: Span::from_millis(silence_ms),
        }
    }

    fn at_most(hint: PathHint, queue_ms: u64) -> u64 {
        limited(&hint, WINDOW, RTT, Rate::from_mbps(20), Span::from_millis(queue_ms)).get()
    }

    #[test]
    fn a_shorter_path_and_a_slower_one_hold_in_proportion_and_a_longer_or_faster_one_no_less() {
        assert_eq!(at_most(hint(Some(40), Some(30), 0, None), 0), 75_000);
        assert_eq!(at_most(hint(Some(40), Some(70), 0, None), 0), 100_000);
        assert_eq!(at_most(hint(Some(40), Some(40), 0, Some(10)), 0), 50_000);
        assert_eq!(at_most(hint(Some(40), Some(30), 0, Some(10)), 0), 37_500);
        assert_eq!(at_most(hint(Some(40), Some(40), 0, Some(30)), 0), 100_000);
    }

    #[test]
    fn before_a_silence_no_more_goes_than_queues_have_been_seen_to_hold() {
        // A quarter of a round trip's silence, and then with a queue of an eighth of one.
        assert_eq!(at_most(hint(Some(40), Some(40), 10, None), 0), 75_000);
        assert_eq!(at_most(hint(Some(40), Some(40), 10, None), 5), 87_500);
        // A long one, and an outage: what queues hold, and nothing else.
        assert_eq!(at_most(hint(Some(40), Some(40), 900, None), 5), 12_500);
        assert_eq!(at_most(hint(Some(40), None, 0, None), 5), 12_500);
    }
}

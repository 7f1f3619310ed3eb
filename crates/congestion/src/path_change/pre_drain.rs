//! Reduces the flight before a change to a path that holds less.
//!
//! **The rule.** From one smoothed RTT before the change on, the window W of that moment is limited
//! to
//!
//! > L = W · min(1, RTT after / RTT before) · min(1, rate after / rate before),
//!
//! where the rate before is the largest delivery rate of the last ten rounds, and unknown factors
//! are 1. Before an outage of duration s the limit is L · (1 − min(1, s / RTT)) + Q, if that is
//! less: data that arrives at the interrupted link queues there, and no more may queue than Q = W /
//! RTT · (maximum − minimum RTT of the last ten seconds), which queues have been observed to hold.
//! An outage of unknown duration counts as one RTT. The limit ends one RTT of the new path after
//! the change and its outage; without ACKs, with the next one. It is never below two packets (RFC
//! 9002 §7.2).

use super::feed::PathChangeNotice;
use crate::controller::Ack;
use crate::windowed::{WindowedMax, WindowedRtt};
use bentpipe_units::{Bytes, Rate, Span, Time};

/// Length of the rate filter in rounds, as in BBRv1 (BtlBwFilterLen).
const RATE_ROUNDS: u64 = 10;

/// Length of the RTT filters.
const RTT_WINDOW: Span = Span::from_secs(10);

#[derive(Debug, Clone, Copy)]
struct Limit {
    window: Bytes,
    until: Time,
}

/// The limit on the window, and the filters from which it is computed.
#[derive(Debug, Clone)]
pub(super) struct PreDrain {
    min_rtt: WindowedRtt,
    max_rtt: WindowedRtt,
    /// Delivery rate in bit/s.
    rate: WindowedMax,
    limit: Option<Limit>,
    /// First and last time at which the latest limit was in force.
    in_force: (Time, Time),
}

impl Default for PreDrain {
    fn default() -> Self {
        Self {
            min_rtt: WindowedRtt::smallest(),
            max_rtt: WindowedRtt::largest(),
            rate: WindowedMax::new(),
            limit: None,
            in_force: (Time::MAX, Time::ZERO),
        }
    }
}

impl PreDrain {
    /// Returns the current limit on the window.
    pub(super) fn limit(&self) -> Option<Bytes> {
        self.limit.map(|limit| limit.window)
    }

    /// Returns true if a limit was in force at `sent_at`.
    pub(super) fn covers(&self, sent_at: Time) -> bool {
        self.in_force.0 <= sent_at && sent_at <= self.in_force.1
    }

    /// Handles an ACK. `next` is the next announced change, `window` the controller's window, and
    /// `minimum` the smallest allowed one.
    pub(super) fn on_ack(
        &mut self,
        ack: &Ack<'_>,
        next: Option<&PathChangeNotice>,
        window: Bytes,
        minimum: Bytes,
    ) {
        let min_rtt = self.min_rtt.update(ack.now, RTT_WINDOW, ack.rtt);
        let max_rtt = self.max_rtt.update(ack.now, RTT_WINDOW, ack.rtt);
        if let Some(rate) = ack.sample.rate {
            self.rate.update(ack.round, RATE_ROUNDS, rate.as_bps());
        }
        if self.limit.is_some_and(|limit| ack.now >= limit.until) {
            self.in_force.1 = ack.now;
            self.limit = None;
        }
        let rtt = ack.smoothed_rtt;
        let Some(notice) = next.filter(|notice| self.limit.is_none() && ack.now + rtt >= notice.at)
        else {
            return;
        };
        let rate = Rate::from_bps(self.rate.get());
        let limited = limited(notice, window, rtt, rate, max_rtt.saturating_sub(min_rtt));
        if limited < window {
            let until = notice.at + notice.outage + notice.rtt_after.unwrap_or(rtt);
            self.limit = Some(Limit { window: limited.max(minimum), until });
            self.in_force = (ack.now, Time::MAX);
        }
    }
}

/// Returns how many bytes of `window` may be in flight at the change. `queueing` is the queueing
/// delay observed on the path.
fn limited(
    notice: &PathChangeNotice,
    window: Bytes,
    rtt: Span,
    rate: Rate,
    queueing: Span,
) -> Bytes {
    let ratio =
        |after: f64, before: f64| if before > 0.0 { (after / before).min(1.0) } else { 1.0 };
    let shorter = match (notice.rtt_before, notice.rtt_after) {
        (Some(before), Some(after)) => ratio(after.as_secs_f64(), before.as_secs_f64()),
        _ => 1.0,
    };
    let slower =
        notice.rate_after.map_or(1.0, |after| ratio(after.as_bps() as f64, rate.as_bps() as f64));
    let fits = window.mul_f64(shorter * slower);
    let outage = if notice.rtt_after.is_none() {
        1.0
    } else {
        ratio(notice.outage.as_secs_f64(), rtt.as_secs_f64())
    };
    if outage <= 0.0 || notice.rtt_before.is_none() {
        return fits;
    }
    let queued = window.mul_f64(ratio(queueing.as_secs_f64(), rtt.as_secs_f64()));
    fits.min(fits.mul_f64(1.0 - outage) + queued)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Bytes = Bytes::new(100_000);
    const RTT: Span = Span::from_millis(40);

    fn notice(
        before: Option<u64>,
        after: Option<u64>,
        outage_ms: u64,
        rate_mbps: Option<u64>,
    ) -> PathChangeNotice {
        PathChangeNotice {
            at: Time::from_secs(1),
            rtt_before: before.map(Span::from_millis),
            rtt_after: after.map(Span::from_millis),
            rate_after: rate_mbps.map(Rate::from_mbps),
            outage: Span::from_millis(outage_ms),
        }
    }

    fn at_most(notice: PathChangeNotice, queue_ms: u64) -> u64 {
        limited(&notice, WINDOW, RTT, Rate::from_mbps(20), Span::from_millis(queue_ms)).get()
    }

    #[test]
    fn shorter_and_slower_paths_scale_the_limit_and_longer_and_faster_ones_do_not() {
        assert_eq!(at_most(notice(Some(40), Some(30), 0, None), 0), 75_000);
        assert_eq!(at_most(notice(Some(40), Some(70), 0, None), 0), 100_000);
        assert_eq!(at_most(notice(Some(40), Some(40), 0, Some(10)), 0), 50_000);
        assert_eq!(at_most(notice(Some(40), Some(30), 0, Some(10)), 0), 37_500);
        assert_eq!(at_most(notice(Some(40), Some(40), 0, Some(30)), 0), 100_000);
    }

    #[test]
    fn before_an_outage_the_limit_is_what_queues_were_seen_to_hold() {
        // An outage of a quarter RTT, then the same with a queueing delay of an eighth.
        assert_eq!(at_most(notice(Some(40), Some(40), 10, None), 0), 75_000);
        assert_eq!(at_most(notice(Some(40), Some(40), 10, None), 5), 87_500);
        // A long outage, and one of unknown duration: only the volume that queues hold.
        assert_eq!(at_most(notice(Some(40), Some(40), 900, None), 5), 12_500);
        assert_eq!(at_most(notice(Some(40), None, 0, None), 5), 12_500);
    }
}

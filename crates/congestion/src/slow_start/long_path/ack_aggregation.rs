//! Estimation of ACK aggregation on the path.

use bentpipe_units::{Bytes, Span, Time};

/// A gap between ACKs, after which aggregated ones may follow.
#[derive(Debug, Clone, Copy)]
struct Gap {
    length: Span,
    ended: Time,
    /// Bytes delivered before the gap.
    delivered: Bytes,
}

/// The longest time over which the path aggregated ACKs.
#[derive(Debug, Clone)]
pub(super) struct AckAggregation {
    /// Bounds of the estimate.
    least: Span,
    most: Span,
    longest: Span,
    gap: Option<Gap>,
    last: Option<(Time, Bytes)>,
}

impl AckAggregation {
    pub(super) fn new(least: Span, most: Span) -> Self {
        Self { least: least.min(most), most, longest: Span::ZERO, gap: None, last: None }
    }

    /// Handles an ACK with `delivered` bytes up to now, given the proven `rate` in bytes per
    /// second. Gaps longer than `idle` are attributed to the sender.
    pub(super) fn note(&mut self, now: Time, delivered: Bytes, rate: f64, idle: Span) {
        if let Some((at, before)) = self.last {
            let length = now.since(at);
            if length > idle {
                self.gap = None;
            } else if length > self.least {
                self.gap = Some(Gap { length, ended: now, delivered: before });
            }
        }
        self.last = Some((now, delivered));
        // If the path aggregated ACKs, those of the gap follow at once. Otherwise the sender or the
        // receiver caused the gap.
        if let Some(gap) = self.gap.filter(|gap| now.since(gap.ended) <= gap.length / 4) {
            let came = delivered.saturating_sub(gap.delivered).get() as f64;
            if came >= 0.5 * rate * gap.length.as_secs_f64() {
                self.longest = self.longest.max(gap.length);
            }
        }
    }

    /// Returns the estimate of the aggregation time, within the bounds.
    pub(super) fn span(&self) -> Span {
        self.longest.mul_f64(1.1).clamp(self.least, self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: Span = Span::from_millis(75);

    fn ack_aggregation() -> AckAggregation {
        AckAggregation::new(Span::from_millis(5), Span::from_millis(30))
    }

    #[test]
    fn acks_at_the_pace_of_their_packets_are_not_aggregated() {
        let mut ack_aggregation = ack_aggregation();
        for step in 0..100 {
            ack_aggregation.note(Time::from_millis(2 * step), Bytes::new(2000 * step), 1e6, IDLE);
        }
        assert_eq!(ack_aggregation.span(), Span::from_millis(5));
    }

    #[test]
    fn the_estimate_is_the_length_of_frames() {
        let mut ack_aggregation = ack_aggregation();
        for step in 0..100 {
            // A frame of 20 ms, whose ACKs arrive within 2 ms.
            let at = 20 * (step / 10) + (step % 10) / 5;
            ack_aggregation.note(Time::from_millis(at), Bytes::new(2000 * step), 1e6, IDLE);
        }
        assert_eq!(ack_aggregation.span(), Span::from_millis(20).mul_f64(1.045));
    }

    #[test]
    fn a_late_ack_of_a_last_packet_is_no_frame() {
        let mut ack_aggregation = ack_aggregation();
        ack_aggregation.note(Time::from_millis(0), Bytes::new(100_000), 1e6, IDLE);
        ack_aggregation.note(Time::from_millis(25), Bytes::new(101_500), 1e6, IDLE);
        ack_aggregation.note(Time::from_millis(600), Bytes::new(103_000), 1e6, IDLE);
        assert_eq!(ack_aggregation.span(), Span::from_millis(5));
    }
}

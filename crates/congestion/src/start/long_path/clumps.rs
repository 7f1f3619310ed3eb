//! How much a path gathers acknowledgements before it lets them through.

use bentpipe_units::{Bytes, Span, Time};

/// A gap in the acknowledgements, after which what it held back may follow.
#[derive(Debug, Clone, Copy)]
struct Gap {
    length: Span,
    ended: Time,
    /// Bytes delivered before it.
    delivered: Bytes,
}

/// The longest time for which acknowledgements were gathered.
#[derive(Debug, Clone)]
pub(super) struct Clumps {
    /// The bounds of the answer.
    least: Span,
    most: Span,
    longest: Span,
    gap: Option<Gap>,
    last: Option<(Time, Bytes)>,
}

impl Clumps {
    pub(super) fn new(least: Span, most: Span) -> Self {
        Self { least: least.min(most), most, longest: Span::ZERO, gap: None, last: None }
    }

    /// Notes that `delivered` bytes have been, with `rate` bytes a second proven so far; gaps longer than `idle` are the
    /// sender's own.
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
        // What would have come in the gap comes right behind it, where the path held it back. Where nothing does, the
        // gap was the sender's or the receiver's.
        if let Some(gap) = self.gap.filter(|gap| now.since(gap.ended) <= gap.length / 4) {
            let came = delivered.saturating_sub(gap.delivered).get() as f64;
            if came >= 0.5 * rate * gap.length.as_secs_f64() {
                self.longest = self.longest.max(gap.length);
            }
        }
    }

    /// How long rates must be assumed to be gathered for, within the bounds.
    pub(super) fn span(&self) -> Span {
        self.longest.mul_f64(1.1).clamp(self.least, self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: Span = Span::from_millis(75);

    fn clumps() -> Clumps {
        Clumps::new(Span::from_millis(5), Span::from_millis(30))
    }

    #[test]
    fn acknowledgements_at_their_packets_pace_are_not_gathered() {
        let mut clumps = clumps();
        for step in 0..100 {
            clumps.note(Time::from_millis(2 * step), Bytes::new(2000 * step), 1e6, IDLE);
        }
        assert_eq!(clumps.span(), Span::from_millis(5));
    }

    #[test]
    fn frames_are_seen_at_their_length() {
        let mut clumps = clumps();
        for step in 0..100 {
            // A frame of 20 ms, its acknowledgements within 2 ms.
            let at = 20 * (step / 10) + (step % 10) / 5;
            clumps.note(Time::from_millis(at), Bytes::new(2000 * step), 1e6, IDLE);
        }
        assert_eq!(clumps.span(), Span::from_millis(20).mul_f64(1.045));
    }

    #[test]
    fn a_late_acknowledgement_of_a_last_packet_is_no_frame() {
        let mut clumps = clumps();
        clumps.note(Time::from_millis(0), Bytes::new(100_000), 1e6, IDLE);
        clumps.note(Time::from_millis(25), Bytes::new(101_500), 1e6, IDLE);
        clumps.note(Time::from_millis(600), Bytes::new(103_000), 1e6, IDLE);
        assert_eq!(clumps.span(), Span::from_millis(5));
    }
}

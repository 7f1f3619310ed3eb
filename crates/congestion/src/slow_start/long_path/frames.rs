//! Tells frames, which hold ACKs back and release them together, from other causes of gaps.

use bentpipe_units::{Span, Time};

/// Shortest gap between ACKs that may be due to a frame.
const GAP: Span = Span::from_millis(10);

/// Time within which a frame releases its ACKs. A single ACK is no release: those of a receiver
/// that sends few, or that uses a timer, come evenly too.
const TOGETHER: Span = Span::from_millis(2);

/// Intervals between releases that must agree, up to a tenth: gaps that the packets of others make
/// agree by chance only.
const AGREEING: u32 = 2;

/// Most frames between two releases. Sender and receiver cause longer gaps.
const MOST: u64 = 4;

/// The releases of ACKs by frames: they are multiples of one period apart.
#[derive(Debug, Clone, Default)]
pub(super) struct Frames {
    /// The first ACK after a gap, while it may begin a release.
    first: Option<Time>,
    /// The latest release.
    released: Option<Time>,
    /// Time between two releases with which later ones are compared, and the number of intervals
    /// that agree with it.
    period: Span,
    agreeing: u32,
}

impl Frames {
    /// Handles an ACK, given the time since the one before.
    pub(super) fn note(&mut self, now: Time, quiet: Span) {
        if quiet >= GAP {
            self.first = Some(now);
        } else if let Some(first) = self.first.take()
            && now.since(first) <= TOGETHER
        {
            self.on_release(first);
        }
    }

    fn on_release(&mut self, at: Time) {
        let Some(before) = self.released.replace(at) else { return };
        let interval = at.since(before);
        let periods = if self.period.is_zero() {
            0
        } else {
            (interval + self.period / 2).as_nanos() / self.period.as_nanos()
        };
        if periods > MOST {
            return;
        }
        let expected = self.period * periods;
        let difference = interval.saturating_sub(expected).max(expected.saturating_sub(interval));
        if periods > 0 && difference <= self.period / 10 {
            self.agreeing = self.agreeing.saturating_add(1);
        } else {
            (self.period, self.agreeing) = (interval, 1);
        }
    }

    /// Returns true if frames release the ACKs.
    pub(super) fn found(&self) -> bool {
        self.agreeing >= AGREEING
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns true if ACKs that arrive at these times, in milliseconds, show frames.
    fn found(times: impl IntoIterator<Item = u64>) -> bool {
        let mut frames = Frames::default();
        let mut before = 0;
        for time in times {
            frames.note(Time::from_millis(time), Span::from_millis(time - before));
            before = time;
        }
        frames.found()
    }

    #[test]
    fn acks_that_come_together_at_multiples_of_a_period_show_frames() {
        assert!(found([100, 101, 126, 127, 152, 152]));
        // Nothing was sent for a frame.
        assert!(found([100, 101, 126, 127, 178, 178]));
    }

    #[test]
    fn two_releases_may_be_chance() {
        assert!(!found([100, 101, 126, 127]));
    }

    #[test]
    fn single_acks_at_regular_times_are_a_receiver_that_sends_few() {
        assert!(!found((0..100).map(|step| 100 + 25 * step)));
    }

    #[test]
    fn groups_of_acks_at_irregular_times_are_packets_between_those_of_others() {
        assert!(!found([100, 101, 126, 127, 140, 141, 171, 172, 190, 191, 240, 241]));
    }

    #[test]
    fn pauses_of_the_sender_neither_show_nor_hide_frames() {
        assert!(!found([100, 101, 126, 127, 600, 601]));
        assert!(found([100, 101, 126, 127, 600, 601, 626, 627]));
    }
}

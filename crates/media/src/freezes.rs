//! Freezes of a video.

use bentpipe_units::{Span, Time};

/// Frames whose mean interval says what is usual.
const USUAL: usize = 30;
/// How much longer than usual an interval is that people see as a freeze.
const NOTICED: Span = Span::from_millis(150);

/// Counts freezes as browsers do (W3C, "Identifiers for WebRTC's Statistics API", `freezeCount`):
/// an interval between two shown frames of at least three times the mean of the last 30, and of
/// that mean and 150 ms. A freeze lasts for the whole interval.
#[derive(Debug)]
pub struct Freezes {
    last: Option<Time>,
    /// The latest intervals; the oldest one is replaced.
    intervals: [Span; USUAL],
    shown: usize,
    nominal: Span,
    count: u64,
    time: Span,
}

impl Freezes {
    /// Creates a count for frames of this interval, which is usual before the second one.
    pub fn new(nominal: Span) -> Self {
        let intervals = [Span::ZERO; USUAL];
        Self { last: None, intervals, shown: 0, nominal, count: 0, time: Span::ZERO }
    }

    /// Counts a frame that is shown at `at`.
    pub fn shown(&mut self, at: Time) {
        if let Some(last) = self.last {
            let interval = at.since(last);
            self.judge(interval);
            self.intervals[self.shown % USUAL] = interval;
            self.shown += 1;
        }
        self.last = Some(self.last.map_or(at, |last| last.max(at)));
    }

    /// Ends a call that has lasted from `begun` to `end`. What stands still until then, which
    /// browsers do not count, is a freeze too.
    pub fn finish(&mut self, begun: Time, end: Time) {
        self.judge(end.since(self.last.unwrap_or(begun)));
    }

    fn judge(&mut self, interval: Span) {
        let known = &self.intervals[..self.shown.min(USUAL)];
        let sum = known.iter().fold(Span::ZERO, |sum, &one| sum + one);
        let usual = if known.is_empty() { self.nominal } else { sum / known.len() as u64 };
        if interval >= (usual * 3).max(usual + NOTICED) {
            self.count += 1;
            self.time += interval;
        }
    }

    /// Returns the number of freezes and their total time.
    pub fn total(&self) -> (u64, Span) {
        (self.count, self.time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_interval_is_a_freeze() {
        let mut freezes = Freezes::new(Span::from_millis(40));
        // The fifth interval has 190 ms, exactly 150 ms more than usual; the next one 1 ms less.
        for at in [0, 40, 80, 120, 160, 350] {
            freezes.shown(Time::from_millis(at));
        }
        assert_eq!(freezes.total(), (1, Span::from_millis(190)));
        let usual = (4 * 40 + 190) / 5;
        freezes.shown(Time::from_millis(350 + usual + 149));
        assert_eq!(freezes.total().0, 1);
    }

    #[test]
    fn a_picture_that_stands_still_at_the_end_is_frozen() {
        let mut freezes = Freezes::new(Span::from_millis(40));
        freezes.shown(Time::from_millis(100));
        freezes.finish(Time::ZERO, Time::from_millis(2_100));
        assert_eq!(freezes.total(), (1, Span::from_secs(2)));
        let mut never = Freezes::new(Span::from_millis(40));
        never.finish(Time::ZERO, Time::from_secs(3));
        assert_eq!(never.total(), (1, Span::from_secs(3)));
    }
}

//! The smallest or largest round trip of the last while, at a cost that grows with neither window nor rate.

use bentpipe_units::{Span, Time};
use std::collections::VecDeque;

/// Samples kept at most. The window is divided into as many slots: a sample is dropped where a better one is less than a
/// slot older, so that the answer may be a slot out of date.
const KEPT: u64 = 32;

/// Which samples are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Best {
    Smallest,
    Largest,
}

/// The best sample of a window of time.
///
/// The samples kept get worse from the oldest to the newest: what is older and worse than a new sample can never be the answer
/// again. Each sample comes and goes once, so that a call costs constant time on average.
#[derive(Debug, Clone)]
pub struct TimeFilter {
    best: Best,
    samples: VecDeque<(Time, Span)>,
}

impl TimeFilter {
    /// A filter for the smallest sample.
    pub fn smallest() -> Self {
        Self { best: Best::Smallest, samples: VecDeque::new() }
    }

    /// A filter for the largest sample.
    pub fn largest() -> Self {
        Self { best: Best::Largest, samples: VecDeque::new() }
    }

    /// Adds a sample, forgets those older than `window`, and says which is the best left. `window` may differ from call to
    /// call, but what has been forgotten stays so. `now` never goes back.
    pub fn update(&mut self, now: Time, window: Span, sample: Span) -> Span {
        let best = self.best;
        while self.samples.back().is_some_and(|(_, kept)| match best {
            Best::Smallest => *kept >= sample,
            Best::Largest => *kept <= sample,
        }) {
            self.samples.pop_back();
        }
        while self.samples.front().is_some_and(|(at, _)| now.since(*at) > window) {
            self.samples.pop_front();
        }
        let full = self.samples.len() as u64 >= KEPT;
        let close = self.samples.back().is_some_and(|(at, _)| now.since(*at) < window / KEPT);
        if !full && !close {
            self.samples.push_back((now, sample));
        }
        self.get().unwrap_or(sample)
    }

    /// The best sample as of the last update; none before the first.
    pub fn get(&self) -> Option<Span> {
        self.samples.front().map(|(_, sample)| *sample)
    }

    /// Forgets every sample.
    pub fn clear(&mut self) {
        self.samples.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WINDOW: Span = Span::from_millis(320);

    fn ms(ms: u64) -> Span {
        Span::from_millis(ms)
    }

    #[test]
    fn the_smallest_is_kept_for_the_window_and_no_longer() {
        let mut filter = TimeFilter::smallest();
        assert_eq!(filter.get(), None);
        filter.update(Time::from_millis(0), WINDOW, ms(10));
        assert_eq!(filter.update(Time::from_millis(200), WINDOW, ms(30)), ms(10));
        assert_eq!(filter.update(Time::from_millis(320), WINDOW, ms(40)), ms(10));
        assert_eq!(filter.update(Time::from_millis(321), WINDOW, ms(50)), ms(30));
    }

    #[test]
    fn the_largest_is_kept_likewise() {
        let mut filter = TimeFilter::largest();
        filter.update(Time::from_millis(0), WINDOW, ms(50));
        assert_eq!(filter.update(Time::from_millis(100), WINDOW, ms(20)), ms(50));
        assert_eq!(filter.update(Time::from_millis(321), WINDOW, ms(10)), ms(20));
    }

    proptest! {
        #[test]
        fn it_agrees_with_looking_at_every_sample_but_for_a_slot(
            samples in proptest::collection::vec((0u64..40, 1u64..1000), 1..300)
        ) {
            let mut filter = TimeFilter::smallest();
            let (mut now, mut all) = (Time::ZERO, Vec::new());
            for (step, value) in samples {
                now += ms(step);
                all.push((now, ms(value)));
                let answer = filter.update(now, WINDOW, ms(value));
                let least = |window: Span| all.iter().filter(|(at, _)| now.since(*at) <= window).map(|(_, v)| *v).min();
                // Never below the true minimum, never above that of a window a slot shorter at either end.
                prop_assert!(Some(answer) >= least(WINDOW));
                prop_assert!(filter.samples.len() as u64 <= KEPT);
                let within = all
                    .iter()
                    .filter(|(at, _)| now.since(*at) <= WINDOW.saturating_sub(WINDOW / KEPT))
                    .map(|(_, v)| *v)
                    .min();
                prop_assert!(Some(answer) <= within || answer == ms(value), "{answer} against {within:?}");
            }
        }
    }
}

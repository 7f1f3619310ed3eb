//! The minimum or maximum RTT over a sliding window of time, at a bounded cost.

use bentpipe_units::{Span, Time};
use std::collections::VecDeque;

/// Time over which the RTT must stay increased to show a queue: slightly more than a frame of a
/// DVB-RCS2 return link (26.5 ms), which delays single ACKs.
pub(crate) const FRAMES: Span = Span::from_millis(30);

/// Maximum number of samples kept. The window is divided into as many slots. A sample is dropped if
/// a better one is less than a slot older, so that the result may lag by a slot.
const SLOTS: u64 = 32;

/// The extreme that the filter finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Best {
    Smallest,
    Largest,
}

/// The minimum or maximum RTT over a sliding window of time.
///
/// It keeps samples that get worse from the oldest to the newest, since an older sample that is
/// worse than the new one can never be the result again. Each sample is added and removed once, so
/// that an update takes amortised constant time.
#[derive(Debug, Clone)]
pub struct WindowedRtt {
    best: Best,
    samples: VecDeque<(Time, Span)>,
}

impl WindowedRtt {
    /// Creates a filter for the minimum.
    pub fn smallest() -> Self {
        Self { best: Best::Smallest, samples: VecDeque::new() }
    }

    /// Creates a filter for the maximum.
    pub fn largest() -> Self {
        Self { best: Best::Largest, samples: VecDeque::new() }
    }

    /// Adds a sample, removes those older than `window`, and returns the extreme of the rest.
    /// `window` may differ between calls, but removed samples do not return. `now` never decreases.
    pub fn update(&mut self, now: Time, window: Span, sample: Span) -> Span {
        let best = self.best;
        while self.samples.back().is_some_and(|(_, other)| match best {
            Best::Smallest => *other >= sample,
            Best::Largest => *other <= sample,
        }) {
            self.samples.pop_back();
        }
        while self.samples.front().is_some_and(|(at, _)| now.since(*at) > window) {
            self.samples.pop_front();
        }
        let full = self.samples.len() as u64 >= SLOTS;
        let close = self.samples.back().is_some_and(|(at, _)| now.since(*at) < window / SLOTS);
        if !full && !close {
            self.samples.push_back((now, sample));
        }
        self.get().unwrap_or(sample)
    }

    /// Returns the extreme as of the last update. `None` before the first.
    pub fn get(&self) -> Option<Span> {
        self.samples.front().map(|(_, sample)| *sample)
    }

    /// Removes all samples.
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
    fn the_minimum_leaves_with_the_window() {
        let mut filter = WindowedRtt::smallest();
        assert_eq!(filter.get(), None);
        filter.update(Time::from_millis(0), WINDOW, ms(10));
        assert_eq!(filter.update(Time::from_millis(200), WINDOW, ms(30)), ms(10));
        assert_eq!(filter.update(Time::from_millis(320), WINDOW, ms(40)), ms(10));
        assert_eq!(filter.update(Time::from_millis(321), WINDOW, ms(50)), ms(30));
    }

    #[test]
    fn the_maximum_leaves_with_the_window() {
        let mut filter = WindowedRtt::largest();
        filter.update(Time::from_millis(0), WINDOW, ms(50));
        assert_eq!(filter.update(Time::from_millis(100), WINDOW, ms(20)), ms(50));
        assert_eq!(filter.update(Time::from_millis(321), WINDOW, ms(10)), ms(20));
    }

    proptest! {
        #[test]
        fn it_matches_the_exact_result_within_a_slot(
            samples in proptest::collection::vec((0u64..40, 1u64..1000), 1..300)
        ) {
            let mut filter = WindowedRtt::smallest();
            let (mut now, mut all) = (Time::ZERO, Vec::new());
            for (step, value) in samples {
                now += ms(step);
                all.push((now, ms(value)));
                let answer = filter.update(now, WINDOW, ms(value));
                let least = |window: Span| {
                    let recent = all.iter().filter(|(at, _)| now.since(*at) <= window);
                    recent.map(|(_, rtt)| *rtt).min()
                };
                // Never below the true minimum, and never above that of a window that is shorter by
                // a slot at either end.
                prop_assert!(Some(answer) >= least(WINDOW));
                prop_assert!(filter.samples.len() as u64 <= SLOTS);
                let within = all
                    .iter()
                    .filter(|(at, _)| now.since(*at) <= WINDOW.saturating_sub(WINDOW / SLOTS))
                    .map(|(_, v)| *v)
                    .min();
                prop_assert!(Some(answer) <= within || answer == ms(value), "{answer} against \
                    {within:?}");
            }
        }
    }
}

//! The maximum over a sliding window of ticks, exact and bounded.

use std::collections::VecDeque;

/// The maximum value over the last ticks of a counter, such as rounds.
///
/// It keeps only values that may still become the maximum: each is smaller than the previous one
/// and belongs to a later tick. A window of n ticks therefore holds at most n values, however many
/// are added, and an update takes amortised constant time.
#[derive(Debug, Clone, Default)]
pub struct WindowedMax {
    /// (tick, value): ticks increase, values decrease.
    values: VecDeque<(u64, u64)>,
}

impl WindowedMax {
    /// Creates an empty window.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `value` at `tick`, and removes values that are `window` ticks old or older. `tick`
    /// never decreases.
    pub fn update(&mut self, tick: u64, window: u64, value: u64) {
        while self.values.back().is_some_and(|&(_, last)| last <= value) {
            self.values.pop_back();
        }
        // A smaller value of the same tick is never the maximum: it leaves the window together with
        // the other.
        if self.values.back().is_none_or(|&(last, _)| last < tick) {
            self.values.push_back((tick, value));
        }
        while self.values.front().is_some_and(|&(first, _)| first.saturating_add(window) <= tick) {
            self.values.pop_front();
        }
    }

    /// Returns the maximum, zero for an empty window.
    pub fn get(&self) -> u64 {
        self.values.front().map_or(0, |&(_, value)| value)
    }

    /// Removes all values and adds `value` at `tick`.
    pub fn reset(&mut self, tick: u64, value: u64) {
        self.values.clear();
        self.values.push_back((tick, value));
    }

    /// Returns the number of values kept.
    #[cfg(test)]
    pub fn kept(&self) -> usize {
        self.values.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_the_maximum_of_the_window_and_keeps_at_most_one_value_per_tick(
            steps in proptest::collection::vec((0u64..3, 0u64..100), 1..300),
            window in 1u64..12,
        ) {
            let mut filter = WindowedMax::new();
            let (mut tick, mut all) = (0, Vec::new());
            for (passed, value) in steps {
                tick += passed;
                all.push((tick, value));
                filter.update(tick, window, value);
                let recent = all.iter().filter(|(at, _)| at + window > tick);
                let expected = recent.map(|(_, value)| *value).max();
                prop_assert_eq!(Some(filter.get()), expected);
                prop_assert!(filter.kept() as u64 <= window);
            }
        }
    }
}

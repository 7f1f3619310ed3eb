//! Disjoint ranges of positions.

use std::collections::BTreeMap;

/// Disjoint ranges of positions, from the start to the position after the end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Returns true if one range covers everything from `start` up to but excluding `end`.
    pub(crate) fn covers(&self, start: u64, end: u64) -> bool {
        self.0.range(..=start).next_back().is_some_and(|(_, &last)| last >= end)
    }

    /// Adds a range, joined with those that it overlaps or touches. Calls `new` for each part that
    /// was not there before, and returns the resulting range. It costs the logarithm of the number
    /// of ranges, and each range is joined once.
    pub(crate) fn insert(
        &mut self,
        start: u64,
        end: u64,
        mut new: impl FnMut(u64, u64),
    ) -> (u64, u64) {
        let (mut first, mut last, mut at) = (start, end, start);
        if let Some((&before, &until)) = self.0.range(..=start).next_back()
            && until >= start
        {
            if until >= end {
                return (before, until);
            }
            first = before;
            at = until;
        }
        while let Some((&next, &until)) = self.0.range(at.max(start.saturating_add(1))..=end).next()
        {
            if next > at {
                new(at, next);
            }
            self.0.remove(&next);
            at = until;
            last = last.max(until);
            if until >= end {
                break;
            }
        }
        if at < end {
            new(at, end);
        }
        self.0.insert(first, last);
        (first, last)
    }

    /// Removes everything before `position`.
    pub(crate) fn forget_before(&mut self, position: u64) {
        while let Some(range) = self.0.first_entry().filter(|range| *range.key() < position) {
            let last = range.remove();
            if last > position {
                self.0.insert(position, last);
            }
        }
    }

    /// Returns the number of ranges.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Removes all ranges.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn each_position_is_new_once(
            steps in proptest::collection::vec((0u64..60, 1u64..12, 0u64..20), 1..60),
        ) {
            let (mut ranges, mut model) = (Ranges::default(), BTreeSet::new());
            let mut floor = 0;
            for (start, length, forget) in steps {
                let (start, end) = (floor + start, floor + start + length);
                let mut summary = BTreeSet::new();
                let joined = ranges.insert(start, end, |a, b| summary.extend(a..b));
                let expected: BTreeSet<u64> =
                    (start..end).filter(|at| !model.contains(at)).collect();
                prop_assert_eq!(&summary, &expected);
                model.extend(start..end);
                prop_assert!((joined.0..joined.1).all(|at| model.contains(&at)));
                prop_assert!(joined.0 <= start && joined.1 >= end);
                prop_assert!(!model.contains(&joined.1));
                prop_assert!(joined.0 == 0 || !model.contains(&(joined.0 - 1)));
                prop_assert!(ranges.covers(start, end));
                if forget == 0 {
                    floor += 7;
                    ranges.forget_before(floor);
                    model.retain(|at| *at >= floor);
                }
            }
        }
    }
}

//! Disjoint ranges of positions.

use std::collections::BTreeMap;

/// Number of ranges that are remembered: as many as one ACK reports.
const RECENT: usize = 4;

/// Disjoint ranges of positions, from the start to the position after the end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ranges {
    all: BTreeMap<u64, u64>,
    /// Parts of `all` that [`Ranges::insert`] returned last, or empty ranges. Most blocks of an ACK
    /// repeat those of the ACK before.
    recent: [(u64, u64); RECENT],
    /// The one to be replaced next.
    next: usize,
}

impl Ranges {
    /// Returns true if one range is known to cover everything from `start` up to but excluding
    /// `end`. It may be false for ranges that have not been used lately.
    pub(crate) fn is_known(&self, start: u64, end: u64) -> bool {
        self.recent.iter().any(|&(from, until)| from <= start && end <= until)
    }

    /// Adds a range, joined with those that it overlaps or touches. Calls `new` for each part that
    /// was not there before, and returns the resulting range. It costs the logarithm of the number
    /// of ranges, and each range is joined once.
    pub(crate) fn insert(&mut self, start: u64, end: u64, new: impl FnMut(u64, u64)) -> (u64, u64) {
        let (first, last) = self.join(start, end, new);
        let same = |&(from, until): &(u64, u64)| first <= from && until <= last;
        let place = self.recent.iter().position(same).unwrap_or_else(|| {
            self.next = (self.next + 1) % RECENT;
            self.next
        });
        self.recent[place] = (first, last);
        (first, last)
    }

    /// Adds a range as [`Self::insert`] does, which also remembers it.
    fn join(&mut self, start: u64, end: u64, mut new: impl FnMut(u64, u64)) -> (u64, u64) {
        let (mut first, mut last, mut at) = (start, end, start);
        if let Some((&before, &until)) = self.all.range(..=start).next_back()
            && until >= start
        {
            if until >= end {
                return (before, until);
            }
            first = before;
            at = until;
        }
        while let Some((&next, &until)) =
            self.all.range(at.max(start.saturating_add(1))..=end).next()
        {
            if next > at {
                new(at, next);
            }
            self.all.remove(&next);
            at = until;
            last = last.max(until);
            if until >= end {
                break;
            }
        }
        if at < end {
            new(at, end);
        }
        self.all.insert(first, last);
        (first, last)
    }

    /// Removes everything before `position`.
    pub(crate) fn forget_before(&mut self, position: u64) {
        for (from, _) in &mut self.recent {
            *from = (*from).max(position);
        }
        while let Some(range) = self.all.first_entry().filter(|range| *range.key() < position) {
            let last = range.remove();
            if last > position {
                self.all.insert(position, last);
            }
        }
    }

    /// Returns the number of ranges.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Removes all ranges.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
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
                prop_assert!(ranges.is_known(start, end));
                for (from, until) in ranges.recent.into_iter().filter(|range| range.0 < range.1) {
                    prop_assert!((from..until).all(|at| model.contains(&at)));
                }
                if forget == 0 {
                    floor += 7;
                    ranges.forget_before(floor);
                    model.retain(|at| *at >= floor);
                    prop_assert!(!ranges.is_known(floor - 1, floor));
                }
            }
        }
    }
}

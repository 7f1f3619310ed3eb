//! The fast starts under way to each client prefix, which share its link.
//!
//! Several connections of one client share its link. Each of those that start at the same time
//! knows how many they are, and takes its share of the first burst.

use bentpipe_congestion::{FastStart, StartGuard, StartSlot};
use bentpipe_units::{Span, Time};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Longest duration of a start. Our choice: a start over a geostationary satellite takes up to ten
/// RTTs, 7 s, and a connection that sends too little to ever end its start must not slow others
/// down.
const LONGEST_START: Span = Span::from_secs(10);

/// The fast starts under way. Clones share them: one for each server, or farm with shared memory.
#[derive(Debug, Clone)]
pub struct SimultaneousStarts<K: Ord>(Arc<Mutex<Entries<K>>>);

#[derive(Debug)]
struct Entries<K: Ord> {
    /// Starts of each client: number, and time from which it counts as over.
    starts: BTreeMap<K, Vec<(u64, Time)>>,
    next: u64,
}

impl<K: Ord> Default for SimultaneousStarts<K> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Entries { starts: BTreeMap::new(), next: 0 })))
    }
}

impl<K: Ord + Clone + Debug + Send + Sync + 'static> SimultaneousStarts<K> {
    /// Returns the lease of a connection of the client `key`.
    pub fn lease(&self, key: K) -> StartLease {
        let entered = Arc::new(Mutex::new(Vec::new()));
        let (starts, mine) = (self.clone(), entered.clone());
        let (leaving, left) = (self.clone(), key.clone());
        StartLease {
            enter: Arc::new(move |now| {
                let id = starts.enter(&key, now);
                mine.lock().unwrap_or_else(PoisonError::into_inner).push(id);
                let guard = Guard { starts: starts.clone(), key: key.clone(), id };
                FastStart::Allowed(Some(StartSlot::new(guard)))
            }),
            leave: Arc::new(move || {
                for id in entered.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
                    leaving.leave(&left, id);
                }
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Entries<K>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, key: &K, now: Time) -> u64 {
        let mut entries = self.lock();
        // Removes expired starts, so there are never more entries than starts under way.
        entries.starts.retain(|_, starts| {
            starts.retain(|&(_, until)| now < until);
            !starts.is_empty()
        });
        let id = entries.next;
        entries.next += 1;
        entries.starts.entry(key.clone()).or_default().push((id, now + LONGEST_START));
        id
    }

    fn leave(&self, key: &K, id: u64) {
        let mut entries = self.lock();
        let Some(starts) = entries.starts.get_mut(key) else { return };
        starts.retain(|&(other, _)| other != id);
        if starts.is_empty() {
            entries.starts.remove(key);
        }
    }
}

/// Counts a start until it is over.
struct Guard<K: Ord + Clone + Debug + Send + Sync + 'static> {
    starts: SimultaneousStarts<K>,
    key: K,
    id: u64,
}

impl<K: Ord + Clone + Debug + Send + Sync + 'static> StartGuard for Guard<K> {
    fn sharers(&self, now: Time) -> u64 {
        let entries = self.starts.lock();
        let starts = entries.starts.get(&self.key).into_iter().flatten();
        (starts.filter(|&&(id, until)| id == self.id || now < until).count() as u64).max(1)
    }
}

impl<K: Ord + Clone + Debug + Send + Sync + 'static> Drop for Guard<K> {
    fn drop(&mut self) {
        self.starts.leave(&self.key, self.id);
    }
}

/// One connection's part in a [`SimultaneousStarts`]. Clones are the same part.
#[derive(Clone)]
pub struct StartLease {
    enter: Arc<dyn Fn(Time) -> FastStart + Send + Sync>,
    leave: Arc<dyn Fn() + Send + Sync>,
}

impl Debug for StartLease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StartLease").finish_non_exhaustive()
    }
}

impl StartLease {
    /// Enters a start that begins at `now`.
    pub fn enter(&self, now: Time) -> FastStart {
        (self.enter)(now)
    }

    /// Ends the start, because the connection has ended.
    pub fn leave(&self) {
        (self.leave)();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(start: FastStart) -> StartSlot {
        match start {
            FastStart::Allowed(Some(slot)) => slot,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn starts_of_a_prefix_count_each_other_until_they_are_over() {
        let starts = SimultaneousStarts::default();
        let first = slot(starts.lease("a").enter(Time::ZERO));
        assert_eq!(first.sharers(Time::ZERO), 1);
        let second = slot(starts.lease("a").enter(Time::ZERO));
        let other = slot(starts.lease("b").enter(Time::ZERO));
        let counts = || [&first, &other].map(|slot| slot.sharers(Time::ZERO));
        assert_eq!((counts(), second.sharers(Time::ZERO)), ([2, 1], 2));
        drop(second);
        assert_eq!(counts(), [1, 1]);
    }

    #[test]
    fn a_connection_that_ends_no_longer_counts() {
        let starts = SimultaneousStarts::default();
        let lease = starts.lease("a");
        let _first = lease.enter(Time::ZERO);
        let second = slot(starts.lease("a").enter(Time::ZERO));
        lease.leave();
        assert_eq!(second.sharers(Time::ZERO), 1);
    }

    #[test]
    fn a_start_that_does_not_end_counts_only_for_a_while() {
        let starts = SimultaneousStarts::default();
        let _idle = starts.lease("a").enter(Time::ZERO);
        let second = slot(starts.lease("a").enter(Time::from_secs(9)));
        assert_eq!(second.sharers(Time::from_secs(9)), 2);
        assert_eq!(second.sharers(Time::from_secs(10)), 1);
        let third = slot(starts.lease("a").enter(Time::from_secs(30)));
        assert_eq!(third.sharers(Time::from_secs(30)), 1);
    }
}

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
    /// Starts of each client.
    starts: BTreeMap<K, Vec<Start>>,
    next: u64,
}

#[derive(Debug, Clone, Copy)]
struct Start {
    id: u64,
    /// Time from which it counts as over.
    until: Time,
    /// True if the client has shown that it receives at its address.
    confirmed: bool,
}

impl<K: Ord> Default for SimultaneousStarts<K> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Entries { starts: BTreeMap::new(), next: 0 })))
    }
}

impl<K: Ord + Clone + Debug + Send + Sync + 'static> SimultaneousStarts<K> {
    /// Returns the lease of a connection of the client `key`.
    pub fn lease(&self, key: K) -> StartLease {
        let lease = self.lease_unconfirmed(key);
        lease.confirm();
        lease
    }

    /// Returns the lease of a connection whose client has not shown yet that it receives at its
    /// address. Until [`StartLease::confirm`], all such starts of the client together count as one
    /// for others: whoever sends first packets with forged addresses could slow others down.
    pub fn lease_unconfirmed(&self, key: K) -> StartLease {
        StartLease(Arc::new(Part {
            starts: self.clone(),
            key,
            state: Mutex::new(PartState::default()),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, Entries<K>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, key: &K, now: Time, confirmed: bool) -> u64 {
        let mut entries = self.lock();
        // Removes expired starts, so there are never more entries than starts under way.
        entries.starts.retain(|_, starts| {
            starts.retain(|start| now < start.until);
            !starts.is_empty()
        });
        let id = entries.next;
        entries.next += 1;
        let start = Start { id, until: now + LONGEST_START, confirmed };
        entries.starts.entry(key.clone()).or_default().push(start);
        id
    }

    fn confirm(&self, key: &K, id: u64) {
        let mut entries = self.lock();
        let starts = entries.starts.get_mut(key).into_iter().flatten();
        for start in starts.filter(|start| start.id == id) {
            start.confirmed = true;
        }
    }

    fn leave(&self, key: &K, id: u64) {
        let mut entries = self.lock();
        let Some(starts) = entries.starts.get_mut(key) else { return };
        starts.retain(|start| start.id != id);
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
        let others = entries.starts.get(&self.key).into_iter().flatten();
        let mut others = others.filter(|start| start.id != self.id && now < start.until);
        let confirmed = others.clone().filter(|start| start.confirmed).count() as u64;
        1 + confirmed + u64::from(others.any(|start| !start.confirmed))
    }
}

impl<K: Ord + Clone + Debug + Send + Sync + 'static> Drop for Guard<K> {
    fn drop(&mut self) {
        self.starts.leave(&self.key, self.id);
    }
}

/// One connection's part in a [`SimultaneousStarts`].
struct Part<K: Ord> {
    starts: SimultaneousStarts<K>,
    key: K,
    state: Mutex<PartState>,
}

#[derive(Default)]
struct PartState {
    confirmed: bool,
    /// Numbers of its starts.
    entered: Vec<u64>,
}

impl<K: Ord> Part<K> {
    fn state(&self) -> MutexGuard<'_, PartState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a [`StartLease`] does, for clients of any kind.
trait Lease: Send + Sync {
    fn enter(&self, now: Time) -> FastStart;
    fn confirm(&self);
    fn leave(&self);
}

impl<K: Ord + Clone + Debug + Send + Sync + 'static> Lease for Part<K> {
    fn enter(&self, now: Time) -> FastStart {
        let mut state = self.state();
        let id = self.starts.enter(&self.key, now, state.confirmed);
        state.entered.push(id);
        let (starts, key) = (self.starts.clone(), self.key.clone());
        FastStart::Allowed(Some(StartSlot::new(Guard { starts, key, id })))
    }

    fn confirm(&self) {
        let mut state = self.state();
        state.confirmed = true;
        for id in &state.entered {
            self.starts.confirm(&self.key, *id);
        }
    }

    fn leave(&self) {
        for id in self.state().entered.drain(..) {
            self.starts.leave(&self.key, id);
        }
    }
}

/// One connection's part in a [`SimultaneousStarts`]. Clones are the same part.
#[derive(Clone)]
pub struct StartLease(Arc<dyn Lease>);

impl Debug for StartLease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StartLease").finish_non_exhaustive()
    }
}

impl StartLease {
    /// Enters a start that begins at `now`.
    pub fn enter(&self, now: Time) -> FastStart {
        self.0.enter(now)
    }

    /// Handles that the client's address is validated.
    pub fn confirm(&self) {
        self.0.confirm();
    }

    /// Ends the start, because the connection has ended.
    pub fn leave(&self) {
        self.0.leave();
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
    fn starts_of_unconfirmed_clients_count_as_one() {
        let starts = SimultaneousStarts::default();
        let leases: Vec<StartLease> = (0..50).map(|_| starts.lease_unconfirmed("a")).collect();
        let slots: Vec<StartSlot> =
            leases.iter().map(|lease| slot(lease.enter(Time::ZERO))).collect();
        let sharers = || slots[0].sharers(Time::ZERO);
        assert_eq!(sharers(), 2);
        leases[0].confirm();
        assert_eq!(sharers(), 2);
        leases[1].confirm();
        leases[2].confirm();
        assert_eq!(sharers(), 4);
        leases[1].leave();
        assert_eq!(sharers(), 3);
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

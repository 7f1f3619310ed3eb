//! A limit of one fast start at a time for each client prefix.
//!
//! Several connections of one client share its link, so simultaneous fast starts would each take
//! the capacity of all of it. The first connection gets a slot for the duration of its start; those
//! that begin meanwhile start as in RFC 9002.

use bentpipe_congestion::{FastStart, StartSlot};
use bentpipe_units::{Span, Time};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

/// Longest duration of a slot. Our choice: a start over a geostationary satellite takes up to ten
/// RTTs, 7 s, and a connection that sends too little to ever end its start must not block others.
const LONGEST_START: Span = Span::from_secs(10);

/// The fast starts under way. Clones share them: one for each server, or farm with shared memory.
#[derive(Debug, Clone)]
pub struct StartLimiter<K: Ord>(Arc<Mutex<Entries<K>>>);

#[derive(Debug)]
struct Entries<K: Ord> {
    starts: BTreeMap<K, Entry>,
    next: u64,
}

#[derive(Debug)]
struct Entry {
    id: u64,
    until: Time,
}

impl<K: Ord> Default for StartLimiter<K> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Entries { starts: BTreeMap::new(), next: 0 })))
    }
}

impl<K: Ord + Clone + Debug + Send + Sync + 'static> StartLimiter<K> {
    /// Returns the lease of a connection of the client `key`.
    pub fn lease(&self, key: K) -> StartLease {
        let (limiter, entered) = (self.clone(), Arc::new(Mutex::new(None)));
        let leave = {
            let (limiter, key, entered) = (limiter.clone(), key.clone(), entered.clone());
            Arc::new(move || limiter.leave(&key, &entered))
        };
        let on_drop = leave.clone();
        StartLease {
            enter: Arc::new(move |now| {
                if !limiter.enter(&key, &entered, now) {
                    return FastStart::Refused;
                }
                FastStart::Allowed(Some(StartSlot::new(Guard(on_drop.clone()))))
            }),
            leave,
        }
    }

    fn enter(&self, key: &K, entered: &Mutex<Option<u64>>, now: Time) -> bool {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.starts.get(key).is_some_and(|entry| now < entry.until) {
            return false;
        }
        // Removes expired starts, so there are never more entries than starts under way.
        entries.starts.retain(|_, entry| now < entry.until);
        let id = entries.next;
        entries.next += 1;
        entries.starts.insert(key.clone(), Entry { id, until: now + LONGEST_START });
        *entered.lock().unwrap_or_else(PoisonError::into_inner) = Some(id);
        true
    }

    fn leave(&self, key: &K, entered: &Mutex<Option<u64>>) {
        let Some(id) = entered.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return;
        };
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.starts.get(key).is_some_and(|entry| entry.id == id) {
            entries.starts.remove(key);
        }
    }
}

/// Releases the slot when the start is over.
struct Guard(Arc<dyn Fn() + Send + Sync>);

impl Drop for Guard {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// One connection's lease of a slot of a [`StartLimiter`]. Clones are the same lease.
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
    /// Returns whether the connection may start fast at `now`.
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

    fn allowed(start: &FastStart) -> bool {
        matches!(start, FastStart::Allowed(Some(_)))
    }

    #[test]
    fn the_second_of_a_prefix_is_refused_until_the_first_is_done() {
        let limiter = StartLimiter::default();
        let first = limiter.lease("a").enter(Time::ZERO);
        assert!(allowed(&first));
        assert!(!allowed(&limiter.lease("a").enter(Time::ZERO)));
        assert!(allowed(&limiter.lease("b").enter(Time::ZERO)));
        drop(first);
        assert!(allowed(&limiter.lease("a").enter(Time::ZERO)));
    }

    #[test]
    fn a_connection_that_ends_frees_its_slot() {
        let limiter = StartLimiter::default();
        let lease = limiter.lease("a");
        let first = lease.enter(Time::ZERO);
        lease.leave();
        let second = limiter.lease("a").enter(Time::ZERO);
        assert!(allowed(&second));
        // The slot that the first still holds is not that of the second.
        drop(first);
        assert!(!allowed(&limiter.lease("a").enter(Time::ZERO)));
    }

    #[test]
    fn a_start_that_does_not_end_blocks_others_only_for_a_while() {
        let limiter = StartLimiter::default();
        let _idle = limiter.lease("a").enter(Time::ZERO);
        assert!(!allowed(&limiter.lease("a").enter(Time::from_secs(9))));
        assert!(allowed(&limiter.lease("a").enter(Time::from_secs(10))));
    }
}

//! One fast start at a time for each client prefix.
//!
//! Several connections of one client share its link, so that several fast starts at once would each
//! find all of it. The first gets a permit for as long as its start lasts; those that come
//! meanwhile start as RFC 9002 has it.

use bentpipe_congestion::{FastStart, StartSlot};
use bentpipe_units::{Span, Time};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

/// After this a permit ends by itself. Our choice: a start over a geostationary satellite is over
/// within ten round trips, 7 s; a connection that has so little to send that it never ends its
/// start does not keep others from theirs.
const LONGEST_START: Span = Span::from_secs(10);

/// Who is starting fast. Clones share it: one for each server, or server farm that shares memory.
#[derive(Debug, Clone)]
pub struct StartLimiter<K: Ord>(Arc<Mutex<Entries<K>>>);

#[derive(Debug)]
struct Entries<K: Ord> {
    inside: BTreeMap<K, Entry>,
    next: u64,
}

#[derive(Debug)]
struct Entry {
    id: u64,
    until: Time,
}

impl<K: Ord> Default for StartLimiter<K> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Entries { inside: BTreeMap::new(), next: 0 })))
    }
}

impl<K: Ord + Clone + Debug + Send + Sync + 'static> StartLimiter<K> {
    /// What a connection of `key` enters with.
    pub fn ticket(&self, key: K) -> StartLease {
        let (gate, entered) = (self.clone(), Arc::new(Mutex::new(None)));
        let leave = {
            let (gate, key, entered) = (gate.clone(), key.clone(), entered.clone());
            Arc::new(move || gate.leave(&key, &entered))
        };
        let on_drop = leave.clone();
        StartLease {
            enter: Arc::new(move |now| {
                if !gate.enter(&key, &entered, now) {
                    return FastStart::Refused;
                }
                FastStart::Allowed(Some(StartSlot::new(Guard(on_drop.clone()))))
            }),
            leave,
        }
    }

    fn enter(&self, key: &K, entered: &Mutex<Option<u64>>, now: Time) -> bool {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.inside.get(key).is_some_and(|entry| now < entry.until) {
            return false;
        }
        // Those that have ended by themselves make room: never more entries than starts under way.
        entries.inside.retain(|_, entry| now < entry.until);
        let id = entries.next;
        entries.next += 1;
        entries.inside.insert(key.clone(), Entry { id, until: now + LONGEST_START });
        *entered.lock().unwrap_or_else(PoisonError::into_inner) = Some(id);
        true
    }

    fn leave(&self, key: &K, entered: &Mutex<Option<u64>>) {
        let Some(id) = entered.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return;
        };
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.inside.get(key).is_some_and(|entry| entry.id == id) {
            entries.inside.remove(key);
        }
    }
}

/// Gives the place back when the start is over.
struct Guard(Arc<dyn Fn() + Send + Sync>);

impl Drop for Guard {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// One connection's way through a [`StartLimiter`]. Clones are the same ticket.
#[derive(Clone)]
pub struct StartLease {
    enter: Arc<dyn Fn(Time) -> FastStart + Send + Sync>,
    leave: Arc<dyn Fn() + Send + Sync>,
}

impl Debug for StartLease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StartTicket")
    }
}

impl StartLease {
    /// Whether the connection may start fast at `now`.
    pub fn enter(&self, now: Time) -> FastStart {
        (self.enter)(now)
    }

    /// The connection has ended, its start with it.
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
        let gate = StartLimiter::default();
        let first = gate.ticket("a").enter(Time::ZERO);
        assert!(allowed(&first));
        assert!(!allowed(&gate.ticket("a").enter(Time::ZERO)));
        assert!(allowed(&gate.ticket("b").enter(Time::ZERO)));
        drop(first);
        assert!(allowed(&gate.ticket("a").enter(Time::ZERO)));
    }

    #[test]
    fn a_connection_that_ends_makes_way() {
        let gate = StartLimiter::default();
        let ticket = gate.ticket("a");
        let first = ticket.enter(Time::ZERO);
        ticket.leave();
        let second = gate.ticket("a").enter(Time::ZERO);
        assert!(allowed(&second));
        // What the first still holds is not the second's.
        drop(first);
        assert!(!allowed(&gate.ticket("a").enter(Time::ZERO)));
    }

    #[test]
    fn a_start_that_does_not_end_keeps_nobody_out_for_long() {
        let gate = StartLimiter::default();
        let _idle = gate.ticket("a").enter(Time::ZERO);
        assert!(!allowed(&gate.ticket("a").enter(Time::from_secs(9))));
        assert!(allowed(&gate.ticket("a").enter(Time::from_secs(10))));
    }
}

//! One fast start at a time for each client prefix.
//!
//! Several connections of one client share its link, so that several fast starts at once would each find all of it. The first
//! gets a permit for as long as its start lasts; those that come meanwhile start as RFC 9002 has it.

use bentpipe_congestion::{FastStart, Permit};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

/// Who is starting fast. Clones share it: one for each server, or server farm that shares memory.
#[derive(Debug, Clone)]
pub struct StartGate<K: Ord>(Arc<Mutex<BTreeSet<K>>>);

impl<K: Ord> Default for StartGate<K> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

/// Gives the key back when it is dropped.
struct Guard<K: Ord> {
    gate: StartGate<K>,
    key: K,
}

impl<K: Ord> Drop for Guard<K> {
    fn drop(&mut self) {
        self.gate.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

impl<K: Ord + Clone + Send + 'static> StartGate<K> {
    /// Whether a connection of `key` may start fast now. Never more entries than connections.
    pub fn enter(&self, key: K) -> FastStart {
        if !self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone()) {
            return FastStart::Refused;
        }
        let guard = Guard { gate: self.clone(), key };
        // A permit wants something that is shared between threads; the mutex makes it so.
        FastStart::Allowed(Some(Permit::new(Mutex::new(guard))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_of_a_prefix_is_refused_until_the_first_is_done() {
        let gate = StartGate::default();
        let first = gate.enter("a");
        assert!(matches!(first, FastStart::Allowed(Some(_))));
        assert!(matches!(gate.enter("a"), FastStart::Refused));
        assert!(matches!(gate.enter("b"), FastStart::Allowed(Some(_))));
        drop(first);
        assert!(matches!(gate.enter("a"), FastStart::Allowed(Some(_))));
    }
}

//! The store in memory.

use crate::contract;

use bentpipe_quic::path_memory::{Holder, Lease, Limits, MemoryStore, PathStore};
use contract::{at, key, saved};
use proptest::prelude::*;

#[test]
fn the_store_in_memory_keeps_the_contract() {
    contract::keeps(&|limits| Box::new(MemoryStore::new(limits)));
}

proptest! {
    #[test]
    fn no_order_of_calls_exceeds_the_limit_or_lends_twice(
        calls in prop::collection::vec((0u8..7, 0u8..6, 0u64..3, 0u64..5000), 0..200),
    ) {
        let mut store = MemoryStore::new(Limits { paths: 4, ..Limits::default() });
        for (call, network, holder, second) in calls {
            let (key, now) = (key(network), at(second));
            match call {
                0 | 1 => {
                    let path = saved(1 + second, second);
                    prop_assert_eq!(store.replace(&key, path, now), Ok(()));
                }
                2 | 3 => {
                    let listed = store.list(now).expect("a list");
                    let entry = listed.iter().find(|entry| entry.key == key);
                    let other = |lease: &Lease| lease.holder != Holder(holder);
                    let lease = entry.and_then(|entry| entry.lease);
                    let taken = lease.is_some_and(|lease| other(&lease));
                    let current = entry.map(|entry| entry.path).filter(|path| path.is_current(now));
                    let leased = store.lease(&key, now, Holder(holder)).expect("an answer");
                    prop_assert_eq!(leased, current.filter(|_| !taken));
                }
                4 => prop_assert_eq!(store.release(&key, Holder(holder)), Ok(())),
                5 => {
                    let known = store.list(now).expect("a list").iter().any(|entry| entry.key == key);
                    prop_assert!(store.forget(&key).expect("an answer") || !known);
                }
                _ => prop_assert!(store.expire(now).expect("an answer") <= 4),
            }
            prop_assert!(store.list(now).expect("a list").len() <= 4);
        }
    }
}

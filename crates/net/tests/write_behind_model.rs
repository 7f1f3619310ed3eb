//! No change of a path store is lost between the server and the thread that writes: every order of
//! their steps, by loom, with the real file.

#![allow(clippy::unwrap_used, reason = "a test")]

/// loom's types under the names that the file uses.
mod sync {
    pub use loom::sync::{Condvar, Mutex, MutexGuard};
}

#[path = "../src/store/changes.rs"]
#[allow(unreachable_pub, reason = "the visibility of the real module")]
mod changes;

use changes::{Changes, Waiting};
use loom::thread;
use std::sync::Arc;

impl Waiting for Vec<u32> {
    fn is_empty(&self) -> bool {
        self.as_slice().is_empty()
    }
}

/// Starts the thread that writes, which ends with everything that it has written, in order.
fn writer(changes: &Arc<Changes<Vec<u32>>>) -> thread::JoinHandle<Vec<u32>> {
    let changes = changes.clone();
    thread::spawn(move || {
        let mut written = Vec::new();
        while let Some(pending) = changes.take() {
            written.extend(pending);
        }
        written
    })
}

#[test]
fn all_changes_are_written_in_order_before_the_store_is_gone() {
    loom::model(|| {
        let changes = Arc::new(Changes::<Vec<u32>>::default());
        let writer = writer(&changes);
        for change in 1..=3 {
            changes.add(|pending| pending.push(change));
        }
        changes.close();
        assert_eq!(writer.join().unwrap(), [1, 2, 3]);
    });
}

#[test]
fn a_store_without_changes_ends() {
    loom::model(|| {
        let changes = Arc::new(Changes::<Vec<u32>>::default());
        let writer = writer(&changes);
        changes.close();
        assert!(writer.join().unwrap().is_empty());
    });
}

#[test]
fn changes_of_two_threads_are_all_written() {
    loom::model(|| {
        let changes = Arc::new(Changes::<Vec<u32>>::default());
        let writer = writer(&changes);
        let other = changes.clone();
        let other = thread::spawn(move || other.add(|pending| pending.push(1)));
        changes.add(|pending| pending.push(2));
        other.join().unwrap();
        changes.close();
        let mut written = writer.join().unwrap();
        written.sort_unstable();
        assert_eq!(written, [1, 2]);
    });
}

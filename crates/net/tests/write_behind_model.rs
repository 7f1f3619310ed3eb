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

use changes::{Changes, Next, Waiting};
use loom::thread;
use std::sync::Arc;
use std::time::Duration;

impl Waiting for Vec<u32> {
    /// What is in the file.
    type Found = Vec<u32>;

    fn is_empty(&self) -> bool {
        self.as_slice().is_empty()
    }
}

/// Starts the thread that writes, which ends with everything that it has written, in order.
fn writer(changes: &Arc<Changes<Vec<u32>>>) -> thread::JoinHandle<Vec<u32>> {
    let changes = changes.clone();
    thread::spawn(move || {
        let mut written = Vec::new();
        loop {
            // loom lets no time pass.
            match changes.take(Duration::MAX) {
                Next::Write { changes: pending, .. } => written.extend(pending),
                Next::Look => {}
                Next::End => return written,
            }
            // As if another program had changed the file each time.
            changes.show(written.clone());
        }
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

#[test]
fn what_was_found_and_what_waits_have_all_changes_together() {
    loom::model(|| {
        let changes = Arc::new(Changes::<Vec<u32>>::default());
        let writer = writer(&changes);
        for change in 1..=2 {
            changes.add(|pending| pending.push(change));
            changes.found(|found, pending| {
                let all: Vec<u32> = found.iter().chain(pending).copied().collect();
                assert_eq!(all, (1..=change).collect::<Vec<u32>>());
            });
        }
        changes.close();
        writer.join().unwrap();
    });
}

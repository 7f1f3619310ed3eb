//! Changes that wait for the thread that writes them, and what it finds of other programs' changes.
//!
//! `tests/write_behind_model.rs` compiles this file with the types of loom, and tries every order
//! of its steps on several threads.

use crate::sync::{Condvar, Mutex, MutexGuard};
use std::fmt::Debug;
use std::sync::PoisonError;
use std::time::Duration;

/// Changes, or none.
pub(crate) trait Waiting: Default {
    /// What the writer finds in the file, of changes by other programs.
    type Found: Debug;

    /// Returns whether nothing waits.
    fn is_empty(&self) -> bool;
}

/// The changes that wait for the writer, and what the writer has found for the store.
#[derive(Debug)]
pub(crate) struct Changes<T: Waiting> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct State<T: Waiting> {
    pending: T,
    /// What the writer has found since it took the last changes. What has been changed since then
    /// waits in `pending`.
    found: Option<T::Found>,
    closed: bool,
}

/// What the writer has to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next<T> {
    /// Write these changes. If `missed`, the store has not taken what was found last, and it is
    /// gone.
    Write { changes: T, missed: bool },
    /// Nothing came in time.
    Look,
    /// End: the store is closed, and all changes are taken.
    End,
}

impl<T: Waiting> Default for Changes<T> {
    fn default() -> Self {
        Self {
            state: Mutex::new(State { pending: T::default(), found: None, closed: false }),
            changed: Condvar::new(),
        }
    }
}

impl<T: Waiting> Changes<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds to the changes that wait, and wakes the writer.
    pub fn add(&self, change: impl FnOnce(&mut T)) {
        change(&mut self.lock().pending);
        self.changed.notify_one();
    }

    /// Lets the writer end once all changes are taken.
    pub fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_one();
    }

    /// Waits for changes, but not longer than `wait`, and takes them.
    pub fn take(&self, wait: Duration) -> Next<T> {
        let mut state = self.lock();
        while state.pending.is_empty() && !state.closed {
            let (woken, waited) =
                self.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner);
            state = woken;
            if waited.timed_out() && state.pending.is_empty() && !state.closed {
                return Next::Look;
            }
        }
        if state.pending.is_empty() {
            return Next::End;
        }
        let missed = state.found.take().is_some();
        Next::Write { changes: std::mem::take(&mut state.pending), missed }
    }

    /// Shows the store what the writer has found, after it has written what it took.
    pub fn show(&self, found: T::Found) {
        self.lock().found = Some(found);
    }

    /// Takes what was found, and passes it on with the changes that are newer.
    pub fn found(&self, apply: impl FnOnce(T::Found, &T)) {
        let mut state = self.lock();
        if let Some(found) = state.found.take() {
            apply(found, &state.pending);
        }
    }
}

//! Changes that wait for the thread that writes them.
//!
//! `tests/write_behind_model.rs` compiles this file with the types of loom, and tries every order
//! of its steps on several threads.

use crate::sync::{Condvar, Mutex, MutexGuard};
use std::sync::PoisonError;

/// Changes, or none.
pub(crate) trait Waiting: Default {
    /// Returns whether nothing waits.
    fn is_empty(&self) -> bool;
}

/// The changes that wait for the writer.
#[derive(Debug)]
pub(crate) struct Changes<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State<T> {
    pending: T,
    closed: bool,
}

impl<T: Waiting> Default for Changes<T> {
    fn default() -> Self {
        Self {
            state: Mutex::new(State { pending: T::default(), closed: false }),
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

    /// Waits for changes and takes them. `None` once the store is closed and all are taken.
    pub fn take(&self) -> Option<T> {
        let mut state = self.lock();
        while state.pending.is_empty() && !state.closed {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let pending = std::mem::take(&mut state.pending);
        Some(pending).filter(|pending| !pending.is_empty())
    }
}

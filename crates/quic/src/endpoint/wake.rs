//! Wake-ups of a connection's tasks: those from within a run of the connection, which the run
//! handles, and those from outside, which must reach the driver of the endpoint.
//!
//! `tests/wake_model.rs` compiles this file with the types of loom, and tries every order of its
//! steps on several threads.

use crate::sync::{AtomicU8, Mutex, MutexGuard, Ordering};
use std::sync::{Arc, PoisonError};
use std::task::{Wake, Waker};

/// No task was woken.
const IDLE: u8 = 0;
/// The connection's tasks are being polled.
const RUNNING: u8 = 1;
/// They are being polled, and one of them was woken meanwhile.
const RUNNING_WOKEN: u8 = 2;
/// A task was woken from outside and has not been polled yet.
const WOKEN: u8 = 3;

/// Wakes the tasks of one connection.
pub(super) struct ConnectionWaker {
    state: AtomicU8,
    key: usize,
    outside: Arc<WokenConnections>,
}

/// Connections that were woken from outside their runs, and the driver to wake for them. Without a
/// driver nothing is recorded: the caller then uses [`crate::Endpoint::wake`].
#[derive(Default)]
pub(super) struct WokenConnections(Mutex<Woken>);

#[derive(Default)]
struct Woken {
    driver: Option<Waker>,
    keys: Vec<usize>,
}

impl WokenConnections {
    pub fn set_driver(&self, driver: Waker) {
        self.lock().driver = Some(driver);
    }

    /// Moves the keys of the connections woken since the last call to `into`.
    pub fn take(&self, into: &mut Vec<usize>) {
        into.append(&mut self.lock().keys);
    }

    fn lock(&self) -> MutexGuard<'_, Woken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, key: usize) {
        let mut woken = self.lock();
        let Some(driver) = woken.driver.clone() else { return };
        woken.keys.push(key);
        let first = woken.keys.len() == 1;
        drop(woken);
        // The driver takes all of them at once.
        if first {
            driver.wake();
        }
    }
}

impl ConnectionWaker {
    /// For a connection whose tasks are polled for the first time by the run that follows.
    pub fn new(key: usize, outside: Arc<WokenConnections>) -> Self {
        Self { state: AtomicU8::new(WOKEN), key, outside }
    }

    /// Begins a run. [`ConnectionWaker::again`] sees the wake-ups from here to the run's end.
    pub fn begin(&self) {
        let begun = |state| Some(if state == IDLE { RUNNING } else { RUNNING_WOKEN });
        // It always succeeds: each state has a successor.
        let _ = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, begun);
    }

    /// Returns true if tasks must be polled (again); otherwise the run is over.
    pub fn again(&self) -> bool {
        let next = |state| Some(if state == RUNNING_WOKEN { RUNNING } else { IDLE });
        self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) == Ok(RUNNING_WOKEN)
    }
}

impl Wake for ConnectionWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // A state that stays is written too. Only a write is ordered with those of the run: a mere
        // load may see a wake-up that the run has taken already, and this one would be lost.
        let woken = |state| {
            Some(match state {
                IDLE => WOKEN,
                RUNNING => RUNNING_WOKEN,
                woken => woken,
            })
        };
        if self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, woken) == Ok(IDLE) {
            self.outside.add(self.key);
        }
    }
}

//! Wake-ups of a connection's tasks: those from within its own run, which the run sees to, and
//! those from outside, which have to reach whoever drives the endpoint.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

/// Nobody wants anything.
const IDLE: u8 = 0;
/// The connection's tasks are being polled.
const RUNNING: u8 = 1;
/// They are being polled, and one of them was woken meanwhile.
const RUNNING_WOKEN: u8 = 2;
/// A task was woken from outside, and has not been polled yet.
const WOKEN: u8 = 3;

/// What a connection's tasks are woken by.
pub(crate) struct Woken {
    state: AtomicU8,
    key: usize,
    outside: Arc<Outside>,
}

/// Connections that were woken from outside their runs, and whom to tell. Where nobody is to be
/// told, nothing is kept: whoever wakes then says so by [`crate::Endpoint::wake`].
#[derive(Default)]
pub(crate) struct Outside(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    driver: Option<Waker>,
    keys: Vec<usize>,
}

impl Outside {
    pub fn set_driver(&self, driver: Waker) {
        self.lock().driver = Some(driver);
    }

    /// Moves the keys of those woken since the last call to `into`.
    pub fn take(&self, into: &mut Vec<usize>) {
        into.append(&mut self.lock().keys);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn woken(&self, key: usize) {
        let mut waiting = self.lock();
        let Some(driver) = waiting.driver.clone() else { return };
        waiting.keys.push(key);
        let first = waiting.keys.len() == 1;
        drop(waiting);
        // It takes all of them at once.
        if first {
            driver.wake();
        }
    }
}

impl Woken {
    /// For a connection whose tasks want to be polled a first time, by a run that follows.
    pub fn new(key: usize, outside: Arc<Outside>) -> Self {
        Self { state: AtomicU8::new(WOKEN), key, outside }
    }

    /// A run begins. What happens from here to its end is seen by [`Woken::again`].
    pub fn begin(&self) {
        let begun = |state| Some(if state == IDLE { RUNNING } else { RUNNING_WOKEN });
        // It always succeeds: there is a next state for each.
        let _ = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, begun);
    }

    /// Whether tasks are to be polled (again); where not, the run is over.
    pub fn again(&self) -> bool {
        let next = |state| Some(if state == RUNNING_WOKEN { RUNNING } else { IDLE });
        self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) == Ok(RUNNING_WOKEN)
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let woken = |state| match state {
            IDLE => Some(WOKEN),
            RUNNING => Some(RUNNING_WOKEN),
            _ => None,
        };
        if self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, woken) == Ok(IDLE) {
            self.outside.woken(self.key);
        }
    }
}

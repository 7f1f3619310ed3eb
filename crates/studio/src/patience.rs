//! How long a request may compute: until its client leaves, or its time is over.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time for a check, in which a person would have lost patience.
pub const CHECK_TIME: Duration = Duration::from_secs(20);
/// Time to try the keys that a text may have, each of which is a plan.
pub const TRY_TIME: Duration = Duration::from_secs(3);

/// Tells whether the client of a request has left.
#[derive(Debug, Clone, Default)]
pub struct Abandoned(Arc<AtomicBool>);

/// The client of a request, which has left once this is dropped.
#[derive(Debug, Default)]
pub struct Waiting(Abandoned);

impl Abandoned {
    /// Returns true if nobody waits for the answer.
    pub fn is(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns what is set then.
    pub fn flag(&self) -> &AtomicBool {
        &self.0
    }

    /// Returns what returns true from then on, or once `time` is over.
    pub fn or_after(&self, time: Duration) -> impl Fn() -> bool {
        let (abandoned, start) = (self.clone(), now());
        move || abandoned.is() || start.elapsed() > time
    }
}

impl Waiting {
    /// Returns what tells of it.
    pub fn abandoned(&self) -> Abandoned {
        self.0.clone()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

#[expect(clippy::disallowed_methods, reason = "a person waits for the answer")]
fn now() -> Instant {
    Instant::now()
}

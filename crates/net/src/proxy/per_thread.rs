//! A value for each thread with a runtime of its own.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;
use tokio::runtime::{Handle, RuntimeFlavor};

/// A value for each thread with a runtime of its own, made when it is first asked for. Threads that
/// share a runtime share one. Values stay until all are dropped, since workers live as long.
pub(super) struct PerThread<T> {
    make: Box<dyn Fn() -> T + Send + Sync>,
    made: Mutex<HashMap<Option<ThreadId>, Arc<T>>>,
}

impl<T> fmt::Debug for PerThread<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerThread").finish_non_exhaustive()
    }
}

impl<T> PerThread<T> {
    pub fn new(make: impl Fn() -> T + Send + Sync + 'static) -> Self {
        Self { make: Box::new(make), made: Mutex::default() }
    }

    /// Returns the value of this thread.
    pub fn get(&self) -> Arc<T> {
        let own = |handle: Handle| handle.runtime_flavor() == RuntimeFlavor::CurrentThread;
        let thread = Handle::try_current().is_ok_and(own).then(|| std::thread::current().id());
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.entry(thread).or_insert_with(|| Arc::new((self.make)())).clone()
    }
}

//! The path memory of a server, and the leases of its connections.

use super::key::{KeyError, PathKey, Prefixes};
use super::store::{Holder, PathStore, SavedPath, StoreError};
use crate::clock::EpochClock;
use bentpipe_congestion::resume::Refusal;
use bentpipe_congestion::{ResumeHandle, SavedParameters};
use bentpipe_units::{Span, Time};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thiserror::Error;

/// Default lifetime of a saved set. Our choice, an hour: RFC 9959 §4.3.1 leaves it to the kind of
/// path. The capacity of a geostationary access changes with weather and load, and Careful Resume
/// copes with a wrong set.
pub const DEFAULT_LIFETIME: Span = Span::from_secs(3600);

/// Why a connection does without the path memory.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PathMemoryError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The path has no valid key.
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// The path memory of one server, or of a farm that shares it. Clones share the store.
#[derive(Debug, Clone)]
pub struct PathMemory {
    store: Arc<Mutex<dyn PathStore>>,
    prefixes: Prefixes,
    local: String,
    lifetime: Span,
    epoch: EpochClock,
}

impl PathMemory {
    /// A path memory that saves sets in `store`, one for each client network by `prefixes`; `local`
    /// names the interface of outgoing packets. Sets are valid for `lifetime` by the `epoch` clock.
    pub fn new(
        store: impl PathStore + 'static,
        prefixes: Prefixes,
        local: &str,
        lifetime: Span,
        epoch: EpochClock,
    ) -> Self {
        Self {
            store: Arc::new(Mutex::new(store)),
            prefixes,
            local: local.to_owned(),
            lifetime,
            epoch,
        }
    }

    /// Returns the store, to list or flush it.
    pub fn store(&self) -> MutexGuard<'_, dyn PathStore + 'static> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leases the saved set of the path to `remote` to a connection that begins. `holder` must be
    /// unique to the connection.
    ///
    /// The key has the default code point: the stack sets no other (RFC 2474).
    ///
    /// # Errors
    /// The store fails, or the interface name is invalid. The connection can do without a lease.
    pub fn begin(
        &self,
        remote: IpAddr,
        holder: Holder,
        clock: Time,
    ) -> Result<PathLease, PathMemoryError> {
        let now = self.epoch.epoch();
        let key = PathKey::new(self.prefixes.of(remote), &self.local, 0)?;
        let place = Place { memory: self.clone(), key: key.clone(), holder };
        let path_lease = PathLease { place: Some(place), ..PathLease::without_store() };
        let mut store = self.store();
        match store.lease(&key, now, holder)? {
            Some(path) => {
                let left = Span::from_millis(
                    path.expires.as_unix_millis().saturating_sub(now.as_unix_millis()),
                );
                path_lease.resume_handle.offer(SavedParameters {
                    window: path.window,
                    rtt: path.rtt,
                    valid_until: Some(clock + left),
                });
            }
            None if store.is_leased(&key, now)? => {
                path_lease.resume_handle.refuse(Refusal::InUse);
            }
            None => {}
        }
        drop(store);
        Ok(path_lease)
    }
}

/// One connection's lease of the saved set of its path. Clones are the same lease.
#[derive(Debug, Clone)]
pub struct PathLease {
    /// Its place in a store, if there is one.
    place: Option<Place>,
    resume_handle: ResumeHandle,
    /// Updates that the store has had.
    flushed: Arc<Mutex<Flushed>>,
}

/// A connection's place in a store.
#[derive(Debug, Clone)]
struct Place {
    memory: PathMemory,
    key: PathKey,
    holder: Holder,
}

#[derive(Debug, Default)]
struct Flushed {
    forgotten: bool,
    released: bool,
    observed: Option<SavedParameters>,
}

impl PathLease {
    /// A lease without a store: the client brings the saved set in a token, and keeps what was
    /// measured.
    pub fn without_store() -> Self {
        Self { place: None, resume_handle: ResumeHandle::new(), flushed: Arc::default() }
    }

    /// Returns the handle for the connection's controller.
    pub fn resume_handle(&self) -> ResumeHandle {
        self.resume_handle.clone()
    }

    /// Updates the store: deletes a set that met congestion, saves what was observed since, and
    /// releases a set that is no longer used. Call it now and then, and with `over` when the
    /// connection ends.
    ///
    /// # Errors
    /// The store fails.
    pub fn flush(&self, over: bool) -> Result<(), StoreError> {
        let Some(Place { memory, key, holder }) = &self.place else { return Ok(()) };
        let now = memory.epoch.epoch();
        let mut flushed = self.flushed.lock().unwrap_or_else(PoisonError::into_inner);
        let mut store = memory.store();
        // First, since an observation made after the retreat replaces the deleted set.
        if self.resume_handle.retreated() && !flushed.forgotten {
            store.forget(key)?;
            flushed.forgotten = true;
        }
        if let Some(observed) =
            self.resume_handle.observed().filter(|observed| flushed.observed != Some(*observed))
        {
            let path = SavedPath::new(observed.window, observed.rtt, now, memory.lifetime)?;
            store.replace(key, path, now)?;
            flushed.observed = Some(observed);
        }
        if (over || !self.resume_handle.in_use()) && !flushed.released {
            store.release(key, *holder)?;
            flushed.released = true;
        }
        Ok(())
    }
}

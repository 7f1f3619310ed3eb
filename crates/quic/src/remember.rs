//! Between a connection's controller and the memory of paths: what is remembered is lent when a
//! connection begins, and what it learned is kept.

use crate::clock::EpochClock;
use crate::memory::{Holder, KeyError, PathKey, PathStore, Prefixes, SavedPath, StoreError};
use bentpipe_congestion::resume::Refusal;
use bentpipe_congestion::{ResumeHandle, SavedParameters};
use bentpipe_units::{Span, Time};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thiserror::Error;

/// How long what was measured may be used, unless told otherwise: our choice, an hour. RFC 9959
/// §4.3.1 leaves it to the kind of path; the capacity of a geostationary access changes with
/// weather and load, and Careful Resume copes with a wrong set.
pub const DEFAULT_LIFETIME: Span = Span::from_secs(3600);

/// Why a connection has nothing to do with the memory.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RememberError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The path cannot be named.
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// The memory of paths of one server, or of a farm that shares it. Clones share the store.
#[derive(Debug, Clone)]
pub struct PathMemory {
    store: Arc<Mutex<dyn PathStore>>,
    prefixes: Prefixes,
    local: String,
    lifetime: Span,
    epoch: EpochClock,
}

impl PathMemory {
    /// A memory that keeps sets in `store`, one for each network of clients that `prefixes` tells
    /// apart; `local` names the interface that packets leave by. What is measured counts for
    /// `lifetime` on `epoch`'s clock.
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

    /// The store itself, to list or flush it.
    pub fn store(&self) -> MutexGuard<'_, dyn PathStore + 'static> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection to `remote` begins: what is remembered of its path is lent to `holder`, which
    /// no other connection has.
    ///
    /// Packets carry the default code point: the stack underneath sets no other (RFC 2474).
    ///
    /// # Errors
    /// A store that fails, or a name of the interface that is none. The connection can do without.
    pub fn begin(
        &self,
        remote: IpAddr,
        holder: Holder,
        clock: Time,
    ) -> Result<PathLease, RememberError> {
        let now = self.epoch.epoch();
        let key = PathKey::new(self.prefixes.of(remote), &self.local, 0)?;
        let place = Place { memory: self.clone(), key: key.clone(), holder };
        let remembered = PathLease { place: Some(place), ..PathLease::without_store() };
        let mut store = self.store();
        match store.lease(&key, now, holder)? {
            Some(path) => {
                let left = Span::from_millis(
                    path.expires.as_unix_millis().saturating_sub(now.as_unix_millis()),
                );
                remembered.notes.offer(SavedParameters {
                    window: path.window,
                    rtt: path.rtt,
                    valid_until: Some(clock + left),
                });
            }
            None if store.is_lent(&key, now)? => {
                remembered.notes.refuse(Refusal::InUse);
            }
            None => {}
        }
        drop(store);
        Ok(remembered)
    }
}

/// What one connection has to do with the memory of its path.
#[derive(Debug)]
pub struct PathLease {
    /// Where it is kept, where there is a store.
    place: Option<Place>,
    notes: ResumeHandle,
    /// What was done already.
    kept: Mutex<Kept>,
}

/// A connection's place in a store.
#[derive(Debug)]
struct Place {
    memory: PathMemory,
    key: PathKey,
    holder: Holder,
}

#[derive(Debug, Default)]
struct Kept {
    forgotten: bool,
    released: bool,
    observed: Option<SavedParameters>,
}

impl PathLease {
    /// Nothing is kept here: the client brings what is remembered, in a token, and takes what was
    /// learned with it.
    pub fn without_store() -> Self {
        Self { place: None, notes: ResumeHandle::new(), kept: Mutex::default() }
    }

    /// The notes that the connection's controller keeps.
    pub fn notes(&self) -> ResumeHandle {
        self.notes.clone()
    }

    /// Brings the store up to date with the notes: deletes a set that met congestion, keeps what
    /// was observed since, gives back what is not used any more. To be called now and then, and
    /// with `over` when the connection ends.
    ///
    /// # Errors
    /// A store that fails.
    pub fn settle(&self, over: bool) -> Result<(), StoreError> {
        let Some(Place { memory, key, holder }) = &self.place else { return Ok(()) };
        let now = memory.epoch.epoch();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut store = memory.store();
        // What is deleted may be replaced by what was observed since, so this comes first.
        if self.notes.retreated() && !kept.forgotten {
            store.forget(key)?;
            kept.forgotten = true;
        }
        if let Some(observed) =
            self.notes.observed().filter(|observed| kept.observed != Some(*observed))
        {
            let path = SavedPath::new(observed.window, observed.rtt, now, memory.lifetime)?;
            store.replace(key, path, now)?;
            kept.observed = Some(observed);
        }
        if (over || !self.notes.in_use()) && !kept.released {
            store.release(key, *holder)?;
            kept.released = true;
        }
        Ok(())
    }
}

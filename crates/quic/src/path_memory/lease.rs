//! The path memory of a server, and the leases of its connections.

use super::hosts::NetworkHosts;
use super::key::{IpPrefix, KeyError, PathKey, Prefixes};
use super::store::{Holder, Limits, PathStore, SavedPath, StoreError};
use crate::clock::EpochClock;
use bentpipe_congestion::resume::Refusal;
use bentpipe_congestion::{ResumeHandle, SavedParameters};
use bentpipe_units::{Epoch, Span, Time};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thiserror::Error;

/// Default lifetime of a saved set. Our choice, an hour: RFC 9959 §4.3.1 leaves it to the kind of
/// path. The capacity of a geostationary access changes with weather and load, and Careful Resume
/// copes with a wrong set.
pub const DEFAULT_LIFETIME: Span = Span::from_secs(3600);

/// Round trips of the saved path for which a connection has a set to itself before it uses it. A
/// first request needs two: one for the request, one for the first packets of the response. Whoever
/// asks for little must not keep the set from the others of its network.
const ROUND_TRIPS: u64 = 4;

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
    hosts: Arc<Mutex<NetworkHosts>>,
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
            hosts: Arc::new(Mutex::new(NetworkHosts::new(Limits::default().paths))),
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
        let lease = self.begin_unconfirmed(remote, holder)?;
        lease.confirm(clock)?;
        Ok(lease)
    }

    /// Like [`PathMemory::begin`], for a connection whose client has not shown yet that it receives
    /// at `remote`: it leases the set with [`PathLease::confirm`]. Otherwise whoever sends a first
    /// packet with a forged address could keep the clients there from using the set.
    ///
    /// # Errors
    /// The interface name is invalid. The connection can do without a lease.
    pub fn begin_unconfirmed(
        &self,
        remote: IpAddr,
        holder: Holder,
    ) -> Result<PathLease, PathMemoryError> {
        let place = Some(self.place(remote)?);
        let state = LeaseState { place, is_unconfirmed: true, ..LeaseState::default() };
        Ok(PathLease {
            source: Some((self.clone(), holder)),
            state: Arc::new(Mutex::new(state)),
            resume_handle: ResumeHandle::new(),
        })
    }

    fn hosts(&self) -> MutexGuard<'_, NetworkHosts> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn place(&self, remote: IpAddr) -> Result<Place, KeyError> {
        let network = self.hosts().network_of(remote, self.prefixes, self.epoch.epoch());
        let key = self.key(network)?;
        Ok(Place { key, remote, measured_by: None, until: None, flushed: Flushed::default() })
    }

    fn key(&self, network: IpPrefix) -> Result<PathKey, KeyError> {
        PathKey::new(network, &self.local, 0)
    }

    /// Leases the set of `key` to `holder`.
    fn borrow(&self, key: &PathKey, holder: Holder, clock: Time) -> Result<Borrowed, StoreError> {
        let now = self.epoch.epoch();
        let mut store = self.store();
        Ok(match store.lease(key, now, holder)? {
            Some(path) => {
                let left = path.expires.as_unix_millis().saturating_sub(now.as_unix_millis());
                Borrowed::Set(path.parameters(clock + Span::from_millis(left)))
            }
            None if store.is_leased(key, now)? => Borrowed::InUse,
            None => Borrowed::Nothing,
        })
    }
}

/// What a store has of a path.
enum Borrowed {
    Set(SavedParameters),
    InUse,
    Nothing,
}

/// One connection's lease of the saved set of its path. Clones are the same lease.
///
/// After a migration it is for the new path: see [`PathLease::set_remote`].
#[derive(Debug, Clone)]
pub struct PathLease {
    /// Its store, if there is one, and the holder of its leases there.
    source: Option<(PathMemory, Holder)>,
    state: Arc<Mutex<LeaseState>>,
    resume_handle: ResumeHandle,
}

#[derive(Debug, Default)]
struct LeaseState {
    /// The place of its path in the store, if the path has one.
    place: Option<Place>,
    /// True if the connection has migrated to an address that is not known here yet.
    moved: bool,
    /// True until the client has shown that it receives at its address.
    is_unconfirmed: bool,
}

/// The place of a path in a store.
#[derive(Debug)]
struct Place {
    key: PathKey,
    remote: IpAddr,
    /// The host that measured the leased set, if it is known.
    measured_by: Option<IpAddr>,
    /// Time from which others may have the set if the connection has not used it by then.
    until: Option<Epoch>,
    /// Updates that the store has had.
    flushed: Flushed,
}

impl Place {
    /// After a retreat: if another host has measured the set, lets the hosts of the network keep
    /// sets of their own, and returns the key of this one.
    fn own_key(&self, memory: &PathMemory, now: Epoch) -> Option<PathKey> {
        self.measured_by.filter(|host| *host != self.remote)?;
        let (network, until) = (self.key.remote(), now + memory.lifetime);
        memory.key(memory.hosts().set_apart(network, self.remote, until)).ok()
    }
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
        Self { source: None, state: Arc::default(), resume_handle: ResumeHandle::new() }
    }

    /// Returns the handle for the connection's controller.
    pub fn resume_handle(&self) -> ResumeHandle {
        self.resume_handle.clone()
    }

    /// Leases the saved set, since the client's address is validated (RFC 9000 §8.1): after the
    /// handshake, or by a token. Only the first call counts.
    ///
    /// # Errors
    /// The store fails.
    pub fn confirm(&self, clock: Time) -> Result<(), StoreError> {
        let Some((memory, holder)) = &self.source else { return Ok(()) };
        let mut state = self.lock();
        if !std::mem::take(&mut state.is_unconfirmed) {
            return Ok(());
        }
        let Some(place) = &mut state.place else { return Ok(()) };
        match memory.borrow(&place.key, *holder, clock)? {
            Borrowed::Set(saved) => {
                place.measured_by = memory.hosts().measured_by(place.key.remote());
                place.until = Some(memory.epoch.epoch() + saved.rtt * ROUND_TRIPS);
                self.resume_handle.offer(saved);
            }
            Borrowed::InUse => self.resume_handle.refuse(Refusal::InUse),
            Borrowed::Nothing => {}
        }
        Ok(())
    }

    /// Handles a migration: the stack makes a new controller, whose handle this returns. The store
    /// is updated with what was learned of the old path. What the new path carries is not saved
    /// before [`PathLease::set_remote`] says where it leads.
    pub(crate) fn begin_path(&self) -> ResumeHandle {
        // Without the store, the connection continues as on an unknown path.
        if let Err(error) = self.flush(true) {
            tracing::warn!(%error, "path memory");
        }
        *self.lock() = LeaseState { moved: true, ..LeaseState::default() };
        self.resume_handle.begin_path()
    }

    /// Sets the peer's current address. After a migration, observations are saved under its key
    /// from now on. A saved set of that path is not used, since the connection has not confirmed
    /// the path from its start (RFC 9959 §3.2); it is only replaced as after any other use of the
    /// path. Without a migration, another address ends the use of the store: the stack has returned
    /// to an earlier path, of which nothing more is learned.
    ///
    /// # Errors
    /// The store fails, or the interface name is invalid.
    pub fn set_remote(&self, remote: IpAddr, clock: Time) -> Result<(), PathMemoryError> {
        let Some((memory, holder)) = &self.source else { return Ok(()) };
        if !self.lock().moved {
            let same = self.lock().place.as_ref().is_none_or(|place| place.remote == remote);
            if !same {
                self.flush(true)?;
                self.lock().place = None;
            }
            return Ok(());
        }
        let place = memory.place(remote)?;
        if let Borrowed::Set(saved) = memory.borrow(&place.key, *holder, clock)? {
            self.resume_handle.offer(saved);
            memory.store().release(&place.key, *holder)?;
        }
        *self.lock() = LeaseState { place: Some(place), ..LeaseState::default() };
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, LeaseState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if the connection could use the set that it has given back: call
    /// [`PathLease::lend_by_need`] at once.
    pub fn wants_again(&self) -> bool {
        self.resume_handle.wants_again()
    }

    /// Gives a set back that the connection has had no use for, so that another of its network can
    /// have it, and leases it again when it has. Call it now and then, and when
    /// [`PathLease::wants_again`].
    ///
    /// # Errors
    /// The store fails.
    pub fn lend_by_need(&self, clock: Time) -> Result<(), StoreError> {
        let Some((memory, holder)) = &self.source else { return Ok(()) };
        let mut state = self.lock();
        let Some(place) = &mut state.place else { return Ok(()) };
        if self.resume_handle.wants_again() {
            // Without an answer, it asks no more.
            let borrowed = memory
                .borrow(&place.key, *holder, clock)
                .inspect_err(|_| self.resume_handle.refuse(Refusal::InUse))?;
            match borrowed {
                Borrowed::Set(saved) => {
                    place.flushed.released = false;
                    place.until = Some(memory.epoch.epoch() + saved.rtt * ROUND_TRIPS);
                    self.resume_handle.lend_again();
                }
                Borrowed::InUse => self.resume_handle.refuse(Refusal::InUse),
                // A retreat of another connection has deleted it, or its Lifetime is over.
                Borrowed::Nothing => self.resume_handle.refuse(Refusal::Expired),
            }
        } else if place.until.take_if(|until| *until <= memory.epoch.epoch()).is_some() {
            self.resume_handle.give_back();
        }
        Ok(())
    }

    /// Returns true while no other connection may use the set of this path.
    pub(crate) fn in_use(&self) -> bool {
        let state = self.lock();
        let held = state.place.as_ref().is_some_and(|place| !place.flushed.released);
        held && !state.is_unconfirmed && self.source.is_some() && self.resume_handle.in_use()
    }

    /// Updates the store: deletes a set that met congestion, saves what was observed since, and
    /// releases a set that is no longer used. Call it now and then, and with `over` when the
    /// connection ends, or does not use its path any more.
    ///
    /// # Errors
    /// The store fails.
    pub fn flush(&self, over: bool) -> Result<(), StoreError> {
        let Some((memory, holder)) = &self.source else { return Ok(()) };
        let mut state = self.lock();
        if state.is_unconfirmed {
            return Ok(());
        }
        let Some(place) = &mut state.place else { return Ok(()) };
        if over {
            // If it has not jumped, it asks for the set before it does.
            self.resume_handle.give_back();
        }
        let now = memory.epoch.epoch();
        let mut store = memory.store();
        // First, since an observation made after the retreat replaces the deleted set.
        if self.resume_handle.retreated() && !place.flushed.forgotten {
            store.forget(&place.key)?;
            place.flushed.forgotten = true;
            if let Some(own) = place.own_key(memory, now) {
                store.release(&place.key, *holder)?;
                place.key = own;
            }
        }
        let Place { key, remote, flushed, .. } = place;
        if let Some(observed) =
            self.resume_handle.observed().filter(|observed| flushed.observed != Some(*observed))
        {
            let path = SavedPath::of(&observed, now, memory.lifetime)?;
            store.replace(key, path, now)?;
            memory.hosts().measured(key.remote(), *remote);
            flushed.observed = Some(observed);
        }
        if (over || !self.resume_handle.in_use()) && !flushed.released {
            store.release(key, *holder)?;
            flushed.released = true;
        }
        Ok(())
    }
}

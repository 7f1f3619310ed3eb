//! Saved parameters of a path, and the contract of their stores.

use super::key::PathKey;
use bentpipe_congestion::SavedParameters;
use bentpipe_units::{Bytes, Epoch, Span, Time};
use thiserror::Error;

/// Largest value in a store and in a token: a QUIC integer (RFC 9000 §16), which also fits a signed
/// 64-bit column.
pub(crate) const MAX_VALUE: u64 = (1 << 62) - 1;

/// The saved parameters of a path (RFC 9959: saved_cwnd, saved_rtt, Lifetime).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SavedPath {
    /// Congestion window that the path carried: saved_cwnd, in bytes.
    pub window: Bytes,
    /// Smallest RTT: saved_rtt.
    pub rtt: Span,
    /// RTT of the first round, if its packets waited for capacity
    /// ([`SavedParameters::first_rtt`]).
    pub first_rtt: Option<Span>,
    /// Time of the measurement.
    pub saved_at: Epoch,
    /// Time from which they are not used.
    pub expires: Epoch,
}

impl SavedPath {
    /// The set `saved`, measured at `now`, valid for `lifetime`.
    ///
    /// # Errors
    /// As [`SavedPath::check`].
    pub fn of(saved: &SavedParameters, now: Epoch, lifetime: Span) -> Result<Self, StoreError> {
        let path = Self {
            window: saved.window,
            rtt: saved.rtt,
            first_rtt: saved.first_rtt,
            saved_at: now,
            expires: now + lifetime,
        };
        path.check().map(|()| path)
    }

    /// A set measured at `now`, valid for `lifetime`, of a path whose first packets wait for no
    /// capacity.
    ///
    /// # Errors
    /// As [`SavedPath::check`].
    pub fn new(window: Bytes, rtt: Span, now: Epoch, lifetime: Span) -> Result<Self, StoreError> {
        Self::of(&SavedParameters::new(window, rtt), now, lifetime)
    }

    /// Returns the parameters as a connection uses them, valid until `valid_until` by its clock.
    pub fn parameters(&self, valid_until: Time) -> SavedParameters {
        SavedParameters {
            window: self.window,
            rtt: self.rtt,
            first_rtt: self.first_rtt,
            valid_until: Some(valid_until),
        }
    }

    /// Checks that the set is usable.
    ///
    /// # Errors
    /// A window, RTT or lifetime of zero, or a value beyond 2^62 - 1.
    pub fn check(&self) -> Result<(), StoreError> {
        let values = [
            ("window in bytes", self.window.get()),
            ("rtt in ns", self.rtt.as_nanos()),
            ("first rtt in ns", self.first_rtt.unwrap_or(self.rtt).as_nanos()),
            (
                "lifetime in ms",
                self.expires.as_unix_millis().saturating_sub(self.saved_at.as_unix_millis()),
            ),
            ("expiry in ms", self.expires.as_unix_millis()),
        ];
        match values.into_iter().find(|&(_, value)| value == 0 || value > MAX_VALUE) {
            Some((name, value)) => Err(StoreError::Unusable { name, value }),
            None => Ok(()),
        }
    }

    /// Returns true if it may be used at `now`. A set from the future may not: either clock is
    /// wrong, so its age is unknown.
    pub fn is_current(&self, now: Epoch) -> bool {
        self.saved_at <= now && now < self.expires
    }
}

/// The holder of a lease: a number unique to a connection. Several processes may share a store, so
/// it is random or made of the process and the connection, not counted from zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Holder(pub u64);

/// A lease of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The holder.
    pub holder: Holder,
    /// Start of the lease.
    pub since: Epoch,
    /// Time at which it expires.
    pub until: Epoch,
}

impl Lease {
    /// Returns true if it excludes other holders at `now`. A lease from the future does not:
    /// otherwise a clock that was set back would lock the path for as long as it was wrong.
    pub fn is_current(&self, now: Epoch) -> bool {
        self.since <= now && now < self.until
    }
}

/// Limits of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Duration of a lease, so that a holder that died frees its path. The default, our choice, is
    /// a minute: Careful Resume takes about ten RTTs, 7 s over a geostationary satellite. Leases
    /// are not renewed, so that a client that reads slowly does not keep the set from others.
    pub lease: Span,
    /// Most paths in the store; the least recently used is removed first. The default, our choice:
    /// 4096 paths take about a megabyte. 0 saves nothing.
    pub paths: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { lease: Span::from_secs(60), paths: 4096 }
    }
}

/// A path in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The key of the path.
    pub key: PathKey,
    /// The saved set.
    pub path: SavedPath,
    /// The current lease.
    pub lease: Option<Lease>,
}

/// A failure of a store. The connection continues without it, as on an unknown path.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StoreError {
    /// A set that is not usable.
    #[error("a path with {name} of {value} cannot be saved; allowed: 1 to {MAX_VALUE}")]
    Unusable {
        /// Name of the value.
        name: &'static str,
        /// The value.
        value: u64,
    },
    /// The storage failed.
    #[error("path store {place}: {reason}; {remedy}")]
    Storage {
        /// The file.
        place: String,
        /// The failure.
        reason: String,
        /// A remedy.
        remedy: String,
    },
}

/// Stores saved parameters: at most one set per path (RFC 9959: the parameters of a path are
/// replaced as a whole), each used by at most one connection at a time, in bounded memory.
///
/// The order of calls of a connection: [`lease`](Self::lease) when it begins;
/// [`replace`](Self::replace) as it measures, whether it had a lease or not;
/// [`forget`](Self::forget) when Safe Retreat shows that the set was wrong;
/// [`release`](Self::release) when it no longer uses the set. Each call is optional, and calls for
/// unknown paths have no effect.
pub trait PathStore: std::fmt::Debug + Send {
    /// Saves `path` for `key`, replacing the set there. A lease stays with its holder.
    ///
    /// # Errors
    /// The set is not usable ([`SavedPath::check`]), or the storage fails.
    fn replace(&mut self, key: &PathKey, path: SavedPath, now: Epoch) -> Result<(), StoreError>;

    /// Leases the set of `key` to `holder`, unless there is none, it is not current, or another
    /// holder has it. A holder that leases again renews its lease for the whole [`Limits::lease`].
    ///
    /// # Errors
    /// The storage fails.
    fn lease(
        &mut self,
        key: &PathKey,
        now: Epoch,
        holder: Holder,
    ) -> Result<Option<SavedPath>, StoreError>;

    /// Returns true if only another holder's lease prevents the use of the set of `key` at `now`.
    ///
    /// # Errors
    /// The storage fails.
    fn is_leased(&self, key: &PathKey, now: Epoch) -> Result<bool, StoreError>;

    /// Ends the lease of `holder` on `key`; the lease of another holder stays.
    ///
    /// # Errors
    /// The storage fails.
    fn release(&mut self, key: &PathKey, holder: Holder) -> Result<(), StoreError>;

    /// Deletes the set of `key`, leased or not. Returns true if there was one.
    ///
    /// # Errors
    /// The storage fails.
    fn forget(&mut self, key: &PathKey) -> Result<bool, StoreError>;

    /// Returns the entries that have not expired at `now`, in the order of keys, without expired
    /// leases. Includes sets from the future, so that they can be found and deleted, though they
    /// are not leased.
    ///
    /// # Errors
    /// The storage fails.
    fn list(&self, now: Epoch) -> Result<Vec<Entry>, StoreError>;

    /// Deletes everything. Returns the number of paths.
    ///
    /// # Errors
    /// The storage fails.
    fn forget_all(&mut self) -> Result<usize, StoreError>;

    /// Deletes the sets that have expired at `now`. Returns their number.
    /// [`replace`](Self::replace) does this when the store is full; call it now and then to respect
    /// lifetimes otherwise.
    ///
    /// # Errors
    /// The storage fails.
    fn expire(&mut self, now: Epoch) -> Result<usize, StoreError>;
}

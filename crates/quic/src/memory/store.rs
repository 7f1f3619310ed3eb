//! What is remembered of a path, and what every store of it keeps to.

use super::key::PathKey;
use bentpipe_units::{Bytes, Epoch, Span};
use thiserror::Error;

/// Largest value that a store and a token carry: a QUIC integer (RFC 9000 §16), which a signed
/// 64-bit column holds too.
pub(crate) const MAX_VALUE: u64 = (1 << 62) - 1;

/// What a sender knew of a path (RFC 9959: saved_cwnd, saved_rtt, Lifetime).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SavedPath {
    /// Congestion window that the path was seen to carry: saved_cwnd, bytes.
    pub window: Bytes,
    /// Smallest round trip seen: saved_rtt.
    pub rtt: Span,
    /// When they were measured.
    pub saved_at: Epoch,
    /// From when on they are not used.
    pub expires: Epoch,
}

impl SavedPath {
    /// A set measured at `now`, good for `lifetime`.
    ///
    /// # Errors
    /// As [`SavedPath::check`].
    pub fn new(window: Bytes, rtt: Span, now: Epoch, lifetime: Span) -> Result<Self, StoreError> {
        let path = Self { window, rtt, saved_at: now, expires: now + lifetime };
        path.check().map(|()| path)
    }

    /// Whether it says something.
    ///
    /// # Errors
    /// A window or round trip of zero, a lifetime of nothing, a value beyond 2^62 - 1.
    pub fn check(&self) -> Result<(), StoreError> {
        let values = [
            ("window in bytes", self.window.get()),
            ("rtt in ns", self.rtt.as_nanos()),
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

    /// Whether it may be used at `now`. A set from the future is not: its clock or ours is wrong,
    /// so its age is unknown.
    pub fn is_current(&self, now: Epoch) -> bool {
        self.saved_at <= now && now < self.expires
    }
}

/// Who holds a lease: a number for each connection. Several processes may share a store, so it is
/// drawn at random or made of the process and the connection, not counted from zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Holder(pub u64);

/// A set on loan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// To whom.
    pub holder: Holder,
    /// Since when.
    pub since: Epoch,
    /// When it ends by itself.
    pub until: Epoch,
}

impl Lease {
    /// Whether it keeps others out at `now`. One from the future does not: a clock that has been
    /// set back would otherwise lock the path for as long as it was wrong.
    pub fn is_current(&self, now: Epoch) -> bool {
        self.since <= now && now < self.until
    }
}

/// How much a store keeps and for how long it lends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// After this a lease ends by itself, so that a holder that died frees its path. The default,
    /// our choice, is a minute: Careful Resume is over within some ten round trips, 7 s over a
    /// geostationary satellite, and a holder that needs longer leases again.
    pub lease: Span,
    /// Most paths remembered; the one used least recently goes first. The default, our choice: 4096
    /// paths are about a megabyte. Zero remembers nothing.
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
    /// Which path.
    pub key: PathKey,
    /// What is remembered.
    pub path: SavedPath,
    /// The loan, where there is one.
    pub lease: Option<Lease>,
}

/// What a store could not do. A connection goes on without: it starts as on an unknown path.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StoreError {
    /// A set that says nothing.
    #[error("a path with {name} of {value} cannot be remembered; allowed: 1 to {MAX_VALUE}")]
    Unusable {
        /// Which value.
        name: &'static str,
        /// The value.
        value: u64,
    },
    /// The place where paths are kept failed.
    #[error("path store {place}: {reason}; {remedy}")]
    Storage {
        /// The file.
        place: String,
        /// What happened.
        reason: String,
        /// What can be done.
        remedy: String,
    },
}

/// Remembers paths: at most one set for each (RFC 9959: parameters of a path are replaced as a
/// whole), each used by at most one connection at a time, in bounded memory.
///
/// The order of calls of a connection: [`lease`](Self::lease) when it begins;
/// [`replace`](Self::replace) as it measures, whether it had a lease or not;
/// [`forget`](Self::forget) when Safe Retreat shows that the set was wrong;
/// [`release`](Self::release) when it no longer uses the set. Any may be left out, and calls for
/// unknown paths do nothing.
pub trait PathStore: std::fmt::Debug + Send {
    /// Remembers `path` for `key` instead of what was there. A lease stays with its holder.
    ///
    /// # Errors
    /// A set that says nothing ([`SavedPath::check`]); storage that fails.
    fn replace(&mut self, key: &PathKey, path: SavedPath, now: Epoch) -> Result<(), StoreError>;

    /// Lends the set of `key` to `holder`, unless there is none, it is not current, or another
    /// holds it. A holder that asks again holds it anew for the whole [`Limits::lease`].
    ///
    /// # Errors
    /// Storage that fails.
    fn lease(
        &mut self,
        key: &PathKey,
        now: Epoch,
        holder: Holder,
    ) -> Result<Option<SavedPath>, StoreError>;

    /// Whether the set of `key` could be used at `now` but for its being lent: why a lease was
    /// refused.
    ///
    /// # Errors
    /// Storage that fails.
    fn is_lent(&self, key: &PathKey, now: Epoch) -> Result<bool, StoreError>;

    /// Gives back what `holder` holds of `key`; what another holds stays with it.
    ///
    /// # Errors
    /// Storage that fails.
    fn release(&mut self, key: &PathKey, holder: Holder) -> Result<(), StoreError>;

    /// Deletes what is remembered of `key`, lent or not; says whether there was something.
    ///
    /// # Errors
    /// Storage that fails.
    fn forget(&mut self, key: &PathKey) -> Result<bool, StoreError>;

    /// What has not expired at `now`, in the order of keys; leases that have ended are left out. A
    /// set from the future is listed, so that it can be found and forgotten, though it is not lent.
    ///
    /// # Errors
    /// Storage that fails.
    fn list(&self, now: Epoch) -> Result<Vec<Entry>, StoreError>;

    /// Deletes everything; says how many paths that were.
    ///
    /// # Errors
    /// Storage that fails.
    fn forget_all(&mut self) -> Result<usize, StoreError>;

    /// Deletes what has expired at `now`; says how many paths that were. [`replace`](Self::replace)
    /// does it where the store is full; calling it now and then keeps nothing longer than promised.
    ///
    /// # Errors
    /// Storage that fails.
    fn expire(&mut self, now: Epoch) -> Result<usize, StoreError>;
}

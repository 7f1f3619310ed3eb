//! The memory of paths: what a sender found out about a path, kept for its next connection (RFC
//! 9959).
//!
//! - [`PathKey`] says which path: remote network, local interface or address, traffic class;
//! - [`SavedPath`] is what is remembered of it, for a while;
//! - [`PathStore`] keeps at most one set for each path and lends it to one connection at a time;
//! - [`MemoryStore`] is a store that forgets with its process.
//!
//! Nothing here does I/O or reads a clock. The store that outlives a process implements the same
//! trait elsewhere.

mod key;
mod store;
mod table;

pub use key::{IpPrefix, KeyError, MAX_LOCAL, PathKey, PrefixError, Prefixes};
pub use store::{Entry, Holder, Lease, Limits, PathStore, SavedPath, StoreError};
pub use table::MemoryStore;

//! The path memory: what a sender measured on a path, saved for its next connection (RFC 9959).
//!
//! - [`PathKey`] identifies a path: remote network, local interface or address, traffic class;
//! - [`SavedPath`] is the saved set of parameters, with a lifetime;
//! - [`PathStore`] keeps at most one set per path and leases it to one connection at a time;
//! - [`MemoryStore`] is a store in memory;
//! - [`PathMemory`] leases sets to connections, [`PathLease`] is one connection's lease;
//! - [`token`] seals sets for clients to keep.
//!
//! Nothing here does I/O or reads a clock. The store that outlives a process implements the same
//! trait elsewhere.

mod hosts;
mod key;
mod lease;
mod memory_store;
mod store;
pub mod token;

pub use key::{IpPrefix, KeyError, MAX_LOCAL, PathKey, PrefixError, Prefixes};
pub use lease::{DEFAULT_LIFETIME, PathLease, PathMemory, PathMemoryError};
pub use memory_store::MemoryStore;
pub use store::{Entry, Holder, Lease, Limits, PathStore, SavedPath, StoreError};

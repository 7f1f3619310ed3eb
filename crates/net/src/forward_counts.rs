//! Counters of datagrams that go to another thread or process.

use std::sync::atomic::AtomicU64;

/// Counters of forwarded datagrams.
#[derive(Debug, Default)]
pub struct ForwardCounts {
    /// Datagrams that another thread had received, because the kernel did not steer them, or that
    /// are for a process before this one.
    pub forwarded: AtomicU64,
    /// Datagrams lost because too many were waiting for their thread or process.
    pub lost: AtomicU64,
}

//! A memory budget for incomplete frames, shared by the connections of a server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A budget for the bytes of incomplete HTTP/3 frames. Clones share it.
///
/// A frame that is passed on whole is held until its last byte arrives, and held bytes are not
/// returned to flow control, so a connection holds no more than its window. Many requests with
/// interleaved headers could then block each other, so held bytes are returned while this budget
/// has room for them.
#[derive(Debug, Clone)]
pub struct HeaderMemory(Arc<Budget>);

#[derive(Debug)]
struct Budget {
    max_bytes: u64,
    used_bytes: AtomicU64,
}

impl HeaderMemory {
    /// A budget of `max_bytes` bytes.
    pub fn new(max_bytes: u64) -> Self {
        Self(Arc::new(Budget { max_bytes, used_bytes: AtomicU64::new(0) }))
    }

    /// Returns the number of bytes taken.
    pub fn used(&self) -> u64 {
        self.0.used_bytes.load(Ordering::Relaxed)
    }

    /// Takes `bytes` if there is room for all of them. Returns false otherwise.
    pub(super) fn try_take(&self, bytes: u64) -> bool {
        let max = self.0.max_bytes;
        let taken = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= max);
        self.0.used_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).is_ok()
    }

    /// Returns `bytes` that were taken to the budget.
    pub(super) fn give_back(&self, bytes: u64) {
        self.0.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_is_not_exceeded_and_returned_bytes_can_be_taken_again() {
        let memory = HeaderMemory::new(100);
        let clone = memory.clone();
        assert!(memory.try_take(60) && !clone.try_take(41) && clone.try_take(40));
        assert_eq!(memory.used(), 100);
        memory.give_back(60);
        assert!(clone.try_take(60) && !memory.try_take(u64::MAX));
    }
}

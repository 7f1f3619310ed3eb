//! Memory for frames of which only a part has arrived, shared by the connections of a server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A budget for bytes of incomplete HTTP/3 frames. Clones share it.
///
/// A frame that is handed on whole is held until its last byte is there, and what is held does not
/// return flow-control credit: a connection holds no more than its window. Many requests whose
/// headers arrive interleaved could then wait for each other, so held bytes return their credit as
/// long as this budget has room for them.
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

    /// Bytes taken at present.
    pub fn used(&self) -> u64 {
        self.0.used_bytes.load(Ordering::Relaxed)
    }

    /// Takes `bytes` if there is room for all of them.
    pub(super) fn try_take(&self, bytes: u64) -> bool {
        let max = self.0.max_bytes;
        let taken = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= max);
        self.0.used_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).is_ok()
    }

    /// Gives back `bytes` that were taken.
    pub(super) fn give_back(&self, bytes: u64) {
        self.0.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_taken_than_there_is_and_what_comes_back_can_be_taken_again() {
        let memory = HeaderMemory::new(100);
        let clone = memory.clone();
        assert!(memory.try_take(60) && !clone.try_take(41) && clone.try_take(40));
        assert_eq!(memory.used(), 100);
        memory.give_back(60);
        assert!(clone.try_take(60) && !memory.try_take(u64::MAX));
    }
}

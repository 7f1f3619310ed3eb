//! How many datagrams of a connection the stack makes at once.

use std::num::NonZeroUsize;

/// Size from which datagrams are made several at once, in bytes.
const LARGE: usize = 1200;

/// Decides how many datagrams the stack may make at once: several only after a large one.
///
/// All datagrams of a batch have the size of the first. After a small one, noq-proto 1.4 fills the
/// batch with datagrams that have no room for the frames that wait, and contain padding alone.
/// Padding counts as in flight but is never acknowledged (RFC 9002 §2): a small window stays full
/// for ever, and MAX_DATA that was lost is never sent again.
#[derive(Debug, Default)]
pub(super) struct Batches {
    sends_large: bool,
}

impl Batches {
    /// Returns how many datagrams may be made at once, at most `most`.
    pub fn largest(&self, most: NonZeroUsize) -> NonZeroUsize {
        if self.sends_large { most } else { NonZeroUsize::MIN }
    }

    /// Notes that datagrams of `segment_size` bytes were made.
    pub fn made(&mut self, segment_size: usize) {
        self.sends_large = segment_size >= LARGE;
    }
}

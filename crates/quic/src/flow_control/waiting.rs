//! What waits behind gaps in the streams of a connection.

/// Chunks behind gaps that a connection may have in any case. Our choice: a chunk takes about 100
/// bytes besides its content, and hundreds of small ones are hundreds of losses within an RTT.
const MIN_CHUNKS: u64 = 256;
/// Bytes of the connection's window for each further chunk. Neighbours below this size are merged
/// ([`Reassembler`](crate::Reassembler)), so that data without gaps has no more chunks.
const BYTES_PER_CHUNK: u64 = 512;

/// What a reader has behind gaps, or what was reported of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Waiting {
    /// Bytes.
    pub bytes: u64,
    /// Chunks with a gap before each.
    pub chunks: u64,
}

/// Number of chunks behind gaps in all streams of a connection.
///
/// Flow control bounds their bytes, and a peer that sends every second byte could make each of
/// these take a hundred.
#[derive(Debug, Default)]
pub(crate) struct GapChunks(u64);

impl GapChunks {
    /// Updates the chunks of one reader from `reported` to `now`.
    pub fn update(&mut self, reported: &mut u64, now: u64) {
        self.0 = self.0.saturating_sub(*reported).saturating_add(now);
        *reported = now;
    }

    /// Returns whether there are more than a connection may have whose window is up to `window`
    /// bytes. 0: it is not known.
    pub fn exceed(&self, window: u64) -> bool {
        window > 0 && self.0 > MIN_CHUNKS + window / BYTES_PER_CHUNK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_bounded_by_the_window() {
        let exceed = |chunks, window| GapChunks(chunks).exceed(window);
        assert!(!exceed(384, 65_536) && exceed(385, 65_536));
        assert!(!exceed(u64::MAX, 0));
    }

    #[test]
    fn chunks_of_several_readers_are_added() {
        let (mut all, mut one, mut other) = (GapChunks::default(), 0, 0);
        all.update(&mut one, 200);
        all.update(&mut other, 250);
        all.update(&mut one, 135);
        assert!(all.exceed(65_536) && (one, other) == (135, 250));
        all.update(&mut one, 0);
        assert!(!all.exceed(65_536));
    }
}

//! Reassembly of a stream that is read out of order.
//!
//! noq-proto closes a connection once about two thousand chunks wait behind a gap, and on a fast
//! long path a single loss is enough for that. So every stream is read out of order and reassembled
//! here.

use bytes::Bytes;
use std::collections::BTreeMap;

/// A chunk smaller than this, in bytes, is copied out of its datagram, and small neighbours are
/// merged, so that a peer that sends tiny frames cannot pin a whole datagram with each byte.
const SMALL: usize = 512;
/// Largest merged chunk, in bytes: a copy per byte, not a copy per byte per merge.
const MERGED: usize = 4096;

/// The bytes of a stream that have arrived and are not yet delivered.
///
/// Bounded by the flow-control window: the caller stops reading from the transport while
/// [`Reassembler::held`] exceeds its limit.
#[derive(Debug, Default)]
pub struct Reassembler {
    next: u64,
    held: u64,
    /// Chunks by offset; never overlapping, never empty, never below `next`.
    chunks: BTreeMap<u64, Bytes>,
}

impl Reassembler {
    /// Starts at `offset`: the bytes before were delivered otherwise.
    pub fn starting_at(offset: u64) -> Self {
        Self { next: offset, ..Self::default() }
    }

    /// Returns the offset of the next byte to deliver.
    pub fn next_offset(&self) -> u64 {
        self.next
    }

    /// Returns the number of bytes that wait here.
    pub fn held(&self) -> u64 {
        self.held
    }

    /// Returns the number of chunks that wait here.
    pub fn chunks(&self) -> usize {
        self.chunks.len()
    }

    /// Inserts `bytes` at `offset`. Ignores bytes that are already here.
    pub fn insert(&mut self, mut offset: u64, mut bytes: Bytes) {
        if offset < self.next {
            let known = self.next - offset;
            if known >= bytes.len() as u64 {
                return;
            }
            bytes = bytes.slice(known as usize..);
            offset = self.next;
        }
        // The common case: in order and nothing waiting.
        if self.chunks.is_empty() && !bytes.is_empty() {
            self.put(offset, bytes);
            return;
        }
        if let Some((&before, chunk)) = self.chunks.range(..=offset).next_back() {
            let end = before + chunk.len() as u64;
            if end > offset {
                let known = end - offset;
                if known >= bytes.len() as u64 {
                    return;
                }
                bytes = bytes.slice(known as usize..);
                offset = end;
            }
        }
        while !bytes.is_empty() {
            let following =
                self.chunks.range(offset..).next().map(|(&at, chunk)| (at, chunk.len() as u64));
            let Some((at, length)) = following else {
                self.put(offset, bytes);
                return;
            };
            let gap = (at - offset).min(bytes.len() as u64) as usize;
            if gap > 0 {
                self.put(offset, bytes.slice(..gap));
            }
            let skip = gap as u64 + length.min((bytes.len() - gap) as u64);
            bytes = bytes.slice(skip as usize..);
            offset += skip;
        }
    }

    fn put(&mut self, offset: u64, bytes: Bytes) {
        self.held += bytes.len() as u64;
        if bytes.len() < SMALL {
            if let Some((&before, chunk)) = self.chunks.range(..offset).next_back()
                && before + chunk.len() as u64 == offset
                && chunk.len() + bytes.len() <= MERGED
            {
                // Grows in place if the buffer is not shared, so that merging tiny neighbours stays
                // linear.
                if let Some(chunk) = self.chunks.remove(&before) {
                    let mut grown = chunk.try_into_mut().unwrap_or_else(|shared| {
                        let mut own = bytes::BytesMut::with_capacity(MERGED);
                        own.extend_from_slice(&shared);
                        own
                    });
                    grown.extend_from_slice(&bytes);
                    self.chunks.insert(before, grown.freeze());
                }
                return;
            }
            self.chunks.insert(offset, Bytes::copy_from_slice(&bytes));
            return;
        }
        self.chunks.insert(offset, bytes);
    }

    /// Returns all chunks by offset, whatever is missing between them.
    pub(crate) fn into_chunks(self) -> impl Iterator<Item = (u64, Bytes)> {
        self.chunks.into_iter()
    }

    /// Removes and returns the next bytes in order. `None` while they are missing.
    pub fn pop(&mut self) -> Option<Bytes> {
        let entry = self.chunks.first_entry()?;
        if *entry.key() != self.next {
            return None;
        }
        let bytes = entry.remove();
        self.next += bytes.len() as u64;
        self.held -= bytes.len() as u64;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn drain(reader: &mut Reassembler, out: &mut Vec<u8>) {
        while let Some(bytes) = reader.pop() {
            out.extend_from_slice(&bytes);
        }
    }

    #[test]
    fn a_gap_holds_back_the_bytes_behind_it() {
        let mut reader = Reassembler::default();
        reader.insert(3, Bytes::from_static(b"def"));
        assert_eq!(reader.pop(), None);
        assert_eq!(reader.held(), 3);
        reader.insert(0, Bytes::from_static(b"abc"));
        let mut out = Vec::new();
        drain(&mut reader, &mut out);
        assert_eq!(out, b"abcdef");
        assert_eq!(reader.held(), 0);
    }

    #[test]
    fn ten_thousand_chunks_behind_a_gap_are_no_error() {
        let mut reader = Reassembler::default();
        for index in 1..10_000u64 {
            reader.insert(index * 1000, Bytes::from(vec![index as u8; 1000]));
        }
        assert_eq!(reader.pop(), None);
        reader.insert(0, Bytes::from(vec![0; 1000]));
        let mut out = Vec::new();
        drain(&mut reader, &mut out);
        assert_eq!(out.len(), 10_000_000);
    }

    #[test]
    fn single_bytes_are_merged_and_pin_no_datagram() {
        let mut reader = Reassembler::default();
        for offset in 0..40_000u64 {
            let datagram = Bytes::from(vec![offset as u8; 1200]);
            reader.insert(offset + 1, datagram.slice(..1));
        }
        assert_eq!(reader.held(), 40_000);
        assert!(reader.chunks() <= 40_000 / MERGED + 1, "{} chunks", reader.chunks());
    }

    proptest! {
        #[test]
        fn chunks_in_any_order_give_the_stream(
            pieces in proptest::collection::vec((0u64..3000, 1usize..700), 0..60),
            total in 1usize..3000,
        ) {
            let stream: Vec<u8> = (0..total).map(|index| (index * 31 % 251) as u8).collect();
            let mut reader = Reassembler::default();
            let mut out = Vec::new();
            for (offset, length) in pieces {
                let start = (offset as usize).min(total);
                let end = (start + length).min(total);
                reader.insert(start as u64, Bytes::copy_from_slice(&stream[start..end]));
                if length % 3 == 0 {
                    drain(&mut reader, &mut out);
                }
                prop_assert!(reader.held() <= total as u64);
            }
            reader.insert(0, Bytes::copy_from_slice(&stream));
            drain(&mut reader, &mut out);
            prop_assert_eq!(&out, &stream);
            prop_assert_eq!(reader.held(), 0);
            prop_assert_eq!(reader.next_offset(), total as u64);
        }
    }
}

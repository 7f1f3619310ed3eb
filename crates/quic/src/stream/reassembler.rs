//! Reassembly of a stream that is read out of order.
//!
//! noq-proto closes a connection once about two thousand chunks wait behind a gap, and on a fast
//! long path a single loss is enough for that. So every stream is read out of order and reassembled
//! here.

use crate::flow_control::Waiting;
use bytes::{Bytes, BytesMut};
use std::collections::{BTreeMap, VecDeque};

/// A chunk smaller than this, in bytes, is copied out of its datagram, and small neighbours are
/// merged, so that a peer that sends tiny frames cannot pin a whole datagram with each byte.
const SMALL: usize = 512;
/// Largest merged chunk, in bytes: a copy per byte, not a copy per byte per merge.
const MERGED: usize = 4096;
/// Chunks in order for which memory is kept. Our choice: what most reads take, and 128 bytes.
const KEPT: usize = 4;

/// The bytes of a stream that have arrived and are not yet delivered.
///
/// Bounded by the flow-control window: the caller stops reading from the transport while
/// [`Reassembler::held`] exceeds its limit.
#[derive(Debug, Default)]
pub struct Reassembler {
    next: u64,
    held: u64,
    /// Chunks in order, from `next` to `ready_end`. Most streams need no map, whose first entry
    /// takes half a kilobyte for good.
    ready: VecDeque<Bytes>,
    ready_end: u64,
    /// Chunks by offset; never overlapping, never empty, never below `ready_end`.
    chunks: BTreeMap<u64, Bytes>,
}

impl Reassembler {
    /// Starts at `offset`: the bytes before were delivered otherwise.
    pub fn starting_at(offset: u64) -> Self {
        Self { next: offset, ready_end: offset, ..Self::default() }
    }

    /// Returns the offset of the next byte to deliver.
    pub fn next_offset(&self) -> u64 {
        self.next
    }

    /// Returns the number of bytes that wait here.
    pub fn held(&self) -> u64 {
        self.held
    }

    /// Returns what waits behind gaps once all bytes in order were delivered. Without gaps, each
    /// chunk but the last has at least 512 bytes.
    pub(crate) fn waiting(&self) -> Waiting {
        Waiting { bytes: self.held, chunks: self.chunks.len() as u64 }
    }

    /// Returns the number of chunks that wait here.
    pub fn chunks(&self) -> usize {
        self.ready.len() + self.chunks.len()
    }

    /// Inserts `bytes` at `offset`. Ignores bytes that are already here.
    pub fn insert(&mut self, mut offset: u64, mut bytes: Bytes) {
        if offset < self.ready_end {
            let known = self.ready_end - offset;
            if known >= bytes.len() as u64 {
                return;
            }
            bytes = bytes.slice(known as usize..);
            offset = self.ready_end;
        }
        // The common case: in order and nothing waiting.
        if self.chunks.is_empty() && !bytes.is_empty() {
            if offset == self.ready_end {
                self.append(bytes);
            } else {
                self.put(offset, bytes);
            }
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

    /// Adds what follows the chunks in order.
    fn append(&mut self, bytes: Bytes) {
        self.held += bytes.len() as u64;
        self.ready_end += bytes.len() as u64;
        match self.ready.back_mut() {
            Some(last) if is_merged(last, &bytes) => {
                *last = merge(std::mem::take(last), &bytes);
            }
            _ => self.ready.push_back(own_if_small(bytes)),
        }
    }

    fn put(&mut self, offset: u64, bytes: Bytes) {
        self.held += bytes.len() as u64;
        if let Some((&before, chunk)) = self.chunks.range_mut(..offset).next_back()
            && before + chunk.len() as u64 == offset
            && is_merged(chunk, &bytes)
        {
            *chunk = merge(std::mem::take(chunk), &bytes);
            return;
        }
        self.chunks.insert(offset, own_if_small(bytes));
    }

    /// Returns all chunks by offset, whatever is missing between them.
    pub(crate) fn into_chunks(self) -> impl Iterator<Item = (u64, Bytes)> {
        let mut next = self.next;
        let ready = self.ready.into_iter().map(move |bytes| {
            let at = next;
            next += bytes.len() as u64;
            (at, bytes)
        });
        ready.chain(self.chunks)
    }

    /// Removes and returns the next bytes in order. `None` while they are missing.
    pub fn pop(&mut self) -> Option<Bytes> {
        let bytes = match self.ready.pop_front() {
            Some(bytes) => bytes,
            None => self.pop_from_map()?,
        };
        self.next += bytes.len() as u64;
        self.held -= bytes.len() as u64;
        if self.ready.is_empty() && self.ready.capacity() > KEPT {
            self.ready = VecDeque::new();
        }
        Some(bytes)
    }

    fn pop_from_map(&mut self) -> Option<Bytes> {
        let entry = self.chunks.first_entry()?;
        if *entry.key() != self.next {
            return None;
        }
        let bytes = entry.remove();
        self.ready_end += bytes.len() as u64;
        if self.chunks.is_empty() {
            // An empty map keeps the memory of its entries.
            self.chunks = BTreeMap::new();
        }
        Some(bytes)
    }
}

/// Returns whether `bytes` become a part of the chunk before them.
fn is_merged(before: &Bytes, bytes: &Bytes) -> bool {
    bytes.len() < SMALL && before.len() + bytes.len() <= MERGED
}

/// Appends to a chunk. It grows in place if its buffer is not shared, so that merging tiny
/// neighbours stays linear.
fn merge(chunk: Bytes, bytes: &Bytes) -> Bytes {
    let mut grown = chunk.try_into_mut().unwrap_or_else(|shared| {
        let mut own = BytesMut::with_capacity(MERGED);
        own.extend_from_slice(&shared);
        own
    });
    grown.extend_from_slice(bytes);
    grown.freeze()
}

/// Copies a small chunk out of its datagram.
fn own_if_small(bytes: Bytes) -> Bytes {
    if bytes.len() < SMALL { Bytes::copy_from_slice(&bytes) } else { bytes }
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

    #[test]
    fn an_empty_reader_keeps_little_memory() {
        let mut reader = Reassembler::default();
        for index in (1..100u64).chain([0]).chain(100..200) {
            reader.insert(index * 1000, Bytes::from(vec![0; 1000]));
        }
        assert_eq!(reader.chunks(), 200);
        while reader.pop().is_some() {}
        assert_eq!((reader.next_offset(), reader.chunks()), (200_000, 0));
        assert!(reader.ready.capacity() <= KEPT, "{}", reader.ready.capacity());
        // In order again: nothing goes through the map.
        (200..204u64).for_each(|index| {
            reader.insert(index * 1000, Bytes::from(vec![0; 1000]));
        });
        assert_eq!((reader.ready.len(), reader.chunks.len()), (4, 0));
        let all: Vec<u64> = reader.into_chunks().map(|(at, _)| at).collect();
        assert_eq!(all, [200_000, 201_000, 202_000, 203_000]);
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

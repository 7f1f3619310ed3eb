//! Stream data of packets with many frames, and the ends of streams, kept beside the stack.
//!
//! noq-proto 1.4 loses data of a stream that is read out of order. Once the datagrams that it holds
//! exceed their data by 32,768 bytes, it compacts them, and takes for read what lies before the
//! *number* of bytes read (`Assembler::defragment`); out of order that includes gaps. A packet with
//! two dozen small frames is enough, such as a retransmission of what several packets had left of
//! others. The peer's data is acknowledged and gone: the stream never ends.
//!
//! So the data of such packets is copied here, before the stack sees it, and given to the reader
//! besides. The stack never reports the end of a stream of which it lost data. That follows from
//! the final size, which is noted here too.

use super::frames::{Kind, split};
use super::keys::{Tap, tapped};
use super::packet_info::Space;
use crate::tls::wrapped::WrapKeys;
use crate::varint::Reader;
use bytes::Bytes;
use noq_proto::crypto::PacketKey;
use noq_proto::{StreamId, VarInt};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Bits of the type of a STREAM frame.
const FIN: u8 = 0x01;
const LENGTH: u8 = 0x02;
const OFFSET: u8 = 0x04;
/// Fewest STREAM frames of a packet whose data is kept. The datagrams of fewer, at 1,500 bytes for
/// each frame, and those of frames that wait unread stay below the threshold.
const MANY: usize = 8;
/// Most parts that wait: more than a datagram of 64 KiB can have.
const MAX_WAITING: usize = 32_768;

/// A STREAM frame (RFC 9000 §19.8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StreamFrame {
    pub id: StreamId,
    pub offset: u64,
    /// Its data, if it was kept.
    pub data: Option<Bytes>,
    /// Size of the stream, if the frame ends it.
    pub final_size: Option<u64>,
}

/// The frames of one connection that wait for its readers. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct SmallFrames(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Vec<StreamFrame>>,
    /// Whether any wait: few packets have such frames, and a load is cheaper than a lock.
    any: AtomicBool,
}

impl SmallFrames {
    /// Moves the frames that arrived since the last call to `into`.
    pub(crate) fn take(&self, into: &mut Vec<StreamFrame>) {
        if self.0.any.load(Ordering::Acquire) {
            let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            into.append(&mut waiting);
            self.0.any.store(false, Ordering::Release);
        }
    }

    fn add(&self, payload: &[u8]) {
        let (mut count, mut ends) = (0, false);
        each_stream_frame(payload, |frame| {
            count += 1;
            ends |= is_last(frame);
        });
        let many = count >= MANY;
        if !many && !ends {
            return;
        }
        let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        each_stream_frame(payload, |frame| {
            if waiting.len() < MAX_WAITING && (many || is_last(frame)) {
                waiting.extend(parsed(frame, many));
            }
        });
        self.0.any.store(true, Ordering::Release);
    }
}

impl WrapKeys for SmallFrames {
    fn packet(&self, key: Box<dyn PacketKey>, space: Space) -> Box<dyn PacketKey> {
        match space {
            Space::Data => tapped(key, space, self.clone()),
            Space::Initial | Space::Handshake => key,
        }
    }
}

impl Tap for SmallFrames {
    fn opened(&self, _: Space, _: u64, _: &[u8], _: usize, payload: &[u8]) {
        self.add(payload);
    }
}

/// Calls `take` with what begins with each STREAM frame.
fn each_stream_frame(payload: &[u8], mut take: impl FnMut(&[u8])) {
    split(payload, |kind, frame| {
        if kind == Kind::Stream {
            take(frame);
        }
    });
}

/// Returns true if the STREAM frame at the beginning has the FIN bit.
fn is_last(frame: &[u8]) -> bool {
    frame.first().is_some_and(|kind| kind & FIN != 0)
}

/// Parses the STREAM frame at the beginning.
fn parsed(frame: &[u8], with_data: bool) -> Option<StreamFrame> {
    let mut rest = Reader(frame);
    let kind = rest.varint()?;
    let id = StreamId::from(VarInt::from_u64(rest.varint()?).ok()?);
    let offset = if kind & u64::from(OFFSET) != 0 { rest.varint()? } else { 0 };
    let data = if kind & u64::from(LENGTH) != 0 { rest.text()? } else { rest.0 };
    let end = offset.checked_add(data.len() as u64)?;
    Some(StreamFrame {
        id,
        offset,
        data: with_data.then(|| Bytes::copy_from_slice(data)),
        final_size: is_last(frame).then_some(end),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream_frame(offset: u8, data: &[u8], last: bool) -> Vec<u8> {
        let mut frame = vec![0x08 | OFFSET | LENGTH | u8::from(last), 4, offset, data.len() as u8];
        frame.extend_from_slice(data);
        frame
    }

    fn kept(payload: &[u8]) -> Vec<StreamFrame> {
        let (frames, mut taken) = (SmallFrames::default(), Vec::new());
        frames.add(payload);
        frames.take(&mut taken);
        taken
    }

    #[test]
    fn data_of_packets_with_many_frames_is_kept() {
        let mut payload = vec![0x01];
        (0..MANY as u8).for_each(|at| payload.extend(stream_frame(2 * at, &[at], false)));
        let frames = kept(&payload);
        assert_eq!(frames.len(), MANY);
        for (at, frame) in frames.iter().enumerate() {
            assert_eq!((u64::from(VarInt::from(frame.id)), frame.offset), (4, 2 * at as u64));
            assert_eq!((frame.data.as_deref(), frame.final_size), (Some(&[at as u8][..]), None));
        }
    }

    #[test]
    fn of_other_packets_only_ends_are_kept() {
        let mut payload = stream_frame(0, b"abc", false);
        assert_eq!(kept(&payload), []);
        payload.extend(stream_frame(3, b"de", true));
        let frames = kept(&payload);
        assert_eq!((frames.len(), frames[0].final_size, &frames[0].data), (1, Some(5), &None));
    }

    #[test]
    fn truncated_frames_are_not_kept() {
        let whole = stream_frame(3, b"de", true);
        for length in 0..whole.len() {
            assert_eq!(kept(&whole[..length]), [], "{length}");
        }
    }
}

//! What of a stream is set aside while its reader is busy elsewhere.
//!
//! A reader that waits for something else, a disk or a socket that is slow, does not read. The
//! stack closes the connection once about two thousand chunks wait behind a hole, which one loss is
//! enough for then. So the connection takes such a stream's bytes itself now and then, and hands
//! them to the reader when it comes.

use super::reassembler::Reassembler;
use crate::conn::{Read, State};
use bytes::Bytes;
use noq_proto::{ReadError, StreamId};

/// Frames of a stream that may wait in the stack, unread: our choice, a quarter of the 1,024 spans
/// that the stack keeps of a stream.
const MOST_UNREAD: u32 = 256;

/// What there is of a stream that is read out of order.
#[derive(Debug, Default)]
pub(crate) struct OverflowBuffer {
    /// Frames that came since the reader last looked.
    unread: u32,
    held: Reassembler,
    /// Of what is held, what credit was told of.
    told: u64,
    end: Option<Read>,
}

impl State {
    /// Something came for a stream whose reader does not wait for it.
    pub(crate) fn unread(&mut self, id: StreamId) {
        let Some(overflow) = self.overflow.get_mut(&id) else { return };
        overflow.unread += 1;
        if overflow.unread < MOST_UNREAD || overflow.end.is_some() {
            return;
        }
        overflow.unread = 0;
        let mut taken = 0;
        while overflow.end.is_none() {
            let room = self.credit.room(self.now, &mut self.quic);
            let mut stream = self.quic.recv_stream(id);
            // Without room, the peer had no credit for what comes; without a stream, nothing does.
            let (1.., Ok(mut chunks)) = (room, stream.read(false)) else { break };
            let before = taken;
            while taken - before < room {
                match chunks.next(usize::try_from(room - (taken - before)).unwrap_or(usize::MAX)) {
                    Ok(Some(chunk)) => {
                        taken += chunk.bytes.len() as u64;
                        overflow.held.insert(chunk.offset, chunk.bytes);
                    }
                    Ok(None) => overflow.end = Some(Read::Finished),
                    Err(ReadError::Reset(code)) => {
                        overflow.end = Some(Read::Reset(code.into_inner()))
                    }
                    Err(ReadError::Blocked) => break,
                }
                if overflow.end.is_some() {
                    break;
                }
            }
            drop(chunks);
            self.credit.read(taken - before);
            if taken - before < room {
                break;
            }
        }
        self.credit.waits(&mut overflow.told, overflow.held.held(), &mut self.quic);
    }

    /// Hands to `sink` what was set aside of a stream, and says what comes then: nothing where
    /// nothing was set aside.
    pub(crate) fn take_overflow(
        &mut self,
        id: StreamId,
        mut sink: impl FnMut(u64, Bytes),
    ) -> Option<Read> {
        let overflow = self.overflow.entry(id).or_default();
        overflow.unread = 0;
        if overflow.held.held() == 0 {
            return overflow.end.take();
        }
        self.credit.waits(&mut overflow.told, 0, &mut self.quic);
        std::mem::take(&mut overflow.held)
            .into_pieces()
            .for_each(|(offset, bytes)| sink(offset, bytes));
        Some(Read::More)
    }

    /// Nobody reads the stream any more.
    pub(crate) fn forget_overflow(&mut self, id: StreamId) {
        let Some(mut overflow) = self.overflow.remove(&id) else { return };
        self.credit.waits(&mut overflow.told, 0, &mut self.quic);
        self.credit.consumed(overflow.held.held());
    }
}

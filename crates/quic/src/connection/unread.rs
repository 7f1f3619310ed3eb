//! Streams whose reader is busy: see [`OverflowBuffer`](crate::stream::overflow::OverflowBuffer).

use super::outcome::Read;
use super::state::State;
use crate::flow_control::Waiting;
use crate::observer::StreamFrame;
use bytes::Bytes;
use h3::error::Code;
use noq_proto::{ReadError, StreamId};

/// Frames of a stream that may wait in the stack, unread: with those of another packet, fewer than
/// make the stack lose data ([`SmallFrames`](crate::observer::SmallFrames)).
const MAX_UNREAD: u32 = 8;

impl State {
    /// Handles data for a stream whose reader does not wait for it.
    pub(super) fn on_unread(&mut self, id: StreamId) {
        let Some(overflow) = self.overflow.get_mut(&id) else { return };
        overflow.unread += 1;
        if overflow.unread < MAX_UNREAD || overflow.end.is_some() {
            return;
        }
        overflow.unread = 0;
        let mut taken = 0;
        while overflow.end.is_none() {
            let room = self.flow_control.room(self.now, &mut self.quic);
            let mut stream = self.quic.recv_stream(id);
            // Without room, the peer was not allowed to send what comes; without a stream, nothing
            // comes.
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
            self.flow_control.read(taken - before);
            if taken - before < room {
                break;
            }
        }
        let Waiting { bytes, chunks } = overflow.held.waiting();
        self.flow_control.set_waiting(&mut overflow.reported.bytes, bytes, &mut self.quic);
        self.gap_chunks.update(&mut overflow.reported.chunks, chunks);
        self.close_if_fragmented();
    }

    /// Closes the connection if too many chunks wait behind gaps: the peer sends crumbs.
    pub(super) fn close_if_fragmented(&mut self) {
        if self.closed.is_none() && self.gap_chunks.exceed(self.flow_control.bound()) {
            self.close(Code::H3_EXCESSIVE_LOAD.value(), b"too many chunks behind gaps");
        }
    }

    /// Gives stream data that the stack may have lost to its readers.
    pub(super) fn keep_small_frames(&mut self) {
        let mut frames = Vec::new();
        self.small_frames.take(&mut frames);
        for StreamFrame { id, offset, data, final_size } in frames {
            // A stream that is not read out of order loses nothing.
            let Some(overflow) = self.overflow.get_mut(&id) else { continue };
            overflow.final_size = overflow.final_size.or(final_size);
            if let Some(data) = data {
                overflow.held.insert(offset, data);
                let chunks = overflow.held.waiting().chunks;
                self.gap_chunks.update(&mut overflow.reported.chunks, chunks);
            }
        }
        self.close_if_fragmented();
    }

    /// Passes the buffered bytes of a stream to `sink`, and returns what comes next. `None` if
    /// nothing is buffered.
    pub(super) fn take_overflow(
        &mut self,
        id: StreamId,
        mut sink: impl FnMut(u64, Bytes),
    ) -> Option<Read> {
        let overflow = self.overflow.entry(id).or_default();
        overflow.unread = 0;
        if overflow.held.held() == 0 {
            return overflow.end.take();
        }
        self.flow_control.set_waiting(&mut overflow.reported.bytes, 0, &mut self.quic);
        self.gap_chunks.update(&mut overflow.reported.chunks, 0);
        std::mem::take(&mut overflow.held)
            .into_chunks()
            .for_each(|(offset, bytes)| sink(offset, bytes));
        Some(Read::More)
    }

    /// Removes the buffer of a stream that nobody reads any more.
    pub(super) fn remove_overflow(&mut self, id: StreamId) {
        let Some(mut overflow) = self.overflow.remove(&id) else { return };
        self.flow_control.set_waiting(&mut overflow.reported.bytes, 0, &mut self.quic);
        self.gap_chunks.update(&mut overflow.reported.chunks, 0);
        self.flow_control.consumed(overflow.held.held());
    }
}

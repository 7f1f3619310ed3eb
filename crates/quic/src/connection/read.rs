//! Reading from streams.

use super::handle::Conn;
use super::outcome::{Read, StreamFailure};
use super::state::State;
use bytes::Bytes;
use noq_proto::{Dir, ReadError, StreamId, VarInt};
use std::task::{Context, Poll};

impl Conn {
    /// Passes every chunk that has arrived to `sink(offset, bytes)`, in the order of arrival, at
    /// most `limit` bytes. Pending if there is none. The reader has everything before `next`.
    pub(crate) fn poll_read(
        &self,
        id: StreamId,
        next: u64,
        limit: u64,
        cx: &mut Context<'_>,
        mut sink: impl FnMut(u64, Bytes),
    ) -> Poll<Result<Read, StreamFailure>> {
        let mut state = self.lock();
        if let Some(read) = state.take_overflow(id, &mut sink) {
            return Poll::Ready(Ok(read));
        }
        let room = {
            let State { flow_control, quic, now, .. } = &mut *state;
            flow_control.room(*now, quic)
        };
        if room == 0 {
            return Poll::Ready(Err(StreamFailure::Overfull));
        }
        let (limit, mut taken) = (limit.min(room), 0u64);
        let reading = Some((id, state.flow_control.stack_window()));
        let outcome = if state.read_empty == reading {
            None
        } else {
            let mut stream = state.quic.recv_stream(id);
            let Ok(mut chunks) = stream.read(false) else {
                return Poll::Ready(Err(StreamFailure::Closed));
            };
            loop {
                if taken >= limit {
                    break Some(Ok(Read::More));
                }
                match chunks.next(usize::try_from(limit - taken).unwrap_or(usize::MAX)) {
                    Ok(Some(chunk)) => {
                        taken += chunk.bytes.len() as u64;
                        sink(chunk.offset, chunk.bytes);
                    }
                    Ok(None) => break Some(Ok(Read::Finished)),
                    Err(ReadError::Blocked) if taken > 0 => {
                        drop(chunks);
                        state.read_empty = reading;
                        break Some(Ok(Read::More));
                    }
                    Err(ReadError::Blocked) => break None,
                    Err(ReadError::Reset(code)) => break Some(Ok(Read::Reset(code.into_inner()))),
                }
            }
        };
        if taken > 0 {
            state.flow_control.read(taken);
        }
        match outcome {
            Some(result) => Poll::Ready(result),
            None => {
                if let Some(error) = &state.closed {
                    return Poll::Ready(Err(StreamFailure::Connection(error.clone())));
                }
                if state.overflow.get(&id).is_some_and(|overflow| overflow.final_size == Some(next))
                {
                    // The stack has lost data that the reader has: it does not see the end. This
                    // makes it forget the stream.
                    let _ = state.quic.recv_stream(id).stop(VarInt::from_u32(0));
                    return Poll::Ready(Ok(Read::Finished));
                }
                state.streams.entry(id).or_default().read = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Polls for the next bytes in order, at most `max`. `None` at the end of the stream, or after
    /// a reset. A stream that was read in order may be read out of order from then on, but not the
    /// reverse.
    pub(crate) fn poll_read_ordered(
        &self,
        id: StreamId,
        max: usize,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Bytes>> {
        let mut state = self.lock();
        let found = {
            let mut stream = state.quic.recv_stream(id);
            let Ok(mut chunks) = stream.read(true) else { return Poll::Ready(None) };
            match chunks.next(max) {
                Ok(chunk) => Some(chunk.map(|chunk| chunk.bytes)),
                Err(ReadError::Blocked) => None,
                Err(ReadError::Reset(_)) => Some(None),
            }
        };
        match found {
            Some(bytes) => {
                let taken = bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
                state.flow_control.read(taken);
                state.flow_control.consumed(taken);
                Poll::Ready(bytes)
            }
            None if state.closed.is_some() => Poll::Ready(None),
            None => {
                state.streams.entry(id).or_default().read = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Asks the peer to stop sending on a stream, with `code` (STOP_SENDING).
    pub(crate) fn stop(&self, id: StreamId, code: u64) {
        let code = VarInt::from_u64(code).unwrap_or(VarInt::MAX);
        let mut state = self.lock();
        state.read_empty = None;
        // A stream that has ended already needs no stop.
        let _ = state.quic.recv_stream(id).stop(code);
    }

    /// Abandons the reading of a stream before its end, so that its credit returns. The peer is
    /// asked to stop sending, with `code`, unless all it has to say has arrived.
    pub(crate) fn abandon_read(&self, id: StreamId, code: u64) {
        let own = id.initiator() == self.lock().quic.side();
        if (own && id.dir() == Dir::Bi) || (!own && !self.discard(id)) {
            self.stop(id, code);
        }
    }

    /// Discards what has arrived of a stream. Returns true if that was all of it, or if it was
    /// reset: the stack then forgets the stream.
    fn discard(&self, id: StreamId) -> bool {
        let mut state = self.lock();
        let mut discarded = 0;
        let ended = {
            let mut stream = state.quic.recv_stream(id);
            let Ok(mut chunks) = stream.read(false) else { return true };
            loop {
                match chunks.next(usize::MAX) {
                    Ok(Some(chunk)) => discarded += chunk.bytes.len() as u64,
                    Ok(None) | Err(ReadError::Reset(_)) => break true,
                    Err(ReadError::Blocked) => break false,
                }
            }
        };
        state.flow_control.read(discarded);
        state.flow_control.consumed(discarded);
        ended
    }
}

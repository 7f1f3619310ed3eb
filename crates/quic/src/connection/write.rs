//! Writing to streams.

use super::handle::Conn;
use super::outcome::StreamFailure;
use super::state::{State, Watermark};
use crate::stream::zeros::by_reference;
use noq_proto::{FinishError, StreamId, VarInt, WriteError};
use std::task::{Context, Poll};

impl State {
    /// Removes a stream's writer. Returns the code of the peer's STOP_SENDING, if there was one.
    fn remove_writer(&mut self, id: StreamId) -> Option<u64> {
        self.write_turns.remove(id);
        self.priorities.remove(id);
        // Less urgent writers may have waited for this one alone.
        self.wake_writers();
        if self.take_waiter(id, |waiters| waiters.write.take()).is_some() {
            self.blocked_writers -= 1;
        }
        self.writers.remove(&id).flatten()
    }
}

impl Conn {
    /// Writes as much of `data` as flow control, the send buffer and the stream's turn admit.
    /// Pending if they admit nothing.
    pub(crate) fn poll_write(
        &self,
        id: StreamId,
        data: &[u8],
        cx: &mut Context<'_>,
    ) -> Poll<Result<usize, StreamFailure>> {
        let mut state = self.lock();
        if let Some(error) = &state.closed {
            return Poll::Ready(Err(StreamFailure::Connection(error.clone())));
        }
        if let Some(Some(code)) = state.writers.get(&id) {
            return Poll::Ready(Err(StreamFailure::Terminated(*code)));
        }
        let Some(turn) = state.take_turn(id) else {
            // The other writers that are awake are polled first.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        };
        let data = &data[..data.len().min(usize::try_from(turn).unwrap_or(usize::MAX))];
        let exceeds = state.write_turns.precedes_waiting(id);
        if exceeds {
            state.set_watermark(Watermark::Reserve);
        }
        let mut stream = state.quic.send_stream(id);
        let written = match by_reference(data) {
            Some(bytes) => stream.write_chunks(&mut &mut [bytes][..]),
            None => stream.write(data),
        };
        if exceeds {
            // Others wait for space.
            state.set_watermark(Watermark::Low);
        }
        match written {
            Ok(written) => {
                state.write_turns.wrote(id, written as u64);
                Poll::Ready(Ok(written))
            }
            Err(WriteError::Blocked) => {
                state.set_watermark(Watermark::Low);
                state.write_turns.wait(id);
                let waiters = state.streams.entry(id).or_default();
                if waiters.write.replace(cx.waker().clone()).is_none() {
                    state.blocked_writers += 1;
                }
                Poll::Pending
            }
            Err(WriteError::Stopped(code)) => {
                Poll::Ready(Err(StreamFailure::Terminated(code.into_inner())))
            }
            Err(WriteError::ClosedStream) => Poll::Ready(Err(StreamFailure::Closed)),
        }
    }

    /// Sets the priority of a request stream: streams of higher ones are sent first, those of the
    /// same in turn. It is 0 by default.
    pub fn set_priority(&self, stream: h3::quic::StreamId, priority: i32) {
        self.set_stream_priority(id_of(stream), priority);
    }

    /// Sets the priority of a stream.
    pub(crate) fn set_stream_priority(&self, id: StreamId, priority: i32) {
        self.lock().set_stream_priority(id, priority);
    }

    /// Ends a stream: nothing more will be written.
    pub(crate) fn finish(&self, id: StreamId) -> Result<(), StreamFailure> {
        let mut state = self.lock();
        if let Some(Some(code)) = state.writers.get(&id) {
            return Err(StreamFailure::Terminated(*code));
        }
        match state.quic.send_stream(id).finish() {
            Ok(()) => Ok(()),
            Err(FinishError::Stopped(code)) => Err(StreamFailure::Terminated(code.into_inner())),
            Err(FinishError::ClosedStream) => Err(StreamFailure::Closed),
        }
    }

    /// Polls until the peer has acknowledged everything that was written, which gives true, or has
    /// stopped the stream, or the connection has ended.
    pub(crate) fn poll_acknowledged(&self, id: StreamId, cx: &mut Context<'_>) -> Poll<bool> {
        let mut state = self.lock();
        match state.quic.send_stream(id).stopped() {
            // The stack removes the stream with its last acknowledgement.
            Err(_) => return Poll::Ready(true),
            Ok(Some(_)) => return Poll::Ready(false),
            Ok(None) if state.is_closed() => return Poll::Ready(false),
            Ok(None) => {}
        }
        state.streams.entry(id).or_default().acknowledged = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Resets a stream with `code`.
    pub(crate) fn reset(&self, id: StreamId, code: u64) {
        let code = VarInt::from_u64(code).unwrap_or(VarInt::MAX);
        // A stream that is closed already needs no reset.
        let _ = self.lock().quic.send_stream(id).reset(code);
    }

    /// Removes the writer of a stream that was finished or reset.
    pub(crate) fn release_write(&self, id: StreamId) {
        self.lock().remove_writer(id);
    }

    /// Removes the writer of a stream that was neither finished nor reset: resets it with `code`.
    pub(crate) fn abandon_write(&self, id: StreamId, code: u64) {
        let mut state = self.lock();
        let finish = state.finished_when_dropped.contains(&id);
        // A stream that the peer stopped is reset already.
        let stopped = state.remove_writer(id).is_some();
        let finished = finish && !stopped && state.quic.send_stream(id).finish().is_ok();
        if !stopped && !finished {
            let code = VarInt::from_u64(code).unwrap_or(VarInt::MAX);
            let _ = state.quic.send_stream(id).reset(code);
        }
    }

    /// Has a request stream finished, not reset, if it is dropped while the returned value lives.
    /// For responses of `h3` itself (431), which leave their stream unfinished.
    pub fn finish_when_dropped(&self, stream: h3::quic::StreamId) -> FinishWhenDropped {
        let id = id_of(stream);
        self.lock().finished_when_dropped.insert(id);
        FinishWhenDropped { conn: self.clone(), id }
    }
}

/// Returns the stack's identifier of a stream of `h3`.
pub(super) fn id_of(stream: h3::quic::StreamId) -> StreamId {
    VarInt::from_u64(stream.into_inner()).map_or(StreamId::from(VarInt::MAX), StreamId::from)
}

/// Guard that [`Conn::finish_when_dropped`] returns.
#[derive(Debug)]
#[must_use]
pub struct FinishWhenDropped {
    conn: Conn,
    id: StreamId,
}

impl Drop for FinishWhenDropped {
    fn drop(&mut self) {
        self.conn.lock().finished_when_dropped.remove(&self.id);
    }
}

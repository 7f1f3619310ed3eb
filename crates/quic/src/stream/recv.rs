//! The receiving half of an HTTP/3 stream.

use super::errors::{h3_id, stream_error};
use super::frame_filter::{FrameError, FrameFilter};
use super::header_memory::HeaderMemory;
use super::reassembler::Reassembler;
use crate::connection::{Conn, Read};
use crate::flow_control::Waiting;
use bytes::Bytes;
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming};
use noq_proto::StreamId;
use std::task::{Context, Poll, ready};

/// The receiving half of a stream. If a stream that this side opened is dropped before its end, the
/// peer is asked to stop (STOP_SENDING with H3_REQUEST_CANCELLED).
pub struct RecvStream {
    conn: Conn,
    id: StreamId,
    pub(super) reader: Reassembler,
    /// Checks the frames. `None` for streams without HTTP/3 frames.
    pub(super) framing: Option<Framing>,
    limit: u64,
    ended: bool,
    /// What waits behind gaps and was reported to the connection.
    reported: Waiting,
}

/// The frames of a stream, and the flow control of the bytes of incomplete frames.
pub(super) struct Framing {
    filter: FrameFilter,
    memory: Option<HeaderMemory>,
    /// Bytes held that were returned to flow control; they are taken from `memory`.
    borrowed: u64,
    /// Bytes held that were not returned to flow control.
    withheld: u64,
}

impl Framing {
    pub(super) fn new(filter: FrameFilter, memory: Option<HeaderMemory>) -> Self {
        Self { filter, memory, borrowed: 0, withheld: 0 }
    }

    /// Takes the next bytes of the stream. Returns how many bytes are returned to flow control now.
    fn push(&mut self, bytes: Bytes) -> Result<u64, FrameError> {
        let outstanding = self.withheld + bytes.len() as u64;
        self.filter.push(bytes)?;
        let held = self.filter.held();
        self.give_back(held);
        let short = held - self.borrowed;
        if self.memory.as_ref().is_some_and(|memory| memory.try_take(short)) {
            self.borrowed = held;
        }
        self.withheld = held - self.borrowed;
        Ok(outstanding - self.withheld)
    }

    /// Returns all but `held` bytes to the budget.
    fn give_back(&mut self, held: u64) {
        let excess = self.borrowed.saturating_sub(held);
        if let Some(memory) = &self.memory {
            memory.give_back(excess);
        }
        self.borrowed -= excess;
    }
}

impl Drop for RecvStream {
    fn drop(&mut self) {
        let mut held = self.reader.held();
        if let Some(framing) = &mut self.framing {
            framing.give_back(0);
            held += framing.withheld;
            self.conn.withhold(framing.withheld, 0);
        }
        self.conn.set_waiting(&mut self.reported, Waiting::default());
        self.conn.unsubscribe(self.id, held);
        if !self.ended {
            self.conn.abandon_read(self.id, h3::error::Code::H3_REQUEST_CANCELLED.value());
        }
    }
}

impl RecvStream {
    /// A stream without frames that holds back at most about `limit` bytes behind a gap.
    pub(crate) fn new(conn: Conn, id: StreamId, limit: u64) -> Self {
        Self {
            conn,
            id,
            reader: Reassembler::default(),
            framing: None,
            limit,
            ended: false,
            reported: Waiting::default(),
        }
    }

    /// Starts at `offset`: the bytes before were read otherwise.
    pub(crate) fn starting_at(conn: Conn, id: StreamId, limit: u64, offset: u64) -> Self {
        let mut stream = Self::new(conn, id, limit);
        stream.reader = Reassembler::starting_at(offset);
        stream
    }

    /// Returns the next bytes that may be passed on, of those that have arrived.
    fn next_bytes(&mut self) -> Result<Option<Bytes>, FrameError> {
        let Some(framing) = &mut self.framing else {
            let bytes = self.reader.pop();
            self.conn.consumed(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64));
            return Ok(bytes);
        };
        loop {
            if let Some(bytes) = framing.filter.pop() {
                return Ok(Some(bytes));
            }
            let Some(bytes) = self.reader.pop() else { break };
            let before = framing.withheld;
            self.conn.consumed(framing.push(bytes)?);
            for (id, field) in framing.filter.take_priorities() {
                self.conn.update_priority(id, field);
            }
            self.conn.withhold(before, framing.withheld);
        }
        if self.ended {
            framing.filter.end()?;
        }
        Ok(None)
    }

    /// Closes the connection because the peer violated the framing.
    fn close(&self, error: FrameError) -> StreamErrorIncoming {
        let reason = error.to_string();
        self.conn.close(error.code().value(), reason.as_bytes());
        let connection_error = ConnectionErrorIncoming::InternalError(reason);
        StreamErrorIncoming::ConnectionErrorIncoming { connection_error }
    }
}

impl quic::RecvStream for RecvStream {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        loop {
            match self.next_bytes() {
                Ok(Some(bytes)) => return Poll::Ready(Ok(Some(bytes))),
                Ok(None) if self.ended => return Poll::Ready(Ok(None)),
                Ok(None) => {}
                Err(error) => return Poll::Ready(Err(self.close(error))),
            }
            // Cuts off a peer that leaves a gap and keeps sending behind it.
            let room = self.limit.saturating_sub(self.reader.held());
            if room == 0 {
                self.conn.stop(self.id, h3::error::Code::H3_EXCESSIVE_LOAD.value());
                return Poll::Ready(Err(StreamErrorIncoming::Unknown(
                    format!(
                        "{} bytes wait behind a gap, allowed: {}",
                        self.reader.held(),
                        self.limit
                    )
                    .into(),
                )));
            }
            let reader = &mut self.reader;
            let next = reader.next_offset();
            let read = self
                .conn
                .poll_read(self.id, next, room, cx, |offset, bytes| reader.insert(offset, bytes));
            if read.is_pending() {
                // Everything in order was taken: the rest waits behind a gap.
                self.conn.set_waiting(&mut self.reported, self.reader.waiting());
            }
            match ready!(read).map_err(stream_error)? {
                Read::More => {}
                Read::Finished => self.ended = true,
                Read::Reset(error_code) => {
                    self.ended = true;
                    return Poll::Ready(Err(StreamErrorIncoming::StreamTerminated { error_code }));
                }
            }
        }
    }

    fn stop_sending(&mut self, error_code: u64) {
        self.conn.stop(self.id, error_code);
    }

    fn recv_id(&self) -> quic::StreamId {
        h3_id(self.id)
    }
}

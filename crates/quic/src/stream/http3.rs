//! The transport traits of the `h3` crate over a [`Conn`]: HTTP/3 exists once, whatever clock
//! drives the connection.
//!
//! Streams are read unordered and put in order by a [`Reassembler`] (its module says why).

use super::frame_filter::{FrameError, FrameFilter, MAX_HEADER_FRAME};
use super::header_memory::HeaderMemory;
use super::reassembler::Reassembler;
use super::sorter::{Sorted, Sorter};
use crate::conn::{Conn, Read, StreamFailure};
use bytes::{Buf, Bytes};
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, WriteBuf};
use noq_proto::{ConnectionError, Dir, StreamId};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// A connection as `h3` wants it: `h3::client::new(Http3::new(conn, window))`.
#[derive(Debug, Clone)]
pub struct Http3 {
    conn: Conn,
    stream_window: u64,
    /// The peer's unidirectional streams, where this side keeps those of path tokens for itself.
    sorter: Option<Sorter>,
    headers: HeaderLimits,
}

/// How much of a header is kept until all of it is there.
#[derive(Debug, Clone)]
struct HeaderLimits {
    max_frame: u64,
    memory: Option<HeaderMemory>,
}

impl Http3 {
    /// Wraps `conn`, whose streams were given a receive window of `stream_window` bytes: no reader
    /// holds back more than twice that. Streams of path tokens stay hidden from `h3` where this
    /// side has to do with tokens ([`crate::Attached::tokens`]).
    pub fn new(conn: Conn, stream_window: u64) -> Self {
        let sorter = conn.has_tokens().then(Sorter::default);
        let headers = HeaderLimits { max_frame: MAX_HEADER_FRAME, memory: None };
        Self { conn, stream_window, sorter, headers }
    }

    /// Accepts HEADERS frames of at most `max_frame` bytes, encoded; longer ones close the
    /// connection (H3_EXCESSIVE_LOAD). Bytes of incomplete ones return their flow-control credit
    /// while `memory` has room. Without this, [`MAX_HEADER_FRAME`] holds, and credit returns with
    /// complete frames.
    #[must_use]
    pub fn limit_headers(mut self, max_frame: u64, memory: HeaderMemory) -> Self {
        self.headers = HeaderLimits { max_frame, memory: Some(memory) };
        self
    }

    /// The connection underneath.
    pub fn conn(&self) -> &Conn {
        &self.conn
    }

    fn send(&self, id: StreamId) -> SendStream {
        SendStream { conn: self.conn.clone(), id, pending: None, is_over: false }
    }

    fn recv(&self, id: StreamId) -> RecvStream {
        let filter = match id.dir() {
            Dir::Bi => FrameFilter::request(self.headers.max_frame),
            Dir::Uni => FrameFilter::unidirectional(self.headers.max_frame),
        };
        let framing =
            Framing { filter, memory: self.headers.memory.clone(), lent: 0, uncredited: 0 };
        let mut stream = RecvStream::new(self.conn.clone(), id, self.most_held());
        stream.framing = Some(framing);
        stream
    }

    /// What a reader may hold back: twice what the windows let arrive.
    fn most_held(&self) -> u64 {
        self.stream_window.max(self.conn.receive_window()).saturating_mul(2)
    }

    fn bidi(&self, id: StreamId) -> BidiStream {
        BidiStream { send: self.send(id), recv: self.recv(id) }
    }
}

/// Maps the transport's reasons to those of `h3`.
fn connection_error(error: ConnectionError) -> ConnectionErrorIncoming {
    match error {
        ConnectionError::ApplicationClosed(close) => {
            ConnectionErrorIncoming::ApplicationClose { error_code: close.error_code.into_inner() }
        }
        ConnectionError::TimedOut => ConnectionErrorIncoming::Timeout,
        other => ConnectionErrorIncoming::Undefined(Arc::new(other)),
    }
}

fn stream_error(failure: StreamFailure) -> StreamErrorIncoming {
    match failure {
        StreamFailure::Connection(error) => StreamErrorIncoming::ConnectionErrorIncoming {
            connection_error: connection_error(error),
        },
        StreamFailure::Terminated(error_code) => {
            StreamErrorIncoming::StreamTerminated { error_code }
        }
        StreamFailure::Overfull => {
            StreamErrorIncoming::Unknown("more waits behind gaps than the windows allow".into())
        }
        StreamFailure::Closed => {
            StreamErrorIncoming::Unknown("the stream is closed on this side".into())
        }
    }
}

impl quic::Connection<Bytes> for Http3 {
    type RecvStream = RecvStream;
    type OpenStreams = Self;

    fn poll_accept_recv(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<RecvStream, ConnectionErrorIncoming>> {
        let Some(sorter) = &mut self.sorter else {
            let id = ready!(self.conn.poll_accept(Dir::Uni, cx)).map_err(connection_error)?;
            return Poll::Ready(Ok(self.recv(id)));
        };
        loop {
            let Sorted { id, head, tokens } =
                ready!(sorter.poll_next(&self.conn, cx)).map_err(connection_error)?;
            if tokens {
                crate::token::receive(&self.conn, id);
                continue;
            }
            let mut stream = self.recv(id);
            stream.reader.insert(0, head.into());
            return Poll::Ready(Ok(stream));
        }
    }

    fn poll_accept_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<BidiStream, ConnectionErrorIncoming>> {
        let id = ready!(self.conn.poll_accept(Dir::Bi, cx)).map_err(connection_error)?;
        Poll::Ready(Ok(self.bidi(id)))
    }

    fn opener(&self) -> Self {
        // What only opens streams accepts none.
        Self { sorter: None, ..self.clone() }
    }
}

impl quic::OpenStreams<Bytes> for Http3 {
    type BidiStream = BidiStream;
    type SendStream = SendStream;

    fn poll_open_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<BidiStream, StreamErrorIncoming>> {
        let id = ready!(self.conn.poll_open(Dir::Bi, cx))
            .map_err(|error| stream_error(StreamFailure::Connection(error)))?;
        Poll::Ready(Ok(self.bidi(id)))
    }

    fn poll_open_send(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<SendStream, StreamErrorIncoming>> {
        let id = ready!(self.conn.poll_open(Dir::Uni, cx))
            .map_err(|error| stream_error(StreamFailure::Connection(error)))?;
        Poll::Ready(Ok(self.send(id)))
    }

    fn close(&mut self, code: h3::error::Code, reason: &[u8]) {
        self.conn.close(code.value(), reason);
    }
}

/// The sending half of a stream. Dropped before it was finished or reset, a request stream is reset
/// with H3_REQUEST_CANCELLED (RFC 9114 §4.1.1): the peer must not wait for the rest.
pub struct SendStream {
    conn: Conn,
    id: StreamId,
    pending: Option<WriteBuf<Bytes>>,
    /// Whether it was finished or reset.
    is_over: bool,
}

impl Drop for SendStream {
    fn drop(&mut self) {
        match self.id.dir() {
            // Critical streams stay open as long as the connection (RFC 9114 §6.2.1).
            Dir::Uni => {}
            Dir::Bi if self.is_over => self.conn.release_send(self.id),
            Dir::Bi => {
                self.conn.abandon_send(self.id, h3::error::Code::H3_REQUEST_CANCELLED.value())
            }
        }
    }
}

impl quic::SendStream<Bytes> for SendStream {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        while let Some(pending) = &mut self.pending {
            if !pending.has_remaining() {
                break;
            }
            let written =
                ready!(self.conn.poll_write(self.id, pending.chunk(), cx)).map_err(stream_error)?;
            pending.advance(written);
        }
        self.pending = None;
        Poll::Ready(Ok(()))
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        if self.pending.is_some() {
            return Err(StreamErrorIncoming::Unknown(
                "send_data before poll_ready said ready".into(),
            ));
        }
        self.pending = Some(data.into());
        Ok(())
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        ready!(self.poll_ready(cx))?;
        self.is_over = true;
        Poll::Ready(self.conn.finish(self.id).map_err(stream_error))
    }

    fn reset(&mut self, reset_code: u64) {
        self.is_over = true;
        self.conn.reset(self.id, reset_code);
    }

    fn send_id(&self) -> quic::StreamId {
        h3_id(self.id)
    }
}

/// The receiving half of a stream. Dropped before its end, a stream that this side opened is not
/// wanted any more, and the peer is told so (STOP_SENDING with H3_REQUEST_CANCELLED).
pub struct RecvStream {
    conn: Conn,
    id: StreamId,
    reader: Reassembler,
    /// What checks the frames; nothing for streams that are not HTTP/3's.
    framing: Option<Framing>,
    limit: u64,
    ended: bool,
    /// Bytes behind a gap that the connection knows of.
    reported: u64,
}

/// The frames of a stream, and the flow-control credit of bytes that wait for the rest of theirs.
struct Framing {
    filter: FrameFilter,
    memory: Option<HeaderMemory>,
    /// Bytes held whose credit has returned; they are taken from `memory`.
    lent: u64,
    /// Bytes held whose credit has not returned.
    uncredited: u64,
}

impl Framing {
    /// Takes the next bytes of the stream, and says how many bytes return their credit now.
    fn push(&mut self, bytes: Bytes) -> Result<u64, FrameError> {
        let unsettled = self.uncredited + bytes.len() as u64;
        self.filter.push(bytes)?;
        let held = self.filter.held();
        self.give_back(held);
        let short = held - self.lent;
        if self.memory.as_ref().is_some_and(|memory| memory.try_take(short)) {
            self.lent = held;
        }
        self.uncredited = held - self.lent;
        Ok(unsettled - self.uncredited)
    }

    /// Keeps at most `held` bytes of the memory.
    fn give_back(&mut self, held: u64) {
        let excess = self.lent.saturating_sub(held);
        if let Some(memory) = &self.memory {
            memory.give_back(excess);
        }
        self.lent -= excess;
    }
}

impl Drop for RecvStream {
    fn drop(&mut self) {
        let mut held = self.reader.held();
        if let Some(framing) = &mut self.framing {
            framing.give_back(0);
            held += framing.uncredited;
            self.conn.withhold(framing.uncredited, 0);
        }
        self.conn.waits(&mut self.reported, 0);
        self.conn.unsubscribe(self.id, held);
        if !self.ended {
            self.conn.cancel_own(self.id, h3::error::Code::H3_REQUEST_CANCELLED.value());
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
            reported: 0,
        }
    }

    /// Begins `offset` bytes into the stream: those were read before.
    pub(crate) fn from(conn: Conn, id: StreamId, limit: u64, offset: u64) -> Self {
        let mut stream = Self::new(conn, id, limit);
        stream.reader = Reassembler::beginning_at(offset);
        stream
    }

    /// The next bytes that may be handed on, of those that are here.
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
            let before = framing.uncredited;
            self.conn.consumed(framing.push(bytes)?);
            self.conn.withhold(before, framing.uncredited);
        }
        if self.ended {
            framing.filter.end()?;
        }
        Ok(None)
    }

    /// Closes the connection for a peer that breaks the rules of framing.
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
            // A peer that leaves a gap and keeps sending behind it is cut off here, not fed with
            // credit for ever.
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
            let read = self
                .conn
                .poll_read(self.id, room, cx, |offset, bytes| reader.insert(offset, bytes));
            if read.is_pending() {
                // All that was in order is taken: what is left waits behind a gap.
                self.conn.waits(&mut self.reported, self.reader.held());
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

/// Both halves of a stream.
pub struct BidiStream {
    send: SendStream,
    recv: RecvStream,
}

impl quic::SendStream<Bytes> for BidiStream {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_ready(cx)
    }
    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.send.send_data(data)
    }
    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_finish(cx)
    }
    fn reset(&mut self, reset_code: u64) {
        self.send.reset(reset_code);
    }
    fn send_id(&self) -> quic::StreamId {
        self.send.send_id()
    }
}

impl quic::RecvStream for BidiStream {
    type Buf = Bytes;
    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.recv.poll_data(cx)
    }
    fn stop_sending(&mut self, error_code: u64) {
        self.recv.stop_sending(error_code);
    }
    fn recv_id(&self) -> quic::StreamId {
        self.recv.recv_id()
    }
}

impl quic::BidiStream<Bytes> for BidiStream {
    type SendStream = SendStream;
    type RecvStream = RecvStream;
    fn split(self) -> (SendStream, RecvStream) {
        (self.send, self.recv)
    }
}

fn h3_id(id: StreamId) -> quic::StreamId {
    // noq's identifier is a QUIC integer, which is all that `h3` asks of one.
    quic::StreamId::try_from(u64::from(id))
        .unwrap_or_else(|_| unreachable!("stream id {id} below 2^62"))
}

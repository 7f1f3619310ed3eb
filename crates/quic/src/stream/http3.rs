//! The transport traits of the `h3` crate over a [`Conn`], the same under both clocks.
//!
//! Streams are read out of order and reassembled: see [`crate::Reassembler`].

use super::errors::{connection_error, stream_error};
use super::frame_filter::{FrameFilter, MAX_HEADER_FRAME};
use super::frame_log::FrameLog;
use super::header_memory::HeaderMemory;
use super::recv::{Framing, RecvStream};
use super::send::SendStream;
use super::sorter::{Sorted, Sorter};
use crate::connection::{Conn, StreamFailure};
use bytes::Bytes;
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, WriteBuf};
use noq_proto::{Dir, StreamId};
use std::task::{Context, Poll, ready};

/// A connection for `h3`: `h3::client::new(Http3::new(conn, window))`.
#[derive(Debug, Clone)]
pub struct Http3 {
    conn: Conn,
    stream_window: u64,
    /// The peer's unidirectional streams, if this side exchanges path tokens.
    sorter: Option<Sorter>,
    headers: HeaderLimits,
}

/// Limits of incomplete headers.
#[derive(Debug, Clone)]
struct HeaderLimits {
    max_frame: u64,
    memory: Option<HeaderMemory>,
}

impl Http3 {
    /// Wraps `conn`, whose streams have a receive window of `stream_window` bytes: a reader holds
    /// at most twice that behind a gap. Streams of path tokens are hidden from `h3` if this side
    /// exchanges tokens.
    pub fn new(conn: Conn, stream_window: u64) -> Self {
        let sorter = conn.has_tokens().then(Sorter::default);
        let headers = HeaderLimits { max_frame: MAX_HEADER_FRAME, memory: None };
        Self { conn, stream_window, sorter, headers }
    }

    /// Accepts HEADERS frames of at most `max_frame` bytes, encoded; longer ones close the
    /// connection (H3_EXCESSIVE_LOAD). The bytes of incomplete ones are returned to flow control
    /// while `memory` has room. The default is [`MAX_HEADER_FRAME`], and bytes are returned with
    /// complete frames.
    #[must_use]
    pub fn limit_headers(mut self, max_frame: u64, memory: HeaderMemory) -> Self {
        self.headers = HeaderLimits { max_frame, memory: Some(memory) };
        self
    }

    /// Returns the QUIC connection.
    pub fn conn(&self) -> &Conn {
        &self.conn
    }

    fn send(&self, id: StreamId) -> SendStream {
        SendStream::new(self.conn.clone(), id, self.log(id))
    }

    /// Returns what writes the frames of a stream, if the connection has a trace.
    fn log(&self, id: StreamId) -> Option<FrameLog> {
        let sink = self.conn.lock().qlog().cloned()?;
        Some(FrameLog::new(sink, u64::from(id)))
    }

    fn recv(&self, id: StreamId) -> RecvStream {
        let side = self.conn.lock().quic.side();
        let mut filter = match id.dir() {
            Dir::Bi => FrameFilter::request(side, self.headers.max_frame),
            Dir::Uni => FrameFilter::unidirectional(side, self.headers.max_frame),
        };
        filter.set_log(self.log(id));
        let framing = Framing::new(filter, self.headers.memory.clone());
        let mut stream = RecvStream::new(self.conn.clone(), id, self.max_held());
        stream.framing = Some(framing);
        stream
    }

    /// Returns how many bytes a reader may hold behind a gap: twice the window.
    fn max_held(&self) -> u64 {
        self.stream_window.max(self.conn.receive_window()).saturating_mul(2)
    }

    fn bidi(&self, id: StreamId) -> BidiStream {
        BidiStream { send: self.send(id), recv: self.recv(id) }
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
                crate::path_memory::token::receive(&self.conn, id);
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
        // It only opens streams and accepts none.
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

//! Implements the traits of h3 for s2n-quic.

use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, StreamId, WriteBuf};
use s2n_quic::application;
use s2n_quic::connection::{self, BidirectionalStreamAcceptor, Handle, ReceiveStreamAcceptor};
use s2n_quic::stream;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// A connection.
pub struct Connection {
    open: Open,
    bidirectional: BidirectionalStreamAcceptor,
    unidirectional: ReceiveStreamAcceptor,
}

impl Connection {
    /// Wraps a connection whose handshake is complete.
    pub fn new(connection: s2n_quic::Connection) -> Self {
        let (handle, acceptor) = connection.split();
        let (bidirectional, unidirectional) = acceptor.split();
        Self { open: Open(handle), bidirectional, unidirectional }
    }
}

/// Opens streams and closes the connection.
#[derive(Clone)]
pub struct Open(Handle);

fn lost(error: connection::Error) -> ConnectionErrorIncoming {
    match error {
        connection::Error::Application { error, .. } => {
            ConnectionErrorIncoming::ApplicationClose { error_code: u64::from(*error) }
        }
        // A close without a transport error. h3 expects an HTTP/3 code (RFC 9114 §5.4).
        connection::Error::Closed { .. } => {
            ConnectionErrorIncoming::ApplicationClose { error_code: Code::H3_NO_ERROR.value() }
        }
        connection::Error::IdleTimerExpired { .. } => ConnectionErrorIncoming::Timeout,
        error => ConnectionErrorIncoming::Undefined(Arc::new(error)),
    }
}

fn broken(error: stream::Error) -> StreamErrorIncoming {
    match error {
        stream::Error::StreamReset { error, .. } => {
            StreamErrorIncoming::StreamTerminated { error_code: u64::from(*error) }
        }
        stream::Error::ConnectionError { error, .. } => {
            StreamErrorIncoming::ConnectionErrorIncoming { connection_error: lost(error) }
        }
        error => StreamErrorIncoming::Unknown(Box::new(error)),
    }
}

/// The error for a connection that closed without an error.
fn closed() -> ConnectionErrorIncoming {
    ConnectionErrorIncoming::ApplicationClose { error_code: Code::H3_NO_ERROR.value() }
}

/// Converts a code of HTTP/3. A code that exceeds a varint (RFC 9000 §16) becomes `UNKNOWN`.
fn code(code: u64) -> application::Error {
    application::Error::new(code).unwrap_or(application::Error::UNKNOWN)
}

fn number(id: u64) -> StreamId {
    // s2n-quic's stream IDs are varints already.
    StreamId::try_from(id).expect("a stream ID is a varint")
}

impl quic::OpenStreams<Bytes> for Open {
    type BidiStream = Bidirectional;
    type SendStream = Send;

    fn poll_open_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Bidirectional, StreamErrorIncoming>> {
        let opened = ready!(self.0.poll_open_bidirectional_stream(cx));
        let opened = opened.map_err(|error| StreamErrorIncoming::ConnectionErrorIncoming {
            connection_error: lost(error),
        })?;
        let (receive, send) = opened.split();
        Poll::Ready(Ok(Bidirectional { send: Send::new(send), receive: Receive(receive) }))
    }

    fn poll_open_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<Send, StreamErrorIncoming>> {
        let opened = ready!(self.0.poll_open_send_stream(cx));
        let opened = opened.map_err(|error| StreamErrorIncoming::ConnectionErrorIncoming {
            connection_error: lost(error),
        })?;
        Poll::Ready(Ok(Send::new(opened)))
    }

    fn close(&mut self, reason: Code, _text: &[u8]) {
        self.0.close(code(reason.value()));
    }
}

impl quic::OpenStreams<Bytes> for Connection {
    type BidiStream = Bidirectional;
    type SendStream = Send;

    fn poll_open_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Bidirectional, StreamErrorIncoming>> {
        self.open.poll_open_bidi(cx)
    }

    fn poll_open_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<Send, StreamErrorIncoming>> {
        self.open.poll_open_send(cx)
    }

    fn close(&mut self, reason: Code, text: &[u8]) {
        quic::OpenStreams::<Bytes>::close(&mut self.open, reason, text);
    }
}

impl quic::Connection<Bytes> for Connection {
    type RecvStream = Receive;
    type OpenStreams = Open;

    fn poll_accept_recv(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Receive, ConnectionErrorIncoming>> {
        let accepted = ready!(self.unidirectional.poll_accept_receive_stream(cx)).map_err(lost)?;
        Poll::Ready(accepted.map(Receive).ok_or_else(closed))
    }

    fn poll_accept_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Bidirectional, ConnectionErrorIncoming>> {
        let accepted =
            ready!(self.bidirectional.poll_accept_bidirectional_stream(cx)).map_err(lost)?;
        let (receive, send) = accepted.ok_or_else(closed)?.split();
        Poll::Ready(Ok(Bidirectional { send: Send::new(send), receive: Receive(receive) }))
    }

    fn opener(&self) -> Open {
        self.open.clone()
    }
}

/// The sending side of a stream, with the data from h3 that s2n-quic has not yet accepted.
pub struct Send {
    stream: stream::SendStream,
    pending: Option<WriteBuf<Bytes>>,
}

impl Send {
    fn new(stream: stream::SendStream) -> Self {
        Self { stream, pending: None }
    }
}

impl quic::SendStream<Bytes> for Send {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        while let Some(data) = self.pending.as_mut() {
            if !data.has_remaining() {
                self.pending = None;
                break;
            }
            // Wait for room first, because `send_data` cannot return data that it rejects.
            ready!(self.stream.poll_send_ready(cx)).map_err(broken)?;
            let length = data.chunk().len();
            let piece = data.copy_to_bytes(length);
            self.stream.send_data(piece).map_err(broken)?;
        }
        Poll::Ready(Ok(()))
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        if self.pending.is_some() {
            let connection_error = ConnectionErrorIncoming::InternalError(
                "data was sent before the stream was ready".to_owned(),
            );
            return Err(StreamErrorIncoming::ConnectionErrorIncoming { connection_error });
        }
        self.pending = Some(data.into());
        Ok(())
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        ready!(self.poll_ready(cx))?;
        Poll::Ready(self.stream.finish().map_err(broken))
    }

    fn reset(&mut self, reset_code: u64) {
        // An error means that the stream has already ended.
        let _ = self.stream.reset(code(reset_code));
    }

    fn send_id(&self) -> StreamId {
        number(self.stream.id())
    }
}

/// The receiving side of a stream.
pub struct Receive(stream::ReceiveStream);

impl quic::RecvStream for Receive {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.0.poll_receive(cx).map_err(broken)
    }

    fn stop_sending(&mut self, error_code: u64) {
        // An error means that the stream has already ended.
        let _ = self.0.stop_sending(code(error_code));
    }

    fn recv_id(&self) -> StreamId {
        number(self.0.id())
    }
}

/// A bidirectional stream.
pub struct Bidirectional {
    send: Send,
    receive: Receive,
}

impl quic::SendStream<Bytes> for Bidirectional {
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

    fn send_id(&self) -> StreamId {
        self.send.send_id()
    }
}

impl quic::RecvStream for Bidirectional {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.receive.poll_data(cx)
    }

    fn stop_sending(&mut self, error_code: u64) {
        self.receive.stop_sending(error_code);
    }

    fn recv_id(&self) -> StreamId {
        self.receive.recv_id()
    }
}

impl quic::BidiStream<Bytes> for Bidirectional {
    type SendStream = Send;
    type RecvStream = Receive;

    fn split(self) -> (Send, Receive) {
        (self.send, self.receive)
    }
}

//! A stream of a tunnel as one side of a proxied connection.

use super::flow_control::StreamLimits;
use crate::pep::stream::{ProxyStream, StreamError};
use bentpipe_quic::noq_proto::ConnectionError;
use bentpipe_quic::{RawStream, StreamEnd};
use bentpipe_units::Bytes as Size;
use bytes::{Buf, Bytes};
use std::task::{Context, Poll, ready};

/// Error code of an aborted stream. It stands for a TCP reset.
const RESET: u64 = 1;
/// Divisor of the window that gives the bytes between two updates of the limit. QUIC's own windows
/// use the same.
const UPDATE_FRACTION: u64 = 8;

impl From<StreamEnd> for StreamError {
    fn from(end: StreamEnd) -> Self {
        match end {
            StreamEnd::Peer(_) => Self::Reset,
            StreamEnd::Connection(ConnectionError::TimedOut) => Self::TimedOut,
            StreamEnd::Connection(_) | StreamEnd::Overfull | StreamEnd::Closed => Self::Failed,
        }
    }
}

/// A stream of a tunnel. Its header and reply do not count for its limits.
#[derive(Debug)]
pub(super) struct QuicProxyStream {
    stream: RawStream,
    limits: StreamLimits,
    /// Bytes that were read from the stream and not forwarded.
    buffered: Bytes,
    /// Bytes that may wait here.
    window: u64,
    /// The limit that the peer knows.
    advertised: u64,
    /// Bytes forwarded from the stream.
    received: u64,
    /// Bytes sent on the stream.
    sent: u64,
    done: bool,
}

impl QuicProxyStream {
    /// Returns a stream with the initial limits of the peer (`window`) and of this side (`limit`).
    pub fn new(stream: RawStream, limits: StreamLimits, window: Size, limit: Size) -> Self {
        limits.add(stream.id(), limit.get());
        let window = window.get();
        Self {
            stream,
            limits,
            buffered: Bytes::new(),
            window,
            advertised: window,
            received: 0,
            sent: 0,
            done: false,
        }
    }

    /// Returns the stream itself, for its header and reply.
    pub const fn stream(&mut self) -> &mut RawStream {
        &mut self.stream
    }

    /// Raises the limit of this side.
    pub fn raise(&self, limit: u64) {
        self.limits.raise(self.stream.id(), limit);
    }

    /// Discards further bytes from the peer, after this side has finished.
    pub fn discard_rest(mut self) {
        self.stream.stop(RESET);
        self.done = true;
    }

    /// Puts back `bytes` that were read with the header or reply.
    pub fn unread(&mut self, bytes: Bytes) {
        self.buffered = bytes;
    }
}

impl ProxyStream for QuicProxyStream {
    fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<Result<usize, StreamError>> {
        while self.buffered.is_empty() {
            match ready!(self.stream.poll_read(cx))? {
                Some(bytes) => self.buffered = bytes,
                None => return Poll::Ready(Ok(0)),
            }
        }
        let length = self.buffered.len().min(into.len());
        into[..length].copy_from_slice(&self.buffered[..length]);
        self.buffered.advance(length);
        self.received += length as u64;
        let limit = self.received.saturating_add(self.window);
        if limit - self.advertised >= (self.window / UPDATE_FRACTION).max(1) {
            self.advertised = limit;
            self.limits.advertise(self.stream.id(), limit);
        }
        Poll::Ready(Ok(length))
    }

    fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<Result<usize, StreamError>> {
        let available = ready!(self.limits.poll_available(self.stream.id(), self.sent, cx));
        let data = data.get(..usize::try_from(available).unwrap_or(usize::MAX)).unwrap_or(data);
        let written = ready!(self.stream.poll_write(cx, data))?;
        self.sent += written as u64;
        Poll::Ready(Ok(written))
    }

    fn poll_finish(&mut self, _: &mut Context<'_>) -> Poll<Result<(), StreamError>> {
        Poll::Ready(self.stream.finish().map_err(|_| StreamError::Failed))
    }

    fn done(&mut self) {
        self.done = true;
    }
}

impl Drop for QuicProxyStream {
    fn drop(&mut self) {
        self.limits.remove(self.stream.id());
        if !self.done {
            self.stream.abandon(RESET);
        }
    }
}

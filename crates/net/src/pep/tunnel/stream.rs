//! A stream of the tunnel as one side of a proxied connection.

use super::super::stream::{ProxyStream, StreamError};
use super::credit::Credits;
use bentpipe_quic::noq_proto::ConnectionError;
use bentpipe_quic::{RawStream, StreamEnd};
use bentpipe_units::Bytes as Size;
use bytes::{Buf, Bytes};
use std::task::{Context, Poll, ready};

/// The code with which a stream is given up: a reset of TCP.
const RESET: u64 = 1;
/// The part of a window that is free before the peer hears of it: the eighth that QUIC's stack has,
/// too.
const PART: u64 = 8;

impl From<StreamEnd> for StreamError {
    fn from(end: StreamEnd) -> Self {
        match end {
            StreamEnd::Peer(_) => Self::Reset,
            StreamEnd::Connection(ConnectionError::TimedOut) => Self::TimedOut,
            StreamEnd::Connection(_) | StreamEnd::Overfull | StreamEnd::Closed => Self::Failed,
        }
    }
}

/// A stream of the tunnel. What stands at its beginning does not count for its windows.
#[derive(Debug)]
pub(super) struct QuicProxyStream {
    stream: RawStream,
    credits: Credits,
    /// What was taken from the stream and not yet handed on.
    held: Bytes,
    /// Bytes that may wait here, and how far the peer knows that it may send.
    window: u64,
    told: u64,
    /// Bytes handed on, and bytes sent.
    taken: u64,
    sent: u64,
    done: bool,
}

impl QuicProxyStream {
    /// One that the peer may send `window` bytes on at first, and on which we may send `room`.
    pub fn new(stream: RawStream, credits: Credits, window: Size, room: Size) -> Self {
        credits.begin(stream.id(), room.get());
        let window = window.get();
        Self {
            stream,
            credits,
            held: Bytes::new(),
            window,
            told: window,
            taken: 0,
            sent: 0,
            done: false,
        }
    }

    /// The stream itself, for what stands at its beginning.
    pub const fn stream(&mut self) -> &mut RawStream {
        &mut self.stream
    }

    /// The peer can take so much.
    pub fn raise(&self, limit: u64) {
        self.credits.raise(self.stream.id(), limit);
    }

    /// Has what the peer still says thrown away, where this side has finished.
    pub fn refuse(mut self) {
        self.stream.stop(RESET);
        self.done = true;
    }

    /// Hands on `bytes` before anything else: they were taken too early.
    pub fn give_back(&mut self, bytes: Bytes) {
        self.held = bytes;
    }
}

impl ProxyStream for QuicProxyStream {
    fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<Result<usize, StreamError>> {
        while self.held.is_empty() {
            match ready!(self.stream.poll_read(cx))? {
                Some(bytes) => self.held = bytes,
                None => return Poll::Ready(Ok(0)),
            }
        }
        let length = self.held.len().min(into.len());
        into[..length].copy_from_slice(&self.held[..length]);
        self.held.advance(length);
        self.taken += length as u64;
        let limit = self.taken.saturating_add(self.window);
        if limit - self.told >= (self.window / PART).max(1) {
            self.told = limit;
            self.credits.tell(self.stream.id(), limit);
        }
        Poll::Ready(Ok(length))
    }

    fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<Result<usize, StreamError>> {
        let room = ready!(self.credits.poll_room(self.stream.id(), self.sent, cx));
        let data = data.get(..usize::try_from(room).unwrap_or(usize::MAX)).unwrap_or(data);
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
        self.credits.end(self.stream.id());
        if !self.done {
            self.stream.abandon(RESET);
        }
    }
}

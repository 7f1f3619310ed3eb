//! One side of a proxied connection: a TCP connection or a stream of a tunnel.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Why one side of a connection failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamError {
    /// Its peer reset the connection.
    Reset,
    /// Its peer does not respond any more.
    TimedOut,
    /// Another error.
    Failed,
}

impl From<io::Error> for StreamError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionAborted => Self::Reset,
            io::ErrorKind::TimedOut
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable => Self::TimedOut,
            _ => Self::Failed,
        }
    }
}

/// One side of a connection. Dropping it before [`ProxyStream::done`] resets the peer, which must
/// not take partial content for all of it.
pub(super) trait ProxyStream {
    /// Reads bytes. Returns 0 at the end of the peer's data.
    fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<Result<usize, StreamError>>;
    /// Writes some bytes of `data`, which is not empty.
    fn poll_write(&mut self, cx: &mut Context<'_>, data: &[u8])
    -> Poll<Result<usize, StreamError>>;
    /// Ends the data to the peer.
    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamError>>;
    /// Marks both directions as complete.
    fn done(&mut self);
}

/// A TCP connection.
#[derive(Debug)]
pub(super) struct TcpProxyStream {
    stream: TcpStream,
    done: bool,
}

impl TcpProxyStream {
    pub const fn new(stream: TcpStream) -> Self {
        Self { stream, done: false }
    }

    /// Returns the connection, for the handshake before it is proxied.
    pub const fn stream(&mut self) -> &mut TcpStream {
        &mut self.stream
    }
}

impl ProxyStream for TcpProxyStream {
    fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<Result<usize, StreamError>> {
        let mut buffer = ReadBuf::new(into);
        Pin::new(&mut self.stream)
            .poll_read(cx, &mut buffer)
            .map_ok(|()| buffer.filled().len())
            .map_err(StreamError::from)
    }

    fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<Result<usize, StreamError>> {
        Pin::new(&mut self.stream).poll_write(cx, data).map_err(StreamError::from)
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamError>> {
        Pin::new(&mut self.stream).poll_shutdown(cx).map_err(StreamError::from)
    }

    fn done(&mut self) {
        self.done = true;
    }
}

impl Drop for TcpProxyStream {
    fn drop(&mut self) {
        if !self.done {
            // If this fails, the peer sees a regular end.
            let _ = self.stream.set_zero_linger();
        }
    }
}

//! One side of a proxied connection: a TCP socket, or whatever stands for one.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// What ends a side before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamError {
    /// Its peer reset the connection.
    Reset,
    /// Its peer does not answer any more.
    TimedOut,
    /// Something else.
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

/// One side of a connection. Dropped before [`ProxyStream::done`], it resets its peer: whoever is
/// cut off must not take what it has for everything.
pub(super) trait ProxyStream {
    /// The next bytes; 0 of them at the end of what the peer sends.
    fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<Result<usize, StreamError>>;
    /// Writes some of `data`, which is not empty.
    fn poll_write(&mut self, cx: &mut Context<'_>, data: &[u8])
    -> Poll<Result<usize, StreamError>>;
    /// Says that nothing more will be written.
    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamError>>;
    /// Both directions have ended as they should.
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

    /// The connection itself, for what comes before.
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
            // Without it, the peer sees an end instead of a reset.
            let _ = self.stream.set_zero_linger();
        }
    }
}

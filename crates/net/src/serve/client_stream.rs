//! The TCP stream of a client, with a time limit for writes and a lingering close.

use super::limits::Limits;
use super::metrics::Metrics;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Duration, Instant, Sleep, sleep};

/// Bytes that are discarded at a time while a connection closes.
const DISCARD: usize = 16 * 1024;

/// The TCP stream of a client. Writes fail if the client takes nothing for [`Limits::stall_time`].
///
/// Shutting it down reads and discards what the client still sends, until the client closes its
/// side, or [`Limits::linger_pause`] or [`Limits::linger_time`] is over. The kernel resets a
/// connection that is closed with unread bytes, and discards what it has not sent by then (RFC 9112
/// §9.6).
pub(super) struct ClientStream {
    stream: TcpStream,
    limits: Limits,
    waiting: Option<Pin<Box<Sleep>>>,
    closing: Option<Lingering>,
    metrics: Arc<Metrics>,
}

/// A connection that closes.
struct Lingering {
    longest_pause: Duration,
    deadline: Instant,
    /// Until when the next bytes have to arrive.
    pause: Pin<Box<Sleep>>,
}

impl Lingering {
    fn new(limits: &Limits) -> Self {
        let longest_pause = Duration::from(limits.linger_pause);
        let deadline = Instant::now() + limits.linger_time.into();
        Self { longest_pause, deadline, pause: Box::pin(sleep(longest_pause)) }
    }

    /// Reads and discards. Ready once the client has closed its side, or the time is over.
    fn poll(&mut self, stream: &mut TcpStream, cx: &mut Context<'_>) -> Poll<()> {
        let mut buffer = [0; DISCARD];
        loop {
            let mut into = ReadBuf::new(&mut buffer);
            match Pin::new(&mut *stream).poll_read(cx, &mut into) {
                Poll::Ready(Ok(())) if !into.filled().is_empty() => {
                    let next = (Instant::now() + self.longest_pause).min(self.deadline);
                    self.pause.as_mut().reset(next);
                }
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return self.pause.as_mut().poll(cx),
            }
            if Instant::now() >= self.deadline {
                return Poll::Ready(());
            }
        }
    }
}

impl ClientStream {
    pub fn new(stream: TcpStream, limits: Limits, metrics: Arc<Metrics>) -> Self {
        Self { stream, limits, waiting: None, closing: None, metrics }
    }

    /// Fails a pending write after the time limit.
    fn check<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let limit = self.limits.stall_time.into();
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(limit)));
        waiting.as_mut().poll(cx).map(|()| {
            self.metrics.slow.fetch_add(1, Relaxed);
            Err(io::ErrorKind::TimedOut.into())
        })
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, data);
        self.check(written, cx)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { stream, limits, closing, .. } = &mut *self;
        if closing.is_none() {
            ready!(Pin::new(&mut *stream).poll_shutdown(cx))?;
        }
        closing.get_or_insert_with(|| Lingering::new(limits)).poll(stream, cx).map(Ok)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, data);
        self.check(written, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

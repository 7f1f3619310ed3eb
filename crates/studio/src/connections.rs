//! Connections: how many there may be, and how long one may wait for its other side.
//!
//! Every user of the machine can connect, and only requests with the secret are answered. So
//! connections that have not shown it have places of their own, and the oldest of them gives way to
//! a new one: whoever lacks the secret cannot keep others out, neither by waiting nor by connecting
//! again and again.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::oneshot;
use tokio::time::{Sleep, sleep};

/// Largest number of connections that have shown the secret; a page uses six.
const MAX_KNOWN: usize = 64;
/// Largest number of others.
const MAX_STRANGERS: usize = 64;

/// The connections of a studio.
#[derive(Debug, Default)]
pub struct Connections(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// Those that have not shown the secret, the oldest first, and what ends them.
    strangers: VecDeque<(u64, oneshot::Sender<()>)>,
    /// Number of those that have.
    known: usize,
    last: u64,
}

/// The place of a connection, until it is dropped.
#[derive(Debug)]
pub struct Place {
    connections: Arc<Connections>,
    id: u64,
    is_known: Mutex<bool>,
}

impl Connections {
    /// Gives a place to a connection that has shown nothing yet. It must end when the receiver gets
    /// something, which one that is closed does not.
    pub fn enter(self: &Arc<Self>) -> (Place, oneshot::Receiver<()>) {
        let (end, ended) = oneshot::channel();
        let mut inner = self.lock();
        inner.last += 1;
        let id = inner.last;
        inner.strangers.push_back((id, end));
        if inner.strangers.len() > MAX_STRANGERS
            && let Some((_, end)) = inner.strangers.pop_front()
        {
            // It may have ended by itself.
            let _ = end.send(());
        }
        (Place { connections: self.clone(), id, is_known: Mutex::new(false) }, ended)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Notes that the connection has shown the secret, so that no other ends it. Returns false if
    /// there are too many of these.
    pub fn admit(&self) -> bool {
        let mut is_known = self.is_known.lock().unwrap_or_else(PoisonError::into_inner);
        if *is_known {
            return true;
        }
        let mut inner = self.connections.lock();
        if inner.known == MAX_KNOWN {
            return false;
        }
        inner.known += 1;
        // One that was told to end is not among them any more, and ends.
        inner.strangers.retain(|(id, _)| *id != self.id);
        *is_known = true;
        true
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let is_known = *self.is_known.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut inner = self.connections.lock();
        if is_known {
            inner.known -= 1;
        } else {
            inner.strangers.retain(|(id, _)| *id != self.id);
        }
    }
}

/// A connection that fails if its other side takes nothing for some time while it should.
#[derive(Debug)]
pub struct WriteTimeout<S> {
    stream: S,
    limit: Duration,
    /// Runs while the other side takes nothing.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteTimeout<S> {
    /// Limits the time of `stream`.
    pub fn new(stream: S, limit: Duration) -> Self {
        Self { stream, limit, stalled: None }
    }

    /// Passes on what became of a write, or an error if it has waited for too long.
    fn limit<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let limit = self.limit;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(limit)));
        match stalled.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.limit(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.limit(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.limit(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.limit(context, shut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test]
    async fn the_oldest_stranger_gives_way() {
        let connections = Arc::new(Connections::default());
        let (first, mut first_ends) = connections.enter();
        let (second, mut second_ends) = connections.enter();
        assert!(first.admit() && first.admit());
        let others: Vec<_> = (0..MAX_STRANGERS).map(|_| connections.enter()).collect();
        assert!(second_ends.try_recv().is_ok(), "it was the oldest");
        assert!(first_ends.try_recv().is_err(), "it has shown the secret");
        drop((others, second));
        assert_eq!(connections.lock().strangers.len(), 0);
        let more: Vec<_> = (1..MAX_KNOWN).map(|_| connections.enter().0).collect();
        assert!(more.iter().all(Place::admit));
        let (last, _ended) = connections.enter();
        assert!(!last.admit(), "there are too many");
        drop(first);
        assert!(last.admit());
    }

    #[tokio::test]
    async fn a_side_that_takes_nothing_is_left() {
        let (near, mut far) = tokio::io::duplex(100);
        let mut near = WriteTimeout::new(near, Duration::from_millis(60));
        // One that is slow is waited for.
        let sent = tokio::spawn(async move {
            let sent = near.write_all(&[0; 500]).await;
            (sent, near)
        });
        for _ in 0..5 {
            tokio::time::sleep(Duration::from_millis(20)).await;
            far.read_exact(&mut [0; 100]).await.unwrap();
        }
        let (sent, mut near) = sent.await.unwrap();
        sent.unwrap();
        let error = near.write_all(&[0; 500]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}

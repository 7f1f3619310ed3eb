//! The content of a request, read from the client as fast as the upstream takes it.

use bytes::Bytes;
use futures_util::stream::{Stream, StreamExt, unfold};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Why content cannot be forwarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is larger than allowed.
    TooLarge = 1,
    /// The client paused for too long.
    Stalled = 2,
    /// Its length is not as announced, or the client aborted it.
    Broken = 3,
}

/// Progress of the content, for the task that waits for the response.
#[derive(Debug, Default)]
pub(super) struct Progress {
    taken: AtomicU64,
    waiting: AtomicBool,
    fault: AtomicU8,
}

impl Progress {
    /// Returns the bytes that the upstream's connection has taken.
    pub fn taken(&self) -> u64 {
        self.taken.load(Relaxed)
    }

    /// Returns whether the upload is waiting for the client.
    pub fn is_waiting(&self) -> bool {
        self.waiting.load(Relaxed)
    }

    /// Returns what is wrong with the content, if anything.
    pub fn fault(&self) -> Option<Fault> {
        [Fault::TooLarge, Fault::Stalled, Fault::Broken]
            .into_iter()
            .find(|fault| *fault as u8 == self.fault.load(Relaxed))
    }
}

/// A part of a request's content. The content is complete only after [`Piece::End`]. A sender that
/// is dropped before that has failed.
#[derive(Debug)]
pub(crate) enum Piece {
    /// The next bytes.
    Data(Bytes),
    /// The end of the content.
    End,
    /// The rest of the content will not arrive.
    Failed(io::Error),
}

/// Content of a request, as a body for hyper. Trailers are dropped.
pub(crate) struct Upload {
    pieces: Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>,
    first: Option<Bytes>,
    /// Bytes that are still to come, if announced.
    left: Option<u64>,
    limit: u64,
    progress: Arc<Progress>,
}

impl std::fmt::Debug for Upload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upload").field("left", &self.left).finish_non_exhaustive()
    }
}

impl Upload {
    fn new(
        pieces: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
        left: Option<u64>,
    ) -> Self {
        Self {
            pieces: Box::pin(pieces.fuse()),
            first: None,
            left,
            limit: u64::MAX,
            progress: Arc::default(),
        }
    }

    /// Returns no content.
    pub(super) fn empty() -> Self {
        Self::new(futures_util::stream::empty(), Some(0))
    }

    /// Returns whether there is no content, after [`Upload::peek`].
    pub(super) fn is_empty(&self) -> bool {
        self.left == Some(0) && self.first.is_none()
    }

    /// Returns the content of a request over HTTP/1.1 or HTTP/2, whose library has checked the
    /// length. Each piece has to arrive within `stall`.
    pub fn from_hyper(incoming: Incoming, stall: Duration) -> Self {
        let length = if incoming.is_end_stream() { Some(0) } else { incoming.size_hint().exact() };
        let pieces = unfold(incoming, move |mut incoming| async move {
            loop {
                let frame =
                    timeout(stall, poll_fn(|cx| Pin::new(&mut incoming).poll_frame(cx))).await;
                match frame {
                    Err(_) => return Some((Err(io::ErrorKind::TimedOut.into()), incoming)),
                    Ok(None) => return None,
                    Ok(Some(Err(error))) => return Some((Err(io::Error::other(error)), incoming)),
                    Ok(Some(Ok(frame))) => {
                        if let Ok(data) = frame.into_data() {
                            return Some((Ok(data), incoming));
                        }
                    }
                }
            }
        });
        Self::new(pieces, length)
    }

    /// Returns the content of a request over HTTP/3. `pieces` come from the connection's task, and
    /// `announced` is the length that is checked here.
    pub fn from_http3(pieces: mpsc::Receiver<Piece>, announced: Option<u64>) -> Self {
        let pieces = unfold(pieces, |mut pieces| async move {
            let piece = match pieces.recv().await {
                Some(Piece::Data(bytes)) => Ok(bytes),
                Some(Piece::End) => return None,
                Some(Piece::Failed(error)) => Err(error),
                None => Err(io::ErrorKind::ConnectionAborted.into()),
            };
            Some((piece, pieces))
        });
        Self::new(pieces, announced)
    }

    /// Limits the content to `limit` bytes. Returns false if the announced length is larger.
    pub(super) fn set_limit(&mut self, limit: u64) -> bool {
        self.limit = limit;
        self.left.is_none_or(|left| left <= limit)
    }

    pub(super) fn progress(&self) -> Arc<Progress> {
        self.progress.clone()
    }

    /// Waits for the first piece or the end if no length is announced, so that a request without
    /// content does not look like one with content of unknown length.
    pub(super) async fn peek(&mut self) -> Result<(), Fault> {
        while self.left.is_none() && self.first.is_none() {
            match self.pieces.next().await {
                None => self.left = Some(0),
                Some(Ok(piece)) => self.first = Some(piece).filter(|piece| !piece.is_empty()),
                Some(Err(error)) => return Err(fault_of(&error)),
            }
        }
        Ok(())
    }

    fn fail(&self, fault: Fault) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.progress.fault.store(fault as u8, Relaxed);
        Poll::Ready(Some(Err(io::Error::other("the client's content cannot be forwarded"))))
    }
}

fn fault_of(error: &io::Error) -> Fault {
    if error.kind() == io::ErrorKind::TimedOut { Fault::Stalled } else { Fault::Broken }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let piece = match self.first.take() {
            Some(first) => Some(Ok(first)),
            None => {
                let polled = self.pieces.poll_next_unpin(cx);
                self.progress.waiting.store(polled.is_pending(), Relaxed);
                ready!(polled)
            }
        };
        let piece = match piece {
            None if self.left.is_some_and(|left| left > 0) => return self.fail(Fault::Broken),
            None => return Poll::Ready(None),
            Some(Err(error)) => return self.fail(fault_of(&error)),
            Some(Ok(piece)) => piece,
        };
        let length = piece.len() as u64;
        if self.progress.taken.fetch_add(length, Relaxed).saturating_add(length) > self.limit {
            return self.fail(Fault::TooLarge);
        }
        if let Some(left) = self.left {
            let Some(left) = left.checked_sub(length) else { return self.fail(Fault::Broken) };
            self.left = Some(left);
        }
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn upload(
        sizes: &[usize],
        announced: Option<u64>,
        limit: u64,
    ) -> (Result<u64, Fault>, Upload) {
        let (sender, pieces) = mpsc::channel(16);
        for size in sizes {
            sender.send(Piece::Data(Bytes::from(vec![0; *size]))).await.unwrap();
        }
        sender.send(Piece::End).await.unwrap();
        let mut upload = Upload::from_http3(pieces, announced);
        upload.set_limit(limit);
        upload.peek().await.unwrap();
        let mut bytes = 0;
        while let Some(frame) = poll_fn(|cx| Pin::new(&mut upload).poll_frame(cx)).await {
            match frame {
                Ok(frame) => bytes += frame.into_data().unwrap().len() as u64,
                Err(_) => return (Err(upload.progress().fault().unwrap()), upload),
            }
        }
        (Ok(bytes), upload)
    }

    #[tokio::test]
    async fn content_whose_sender_is_dropped_is_incomplete() {
        let (sender, pieces) = mpsc::channel(16);
        sender.send(Piece::Data(Bytes::from_static(b"half"))).await.unwrap();
        drop(sender);
        let mut upload = Upload::from_http3(pieces, None);
        upload.peek().await.unwrap();
        assert!(poll_fn(|cx| Pin::new(&mut upload).poll_frame(cx)).await.unwrap().is_ok());
        assert!(poll_fn(|cx| Pin::new(&mut upload).poll_frame(cx)).await.unwrap().is_err());
        assert_eq!(upload.progress().fault(), Some(Fault::Broken));
    }

    #[tokio::test]
    async fn content_has_the_announced_length_within_the_limit() {
        assert_eq!(upload(&[3, 4], None, 7).await.0, Ok(7));
        assert_eq!(upload(&[3, 4], Some(7), 7).await.0, Ok(7));
        assert_eq!(upload(&[3, 5], None, 7).await.0, Err(Fault::TooLarge));
        assert_eq!(upload(&[3, 4], Some(8), 9).await.0, Err(Fault::Broken));
        assert_eq!(upload(&[3, 4], Some(6), 9).await.0, Err(Fault::Broken));
        let (bytes, empty) = upload(&[0, 0], None, 9).await;
        assert!(
            bytes == Ok(0) && empty.is_end_stream() && empty.size_hint().exact() == Some(0),
            "an empty upload has length 0"
        );
    }
}

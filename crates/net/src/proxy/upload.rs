//! The content of a request, read from the client as fast as the upstream takes it.

use super::fields;
use super::pace::Pace;
use bytes::{Bytes, BytesMut};
use futures_util::stream::{Stream, StreamExt, unfold};
use http::{HeaderMap, HeaderValue};
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
    /// The end of the content, with the trailers if there are any.
    End(Option<HeaderMap>),
    /// The rest of the content will not arrive.
    Failed(io::Error),
}

/// Content of a request and its trailers, as a body for hyper.
pub(crate) struct Upload {
    pieces: Pin<Box<dyn Stream<Item = io::Result<Frame<Bytes>>> + Send>>,
    /// What [`Upload::buffer`] has read.
    beginning: BytesMut,
    /// Whether all content was read from the client.
    ended: bool,
    /// Trailers that were read from the client, without those that requests may not have.
    trailers: Option<HeaderMap>,
    /// Whether trailers may follow: a message whose length is announced has none over HTTP/1.1.
    open_ended: bool,
    /// Bytes that the upstream's connection has still to take, if known.
    left: Option<u64>,
    limit: u64,
    pace: Option<Pace>,
    progress: Arc<Progress>,
}

impl std::fmt::Debug for Upload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upload").field("left", &self.left).finish_non_exhaustive()
    }
}

impl Upload {
    fn new(
        pieces: impl Stream<Item = io::Result<Frame<Bytes>>> + Send + 'static,
        left: Option<u64>,
    ) -> Self {
        Self {
            pieces: Box::pin(pieces.fuse()),
            beginning: BytesMut::new(),
            ended: false,
            trailers: None,
            open_ended: false,
            left,
            limit: u64::MAX,
            pace: None,
            progress: Arc::default(),
        }
    }

    /// Returns no content.
    pub fn empty() -> Self {
        Self { ended: true, ..Self::new(futures_util::stream::empty(), Some(0)) }
    }

    /// Returns whether there is no content, after [`Upload::buffer`].
    pub(super) fn is_empty(&self) -> bool {
        self.length() == Some(0) && self.beginning.is_empty()
    }

    /// Expects trailers, because the client has announced some.
    pub(super) fn expect_trailers(&mut self) {
        self.open_ended = !self.ended;
    }

    /// Returns the names of trailers that were read already, for the field `Trailer`.
    pub(super) fn trailer_names(&self) -> impl Iterator<Item = HeaderValue> {
        let names = self.trailers.iter().flat_map(HeaderMap::keys);
        names.map(|name| HeaderValue::from(name.clone()))
    }

    /// Returns whether all content was read from the client.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Returns the length of the content, if it is known before the upstream's connection has
    /// taken any, and no trailers follow.
    pub(super) fn length(&self) -> Option<u64> {
        self.left.filter(|_| !self.open_ended)
    }

    /// Returns the content of a request over HTTP/1.1 or HTTP/2, whose library has checked the
    /// length. Each piece has to arrive within `stall`.
    pub fn from_hyper(incoming: Incoming, stall: Duration) -> Self {
        if incoming.is_end_stream() {
            return Self::empty();
        }
        let length = incoming.size_hint().exact();
        let pieces = unfold(incoming, move |mut incoming| async move {
            let frame = poll_fn(|cx| Pin::new(&mut incoming).poll_frame(cx));
            let frame = match timeout(stall, frame).await {
                Err(_) => Err(io::ErrorKind::TimedOut.into()),
                Ok(frame) => frame?.map_err(io::Error::other),
            };
            Some((frame, incoming))
        });
        Self::new(pieces, length)
    }

    /// Returns the content of a request over HTTP/3. `pieces` come from the connection's task, and
    /// `announced` is the length that is checked here.
    pub fn from_http3(pieces: mpsc::Receiver<Piece>, announced: Option<u64>) -> Self {
        let pieces = unfold(pieces, |mut pieces| async move {
            let piece = match pieces.recv().await {
                Some(Piece::Data(bytes)) => Ok(Frame::data(bytes)),
                Some(Piece::End(trailers)) => Ok(Frame::trailers(trailers?)),
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

    /// Sets how slowly the client may send.
    pub(super) fn set_pace(&mut self, pace: Pace) {
        self.pace = Some(pace);
    }

    /// Reads the beginning of the content from the client: `limit` bytes, or all of it, whose
    /// length is then known. A request without content does not look like one with content of
    /// unknown length.
    pub(super) async fn buffer(&mut self, limit: usize) -> Result<(), Fault> {
        while !self.ended && self.beginning.len() < limit {
            let piece = poll_fn(|cx| self.poll_piece(cx)).await;
            if let Some(piece) = piece {
                self.beginning.extend_from_slice(&piece.map_err(|error| fault_of(&error))?);
            }
            let read = self.beginning.len() as u64;
            let short = self.ended && self.left.is_some_and(|left| left > read);
            if short || self.left.is_some_and(|left| left < read) {
                return Err(Fault::Broken);
            }
            if read > self.limit {
                return Err(Fault::TooLarge);
            }
            if self.ended {
                self.left = Some(read);
                self.open_ended = self.trailers.is_some();
            }
        }
        Ok(())
    }

    /// Returns the next piece from the client. Fails if the client is too slow.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        let polled = self.pieces.poll_next_unpin(cx);
        self.progress.waiting.store(polled.is_pending(), Relaxed);
        let polled = match polled {
            Poll::Pending => {
                let Some(pace) = &mut self.pace else { return Poll::Pending };
                return pace.poll_too_slow(cx).map(|()| Some(Err(io::ErrorKind::TimedOut.into())));
            }
            Poll::Ready(frame) => frame,
        };
        let piece = polled.and_then(|frame| match frame.map(Frame::into_data) {
            Ok(Ok(data)) => Some(Ok(data)),
            Ok(Err(other)) => {
                self.trailers = other.into_trailers().ok().and_then(fields::request_trailers);
                None
            }
            Err(error) => Some(Err(error)),
        });
        if let Some(pace) = &mut self.pace {
            pace.received(piece.iter().flatten().map(|data| data.len() as u64).sum());
        }
        self.ended |= piece.is_none();
        Poll::Ready(piece)
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
        let beginning = std::mem::take(&mut self.beginning);
        let piece = if !beginning.is_empty() {
            Some(Ok(beginning.freeze()))
        } else if self.ended {
            None
        } else {
            ready!(self.poll_piece(cx))
        };
        let piece = match piece {
            None if self.left.is_some_and(|left| left > 0) => return self.fail(Fault::Broken),
            None => return Poll::Ready(self.trailers.take().map(|all| Ok(Frame::trailers(all)))),
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
        self.length() == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.length().map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderName;

    async fn upload(
        sizes: &[usize],
        announced: Option<u64>,
        limit: u64,
        buffered: usize,
    ) -> (Result<u64, Fault>, Upload) {
        let (sender, pieces) = mpsc::channel(16);
        for size in sizes {
            sender.send(Piece::Data(Bytes::from(vec![0; *size]))).await.unwrap();
        }
        sender.send(Piece::End(None)).await.unwrap();
        let mut upload = Upload::from_http3(pieces, announced);
        upload.set_limit(limit);
        if let Err(fault) = upload.buffer(buffered).await {
            return (Err(fault), upload);
        }
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
        upload.buffer(1).await.unwrap();
        assert!(poll_fn(|cx| Pin::new(&mut upload).poll_frame(cx)).await.unwrap().is_ok());
        assert!(poll_fn(|cx| Pin::new(&mut upload).poll_frame(cx)).await.unwrap().is_err());
        assert_eq!(upload.progress().fault(), Some(Fault::Broken));
    }

    #[tokio::test]
    async fn content_has_the_announced_length_within_the_limit() {
        // Whether the fault is found in the beginning or later.
        for buffered in [1, 4, 100] {
            let upload = |sizes, announced, limit| upload(sizes, announced, limit, buffered);
            assert_eq!(upload(&[3, 4], None, 7).await.0, Ok(7));
            assert_eq!(upload(&[3, 4], Some(7), 7).await.0, Ok(7));
            assert_eq!(upload(&[3, 5], None, 7).await.0, Err(Fault::TooLarge));
            assert_eq!(upload(&[3, 4], Some(8), 9).await.0, Err(Fault::Broken));
            assert_eq!(upload(&[3, 4], Some(6), 9).await.0, Err(Fault::Broken));
            assert_eq!(upload(&[3], Some(0), 9).await.0, Err(Fault::Broken));
            let (bytes, empty) = upload(&[0, 0], None, 9).await;
            assert!(
                bytes == Ok(0) && empty.is_end_stream() && empty.size_hint().exact() == Some(0),
                "an empty upload has length 0"
            );
        }
    }

    #[tokio::test]
    async fn the_length_of_small_content_is_known_before_it_is_sent() {
        let (sender, pieces) = mpsc::channel(16);
        for piece in [Piece::Data(Bytes::from_static(b"some")), Piece::End(None)] {
            sender.send(piece).await.unwrap();
        }
        let mut upload = Upload::from_http3(pieces, None);
        upload.buffer(100).await.unwrap();
        assert_eq!(
            (upload.length(), upload.has_ended(), upload.is_empty()),
            (Some(4), true, false)
        );
    }

    #[tokio::test]
    async fn trailers_follow_the_content_unless_its_length_says_that_there_are_none() {
        let trailers = || {
            let fields = [("x-sum", "7"), ("content-length", "9"), ("x-forwarded-for", "1.1.1.1")];
            let fields = fields.map(|(name, value)| {
                (HeaderName::from_static(name), HeaderValue::from_static(value))
            });
            Some(HeaderMap::from_iter(fields))
        };
        // Whether the trailers are read before the upstream is asked, and are announced.
        for (buffered, announced) in [(100, false), (1, false), (1, true)] {
            let (sender, pieces) = mpsc::channel(16);
            for _ in 0..2 {
                sender.send(Piece::Data(Bytes::from_static(b"some"))).await.unwrap();
            }
            sender.send(Piece::End(trailers())).await.unwrap();
            drop(sender);
            let mut upload = Upload::from_http3(pieces, announced.then_some(8));
            if announced {
                upload.expect_trailers();
            }
            upload.buffer(buffered).await.unwrap();
            let names: Vec<HeaderValue> = upload.trailer_names().collect();
            assert_eq!(names.len(), usize::from(buffered == 100));
            assert!(upload.length().is_none() && !upload.is_empty());
            let (mut bytes, mut last) = (0, None);
            while let Some(frame) = poll_fn(|cx| Pin::new(&mut upload).poll_frame(cx)).await {
                match frame.unwrap().into_data() {
                    Ok(data) => bytes += data.len(),
                    Err(other) => last = other.into_trailers().ok(),
                }
            }
            let last = last.unwrap();
            assert_eq!((bytes, last.len(), &last["x-sum"]), (8, 1, &HeaderValue::from_static("7")));
        }
    }
}

//! A response's content as hyper takes it, and the watch over a stream of HTTP/2.

use super::RequestLog;
use super::reply::Content;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::stream::{Stream, unfold};
use http_body::Frame;
use hyper::rt::Executor;
use std::any::Any;
use std::future::Future;
use std::io;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use tokio::time::{Duration, Instant, sleep};

/// Bytes handed to hyper at once: our choice. A response that is not taken holds up to three
/// such pieces: read, with hyper, and in the stream's send buffer.
pub(super) const TCP_PIECE: u64 = 32 * 1024;

tokio::task_local! {
    /// The stream of HTTP/2 that a task is for.
    static STREAM: Arc<StreamWatch>;
}

/// Observes whether the client takes what is sent on a stream of HTTP/2.
///
/// hyper asks for the next piece as soon as the stream's window lets it begin to send the present
/// one, and drops each piece once it has been written to the connection.
#[derive(Debug, Default)]
pub(super) struct StreamWatch(Mutex<Progress>);

#[derive(Debug, Default)]
struct Progress {
    /// When the client last took something, while something waits for it.
    waiting: Option<Instant>,
    /// Pieces that were handed over and not yet written.
    unwritten: usize,
    /// Whether hyper has not asked for more since it got the last piece.
    handed: bool,
    waker: Option<Waker>,
}

impl StreamWatch {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// hyper asks for a piece.
    fn asked(&self) {
        let mut progress = self.progress();
        if std::mem::take(&mut progress.handed) {
            progress.waiting = (progress.unwritten > 0).then(Instant::now);
        }
    }

    /// hyper gets `data`.
    fn hand(self: &Arc<Self>, data: Bytes) -> Bytes {
        let mut progress = self.progress();
        progress.unwritten += 1;
        progress.handed = true;
        progress.waiting.get_or_insert_with(Instant::now);
        drop(progress);
        Bytes::from_owner(Piece { data, watch: self.clone() })
    }

    /// Ready once all pieces have been written.
    fn poll_written(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut progress = self.progress();
        if progress.unwritten == 0 {
            return Poll::Ready(());
        }
        progress.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Waits until the client has taken nothing for `limit`, and up to a quarter longer.
    async fn stalled(&self, limit: Duration) {
        loop {
            sleep(limit / 4).await;
            if self.progress().waiting.is_some_and(|since| since.elapsed() >= limit) {
                return;
            }
        }
    }
}

/// A piece that says when it has been written.
struct Piece {
    data: Bytes,
    watch: Arc<StreamWatch>,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.data
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        let mut progress = self.watch.progress();
        progress.unwritten -= 1;
        progress.waiting = (progress.unwritten > 0).then(Instant::now);
        let waker = progress.waker.take();
        drop(progress);
        waker.into_iter().for_each(Waker::wake);
    }
}

/// Runs the streams of an HTTP/2 connection, and drops those whose clients take nothing: then h2
/// resets them (RST_STREAM).
#[derive(Debug, Clone)]
pub(super) struct StreamExecutor<F> {
    pub limit: Duration,
    /// Called for each stream that ends before its time.
    pub cut: F,
}

/// Why a stream ended before its time.
pub(super) enum StreamCut {
    /// The client took nothing of it for too long.
    Stalled,
    /// Its task panicked.
    Panicked(Box<dyn Any + Send>),
}

impl<S, F> Executor<S> for StreamExecutor<F>
where
    S: Future<Output = ()> + Send + 'static,
    F: Fn(StreamCut) + Clone + Send + 'static,
{
    fn execute(&self, stream: S) {
        let Self { limit, cut } = self.clone();
        tokio::spawn(async move {
            let watch = Arc::new(StreamWatch::default());
            tokio::select! {
                ended = AssertUnwindSafe(STREAM.scope(watch.clone(), stream)).catch_unwind() => {
                    if let Err(panic) = ended {
                        cut(StreamCut::Panicked(panic));
                    }
                }
                () = watch.stalled(limit) => cut(StreamCut::Stalled),
            }
        });
    }
}

/// The requests of a connection that are under way. Clones count together.
#[derive(Debug, Clone)]
pub(super) struct Requests(Arc<RequestCount>);

#[derive(Debug)]
struct RequestCount {
    under_way: AtomicUsize,
    last_end: Mutex<Instant>,
}

/// A request that is under way, until it is dropped.
#[derive(Debug)]
pub(super) struct UnderWay(Requests);

impl Requests {
    pub fn new() -> Self {
        Self(Arc::new(RequestCount {
            under_way: AtomicUsize::new(0),
            last_end: Mutex::new(Instant::now()),
        }))
    }

    pub fn begin(&self) -> UnderWay {
        self.0.under_way.fetch_add(1, Ordering::AcqRel);
        UnderWay(self.clone())
    }

    /// How long none has been under way.
    pub fn idle_time(&self) -> Duration {
        if self.0.under_way.load(Ordering::Acquire) > 0 {
            return Duration::ZERO;
        }
        self.0.last_end.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let Requests(count) = &self.0;
        *count.last_end.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        count.under_way.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What was read of a content, and whether nothing follows it.
type Read = io::Result<(Bytes, bool)>;

/// A response's content as hyper takes it.
pub(super) struct Outgoing {
    content: Pin<Box<dyn Stream<Item = Read> + Send>>,
    /// Whether there is no content at all.
    empty: bool,
    /// Whether the content may end where it is not known to.
    open_ended: bool,
    /// Whether all of the content was handed over.
    whole: bool,
    served: Option<RequestLog>,
    /// For HTTP/2.
    watch: Option<Arc<StreamWatch>>,
    _under_way: UnderWay,
}

impl Outgoing {
    pub fn new(content: Content, served: RequestLog, under_way: UnderWay) -> Self {
        let empty = matches!(content, Content::File { .. }) && content.is_done();
        let (open_ended, whole) = (matches!(content, Content::Upstream(_)), content.is_done());
        let pieces = unfold(content, |mut content| async move {
            let read = content.next(TCP_PIECE).await.transpose()?;
            Some((read.map(|data| (data, content.is_done())), content))
        });
        let watch = STREAM.try_with(Arc::clone).ok();
        let mut outgoing = Self {
            content: Box::pin(pieces),
            empty,
            open_ended,
            whole,
            served: Some(served),
            watch,
            _under_way: under_way,
        };
        // hyper does not ask for content where the length says that there is none.
        if empty || (whole && outgoing.watch.is_none()) {
            outgoing.complete();
        }
        outgoing
    }

    fn complete(&mut self) {
        self.served.take().into_iter().for_each(RequestLog::complete);
    }
}

impl http_body::Body for Outgoing {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = &mut *self;
        if let Some(watch) = &this.watch {
            watch.asked();
        }
        if !this.whole {
            let Poll::Ready(read) = this.content.as_mut().poll_next(cx) else {
                return Poll::Pending;
            };
            match read {
                Some(Ok((data, last))) => {
                    this.served.iter_mut().for_each(|served| served.sent(data.len() as u64));
                    this.whole = last;
                    let Some(watch) = &this.watch else {
                        // Where the length is known, HTTP/1.1 does not ask whether there is more.
                        if last {
                            this.complete();
                        }
                        return Poll::Ready(Some(Ok(Frame::data(data))));
                    };
                    return Poll::Ready(Some(Ok(Frame::data(watch.hand(data)))));
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => this.whole = this.open_ended,
            }
        }
        // The stream ends when the client has been sent all of it, so that the watch sees that.
        if let Some(watch) = &this.watch
            && watch.poll_written(cx).is_pending()
        {
            return Poll::Pending;
        }
        // A file that ended before is shorter than announced.
        if this.whole {
            this.complete();
        }
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        self.empty
    }
}

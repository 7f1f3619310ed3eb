//! The content of a response as a body for hyper, and the time limit of HTTP/2 streams.

use super::request_log::RequestLog;
use super::response::Content;
use crate::admission::activity::Activity;
use bytes::{Buf, Bytes};
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

/// Largest piece that hyper gets, bytes. Our choice. A response whose client takes nothing holds up
/// to three pieces: one read, one with hyper, and one in the stream's send buffer.
const MAX_PIECE: u64 = 32 * 1024;

tokio::task_local! {
    /// The progress of the HTTP/2 stream that a task serves.
    static STREAM: Arc<StreamProgress>;
}

/// Progress of an HTTP/2 stream, which shows whether the client takes what is sent.
///
/// hyper polls for the next piece as soon as the stream's window lets it start to send the current
/// one. It drops each piece after writing it to the connection.
#[derive(Debug, Default)]
pub(super) struct StreamProgress {
    state: Mutex<State>,
    /// Since when a piece waits for the client.
    activity: Arc<Activity>,
}

#[derive(Debug, Default)]
struct State {
    /// Pieces that hyper got and has not written.
    unwritten: usize,
    /// Whether hyper dropped a piece before all of it was written.
    lost: bool,
    /// Whether hyper has not polled since it got the last piece.
    unpolled: bool,
    waker: Option<Waker>,
}

impl StreamProgress {
    /// Returns the activity of the stream that the present task serves, if it serves one.
    pub fn current_activity() -> Option<Arc<Activity>> {
        STREAM.try_with(|progress| progress.activity.clone()).ok()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the client's time anew, if a piece waits for it.
    fn restart(&self, state: &State) {
        if state.unwritten > 0 { self.activity.waits() } else { self.activity.proceeds() }
    }

    /// Notes that hyper polls for a piece.
    fn polled(&self) {
        let mut state = self.state();
        if std::mem::take(&mut state.unpolled) {
            self.restart(&state);
        }
    }

    /// Notes that hyper gets a piece.
    fn give(&self) {
        let mut state = self.state();
        if state.unwritten == 0 {
            self.activity.waits();
        }
        state.unwritten += 1;
        state.unpolled = true;
    }

    /// Notes that hyper dropped a piece, of which `left` bytes were not written.
    fn dropped(&self, left: usize) {
        let mut state = self.state();
        state.unwritten -= 1;
        state.lost |= left > 0;
        self.restart(&state);
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }

    /// Returns whether all pieces were written.
    fn is_written(&self) -> bool {
        let state = self.state();
        state.unwritten == 0 && !state.lost
    }

    /// Ready once hyper holds no piece.
    fn poll_written(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.state();
        if state.unwritten == 0 {
            return Poll::Ready(());
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Waits until the client has taken nothing for `limit`, and up to a quarter longer, or until
    /// the stream's slot is taken back.
    async fn stalled(&self, limit: Duration) {
        let stalled = async {
            loop {
                sleep(limit / 4).await;
                if self.activity.stalled_for(Instant::now()).is_some_and(|time| time >= limit) {
                    return;
                }
            }
        };
        tokio::select! {
            () = stalled => {}
            () = self.activity.revoked() => {}
        }
    }
}

/// A piece of content for hyper, which updates the stream's progress when it is dropped.
pub(super) struct OutgoingPiece {
    data: Bytes,
    /// For HTTP/2.
    progress: Option<Arc<StreamProgress>>,
}

impl Buf for OutgoingPiece {
    fn remaining(&self) -> usize {
        self.data.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.data.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.data.advance(count);
    }
}

impl Drop for OutgoingPiece {
    fn drop(&mut self) {
        if let Some(progress) = &self.progress {
            progress.dropped(self.data.remaining());
        }
    }
}

/// Runs the streams of an HTTP/2 connection, and drops those whose client takes nothing. h2 then
/// resets them (RST_STREAM).
#[derive(Debug, Clone)]
pub(super) struct StreamExecutor<F> {
    pub limit: Duration,
    /// Called for each aborted stream.
    pub aborted: F,
}

/// Why a stream was aborted.
pub(super) enum AbortReason {
    /// The client took nothing for too long.
    Stalled,
    /// Its task panicked.
    Panicked(Box<dyn Any + Send>),
}

impl<S, F> Executor<S> for StreamExecutor<F>
where
    S: Future<Output = ()> + Send + 'static,
    F: Fn(AbortReason) + Clone + Send + 'static,
{
    fn execute(&self, stream: S) {
        let Self { limit, aborted } = self.clone();
        tokio::spawn(async move {
            let progress = Arc::new(StreamProgress::default());
            tokio::select! {
                ended = AssertUnwindSafe(STREAM.scope(progress.clone(), stream)).catch_unwind() => {
                    if let Err(panic) = ended {
                        aborted(AbortReason::Panicked(panic));
                    }
                }
                () = progress.stalled(limit) => aborted(AbortReason::Stalled),
            }
        });
    }
}

/// Number of requests under way on a connection. Clones share the count.
#[derive(Debug, Clone)]
pub(super) struct Requests(Arc<RequestCount>);

#[derive(Debug)]
struct RequestCount {
    active: AtomicUsize,
    last_end: Mutex<Instant>,
}

/// A request under way, until it is dropped.
#[derive(Debug)]
pub(super) struct ActiveRequest(Requests);

impl Requests {
    pub fn new() -> Self {
        Self(Arc::new(RequestCount {
            active: AtomicUsize::new(0),
            last_end: Mutex::new(Instant::now()),
        }))
    }

    pub fn start(&self) -> ActiveRequest {
        self.0.active.fetch_add(1, Ordering::AcqRel);
        ActiveRequest(self.clone())
    }

    /// Returns the time since the last request ended. Zero while a request is under way.
    pub fn idle_time(&self) -> Duration {
        if self.0.active.load(Ordering::Acquire) > 0 {
            return Duration::ZERO;
        }
        self.0.last_end.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        let Requests(count) = &self.0;
        *count.last_end.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        count.active.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Content that was read, and whether it is the last.
type Read = io::Result<(Bytes, bool)>;

/// The content of a response as a body for hyper.
pub(super) struct Outgoing {
    content: Pin<Box<dyn Stream<Item = Read> + Send>>,
    /// Whether there is no content at all.
    empty: bool,
    /// Whether the content may end without a known length.
    open_ended: bool,
    /// Whether hyper got all content.
    whole: bool,
    log: Option<RequestLog>,
    /// For HTTP/2.
    progress: Option<Arc<StreamProgress>>,
    activity: Arc<Activity>,
    _active: ActiveRequest,
}

impl Outgoing {
    /// Returns the body of a response. `activity` is that of its request.
    pub fn new(
        content: Content,
        log: RequestLog,
        active: ActiveRequest,
        activity: Arc<Activity>,
    ) -> Self {
        let empty = matches!(content, Content::File { .. }) && content.is_done();
        let (open_ended, whole) = (matches!(content, Content::Upstream(_)), content.is_done());
        let pieces = unfold(content, |mut content| async move {
            let read = content.next(MAX_PIECE).await.transpose()?;
            Some((read.map(|data| (data, content.is_done())), content))
        });
        let progress = STREAM.try_with(Arc::clone).ok();
        let mut outgoing = Self {
            content: Box::pin(pieces),
            empty,
            open_ended,
            whole,
            log: Some(log),
            progress,
            activity,
            _active: active,
        };
        // hyper does not poll for content whose length is 0.
        if empty || (whole && outgoing.progress.is_none()) {
            outgoing.complete();
        }
        outgoing
    }

    fn complete(&mut self) {
        self.log.take().into_iter().for_each(|mut log| log.complete());
    }

    /// Returns `data` for hyper. HTTP/1.1 does not poll after content of known length.
    fn piece(&mut self, data: Bytes) -> OutgoingPiece {
        match &self.progress {
            Some(progress) => progress.give(),
            None => self.activity.waits(),
        }
        if self.whole && self.progress.is_none() {
            self.complete();
        }
        OutgoingPiece { data, progress: self.progress.clone() }
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        // A client that knows the length may leave as soon as it has all, before hyper polls for
        // the end.
        if self.whole && self.progress.as_ref().is_some_and(|progress| progress.is_written()) {
            self.complete();
        }
        // Over HTTP/1.1, the next request has the same activity.
        self.activity.proceeds();
    }
}

impl http_body::Body for Outgoing {
    type Data = OutgoingPiece;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<OutgoingPiece>>>> {
        let this = &mut *self;
        match &this.progress {
            Some(progress) => progress.polled(),
            None => this.activity.proceeds(),
        }
        if !this.whole {
            let Poll::Ready(read) = this.content.as_mut().poll_next(cx) else {
                return Poll::Pending;
            };
            match read {
                Some(Ok((data, last))) => {
                    this.log.iter_mut().for_each(|log| log.add_bytes(data.len() as u64));
                    this.whole = last;
                    return Poll::Ready(Some(Ok(Frame::data(this.piece(data)))));
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => this.whole = this.open_ended,
            }
        }
        // The stream ends after all pieces are written, so that the time limit applies to them.
        if let Some(progress) = &this.progress
            && progress.poll_written(cx).is_pending()
        {
            return Poll::Pending;
        }
        // A file that ended earlier is shorter than announced.
        if this.whole {
            this.complete();
        }
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        self.empty
    }
}

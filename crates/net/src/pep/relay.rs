//! Forwards a connection: bytes from each side go to the other side, through fixed buffers.

use super::stream::{ProxyStream, StreamError};
use bentpipe_units::{Bytes, Span};
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use tokio::time::{Duration, Instant, sleep};

/// Steps of one direction before it yields, so that a busy connection does not block the thread.
const MAX_STEPS: usize = 16;

/// A side of the proxy, as in the simulator's relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// The side of the client, which opened the connection.
    Client,
    /// The side of the server.
    Server,
}

/// How a forwarded connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Both directions ended regularly.
    Complete,
    /// One side failed, and the other was reset.
    StreamError(Side, StreamError),
    /// The connection was idle for too long.
    Idle,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (side, error) = match self {
            Self::Complete => return f.write_str("complete"),
            Self::Idle => return f.write_str("idle"),
            Self::StreamError(side, error) => (side, error),
        };
        let side = match side {
            Side::Client => "client",
            Side::Server => "server",
        };
        f.write_str(match error {
            StreamError::Reset => "reset-by-",
            StreamError::TimedOut => "lost-",
            StreamError::Failed => "failed-",
        })?;
        f.write_str(side)
    }
}

/// Bytes that were forwarded so far.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// From the client to the server.
    pub up: AtomicU64,
    /// From the server to the client.
    pub down: AtomicU64,
}

/// Time limits of an idle connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct IdleTimeouts {
    /// While both directions are open.
    pub idle: Span,
    /// After one direction has ended.
    pub half_open: Span,
}

/// Forwards a connection until it ends. `first` holds bytes that the client has sent already. Each
/// direction has a buffer of `buffer` bytes, or of the size of `first`.
pub(super) async fn relay(
    client: &mut impl ProxyStream,
    server: &mut impl ProxyStream,
    first: Vec<u8>,
    buffer: Bytes,
    timeouts: IdleTimeouts,
    progress: &Progress,
) -> End {
    let size = usize::try_from(buffer.get()).unwrap_or(usize::MAX);
    let (mut up, mut down) = (Pipe::new(size, first), Pipe::new(size, Vec::new()));
    let mut timer = pin!(sleep(timeouts.idle.into()));
    let mut idle = true;
    poll_fn(|cx| {
        for (pipe, count, towards) in
            [(&mut up, &progress.up, Side::Server), (&mut down, &progress.down, Side::Client)]
        {
            let before = pipe.written;
            let polled = match towards {
                Side::Server => pipe.poll(cx, client, server),
                Side::Client => pipe.poll(cx, server, client),
            };
            if pipe.written != before {
                count.store(pipe.written, Relaxed);
                idle = false;
            }
            if let Poll::Ready(Err((writing, error))) = polled {
                let other = if towards == Side::Server { Side::Client } else { Side::Server };
                return Poll::Ready(End::StreamError(if writing { towards } else { other }, error));
            }
        }
        if up.is_done() && down.is_done() {
            client.done();
            server.done();
            return Poll::Ready(End::Complete);
        }
        let limit: Duration =
            if up.is_done() || down.is_done() { timeouts.half_open } else { timeouts.idle }.into();
        // The end of the first direction shortens the remaining time.
        if timer.deadline() > Instant::now() + limit {
            timer.as_mut().reset(Instant::now() + limit);
        }
        while timer.as_mut().poll(cx).is_ready() {
            if idle {
                return Poll::Ready(End::Idle);
            }
            // Checked at each expiry, which is cheaper than a new timer for each byte.
            idle = true;
            timer.as_mut().reset(Instant::now() + limit);
        }
        Poll::Pending
    })
    .await
}

/// One direction.
struct Pipe {
    /// Bytes at `from..to` were read and are not written.
    buffer: Box<[u8]>,
    from: usize,
    to: usize,
    state: State,
    /// Bytes written so far.
    written: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// The source has ended.
    Ended,
    /// The sink has got the end.
    Done,
}

impl Pipe {
    fn new(size: usize, first: Vec<u8>) -> Self {
        let to = first.len();
        let mut buffer = first;
        buffer.resize(size.max(to).max(1), 0);
        Self { buffer: buffer.into_boxed_slice(), from: 0, to, state: State::Open, written: 0 }
    }

    fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Forwards as much as possible. The flag of an error says whether the sink failed.
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        source: &mut impl ProxyStream,
        sink: &mut impl ProxyStream,
    ) -> Poll<Result<(), (bool, StreamError)>> {
        for _ in 0..MAX_STEPS {
            if self.from < self.to {
                let waiting = self.buffer.get(self.from..self.to).unwrap_or_default();
                let written =
                    ready!(sink.poll_write(cx, waiting)).map_err(|error| (true, error))?;
                if written == 0 {
                    return Poll::Ready(Err((true, StreamError::Failed)));
                }
                self.from += written;
                self.written += written as u64;
                continue;
            }
            match self.state {
                State::Open => {
                    let read = ready!(source.poll_read(cx, &mut self.buffer))
                        .map_err(|error| (false, error))?;
                    (self.from, self.to) = (0, read);
                    if read == 0 {
                        self.state = State::Ended;
                    }
                }
                State::Ended => {
                    ready!(sink.poll_finish(cx)).map_err(|error| (true, error))?;
                    self.state = State::Done;
                }
                State::Done => return Poll::Ready(Ok(())),
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

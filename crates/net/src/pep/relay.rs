//! Leads a connection on: what arrives at one side leaves at the other, within fixed buffers.

use super::stream::{ProxyStream, StreamError};
use bentpipe_units::{Bytes, Span};
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use tokio::time::{Duration, Instant, sleep};

/// Steps of one direction before others have their turn: whoever can always read and write must not
/// keep the processor.
const TURN: usize = 16;

/// Which side of the proxy: the same words as in the simulator's relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// Towards the client, which opened.
    Client,
    /// Towards the server.
    Server,
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Both sides had said all.
    Complete,
    /// One side was cut off, and the other was reset.
    StreamError(Side, StreamError),
    /// Nothing moved for too long.
    Idle,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (side, cut) = match self {
            Self::Complete => return f.write_str("complete"),
            Self::Idle => return f.write_str("idle"),
            Self::StreamError(side, cut) => (side, cut),
        };
        let side = match side {
            Side::Client => "client",
            Side::Server => "server",
        };
        f.write_str(match cut {
            StreamError::Reset => "reset-by-",
            StreamError::TimedOut => "lost-",
            StreamError::Failed => "failed-",
        })?;
        f.write_str(side)
    }
}

/// Bytes that were led on so far.
#[derive(Debug, Default)]
pub(super) struct Moved {
    /// From the client to the server.
    pub up: AtomicU64,
    /// From the server to the client.
    pub down: AtomicU64,
}

/// How long is waited for whom.
#[derive(Debug, Clone, Copy)]
pub(super) struct IdleTimeouts {
    /// Nothing moves.
    pub idle: Span,
    /// Nothing moves, and one direction has ended.
    pub half_open: Span,
}

/// Leads a connection on until it ends. `first` is what the client has said already. Each direction
/// holds `piece` bytes at most, or `first`.
pub(super) async fn relay(
    client: &mut impl ProxyStream,
    server: &mut impl ProxyStream,
    first: Vec<u8>,
    piece: Bytes,
    patience: IdleTimeouts,
    moved: &Moved,
) -> End {
    let piece = usize::try_from(piece.get()).unwrap_or(usize::MAX);
    let (mut up, mut down) = (Pipe::new(piece, first), Pipe::new(piece, Vec::new()));
    let mut timer = pin!(sleep(patience.idle.into()));
    let mut quiet = true;
    poll_fn(|cx| {
        for (pipe, count, towards) in
            [(&mut up, &moved.up, Side::Server), (&mut down, &moved.down, Side::Client)]
        {
            let before = pipe.moved;
            let polled = match towards {
                Side::Server => pipe.poll(cx, client, server),
                Side::Client => pipe.poll(cx, server, client),
            };
            if pipe.moved != before {
                count.store(pipe.moved, Relaxed);
                quiet = false;
            }
            if let Poll::Ready(Err((writing, cut))) = polled {
                let other = if towards == Side::Server { Side::Client } else { Side::Server };
                return Poll::Ready(End::StreamError(if writing { towards } else { other }, cut));
            }
        }
        if up.is_done() && down.is_done() {
            client.done();
            server.done();
            return Poll::Ready(End::Complete);
        }
        let limit: Duration =
            if up.is_done() || down.is_done() { patience.half_open } else { patience.idle }.into();
        // The first direction's end shortens the time that is left.
        if timer.deadline() > Instant::now() + limit {
            timer.as_mut().reset(Instant::now() + limit);
        }
        while timer.as_mut().poll(cx).is_ready() {
            if quiet {
                return Poll::Ready(End::Idle);
            }
            // Looked at once in a while instead of being set anew with each byte.
            quiet = true;
            timer.as_mut().reset(Instant::now() + limit);
        }
        Poll::Pending
    })
    .await
}

/// One direction.
struct Pipe {
    /// What has been read and not written is at `from..to`.
    buffer: Box<[u8]>,
    from: usize,
    to: usize,
    state: State,
    /// Bytes written so far.
    moved: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// The source has said all.
    Ended,
    /// And the sink knows.
    Done,
}

impl Pipe {
    fn new(piece: usize, first: Vec<u8>) -> Self {
        let to = first.len();
        let mut buffer = first;
        buffer.resize(piece.max(to).max(1), 0);
        Self { buffer: buffer.into_boxed_slice(), from: 0, to, state: State::Open, moved: 0 }
    }

    fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Goes on as far as it can. An error says whether it was the sink's.
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        source: &mut impl ProxyStream,
        sink: &mut impl ProxyStream,
    ) -> Poll<Result<(), (bool, StreamError)>> {
        for _ in 0..TURN {
            if self.from < self.to {
                let waiting = self.buffer.get(self.from..self.to).unwrap_or_default();
                let written = ready!(sink.poll_write(cx, waiting)).map_err(|cut| (true, cut))?;
                if written == 0 {
                    return Poll::Ready(Err((true, StreamError::Failed)));
                }
                self.from += written;
                self.moved += written as u64;
                continue;
            }
            match self.state {
                State::Open => {
                    let read = ready!(source.poll_read(cx, &mut self.buffer))
                        .map_err(|cut| (false, cut))?;
                    (self.from, self.to) = (0, read);
                    if read == 0 {
                        self.state = State::Ended;
                    }
                }
                State::Ended => {
                    ready!(sink.poll_finish(cx)).map_err(|cut| (true, cut))?;
                    self.state = State::Done;
                }
                State::Done => return Poll::Ready(Ok(())),
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

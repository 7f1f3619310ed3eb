//! Opening and accepting streams.

use super::handle::Conn;
use super::waiters::wait;
use noq_proto::{ConnectionError, Dir, StreamId};
use std::task::{Context, Poll};

impl Conn {
    /// Polls for the next stream that the peer opens.
    pub(crate) fn poll_accept(
        &self,
        dir: Dir,
        cx: &mut Context<'_>,
    ) -> Poll<Result<StreamId, ConnectionError>> {
        let mut state = self.lock();
        if let Some(id) = state.quic.streams().accept(dir) {
            if dir == Dir::Bi {
                state.accepted = id.index() + 1;
                state.writers.entry(id).or_default();
            }
            return Poll::Ready(Ok(id));
        }
        if let Some(error) = &state.closed {
            return Poll::Ready(Err(error.clone()));
        }
        wait(&mut state.accept[dir as usize], cx);
        Poll::Pending
    }

    /// Opens a stream. Pending while the peer's stream limit is reached.
    pub(crate) fn poll_open(
        &self,
        dir: Dir,
        cx: &mut Context<'_>,
    ) -> Poll<Result<StreamId, ConnectionError>> {
        let mut state = self.lock();
        if let Some(error) = &state.closed {
            return Poll::Ready(Err(error.clone()));
        }
        if let Some(id) = state.quic.streams().open(dir) {
            if dir == Dir::Bi {
                state.writers.insert(id, None);
            }
            return Poll::Ready(Ok(id));
        }
        wait(&mut state.open[dir as usize], cx);
        Poll::Pending
    }
}

//! Frames of a call that one stream carries.

use bentpipe_media::wire::{Header, STREAM_TYPE};
use bentpipe_quic::{Conn, MAX_ZEROS, RawStream, zeros};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Frames that wait to be written to their stream.
#[derive(Clone, Default)]
pub struct FrameQueue(Arc<Mutex<Waiting>>);

#[derive(Default)]
struct Waiting {
    frames: VecDeque<Header>,
    /// No frame follows those that wait.
    is_complete: bool,
    /// The peer has stopped the stream, or the connection has ended.
    is_stopped: bool,
    writer: Option<Waker>,
}

impl FrameQueue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a frame, unless the stream was stopped.
    pub fn push(&self, frame: Header) {
        let mut waiting = self.lock();
        if !waiting.is_stopped {
            waiting.frames.push_back(frame);
            waiting.writer.take().into_iter().for_each(Waker::wake);
        }
    }

    /// Ends the stream after the frames that wait.
    pub fn complete(&self) {
        let mut waiting = self.lock();
        waiting.is_complete = true;
        waiting.writer.take().into_iter().for_each(Waker::wake);
    }

    /// Polls for the next frame; `None` after the last one.
    fn poll_next(&self, cx: &Context<'_>) -> Poll<Option<Header>> {
        let mut waiting = self.lock();
        if let Some(frame) = waiting.frames.pop_front() {
            return Poll::Ready(Some(frame));
        }
        if waiting.is_complete {
            return Poll::Ready(None);
        }
        waiting.writer = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Drops all frames and those that follow.
    fn stop(&self) {
        *self.lock() = Waiting { is_stopped: true, ..Waiting::default() };
    }
}

/// Opens a stream, and writes the frames of `queue` to it as they come.
pub async fn write_frames(conn: Conn, queue: FrameQueue) {
    let Ok(mut stream) = RawStream::open_unidirectional(&conn).await else { return queue.stop() };
    let mut written = stream.write_all(&[STREAM_TYPE]).await;
    while written.is_ok() {
        match poll_fn(|cx| queue.poll_next(cx)).await {
            Some(frame) => written = write_frame(&mut stream, &frame).await,
            // A stream that was stopped meanwhile is over already.
            None => return drop(stream.finish()),
        }
    }
    queue.stop();
}

async fn write_frame(stream: &mut RawStream, frame: &Header) -> Result<(), String> {
    stream.write_all(&frame.encode()).await?;
    let mut left = frame.rest as usize;
    while left > 0 {
        let piece = zeros(left.min(MAX_ZEROS));
        left -= piece.len();
        stream.write_all(&piece).await?;
    }
    Ok(())
}

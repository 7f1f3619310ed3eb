//! A connection in its endpoint.

use super::accept::{PanicHandler, panic_message};
use super::attachments::Attachments;
use super::wake::ConnectionWaker;
use crate::ack::AckScheduler;
use crate::connection::{Conn, Task};
use bentpipe_units::{Span, Time};
use futures_util::stream::FuturesUnordered;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// How often the path memory is updated with what a connection has observed.
const FLUSH_INTERVAL: Span = Span::from_secs(1);

/// A connection in its endpoint.
pub(super) struct Entry {
    pub conn: Conn,
    pub tasks: FuturesUnordered<Task>,
    pub timeout: Option<Time>,
    /// True while it is in the queue of connections that may have something to send.
    pub queued: bool,
    pub attachments: Attachments,
    /// Time of the last update of the path memory.
    pub flushed: Time,
    pub waker: Arc<ConnectionWaker>,
    pub ack_scheduler: AckScheduler,
}

impl Entry {
    /// Updates the path memory and the start limiter. A store that fails is no reason to
    /// end a connection.
    pub fn flush(&mut self, now: Time, over: bool) {
        if let Some(lease) = self.attachments.start_lease.take_if(|_| over) {
            lease.leave();
        }
        let Some(path_lease) = &self.attachments.path_lease else { return };
        if over || now.since(self.flushed) >= FLUSH_INTERVAL {
            self.flushed = now;
            if let Err(error) = path_lease.flush(over) {
                tracing::warn!(%error, "path memory");
            }
        }
    }

    /// Ends the connection of a task that panicked, together with its other tasks: the state they
    /// share may be inconsistent.
    pub fn end_after_panic(&mut self, panic: &(dyn Any + Send), handler: &mut PanicHandler) {
        handler(self.conn.remote_address(), panic_message(panic));
        self.conn.close(h3::error::Code::H3_INTERNAL_ERROR.value(), b"internal error");
        let tasks = std::mem::take(&mut self.tasks);
        self.conn.lock().spawned.clear();
        // Dropping a task may panic as well; it is gone in any case.
        if catch_unwind(AssertUnwindSafe(|| drop(tasks))).is_err() {
            handler(self.conn.remote_address(), "a task panicked when it was dropped");
        }
    }
}

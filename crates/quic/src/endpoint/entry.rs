//! A connection in its endpoint.

use super::accept::{PanicHandler, panic_message};
use super::address_limit::SendLimit;
use super::attachments::Attachments;
use super::batches::Batches;
use super::wake::ConnectionWaker;
use crate::ack::AckScheduler;
use crate::connection::{Conn, State, Task};
use bentpipe_units::{Span, Time};
use futures_util::stream::FuturesUnordered;
use noq_proto::ConnectionEvent;
use std::any::Any;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// How often the path memory is updated with what a connection has observed.
const FLUSH_INTERVAL: Span = Span::from_secs(1);

/// Most datagrams that a client keeps until it has their keys: larger initial windows than of 256
/// packets are rare.
const MAX_EARLY: usize = 256;

/// A connection in its endpoint.
pub(super) struct Entry {
    pub conn: Conn,
    /// The peer's address when the connection last ran.
    pub remote: Option<SocketAddr>,
    /// Datagrams with 1-RTT packets that a client received before it has their keys (RFC 9001
    /// §5.7): at most [`MAX_EARLY`].
    pub early: Vec<ConnectionEvent>,
    pub tasks: FuturesUnordered<Task>,
    pub timeout: Option<Time>,
    /// True while it is in the queue of connections that may have something to send.
    pub queued: bool,
    pub batches: Batches,
    pub attachments: Attachments,
    /// True once the attachments know that the peer receives at its address.
    pub address_confirmed: bool,
    /// Time of the last update of the path memory.
    pub flushed: Time,
    pub waker: Arc<ConnectionWaker>,
    pub ack_scheduler: AckScheduler,
    pub send_limit: SendLimit,
}

impl Entry {
    /// Updates the path memory with the peer's address, which a migration may have changed.
    pub fn follow(&mut self, remote: Option<SocketAddr>, now: Time) {
        if self.remote == remote {
            return;
        }
        self.remote = remote;
        if let (Some(path_lease), Some(remote)) = (&self.attachments.path_lease, remote)
            && let Err(error) = path_lease.set_remote(remote.ip().to_canonical(), now)
        {
            tracing::warn!(%error, "path memory");
        }
    }

    /// Updates the path memory and the start limiter. A store that fails is no reason to
    /// end a connection.
    pub fn flush(&mut self, now: Time, over: bool) {
        if let Some(lease) = self.attachments.start_lease.take_if(|_| over) {
            lease.leave();
        }
        let Some(path_lease) = &self.attachments.path_lease else { return };
        if over || path_lease.wants_again() || now.since(self.flushed) >= FLUSH_INTERVAL {
            self.flushed = now;
            if let Err(error) = path_lease.lend_by_need(now).and_then(|()| path_lease.flush(over)) {
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

/// Passes a datagram to the stack. A client's 1-RTT packets from before the end of the handshake
/// wait for it in `early`: the stack would drop them, and with a lost handshake packet the first
/// flight of a server that sends data at once.
pub(super) fn receive(
    state: &mut State,
    early: &mut Vec<ConnectionEvent>,
    event: ConnectionEvent,
    short_header: bool,
) {
    let is_early = short_header && state.quic.side().is_client() && state.connected().is_none();
    if is_early && !state.is_closed() {
        if early.len() < MAX_EARLY {
            early.push(event);
        }
    } else {
        state.quic.handle_event(event);
    }
}

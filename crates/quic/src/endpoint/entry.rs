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

/// Time without a datagram of the peer after which others may use what is remembered of its path:
/// it is idle, out of reach or gone, and does not use the path. Our choice, longer than most
/// outages and much shorter than idle timeouts; at least this many RTTs.
const SILENCE: Span = Span::from_secs(5);
const SILENCE_RTTS: u64 = 4;

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
    /// Time of the last datagram of the peer.
    pub heard: Time,
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
        // This runs as often as the connection does, and the RTT is behind its lock.
        if self.attachments.start_lease.is_none() && self.attachments.path_lease.is_none() {
            return;
        }
        let unused = over || now.since(self.heard) >= silence(self.conn.lock().smoothed_rtt());
        if let Some(lease) = self.attachments.start_lease.as_ref().filter(|_| unused) {
            lease.leave();
        }
        if over {
            self.attachments.start_lease = None;
        }
        let Some(path_lease) = &self.attachments.path_lease else { return };
        let asks = path_lease.wants_again() || unused && path_lease.in_use();
        if over || asks || now.since(self.flushed) >= FLUSH_INTERVAL {
            self.flushed = now;
            let lent = path_lease.lend_by_need(now);
            if let Err(error) = lent.and_then(|()| path_lease.flush(unused)) {
                tracing::warn!(%error, "path memory");
            }
        }
    }

    /// Returns when the peer will have been silent for so long that others may use the set of its
    /// path, if it has one.
    pub fn silent_at(&self, rtt: Option<Span>) -> Option<Time> {
        self.attachments.path_lease.as_ref().filter(|lease| lease.in_use())?;
        Some(self.heard + silence(rtt))
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

/// The time after which a peer is silent.
fn silence(rtt: Option<Span>) -> Span {
    rtt.map_or(SILENCE, |rtt| SILENCE.max(rtt * SILENCE_RTTS))
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

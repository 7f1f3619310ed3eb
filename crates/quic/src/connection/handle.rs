//! The handle of a connection.

use super::state::State;
use crate::clock::Clock;
use bentpipe_units::Time;
use noq_proto::Connection;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A handle of one connection. Clones are handles of the same connection.
///
/// Applications, HTTP/3 among them, use it from futures; the endpoint that owns the connection
/// drives it. The lock is never held across an await, and never contended under the virtual clock.
#[derive(Clone)]
pub struct Conn(Arc<Mutex<State>>);

impl std::fmt::Debug for Conn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conn").finish_non_exhaustive()
    }
}

impl Conn {
    pub(crate) fn new(quic: Connection, now: Time, clock: Clock) -> Self {
        Self(Arc::new(Mutex::new(State::new(quic, now, clock))))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // A panic while the lock is held leaves counters, not protocol state, half-written; the
        // panic itself is reported.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `task` beside the connection's other tasks, until it completes or the connection is
    /// removed from its endpoint.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.lock().spawned.push(Box::pin(task));
    }

    /// Updates the keys of 1-RTT packets now (RFC 9001 §6), for tests of a peer; the stack does so
    /// by itself before their limits. Only once the handshake is confirmed, which a client knows
    /// from the server's first data.
    pub fn update_keys(&self) {
        self.lock().quic.force_key_update();
    }

    /// Ends the connection with an application error code; the peer receives `reason`.
    pub fn close(&self, code: u64, reason: &[u8]) {
        self.lock().close(code, reason);
    }
}

//! Early data that the server refuses (RFC 9001 §4.6.2).

use super::handle::Conn;
use super::state::State;
use super::waiters::{StreamWaiters, wake_all};

impl Conn {
    /// Returns true if early data was possible, and the server refused it: the streams of before
    /// the handshake do not exist any more, and the application may open them again.
    ///
    /// Streams opened again have the same identifiers. Spawn the task that opens them
    /// ([`Conn::spawn`]): it runs after those that drop the old ones.
    pub fn early_data_refused(&self) -> bool {
        self.lock().early_data_refused()
    }
}

impl State {
    fn early_data_refused(&self) -> bool {
        self.connected.is_some()
            && self.quic.side().is_client()
            && self.quic.has_0rtt()
            && !self.quic.accepted_0rtt()
    }

    /// Wakes all tasks that wait for a stream if early data was refused, since no event will.
    pub(super) fn wake_refused(&mut self) {
        if !self.early_data_refused() {
            return;
        }
        self.accept.iter_mut().for_each(wake_all);
        std::mem::take(&mut self.streams).into_values().for_each(StreamWaiters::wake_all);
        self.blocked_writers = 0;
    }
}

//! Flow control and the send buffer of a connection.

use super::handle::Conn;
use super::state::State;
use crate::flow_control::{FlowControlRule, Waiting};
use bentpipe_units::Bytes;
use noq_proto::StreamId;

impl Conn {
    /// Sets the size of the send buffer, in bytes: writers that have filled it then wait for enough
    /// free space to be worth a wake-up. A smaller size than before takes back nothing.
    pub fn set_send_buffer(&self, send_window: u64) {
        self.lock().set_send_buffer(send_window);
    }

    /// Sets the flow-control window that the connection was configured with, and the rule by which
    /// it grows ([`crate::flow_control`]).
    ///
    /// Bytes that wait behind a gap are read from the stack at once (see
    /// [`Reassembler`](crate::Reassembler)), and the stack takes them for consumed. From now on
    /// they are withheld from the connection's window until they are in order, as a receiver that
    /// reads in order would do. The window of a stream cannot be controlled this way.
    pub(crate) fn set_flow_control(&self, connection_window: Bytes, rule: &FlowControlRule) {
        self.lock().flow_control.set_rule(connection_window, rule);
    }

    /// Raises the receive window of the connection to `window`, if that is more than `present`. The
    /// window of a stream stays, since the stack has no API to change it.
    pub(crate) fn raise_receive_window(&self, window: Bytes, present: Bytes) {
        if window > present {
            let State { flow_control, quic, .. } = &mut *self.lock();
            flow_control.raise(window, quic);
        }
    }

    /// Returns the largest receive window that the connection may reach, if a rule was set.
    pub(crate) fn receive_window(&self) -> u64 {
        self.lock().flow_control.bound()
    }

    /// Updates what a reader has waiting behind gaps, from `reported` to `waiting`. Closes the
    /// connection if its streams have too many chunks there.
    pub(crate) fn set_waiting(&self, reported: &mut Waiting, waiting: Waiting) {
        if *reported != waiting {
            let mut state = self.lock();
            let State { flow_control, gap_chunks, quic, .. } = &mut *state;
            flow_control.set_waiting(&mut reported.bytes, waiting.bytes, quic);
            gap_chunks.update(&mut reported.chunks, waiting.chunks);
            state.close_if_fragmented();
        }
    }

    /// Updates the bytes of an incomplete frame that a reader keeps from its application, from
    /// `before` to `now`.
    pub(crate) fn withhold(&self, before: u64, now: u64) {
        if before != now {
            let State { flow_control, quic, .. } = &mut *self.lock();
            flow_control.withhold(before, now, quic);
        }
    }

    /// Counts `bytes` that an application has taken in order, or will never take.
    pub(crate) fn consumed(&self, bytes: u64) {
        if bytes > 0 {
            self.lock().flow_control.consumed(bytes);
        }
    }

    /// Ends the reading of a stream of which `held` bytes were read and not taken.
    pub(crate) fn unsubscribe(&self, id: StreamId, held: u64) {
        self.lock().remove_overflow(id);
        self.consumed(held);
    }
}

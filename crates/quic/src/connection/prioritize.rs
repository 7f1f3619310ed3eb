//! What a client and an application say of priorities, and the stack's priorities of streams.

use super::handle::Conn;
use super::priorities::Priorities;
use super::state::State;
use super::write::id_of;
use crate::stream::PriorityField;
use bentpipe_units::Priority;
use noq_proto::{Dir, Side, StreamId};

impl State {
    /// Changes the priorities, and the stack's priorities of the streams that this changes.
    fn change_priorities(&mut self, id: StreamId, change: impl FnOnce(&mut Priorities)) {
        let before = self.priorities.in_use();
        change(&mut self.priorities);
        if before {
            self.apply_priority(id);
        } else if self.priorities.in_use() {
            // With the first priority all requests get one.
            let all: Vec<_> = self.priorities.requests().collect();
            all.into_iter().for_each(|id| self.apply_priority(id));
        }
    }

    /// Gives the stream of a request the priority that is known for it.
    fn apply_priority(&mut self, id: StreamId) {
        if let Some(priority) = self.priorities.of(id).filter(|_| self.writers.contains_key(&id)) {
            self.set_stream_priority(id, priority);
        }
    }

    /// Sets the priority of a stream: those of higher ones are sent first, equal ones in turn.
    pub(super) fn set_stream_priority(&mut self, id: StreamId, priority: i32) {
        // A stream that is over sends nothing.
        let _ = self.quic.send_stream(id).set_priority(priority);
        self.write_turns.set_priority(id, priority);
    }
}

impl Conn {
    /// Takes the `priority` field of the request on a stream, `None` if it has none. From the first
    /// field or PRIORITY_UPDATE frame of a client on, the responses of its connection are sent by
    /// [`Priority::place`]; before, in turn.
    pub fn prioritize_request(&self, stream: h3::quic::StreamId, field: Option<PriorityField>) {
        let id = id_of(stream);
        self.lock().change_priorities(id, |priorities| priorities.begin(id, field));
    }

    /// Takes what the response on a stream says of its priority, which precedes what the client
    /// says (RFC 9218 §8). It does nothing for a client that has sent no priority.
    pub fn prioritize_response(&self, stream: h3::quic::StreamId, field: PriorityField) {
        let id = id_of(stream);
        self.lock().change_priorities(id, |priorities| priorities.respond(id, field));
    }

    /// Takes a PRIORITY_UPDATE frame for request stream `id` (RFC 9218 §7).
    pub(crate) fn update_priority(&self, id: u64, field: PriorityField) {
        let id = StreamId::new(Side::Client, Dir::Bi, id >> 2);
        let mut state = self.lock();
        if id.index() >= state.accepted || state.writers.contains_key(&id) {
            state.change_priorities(id, |priorities| priorities.update(id, field));
        } else {
            // All of it is written; the stack may still have some of it to send.
            let place = field.over(Priority::default()).place(id.index().saturating_add(1));
            let _ = state.quic.send_stream(id).set_priority(-place);
        }
    }
}

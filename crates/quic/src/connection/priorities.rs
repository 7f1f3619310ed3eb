//! Priorities of the responses of a server, by what its client and its application say (RFC 9218).
//!
//! A client that says nothing is served in turn: without its priorities, a page would wait for the
//! end of a download that was begun before it. With the first priority that it sends, all its
//! responses have one, 3 and not incremental if nothing else is known.

use crate::stream::PriorityField;
use bentpipe_units::Priority;
use noq_proto::StreamId;
use std::collections::BTreeMap;

/// Requests whose priority is kept because of an update (PRIORITY_UPDATE). Our choice: ten times
/// as many as are usually open at a time. Updates for more are ignored.
const MAX_UPDATED: usize = 1024;

/// The priorities of a connection's requests.
#[derive(Debug, Default)]
pub(super) struct Priorities {
    /// Whether the client has sent a priority.
    in_use: bool,
    requests: BTreeMap<StreamId, Request>,
}

/// What is known of a request.
#[derive(Debug, Clone, Copy, Default)]
struct Request {
    /// The client's field, or its last update, which replaces it.
    client: Priority,
    updated: bool,
    /// What the response says. It precedes what the client says (RFC 9218 §8).
    response: PriorityField,
}

impl Request {
    /// Returns the stack's priority of the stream: it sends higher ones first.
    fn priority(&self, id: StreamId) -> i32 {
        -self.response.over(self.client).place(id.index().saturating_add(1))
    }
}

impl Priorities {
    /// Returns whether the client has sent a priority.
    pub fn in_use(&self) -> bool {
        self.in_use
    }

    /// Returns the stack's priority of the stream of a request.
    pub fn of(&self, id: StreamId) -> Option<i32> {
        self.requests.get(&id).map(|request| request.priority(id))
    }

    /// Returns all requests.
    pub fn requests(&self) -> impl Iterator<Item = StreamId> {
        self.requests.keys().copied()
    }

    /// Takes the field of the request on `id`, `None` if it has none.
    pub fn begin(&mut self, id: StreamId, field: Option<PriorityField>) {
        self.in_use |= field.is_some();
        let request = self.requests.entry(id).or_default();
        // An update counts whether it came before the request or after it.
        if let Some(field) = field.filter(|_| !request.updated) {
            request.client = field.over(Priority::default());
        }
    }

    /// Takes an update of the request on `id`, which may not have arrived yet.
    pub fn update(&mut self, id: StreamId, field: PriorityField) {
        self.in_use = true;
        if self.requests.contains_key(&id) || self.requests.len() < MAX_UPDATED {
            let request = self.requests.entry(id).or_default();
            // It names all parameters: others have their defaults (RFC 9218 §7).
            *request =
                Request { client: field.over(Priority::default()), updated: true, ..*request };
        }
    }

    /// Takes what the response on `id` says.
    pub fn respond(&mut self, id: StreamId, field: PriorityField) {
        if let Some(request) = self.requests.get_mut(&id) {
            request.response = field;
        }
    }

    /// Forgets a request whose response is over.
    pub fn remove(&mut self, id: StreamId) {
        self.requests.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use noq_proto::{Dir, Side};

    fn stream(index: u64) -> StreamId {
        StreamId::new(Side::Client, Dir::Bi, index)
    }

    fn field(text: &str) -> PriorityField {
        PriorityField::parse(text.as_bytes()).unwrap()
    }

    fn place(priorities: &Priorities, index: u64) -> i32 {
        priorities.of(stream(index)).unwrap()
    }

    fn in_turn(urgency: u8, index: u64) -> i32 {
        -Priority { urgency, incremental: true }.place(index + 1)
    }

    fn urgency(urgency: u8, index: u64) -> i32 {
        -Priority { urgency, incremental: false }.place(index + 1)
    }

    #[test]
    fn an_update_counts_before_and_after_the_request_and_a_response_counts_most() {
        let mut priorities = Priorities::default();
        priorities.begin(stream(0), None);
        assert!(!priorities.in_use, "in turn");
        priorities.begin(stream(1), Some(field("u=1")));
        assert!(priorities.in_use);
        assert_eq!([place(&priorities, 0), place(&priorities, 1)], [urgency(3, 0), urgency(1, 1)]);
        priorities.update(stream(2), field("u=5"));
        priorities.begin(stream(2), Some(field("u=0, i")));
        assert_eq!(place(&priorities, 2), urgency(5, 2), "the update came first");
        priorities.update(stream(1), field("i"));
        assert_eq!(place(&priorities, 1), in_turn(3, 1));
        priorities.respond(stream(1), field("u=6"));
        assert_eq!(place(&priorities, 1), in_turn(6, 1));
        priorities.update(stream(1), field("u=2, i"));
        assert_eq!(place(&priorities, 1), in_turn(6, 1));
        priorities.remove(stream(1));
        priorities.respond(stream(1), field("u=6"));
        assert_eq!(priorities.requests.len(), 2);
    }

    #[test]
    fn updates_for_requests_that_never_come_take_bounded_memory() {
        let mut priorities = Priorities::default();
        for index in 0..100_000 {
            priorities.update(stream(index), field("u=0"));
        }
        assert_eq!(priorities.requests.len(), MAX_UPDATED);
        priorities.begin(stream(200_000), Some(field("u=1")));
        assert_eq!(place(&priorities, 200_000), urgency(1, 200_000), "a request is always kept");
    }
}

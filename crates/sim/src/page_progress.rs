//! Progress of a page: its origins, and what the user sees of it.

use crate::object_state::ObjectState;
use crate::outcome::{OriginOutcome, PageOutcome};
use bentpipe_tcp::http::{Page, PageObject, Source};
use bentpipe_units::{Span, Time};
use std::sync::Arc;

/// Progress of the page of a visit.
#[derive(Debug)]
pub struct PageProgress {
    page: Arc<Page>,
    /// Whether servers send by priority.
    priorities: bool,
    origins: Vec<Origin>,
    /// Sum over all visible bytes of the time from the start of the visit to their arrival, in
    /// nanoseconds.
    arrival_sum: u128,
    /// Responses that servers have begun.
    responses: u64,
}

/// An origin of a page.
#[derive(Debug, Clone, Default)]
struct Origin {
    /// When its first object is due that can be requested, until a connection is open to it.
    due: Option<Time>,
    /// When the client asked for its address, and when it had that.
    asked: Option<Time>,
    known: Option<Time>,
    /// Its connections: the beginning of each, and the end of its handshake.
    connections: Vec<(Time, Option<Time>)>,
}

impl PageProgress {
    /// Creates the progress of a page of which nothing has been requested.
    pub fn new(page: Arc<Page>, priorities: bool) -> Self {
        let origins = vec![Origin::default(); page.origins.len()];
        Self { page, priorities, origins, arrival_sum: 0, responses: 0 }
    }

    /// Returns the page.
    pub fn page(&self) -> &Arc<Page> {
        &self.page
    }

    /// Returns where an object comes from.
    pub fn source(&self, index: usize) -> Source {
        self.page.objects.get(index).map(|one| one.object.source).unwrap_or_default()
    }

    /// Returns the place of the next response among those of its server; `None` if they are sent in
    /// turn.
    pub fn next_place(&mut self, index: usize) -> Option<i32> {
        self.responses += 1;
        self.priorities.then(|| self.source(index).priority.place(self.responses))
    }

    /// Returns the number of origins.
    pub fn origins(&self) -> usize {
        self.origins.len()
    }

    /// Updates when origins without connections are needed; `due` returns that of an object.
    pub fn update_due(&mut self, due: impl Fn(usize) -> Option<Time>) {
        let is_new = |origin: &Origin| origin.connections.is_empty();
        if !self.origins.iter().any(is_new) {
            return;
        }
        for (index, object) in self.page.objects.iter().enumerate() {
            let origin = &mut self.origins[object.object.source.origin];
            if let Some(at) = due(index).filter(|_| is_new(origin)) {
                origin.due = Some(origin.due.map_or(at, |other| other.min(at)));
            }
        }
    }

    /// Returns the origins whose addresses the client must ask for, with the times.
    pub fn to_ask(&self) -> impl Iterator<Item = (usize, Time)> {
        let origins = self.origins.iter().enumerate();
        let asks = origins.filter(|(_, origin)| origin.known.is_none() && origin.asked.is_none());
        asks.filter_map(|(index, origin)| Some((index, origin.due?)))
    }

    /// Returns the origins to which a connection must be opened, with the times.
    pub fn to_open(&self) -> impl Iterator<Item = (usize, Time)> {
        let origins = self.origins.iter().enumerate();
        let opens = origins.filter(|(_, origin)| origin.connections.is_empty());
        opens.filter_map(|(index, origin)| Some((index, origin.due?.max(origin.known?))))
    }

    /// Handles that the client asks for the address of an origin.
    pub fn asked(&mut self, origin: usize, now: Time) {
        self.origins[origin].asked.get_or_insert(now);
    }

    /// Handles that the client knows the address of an origin.
    pub fn known(&mut self, origin: usize, now: Time) {
        self.origins[origin].known.get_or_insert(now);
    }

    /// Returns when the client knew the address of an origin; `None` before.
    pub fn known_at(&self, origin: usize) -> Option<Time> {
        self.origins.get(origin)?.known
    }

    /// Handles that a connection to an origin begins. Returns its number among those.
    pub fn opened(&mut self, origin: usize, now: Time) -> usize {
        let Some(origin) = self.origins.get_mut(origin) else { return 0 };
        origin.connections.push((now, None));
        origin.connections.len() - 1
    }

    /// Handles that the handshake of connection number `connection` to an origin has ended.
    pub fn connected(&mut self, origin: usize, connection: usize, now: Time) {
        let connections = self.origins.get_mut(origin).map(|origin| &mut origin.connections);
        if let Some((_, end)) = connections.and_then(|list| list.get_mut(connection)) {
            end.get_or_insert(now);
        }
    }

    /// Counts `bytes` received of an object, `since` the start of the visit.
    pub fn received(&mut self, index: usize, bytes: u64, since: Span) {
        if self.page.objects.get(index).is_some_and(PageObject::is_visible) {
            self.arrival_sum += u128::from(bytes) * u128::from(since.as_nanos());
        }
    }

    /// Returns the outcome of a visit that began at `start`.
    pub fn outcome(&self, objects: &[ObjectState], start: Time) -> PageOutcome {
        let all = || self.page.objects.iter().zip(objects);
        // The last of several, once all are complete.
        let last = |counts: fn(&PageObject) -> bool| {
            let mut ends = all().filter(|(one, _)| counts(one)).map(|(_, state)| state.completion);
            ends.try_fold(start, |last, end| Some(last.max(end?))).map(|last| last.since(start))
        };
        let visible = || all().filter(|(one, _)| one.is_visible()).map(|(_, state)| state);
        let bytes: u64 = visible().map(|state| state.bytes).sum();
        let arrived: u64 = visible().map(|state| state.received).sum();
        let ends = visible().map(|state| Some(state.completion?.since(start).as_nanos()));
        let ends: Option<Vec<u64>> = ends.collect();
        let ends = ends.filter(|ends| !ends.is_empty());
        let mean = |sum: u128, count: u64| Span::from_nanos((sum / u128::from(count)) as u64);
        let origins = self.page.origins.iter().zip(&self.origins).enumerate();
        PageOutcome {
            onload: last(|one| !one.after_load),
            first_render: last(|one| one.blocks_render),
            byte_index: (bytes > 0 && arrived == bytes).then(|| mean(self.arrival_sum, bytes)),
            object_index: ends
                .map(|ends| mean(ends.iter().map(|end| u128::from(*end)).sum(), ends.len() as u64)),
            origins: origins
                .map(|(index, (name, origin))| {
                    let own = || all().filter(move |(one, _)| one.object.source.origin == index);
                    OriginOutcome {
                        name: name.clone(),
                        objects: own().count(),
                        bytes: own().map(|(_, state)| state.bytes).sum(),
                        connections: origin.connections.len(),
                        resolved: origin.asked.zip(origin.known).map(|(from, to)| to.since(from)),
                        connecting: origin
                            .connections
                            .iter()
                            .filter_map(|(from, to)| Some((*to)?.since(*from)))
                            .fold(Span::ZERO, |sum, time| sum + time),
                    }
                })
                .collect(),
            page: self.page.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_tcp::http::{Names, Object, ObjectKind};
    use bentpipe_units::{Bytes, Priority};

    fn page(objects: &[(ObjectKind, u64)]) -> Arc<Page> {
        let object = |&(kind, bytes): &(ObjectKind, u64)| PageObject {
            name: kind.name().to_owned(),
            object: Object {
                bytes: Bytes::new(bytes),
                after: Vec::new(),
                delay: Span::ZERO,
                source: Source::default(),
            },
            kind,
            blocks_render: kind == ObjectKind::Script,
            after_load: kind == ObjectKind::Data,
        };
        let objects = objects.iter().map(object).collect();
        let origins = vec!["a".to_owned()];
        Arc::new(Page { origins, objects, names: Names::Known, resolver_rtt: Span::ZERO })
    }

    fn state(bytes: u64, completion_ms: u64) -> ObjectState {
        ObjectState::complete(bytes, Time::from_millis(completion_ms))
    }

    /// Check W3 of the specification: an image that arrives at a constant rate from 1 to 3 s has a
    /// byte index of 2 s.
    #[test]
    fn the_byte_index_is_the_mean_arrival_of_what_is_seen() {
        let (start, pieces) = (Time::from_millis(500), 1_000);
        let objects = [(ObjectKind::Image, pieces * 10), (ObjectKind::Script, 700)];
        let mut progress = PageProgress::new(page(&objects), false);
        for piece in 0..pieces {
            let at = Span::from_millis(1_000) + Span::from_millis(2_000) * (2 * piece + 1) / 2_000;
            progress.received(0, 10, at);
        }
        progress.received(1, 700, Span::from_secs(100));
        let states = [state(pieces * 10, 3_500), state(700, 4_500)];
        let outcome = progress.outcome(&states, start);
        assert_eq!(outcome.byte_index, Some(Span::from_secs(2)));
        assert_eq!(outcome.object_index, Some(Span::from_secs(3)));
        assert_eq!(outcome.first_render, Some(Span::from_secs(4)));
        assert_eq!(outcome.onload, Some(Span::from_secs(4)));
    }

    #[test]
    fn what_follows_the_load_does_not_count_and_what_is_missing_is_unknown() {
        let objects = [(ObjectKind::Image, 10), (ObjectKind::Data, 5)];
        let mut progress = PageProgress::new(page(&objects), false);
        progress.received(0, 10, Span::from_secs(1));
        let late = [state(10, 1_000), state(5, 9_000)];
        let outcome = progress.outcome(&late, Time::ZERO);
        assert_eq!(outcome.onload, Some(Span::from_secs(1)));
        let missing = ObjectState { completion: None, received: 4, ..state(10, 0) };
        let outcome = progress.outcome(&[missing, state(5, 1)], Time::ZERO);
        assert_eq!((outcome.onload, outcome.byte_index, outcome.object_index), (None, None, None));
    }

    #[test]
    fn origins_are_needed_once_their_first_object_is_due() {
        let mut progress = PageProgress::new(page(&[(ObjectKind::Image, 1)]), true);
        progress.update_due(|_| None);
        assert_eq!((progress.to_ask().count(), progress.to_open().count()), (0, 0));
        let at = Time::from_millis;
        progress.update_due(|_| Some(at(5)));
        assert_eq!(progress.to_ask().collect::<Vec<_>>(), [(0, at(5))]);
        progress.asked(0, at(5));
        assert_eq!((progress.to_ask().count(), progress.to_open().count()), (0, 0));
        progress.known(0, at(9));
        assert_eq!(progress.to_open().collect::<Vec<_>>(), [(0, at(9))]);
        assert_eq!(progress.opened(0, at(9)), 0);
        assert_eq!(progress.to_open().count(), 0);
        assert_eq!(progress.next_place(0), Some(Priority::default().place(1)));
    }
}

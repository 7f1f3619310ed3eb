//! The times at which objects can be requested: after their dependencies, and a delay.

use super::types::{ExchangeEvent, Object, Source};
use bentpipe_units::{Span, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Progress of objects from waiting to complete, and the events about them.
///
/// Dependencies that can never be met are ignored: on an object that does not exist, on itself,
/// and, in a cycle, those of the first object in the list.
#[derive(Debug)]
pub(super) struct Schedule {
    bytes: Vec<u64>,
    delays: Vec<Span>,
    sources: Vec<Source>,
    /// Unmet dependencies of each object.
    missing: Vec<usize>,
    /// Objects that depend on each one.
    dependents: Vec<Vec<usize>>,
    /// Objects that wait for their delay.
    delayed: BinaryHeap<Reverse<(Time, usize)>>,
    ready: VecDeque<usize>,
    events: VecDeque<ExchangeEvent>,
    begun: bool,
}

impl Schedule {
    /// Creates a schedule whose clock has not started.
    pub(super) fn new(objects: Vec<Object>) -> Self {
        let count = objects.len();
        let mut after: Vec<Vec<usize>> = Vec::with_capacity(count);
        let (mut bytes, mut delays) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut sources = Vec::with_capacity(count);
        for (index, object) in objects.into_iter().enumerate() {
            let mut on = object.after;
            on.retain(|other| *other < count && *other != index);
            after.push(on);
            bytes.push(object.bytes.get());
            delays.push(object.delay);
            sources.push(object.source);
        }
        break_cycles(&mut after);
        let missing = after.iter().map(Vec::len).collect();
        let mut dependents = vec![Vec::new(); count];
        for (index, on) in after.iter().enumerate() {
            for other in on {
                dependents[*other].push(index);
            }
        }
        Self {
            bytes,
            delays,
            sources,
            missing,
            dependents,
            delayed: BinaryHeap::new(),
            ready: VecDeque::new(),
            events: VecDeque::new(),
            begun: false,
        }
    }

    /// Starts the clock at the first call. Objects due by `now` become ready.
    pub(super) fn advance(&mut self, now: Time) {
        if !self.begun {
            self.begun = true;
            for index in 0..self.missing.len() {
                if self.missing[index] == 0 {
                    self.delayed.push(Reverse((now + self.delays[index], index)));
                }
            }
        }
        while let Some(Reverse((due, index))) = self.delayed.peek().copied() {
            if due > now {
                break;
            }
            self.delayed.pop();
            self.ready.push_back(index);
        }
    }

    /// Returns true if the clock has started.
    pub(super) fn has_begun(&self) -> bool {
        self.begun
    }

    /// Returns when the next object becomes ready without another event.
    pub(super) fn next_timeout(&self) -> Option<Time> {
        self.delayed.peek().map(|Reverse((due, _))| *due)
    }

    /// Returns true if an object is ready to be requested.
    pub(super) fn has_waiting(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Returns the number of objects of `origin` ready to be requested.
    pub(super) fn waiting(&self, origin: usize) -> usize {
        self.ready.iter().filter(|object| self.source(**object).origin == origin).count()
    }

    /// Returns where an object comes from.
    pub(super) fn source(&self, object: usize) -> Source {
        self.sources.get(object).copied().unwrap_or_default()
    }

    /// Holds an object back until [`Schedule::request`] releases it.
    pub(super) fn hold(&mut self, object: usize) {
        if let Some(missing) = self.missing.get_mut(object) {
            *missing += 1;
        }
    }

    /// Makes an object that was held back ready at `due`.
    pub(super) fn request(&mut self, object: usize, due: Time) {
        if object < self.missing.len() {
            self.delayed.push(Reverse((due, object)));
        }
    }

    /// Sets the size of an object that no end has begun to send.
    pub(super) fn set_size(&mut self, object: usize, bytes: u64) {
        if let Some(size) = self.bytes.get_mut(object) {
            *size = bytes;
        }
    }

    /// Removes and returns the object of `origin` that has been ready longest, which is requested
    /// now.
    pub(super) fn take(&mut self, origin: usize) -> Option<usize> {
        let place = self.ready.iter().position(|one| self.source(*one).origin == origin)?;
        let object = self.ready.remove(place)?;
        self.events.push_back(ExchangeEvent::Started(object));
        Some(object)
    }

    /// Returns the size of an object's content.
    pub(super) fn bytes(&self, object: usize) -> u64 {
        self.bytes.get(object).copied().unwrap_or(0)
    }

    /// Handles content of an object that has arrived.
    pub(super) fn received(&mut self, object: usize, bytes: u64) {
        // Events not polled between two records are merged.
        if let Some(ExchangeEvent::Received(last, sum)) = self.events.back_mut()
            && *last == object
        {
            *sum += bytes;
            return;
        }
        self.events.push_back(ExchangeEvent::Received(object, bytes));
    }

    /// Handles that the client knows an object to be complete.
    pub(super) fn ended(&mut self, now: Time, object: usize) {
        self.events.push_back(ExchangeEvent::Ended(object));
        for index in self.dependents.get(object).into_iter().flatten() {
            self.missing[*index] -= 1;
            if self.missing[*index] == 0 {
                self.delayed.push(Reverse((now + self.delays[*index], *index)));
            }
        }
        self.advance(now);
    }

    /// Adds an event.
    pub(super) fn event(&mut self, event: ExchangeEvent) {
        self.events.push_back(event);
    }

    /// Removes the oldest event.
    pub(super) fn poll_event(&mut self) -> Option<ExchangeEvent> {
        self.events.pop_front()
    }
}

/// Topological sort (Kahn 1962); in each cycle, the first object loses its dependencies.
fn break_cycles(after: &mut [Vec<usize>]) {
    let mut missing: Vec<usize> = after.iter().map(Vec::len).collect();
    let mut dependents = vec![Vec::new(); after.len()];
    for (index, on) in after.iter().enumerate() {
        for other in on {
            dependents[*other].push(index);
        }
    }
    let mut done = vec![false; after.len()];
    let mut free: Vec<usize> = (0..after.len()).filter(|index| missing[*index] == 0).collect();
    let mut first = 0;
    loop {
        while let Some(index) = free.pop() {
            done[index] = true;
            for other in &dependents[index] {
                // An object that has lost its dependencies does not count again.
                if missing[*other] > 0 {
                    missing[*other] -= 1;
                    if missing[*other] == 0 {
                        free.push(*other);
                    }
                }
            }
        }
        while done.get(first) == Some(&true) {
            first += 1;
        }
        if first == after.len() {
            return;
        }
        after[first].retain(|other| done[*other]);
        missing[first] = 0;
        free.push(first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_units::Bytes;

    fn object(after: &[usize], delay_ms: u64) -> Object {
        let (bytes, delay) = (Bytes::new(1), Span::from_millis(delay_ms));
        Object { bytes, after: after.to_vec(), delay, source: Source::default() }
    }

    fn taken(schedule: &mut Schedule) -> Vec<usize> {
        std::iter::from_fn(|| schedule.take(0)).collect()
    }

    #[test]
    fn an_object_waits_for_its_dependencies_and_then_its_delay() {
        let mut schedule = Schedule::new(vec![object(&[], 0), object(&[], 5), object(&[0, 1], 10)]);
        schedule.advance(Time::from_millis(100));
        assert_eq!(
            (taken(&mut schedule), schedule.next_timeout()),
            (vec![0], Some(Time::from_millis(105)))
        );
        schedule.ended(Time::from_millis(101), 0);
        schedule.advance(Time::from_millis(105));
        assert_eq!(taken(&mut schedule), [1]);
        schedule.ended(Time::from_millis(120), 1);
        assert_eq!(
            (taken(&mut schedule), schedule.next_timeout()),
            (vec![], Some(Time::from_millis(130)))
        );
        schedule.advance(Time::from_millis(130));
        assert_eq!((taken(&mut schedule), schedule.next_timeout()), (vec![2], None));
    }

    #[test]
    fn objects_of_each_origin_wait_for_themselves() {
        let of = |origin| Object { source: Source { origin, ..<_>::default() }, ..object(&[], 0) };
        let mut schedule = Schedule::new(vec![of(1), of(0), of(1)]);
        schedule.advance(Time::ZERO);
        assert_eq!((schedule.waiting(0), schedule.waiting(1), schedule.waiting(2)), (1, 2, 0));
        assert_eq!(schedule.take(2), None);
        assert_eq!([schedule.take(0), schedule.take(0)], [Some(1), None]);
        assert_eq!([schedule.take(1), schedule.take(1)], [Some(0), Some(2)]);
        assert!(!schedule.has_waiting());
    }

    #[test]
    fn unmeetable_dependencies_are_ignored() {
        let circle = [object(&[7, 0], 0), object(&[3, 0], 0), object(&[1], 0), object(&[2], 0)];
        let mut schedule = Schedule::new(circle.to_vec());
        schedule.advance(Time::ZERO);
        // 1, 2 and 3 wait for each other. 1 is the first, and keeps only the dependencies that can
        // be met.
        for expected in [0, 1, 2, 3] {
            assert_eq!(taken(&mut schedule), [expected]);
            schedule.ended(Time::ZERO, expected);
        }
    }

    #[test]
    fn an_object_that_is_held_back_waits_for_its_request() {
        let mut schedule = Schedule::new(vec![object(&[], 0), object(&[], 0)]);
        schedule.hold(1);
        schedule.advance(Time::from_millis(10));
        assert_eq!(taken(&mut schedule), [0]);
        schedule.ended(Time::from_millis(20), 0);
        assert_eq!(schedule.next_timeout(), None);
        schedule.request(1, Time::from_millis(30));
        schedule.set_size(1, 77);
        assert_eq!(schedule.next_timeout(), Some(Time::from_millis(30)));
        schedule.advance(Time::from_millis(30));
        assert_eq!((taken(&mut schedule), schedule.bytes(1)), (vec![1], 77));
    }

    proptest::proptest! {
        #[test]
        fn every_object_is_taken_once_for_any_dependencies(after in proptest::collection::vec(
            proptest::collection::vec(0_usize..12, 0..5), 0..10,
        )) {
            let mut schedule = Schedule::new(after.iter().map(|on| object(on, 0)).collect());
            schedule.advance(Time::ZERO);
            let mut seen = Vec::new();
            while let Some(next) = schedule.take(0) {
                seen.push(next);
                schedule.ended(Time::ZERO, next);
            }
            seen.sort_unstable();
            proptest::prop_assert_eq!(seen, (0..after.len()).collect::<Vec<_>>());
        }
    }
}

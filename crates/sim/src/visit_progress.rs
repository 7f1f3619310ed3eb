//! Progress of the applications of one visit, shared by both ends of the flow.

use crate::object_state::ObjectState;
use crate::page_progress::PageProgress;
use crate::spec::{Direction, Object, Pieces, Visit};
use crate::time_budget::Requests;
use bentpipe_media::abr::{Player, PlayerOutcome, PlayerSeries};
use bentpipe_timeseries::{BoundedSeries, SeriesLimit, TenthCounts};
use bentpipe_units::{Span, Time};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Interval in which received bytes are counted.
const TENTH: Span = Span::from_millis(100);
/// Tenths of ten days. Shares of longer transfers are not known, since the counts would take
/// gigabytes for a year.
const MAX_TENTHS: usize = 10 * 24 * 3600 * 10;

/// Progress shared by the client's and the server's applications.
#[derive(Debug, Clone)]
pub struct VisitProgress(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    state: Mutex<State>,
    /// True once the visit is over. Outside the lock, because it is read with each packet.
    over: AtomicBool,
    /// Progress of the requests of other flows on its connection.
    probes: Vec<VisitProgress>,
}

/// The state.
#[derive(Debug)]
pub struct State {
    /// Direction of the objects.
    pub direction: Direction,
    /// Start of the visit.
    begun: Time,
    /// Number of incomplete objects.
    open: usize,
    /// True if a fixed duration ends the visit instead of its last object.
    timed: bool,
    /// One entry per object.
    pub objects: Vec<ObjectState>,
    /// Time of the client's latest request, or of the latest begin of an upload.
    requested: Option<Time>,
    /// The same of the time before that.
    requested_before: Option<Time>,
    /// Time at which the data's sender began to send it.
    pub data_from: Option<Time>,
    /// First application byte at the data's receiver.
    pub first_byte: Option<Time>,
    /// Application bytes received.
    pub received: u64,
    /// Application bytes received in each 100 ms since the start of the run; none if it took more
    /// than ten days.
    pub received_by_tenth: TenthCounts,
    /// (time, bytes received so far) at each arrival, if recorded.
    pub series: Option<BoundedSeries>,
    /// Reason why the visit failed, if it did.
    pub error: Option<String>,
    /// Requests that wait for other objects.
    waiting: Vec<Waker>,
    /// Times at which delayed requests may be made.
    releases: Vec<Time>,
    /// The player that requests the objects, if there is one.
    player: Option<Player>,
    /// The object that the player requests next, and when.
    next: Option<(usize, Time)>,
    /// What concerns a page, if it is one.
    pub page: Option<PageProgress>,
}

impl State {
    /// Returns when object `index` may be requested; `None` before its dependencies are complete.
    fn due(&self, index: usize) -> Option<Time> {
        let object = self.objects.get(index)?;
        let completed = |&other: &usize| {
            self.objects.get(other).map_or(Some(self.begun), |other| other.completion)
        };
        let mut after = object.after.iter().map(completed);
        let last = after.try_fold(self.begun, |last, at| Some(last.max(at?)))?;
        Some(last + object.delay)
    }

    /// Updates when the first object of each origin of a page is due that nothing is known of.
    fn update_origins(&mut self) {
        let Some(mut page) = self.page.take() else { return };
        page.update_due(|index| self.due(index));
        self.page = Some(page);
    }

    /// Waits until `due`, or until something changes if that is not known.
    fn wait(&mut self, due: Option<Time>, now: Time, cx: &Context<'_>) -> Poll<()> {
        if due.is_some_and(|due| due <= now) {
            return Poll::Ready(());
        }
        self.releases.extend(due);
        self.waiting.push(cx.waker().clone());
        Poll::Pending
    }
}

impl VisitProgress {
    /// Creates the progress of `visit`, which starts `now`. With a limit, it records a series.
    pub fn new(visit: &Visit, now: Time, series: Option<SeriesLimit>) -> Self {
        let objects = visit
            .objects
            .iter()
            .map(|object| ObjectState {
                bytes: object.bytes.get(),
                start: None,
                completion: None,
                received: 0,
                after: object.after.clone(),
                delay: object.delay,
                pieces: object.pieces,
                written: None,
            })
            .collect();
        let mut state = State {
            direction: visit.direction,
            begun: now,
            open: visit.objects.len(),
            timed: visit.duration.is_some(),
            objects,
            requested: None,
            requested_before: None,
            data_from: None,
            first_byte: None,
            received: 0,
            received_by_tenth: TenthCounts::default(),
            series: series.map(BoundedSeries::new),
            error: None,
            waiting: Vec::new(),
            releases: Vec::new(),
            player: visit.player.as_ref().map(|video| Player::new(video.clone(), now, series)),
            next: visit.player.as_ref().map(|_| (0, now)),
            page: visit.page.clone().map(|page| PageProgress::new(page, visit.priorities)),
        };
        state.update_origins();
        let over = AtomicBool::new(state.open == 0 && !state.timed);
        let probe = |objects: &Vec<Object>| Visit { objects: objects.clone(), ..Visit::default() };
        let probes = visit.probes.iter().map(|one| Self::new(&probe(&one.objects), now, None));
        let probes = probes.collect();
        Self(Arc::new(Inner { state: Mutex::new(state), over, probes }))
    }

    /// Returns the progress of the requests of other flows on its connection.
    pub fn probes(&self) -> &[Self] {
        &self.0.probes
    }

    /// Returns the progress of all requests on its connection: its own, then those of probes.
    pub fn all(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(self.probes())
    }

    /// Locks the state.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts `bytes` received of object `index`.
    pub fn received(&self, index: usize, bytes: usize, now: Time) {
        let mut guard = self.state();
        let state = &mut *guard;
        state.first_byte.get_or_insert(now);
        state.received += bytes as u64;
        let tenth = (now.as_nanos() / TENTH.as_nanos()) as usize;
        if tenth >= MAX_TENTHS {
            state.received_by_tenth = TenthCounts::default();
        } else {
            state.received_by_tenth.add(tenth, bytes as u64);
        }
        if let Some(object) = state.objects.get_mut(index) {
            object.received += bytes as u64;
        }
        if let Some(page) = &mut state.page {
            page.received(index, bytes as u64, now.since(state.begun));
        }
        let received = state.received as f64;
        if let Some(series) = &mut state.series {
            series.push(now, received);
        }
    }

    /// Waits until object `index` may be requested: its dependencies are complete and its delay has
    /// passed.
    pub fn poll_due(&self, index: usize, now: Time, cx: &Context<'_>) -> Poll<()> {
        let mut state = self.state();
        if index >= state.objects.len() {
            return Poll::Ready(());
        }
        if state.player.is_some() {
            let due = state.next.filter(|(next, _)| *next == index).map(|(_, due)| due);
            return state.wait(due, now, cx);
        }
        let due = state.due(index);
        state.wait(due, now, cx)
    }

    /// Lets object `index`, which waits for itself, be requested `now`.
    pub fn request(&self, index: usize, now: Time) {
        let mut state = self.state();
        let since = now.since(state.begun);
        if let Some(object) = state.objects.get_mut(index) {
            (object.after, object.delay) = (Vec::new(), since);
        }
        state.waiting.drain(..).for_each(Waker::wake);
    }

    /// Returns the pieces in which the sender writes object `index`, if there are any.
    pub fn pieces(&self, index: usize) -> Option<Pieces> {
        self.state().objects.get(index)?.pieces
    }

    /// Records that the sender of object `index` has written its last piece.
    pub fn wrote_last(&self, index: usize, now: Time) {
        if let Some(object) = self.state().objects.get_mut(index) {
            object.written = Some(now);
        }
    }

    /// Waits until `due`.
    pub fn poll_until(&self, due: Time, now: Time, cx: &Context<'_>) -> Poll<()> {
        self.state().wait(Some(due), now, cx)
    }

    /// Returns true if a sender writes an object in pieces.
    pub fn writes_pieces(&self) -> bool {
        self.state().objects.iter().any(|object| object.pieces.is_some())
    }

    /// Returns the time at which to call [`VisitProgress::release`].
    pub fn next_release(&self) -> Option<Time> {
        let of = |state: &State| {
            let origins = state.page.iter().flat_map(PageProgress::to_open);
            origins.map(|(_, due)| due).chain(state.releases.iter().copied()).min()
        };
        self.all().filter_map(|one| of(&one.state())).min()
    }

    /// Releases requests that waited until `now`. Returns false if there are none.
    pub fn release(&self, now: Time) -> bool {
        self.all().fold(false, |released, one| one.release_own(now) || released)
    }

    fn release_own(&self, now: Time) -> bool {
        let mut state = self.state();
        let before = state.releases.len();
        state.releases.retain(|&due| due > now);
        if state.releases.len() == before {
            return false;
        }
        state.waiting.drain(..).for_each(Waker::wake);
        true
    }

    /// Records the request of object `index`, and returns its size. One that is made again keeps
    /// its first time and its size.
    pub fn started(&self, index: usize, now: Time) -> u64 {
        let mut guard = self.state();
        let state = &mut *guard;
        if let (Some(player), Some(object)) = (&mut state.player, state.objects.get_mut(index))
            && object.start.is_none()
        {
            object.bytes = player.request(now);
        }
        if let Some(object) = state.objects.get_mut(index) {
            object.start.get_or_insert(now);
        }
        if state.requested != Some(now) {
            state.requested_before = state.requested.replace(now);
        }
        if state.direction == Direction::Upload {
            state.data_from.get_or_insert(now);
        }
        state.objects.get(index).map_or(0, |object| object.bytes)
    }

    /// Returns the object that a player requests next, and when; `None` without a player, and after
    /// the last object.
    pub fn next_request(&self) -> Option<(usize, Time)> {
        self.state().next
    }

    /// Returns what the player has played by `now`, if there is one.
    pub fn played(&self, now: Time) -> Option<PlayerOutcome> {
        self.state().player.as_mut().map(|player| player.finish(now))
    }

    /// Takes the time series of the player, if there are any.
    pub fn take_player_series(&self) -> Option<PlayerSeries> {
        self.state().player.as_mut()?.take_series()
    }

    /// Returns the requests before `now`, without those that a packet which arrives now has caused.
    pub fn requests(&self, now: Time) -> Requests {
        let state = self.state();
        let is_now = state.requested == Some(now);
        Requests {
            latest: if is_now { state.requested_before } else { state.requested },
            is_upload: state.direction == Direction::Upload,
            all_made: state
                .objects
                .iter()
                .all(|object| object.start.is_some_and(|start| start < now)),
            written: state
                .objects
                .iter()
                .filter(|object| object.pieces.is_some())
                .map(|object| object.written.unwrap_or(Time::MAX))
                .max(),
        }
    }

    /// Returns true once the client has requested an object.
    pub fn is_requested(&self) -> bool {
        self.state().requested.is_some()
    }

    /// Records that the server begins to answer a request. In a download, data begins with the
    /// first answer.
    pub fn answered(&self, now: Time) {
        let mut state = self.state();
        if state.direction == Direction::Download {
            state.data_from.get_or_insert(now);
        }
    }

    /// Records the end of the exchange of object `index` at the client. The object is complete only
    /// if all bytes have arrived.
    pub fn ended(&self, index: usize, now: Time) {
        let mut guard = self.state();
        let state = &mut *guard;
        let Some(object) = state.objects.get_mut(index) else { return };
        if object.received == object.bytes {
            object.completion = Some(now);
            state.open -= 1;
            if let Some(player) = &mut state.player {
                state.next = player.arrived(now).map(|due| (index + 1, due));
            }
            if state.open == 0 && !state.timed {
                self.0.over.store(true, Ordering::Relaxed);
            }
            state.update_origins();
            if state.page.as_ref().is_some_and(|page| page.origins() > 1) {
                // Requests on other connections may wait for it: a release runs those.
                state.releases.push(now);
            }
            state.waiting.drain(..).for_each(Waker::wake);
        } else {
            let error =
                format!("object {index} ended after {} of {} bytes", object.received, object.bytes);
            state.error.get_or_insert(error);
            self.0.over.store(true, Ordering::Relaxed);
        }
    }

    /// Records a failure. The first reason stays.
    pub fn failed(&self, reason: String) {
        self.state().error.get_or_insert(reason);
        self.0.over.store(true, Ordering::Relaxed);
    }

    /// Returns the completion time of the last object, once all are complete.
    pub fn completion(&self) -> Option<Time> {
        let state = self.state();
        state
            .objects
            .iter()
            .map(|object| object.completion)
            .try_fold(Time::ZERO, |last, at| Some(last.max(at?)))
    }

    /// Returns how long each request took until its answer was complete, in ms, at the time of the
    /// answer; empty for a visit with one object, and for one of fixed duration.
    pub fn response_times(&self) -> BoundedSeries {
        let state = self.state();
        let mut times = BoundedSeries::new(SeriesLimit::DEFAULT);
        if state.objects.len() < 2 || state.timed {
            return times;
        }
        let answers = state.objects.iter();
        let mut answers: Vec<(Time, Time)> =
            answers.filter_map(|object| Some((object.completion?, object.start?))).collect();
        answers.sort_unstable();
        for (completion, start) in answers {
            times.push(completion, completion.since(start).as_millis_f64());
        }
        times
    }

    /// Returns true if all objects are complete or the visit has failed.
    pub fn is_over(&self) -> bool {
        self.0.over.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_units::{Bytes, Span};

    fn visit() -> Visit {
        Visit { objects: vec![Object::new("a", Bytes::new(10))], ..Visit::default() }
    }

    #[test]
    fn a_truncated_object_is_an_error() {
        let progress = VisitProgress::new(&visit(), Time::ZERO, None);
        progress.received(0, 9, Time::from_millis(1));
        progress.ended(0, Time::from_millis(2));
        assert_eq!(progress.completion(), None);
        assert!(progress.state().error.as_ref().unwrap().contains("9 of 10"));
    }

    #[test]
    fn transfers_of_months_keep_no_counts_by_tenth() {
        let progress = VisitProgress::new(&visit(), Time::ZERO, None);
        progress.received(0, 4, Time::from_millis(250));
        assert_eq!(progress.state().received_by_tenth.to_vec(), [0, 0, 4]);
        progress.received(0, 6, Time::from_secs(90 * 86_400));
        assert!(progress.state().received_by_tenth.is_empty());
        assert_eq!(progress.state().received, 10);
    }

    #[test]
    fn response_times_are_in_the_order_of_the_answers() {
        let objects = vec![Object::new("a", Bytes::new(1)), Object::new("b", Bytes::new(1))];
        let progress = VisitProgress::new(&Visit { objects, ..visit() }, Time::ZERO, None);
        for (object, request, answer) in [(0, 0, 90), (1, 20, 50)] {
            progress.started(object, Time::from_millis(request));
            progress.received(object, 1, Time::from_millis(answer));
            progress.ended(object, Time::from_millis(answer));
        }
        let times = progress.response_times().into_points().points;
        let expected = [(50, 30.0), (90, 90.0)].map(|(at, ms)| (Time::from_millis(at), ms));
        assert_eq!(times, expected);
    }

    #[test]
    fn only_a_failure_ends_a_visit_of_fixed_duration_early() {
        for objects in [vec![Object::new("a", Bytes::new(10))], Vec::new()] {
            let visit = Visit { duration: Some(Span::from_secs(1)), objects, ..visit() };
            let progress = VisitProgress::new(&visit, Time::ZERO, None);
            progress.received(0, 10, Time::from_millis(1));
            progress.ended(0, Time::from_millis(2));
            assert!(!progress.is_over());
            progress.failed("gone".to_owned());
            assert!(progress.is_over());
        }
    }

    #[test]
    fn a_visit_completes_with_its_last_object() {
        let progress = VisitProgress::new(&visit(), Time::ZERO, None);
        assert!(!progress.is_over());
        progress.received(0, 10, Time::from_millis(1));
        progress.ended(0, Time::from_millis(2));
        assert_eq!(progress.completion(), Some(Time::from_millis(2)));
    }
}

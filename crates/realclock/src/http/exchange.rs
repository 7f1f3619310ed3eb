//! What both ends of a visit know together: its objects, and the outcome so far.

use super::player::VideoPlayer;
use crate::visit_outcome::ApplicationOutcome;
use bentpipe_emu::{LinkClock, ObjectOutcome, SocketState, TransferOutcome, socket_state};
use bentpipe_sim::{Direction, Object, Visit};
use bentpipe_tcp::http::Role;
use bentpipe_timeseries::SeriesLimit;
use bentpipe_units::{Bytes, Span, Time};
use hyper::body::{Body, Incoming};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Maximum number of samples; later ones are dropped.
const MAX_SAMPLES: usize = 500_000;

/// A visit under way.
pub(super) struct Exchange {
    clock: LinkClock,
    pub objects: Vec<Object>,
    upload: bool,
    outcome: Mutex<TransferOutcome>,
    /// Sockets of the data sender.
    senders: Mutex<Vec<OwnedFd>>,
    /// Time at which each object was completed.
    completed: Vec<watch::Sender<Option<Time>>>,
    /// The player that decides on the objects, if there is one.
    player: Option<Mutex<VideoPlayer>>,
    finished: watch::Sender<bool>,
}

impl Exchange {
    /// Creates the exchange of `visit`, which begins now. With a limit, its player records time
    /// series.
    pub fn new(clock: LinkClock, visit: &Visit, series: Option<SeriesLimit>) -> Self {
        let count = visit.objects.len();
        let begin = clock.now();
        let player = |video| Mutex::new(VideoPlayer::new(video, &visit.objects, begin, series));
        let outcome = TransferOutcome {
            begin,
            objects: vec![ObjectOutcome::default(); count],
            ..TransferOutcome::default()
        };
        Self {
            clock,
            objects: visit.objects.clone(),
            upload: visit.direction == Direction::Upload,
            outcome: Mutex::new(outcome),
            senders: Mutex::default(),
            completed: (0..count).map(|_| watch::Sender::new(None)).collect(),
            player: visit.player.as_ref().map(player),
            finished: watch::Sender::new(false),
        }
    }

    fn player(&self) -> Option<MutexGuard<'_, VideoPlayer>> {
        let player = self.player.as_ref()?;
        Some(player.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the bytes of an object.
    pub fn size(&self, object: usize) -> u64 {
        self.player().map_or(self.objects[object].bytes.get(), |player| player.size(object))
    }

    fn update<T>(&self, change: impl FnOnce(&mut TransferOutcome) -> T) -> T {
        change(&mut self.outcome.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Current link time.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Records that the first connection is ready for requests.
    pub fn opened(&self) {
        let now = self.now();
        self.update(|outcome| outcome.open = outcome.open.or(Some(now)));
    }

    /// Records that an object was requested.
    pub fn requested(&self, object: usize) {
        let now = self.now();
        self.update(|outcome| outcome.objects[object].requested = Some(now));
        if let Some(mut player) = self.player() {
            player.requested(object, now);
        }
    }

    /// Records that the client has completed an object.
    pub fn complete(&self, object: usize) {
        let now = self.now();
        self.update(|outcome| outcome.objects[object].completed = Some(now));
        if let Some(mut player) = self.player() {
            player.arrived(now);
        }
        self.completed[object].send_replace(Some(now));
    }

    /// Counts `bytes` of an object that reached the receiver.
    fn received(&self, object: usize, bytes: u64) {
        let now = self.now();
        self.update(|outcome| outcome.received(now, object, bytes));
    }

    /// Receives the body of a message about an object to its end, and counts it if it is the
    /// object. Returns its size.
    pub async fn receive(&self, object: usize, mut body: Incoming, at: Role) -> hyper::Result<u64> {
        let is_content = self.receiver() == at;
        let mut total = 0;
        while let Some(frame) = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await
        {
            if let Some(data) = frame?.data_ref() {
                total += data.len() as u64;
                if is_content {
                    self.received(object, data.len() as u64);
                }
            }
        }
        Ok(total)
    }

    /// Waits until the objects that `object` depends on are complete, and then for its delay, or
    /// until the player wants it.
    pub async fn due(&self, object: usize) {
        let Object { after, delay, .. } = &self.objects[object];
        let mut last = self.update(|outcome| outcome.begin);
        for other in after.iter().filter_map(|other| self.completed.get(*other)) {
            let mut completed = other.subscribe();
            // The sender lives as long as the exchange.
            let at = completed.wait_for(Option::is_some).await.ok().and_then(|at| *at);
            last = last.max(at.unwrap_or(last));
        }
        let due = self.player().map_or(last + *delay, |player| player.due());
        let wait = due.since(self.now());
        if !wait.is_zero() {
            tokio::time::sleep(wait.into()).await;
        }
    }

    /// The end that receives objects.
    pub fn receiver(&self) -> Role {
        if self.upload { Role::Server } else { Role::Client }
    }

    /// Adds a socket of an end, to be sampled if it sends objects.
    pub fn add_socket(&self, socket: &impl AsFd, of: Role) -> io::Result<()> {
        if of == self.receiver() {
            return Ok(());
        }
        let copy = socket.as_fd().try_clone_to_owned()?;
        self.senders.lock().unwrap_or_else(PoisonError::into_inner).push(copy);
        Ok(())
    }

    /// Samples the sockets of the data sender.
    pub fn sample(&self) {
        let senders = self.senders.lock().unwrap_or_else(PoisonError::into_inner);
        let states = senders.iter().filter_map(|socket| socket_state(socket.as_fd()));
        let Some(state) = states.reduce(together) else { return };
        let now = self.now();
        self.update(|outcome| {
            if outcome.samples.len() < MAX_SAMPLES {
                outcome.samples.push((now, state));
            }
        });
    }

    /// Records the end of the visit.
    pub fn end(&self, error: Option<String>) {
        self.sample();
        // A copy of a socket would keep it open.
        self.senders.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let now = self.now();
        self.update(|outcome| {
            outcome.end = now;
            outcome.error = error;
        });
    }

    /// Ends the server.
    pub fn finish(&self) {
        self.finished.send_replace(true);
    }

    /// Waits for [`Self::finish`].
    pub async fn finished(&self) {
        // The sender lives as long as the exchange.
        let _ = self.finished.subscribe().wait_for(|finished| *finished).await;
    }

    /// Returns the outcome.
    pub fn take(&self) -> (TransferOutcome, ApplicationOutcome) {
        let outcome = self.update(std::mem::take);
        let played = self.player().map(|mut player| player.finish(outcome.end));
        (outcome, played.unwrap_or_default())
    }
}

/// Combines the states of two sockets of one visit: sums, and the RTT of the first one.
fn together(one: SocketState, other: SocketState) -> SocketState {
    let either = |one: Option<u64>, other: Option<u64>| match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    };
    let sum = |one: Bytes, other: Bytes| Bytes::new(one.get().saturating_add(other.get()));
    let ssthresh =
        either(one.ssthresh.map(Bytes::get), other.ssthresh.map(Bytes::get)).map(Bytes::new);
    let min_rtt = [one.min_rtt, other.min_rtt].into_iter().flatten().min();
    SocketState {
        smoothed_rtt: if one.smoothed_rtt.is_zero() {
            other.smoothed_rtt
        } else {
            one.smoothed_rtt
        },
        min_rtt,
        cwnd: sum(one.cwnd, other.cwnd),
        ssthresh,
        in_flight: sum(one.in_flight, other.in_flight),
        pacing: either(one.pacing, other.pacing),
        retransmitted: one.retransmitted + other.retransmitted,
        blocked: Span::max(one.blocked, other.blocked),
    }
}

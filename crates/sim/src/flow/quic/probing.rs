//! A test of responsiveness: connections of its load, and small requests on them and on new ones.

use crate::app::{NO_ERROR, raw_exchange};
use crate::spec::Direction;
use crate::visit_progress::VisitProgress;
use bentpipe_media::responsiveness::{Action, Outcome, Plan, Test};
use bentpipe_quic::{Conn, Task};
use bentpipe_units::Time;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Size of what the load transfers: more than any path carries in a visit.
const ENDLESS: u64 = 1 << 50;
/// The object of all exchanges, none of which is one of the visit.
const NO_OBJECT: usize = usize::MAX;

/// The test of a visit.
#[derive(Clone)]
pub struct Probing {
    direction: Direction,
    progress: VisitProgress,
    state: Arc<Mutex<State>>,
}

struct State {
    test: Test,
    /// What the first connection is to do, and its task.
    on_first: Vec<Action>,
    first: Option<Waker>,
}

impl Probing {
    /// Begins a test between two times.
    pub fn new(
        plan: Plan,
        times: (Time, Time),
        direction: Direction,
        progress: VisitProgress,
    ) -> Self {
        let state = State { test: Test::new(plan, times), on_first: Vec::new(), first: None };
        Self { direction, progress, state: Arc::new(Mutex::new(state)) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the time at which to call [`Probing::poll`].
    pub fn due(&self) -> Option<Time> {
        self.lock().test.due()
    }

    /// Begins what is due on the first connection, and returns what needs one of its own.
    pub fn poll(&self, now: Time) -> Vec<Action> {
        let received = self.progress.state().received;
        let mut state = self.lock();
        let mut others = Vec::new();
        let mut has_load = state.test.has_load();
        while let Some(action) = state.test.poll(now, received) {
            match action {
                Action::Load if has_load => others.push(action),
                Action::Foreign(_) => others.push(action),
                Action::Load | Action::Own(_) => state.on_first.push(action),
            }
            has_load = state.test.has_load();
        }
        if !state.on_first.is_empty() {
            state.first.take().into_iter().for_each(Waker::wake);
        }
        others
    }

    /// Runs the client of the first connection, which carries the first load and the self probes.
    pub fn first(self, conn: Conn) -> Task {
        Box::pin(async move {
            if conn.handshaken().await.is_err() {
                return;
            }
            self.lock().test.set_ready();
            loop {
                for action in std::future::poll_fn(|cx| self.poll_first(cx)).await {
                    conn.spawn(self.clone().exchange(conn.clone(), action));
                }
            }
        })
    }

    fn poll_first(&self, cx: &Context<'_>) -> Poll<Vec<Action>> {
        let mut state = self.lock();
        if state.on_first.is_empty() {
            state.first = Some(cx.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(std::mem::take(&mut state.on_first))
    }

    /// Runs the client of another connection.
    pub fn other(self, conn: Conn, action: Action) -> Task {
        Box::pin(async move {
            // The visit ends a connection that has not been made.
            if conn.handshaken().await.is_err() {
                return;
            }
            if let Action::Foreign(number) = action {
                self.lock().test.connected(number, conn.now());
            }
            self.exchange(conn.clone(), action).await;
            if action != Action::Load {
                conn.close(NO_ERROR, b"");
            }
        })
    }

    /// Makes an exchange: that of the load, or one of a byte.
    async fn exchange(self, conn: Conn, action: Action) {
        let (direction, bytes) = match action {
            Action::Load => (self.direction, ENDLESS),
            Action::Foreign(_) | Action::Own(_) => (Direction::Download, 1),
        };
        let made = raw_exchange(&conn, direction, NO_OBJECT, bytes, &self.progress).await;
        if made.is_ok() {
            self.lock().test.answered(action, conn.now());
        }
    }

    /// Returns what was measured until the end, `now`.
    pub fn finish(&self, now: Time) -> Outcome {
        self.lock().test.finish(now)
    }
}

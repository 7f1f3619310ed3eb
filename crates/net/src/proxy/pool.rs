//! The servers of an upstream: which of them gets a request, and which of them are down.

use super::http2::ActiveStream;
use super::upstream::UpstreamServer;
use crate::admission::slots::ClientSlot;
use crate::logging::Level;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Time for which a server that refuses connections gets no requests. Our choice: a restart.
const PAUSE: Duration = Duration::from_secs(10);
/// Health checks in a row that have to fail before a server counts as down. Our choice: one may be
/// lost.
const FAILURES: u32 = 2;

/// Counters of an upstream.
#[derive(Debug, Default)]
pub struct UpstreamCounts {
    /// Requests that were sent to another server after one had failed.
    pub retries: AtomicU64,
    /// Requests that a server failed to answer.
    pub failures: AtomicU64,
    /// Servers that are down at present.
    pub down: AtomicU64,
}

/// Receives a line when a server is down or up again.
type Report = Box<dyn Fn(Level, &dyn fmt::Display) + Send + Sync>;

/// The servers of an upstream.
pub(super) struct Pool {
    members: Vec<Arc<Member>>,
    /// The member to begin with when several have equally few requests.
    next: AtomicUsize,
    pub counts: Arc<UpstreamCounts>,
    report: OnceLock<Report>,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("members", &self.members).finish_non_exhaustive()
    }
}

/// A server, its requests under way and its state.
#[derive(Debug)]
pub(super) struct Member {
    pub server: UpstreamServer,
    /// Its number in the upstream.
    pub index: usize,
    active: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Health checks that failed since the last that did not.
    failures: u32,
    /// Until when it gets no requests because it refused a connection.
    paused_until: Option<Instant>,
    /// Whether it was last reported as down.
    reported_down: bool,
}

impl State {
    fn is_down(&self, now: Instant) -> bool {
        self.failures >= FAILURES || self.paused_until.is_some_and(|until| now < until)
    }
}

impl Member {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request under way at a server, until it is dropped.
#[derive(Debug)]
pub(super) struct ActiveRequest(Arc<Member>);

impl ActiveRequest {
    pub fn member(&self) -> &Arc<Member> {
        &self.0
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Relaxed);
    }
}

/// A place among the requests of the upstream, of the server that has this one, and of a connection
/// that it shares.
#[derive(Debug)]
pub(super) struct Slot {
    _place: ClientSlot,
    _request: ActiveRequest,
    _stream: Option<ActiveStream>,
}

impl Slot {
    pub fn new(
        place: ClientSlot,
        (request, stream): (ActiveRequest, Option<ActiveStream>),
    ) -> Self {
        Self { _place: place, _request: request, _stream: stream }
    }
}

impl Pool {
    pub fn new(servers: &[UpstreamServer], counts: Arc<UpstreamCounts>) -> Self {
        let member = |(index, server): (usize, &UpstreamServer)| {
            Arc::new(Member {
                server: server.clone(),
                index,
                active: AtomicUsize::new(0),
                state: Mutex::default(),
            })
        };
        Self {
            members: servers.iter().enumerate().map(member).collect(),
            next: AtomicUsize::new(0),
            counts,
            report: OnceLock::new(),
        }
    }

    /// Reports servers that are down, and up again, from now on.
    pub fn report_to(&self, report: impl Fn(Level, &dyn fmt::Display) + Send + Sync + 'static) {
        // The first one stays.
        let _ = self.report.set(Box::new(report));
    }

    pub fn members(&self) -> &[Arc<Member>] {
        &self.members
    }

    /// Selects the server with the fewest requests among those that are not down and not in
    /// `tried`. If all of those are down, selects among these: a wrong verdict must not make the
    /// proxy fail. `None` if all were tried.
    pub fn select(&self, tried: &[Arc<Member>], now: Instant) -> Option<ActiveRequest> {
        let start = self.next.fetch_add(1, Relaxed);
        let count = self.members.len();
        let rotated = (0..count).filter_map(|index| self.members.get((start + index) % count));
        let left = rotated.filter(|member| !tried.iter().any(|other| Arc::ptr_eq(member, other)));
        let selected =
            left.min_by_key(|member| (member.state().is_down(now), member.active.load(Relaxed)))?;
        selected.active.fetch_add(1, Relaxed);
        Some(ActiveRequest(selected.clone()))
    }

    /// Notes that `member` responded.
    pub fn responded(&self, member: &Member, now: Instant) {
        self.update(member, now, |state| state.paused_until = None);
    }

    /// Notes that `member` refused a connection.
    pub fn refused(&self, member: &Member, now: Instant) {
        self.update(member, now, |state| state.paused_until = Some(now + PAUSE));
    }

    /// Notes the result of a health check.
    pub fn checked(&self, member: &Member, healthy: bool, now: Instant) {
        self.update(member, now, |state| {
            if healthy {
                (state.failures, state.paused_until) = (0, None);
            } else {
                state.failures = state.failures.saturating_add(1);
            }
        });
    }

    fn update(&self, member: &Member, now: Instant, change: impl FnOnce(&mut State)) {
        let mut state = member.state();
        change(&mut state);
        let down = state.is_down(now);
        if down == std::mem::replace(&mut state.reported_down, down) {
            return;
        }
        if down {
            self.counts.down.fetch_add(1, Relaxed);
        } else {
            self.counts.down.fetch_sub(1, Relaxed);
        }
        drop(state);
        if let Some(report) = self.report.get() {
            let (level, state) =
                if down { (Level::Warning, "down") } else { (Level::Info, "up again") };
            report(level, &format_args!("the upstream {} is {state}", member.server));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(count: usize) -> Pool {
        let servers: Vec<UpstreamServer> = (1..=count)
            .map(|port| UpstreamServer::new(&format!("http://h:{port}")).unwrap())
            .collect();
        Pool::new(&servers, Arc::default())
    }

    fn port(selected: &ActiveRequest) -> u16 {
        selected.member().server.authority.port_u16().unwrap()
    }

    #[test]
    fn requests_go_where_the_fewest_are_and_in_turn() {
        let (pool, now) = (pool(3), Instant::now());
        let held: Vec<ActiveRequest> = (0..6).filter_map(|_| pool.select(&[], now)).collect();
        let mut ports: Vec<u16> = held.iter().map(port).collect();
        ports.sort_unstable();
        assert_eq!(ports, [1, 1, 2, 2, 3, 3]);
        let mut held: Vec<ActiveRequest> =
            held.into_iter().filter(|selected| port(selected) != 2).collect();
        held.extend([pool.select(&[], now).unwrap(), pool.select(&[], now).unwrap()]);
        assert!(held[4..].iter().all(|selected| port(selected) == 2));
        let tried: Vec<_> = pool.members().to_vec();
        assert!(pool.select(&tried, now).is_none());
        assert_eq!(port(&pool.select(&tried[..2], now).unwrap()), 3);
    }

    #[test]
    fn a_server_that_refuses_is_paused_and_all_down_are_used_all_the_same() {
        let (pool, now) = (pool(2), Instant::now());
        let used =
            |now| -> Vec<u16> { (0..4).map(|_| port(&pool.select(&[], now).unwrap())).collect() };
        let [first, second] = [&pool.members()[0], &pool.members()[1]];
        pool.refused(first, now);
        assert_eq!(pool.counts.down.load(Relaxed), 1);
        assert_eq!(used(now), [2; 4]);
        pool.refused(second, now);
        assert!(used(now).contains(&1) && used(now).contains(&2));
        pool.responded(first, now);
        assert_eq!(used(now), [1; 4]);
        assert!(used(now + PAUSE).contains(&2));
    }

    #[test]
    fn two_failed_checks_take_a_server_out_and_one_brings_it_back() {
        let (pool, now) = (pool(2), Instant::now());
        let lines = Arc::new(Mutex::new(Vec::new()));
        let sink = lines.clone();
        pool.report_to(move |_, line| sink.lock().unwrap().push(line.to_string()));
        let first = &pool.members()[0];
        pool.checked(first, false, now);
        assert_eq!(pool.counts.down.load(Relaxed), 0);
        pool.checked(first, false, now);
        pool.checked(first, false, now);
        assert!((0..9).all(|_| port(&pool.select(&[], now + PAUSE * 9).unwrap()) == 2));
        pool.checked(first, true, now);
        assert_eq!(pool.counts.down.load(Relaxed), 0);
        let expected = ["the upstream http://h:1 is down", "the upstream http://h:1 is up again"];
        assert_eq!(*lines.lock().unwrap(), expected);
    }
}

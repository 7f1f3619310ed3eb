//! The link between a connection's controller and the store of saved parameters.

use super::saved::SavedParameters;
use super::transitions::Transition;
use bentpipe_qlog::QlogSink;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most transitions that wait to be taken. A controller makes a handful, but a peer that migrates
/// again and again makes new controllers.
pub const MAX_TRANSITIONS: usize = 256;

/// Why saved parameters must not be used (RFC 9959 §3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Another connection uses them.
    InUse,
    /// Their Lifetime has expired; the store must delete them.
    Expired,
    /// They belong to another path.
    EndpointMismatch,
}

/// What a connection knows about its path: the offer it received, and its observations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResumeState {
    /// First saved parameters that were offered, used or not.
    pub offered: Option<SavedParameters>,
    /// Latest observation worth saving.
    pub observed: Option<SavedParameters>,
    /// True if the saved parameters led to congestion.
    pub retreated: bool,
    /// Number of the path: 0 for the first, and one more after each migration.
    pub path: u64,
}

/// The link between a connection's controller and the store of saved parameters. Clones share it.
///
/// Parameters may be offered late: they can arrive in a token in the client's first flight, after
/// the controller was created. Each connection has one handle; parameters offered to it count as
/// leased to the connection.
///
/// Call order: [`ResumeHandle::offer`] or [`ResumeHandle::refuse`] at most once, when the
/// parameters are known. The other calls are allowed at any time, and once more at the end of the
/// connection: first [`ResumeHandle::retreated`], since [`ResumeHandle::observed`] may replace the
/// parameters that a retreat deletes.
///
/// A connection that migrates continues with a new controller, whose handle
/// [`ResumeHandle::begin_path`] returns. All clones then report what belongs to the new path; what
/// the controller of an earlier path reports is ignored.
#[derive(Debug, Clone, Default)]
pub struct ResumeHandle {
    shared: Arc<Mutex<Shared>>,
    /// Number of the path of the controller that holds this clone.
    path: u64,
}

#[derive(Debug, Default)]
struct Shared {
    /// Number of the current path.
    path: u64,
    offered: Option<SavedParameters>,
    /// True if the parameters were offered in time for use.
    accepted: bool,
    refusal: Option<Refusal>,
    /// True if the connection takes no more offers.
    closed: bool,
    /// True while others may use the parameters, since the connection had no use for them.
    given_back: bool,
    /// True if the connection wants them again.
    wanted: bool,
    /// True if the connection has jumped.
    jumped: bool,
    retreated: bool,
    observed: Option<SavedParameters>,
    /// Those not yet taken, at most [`MAX_TRANSITIONS`].
    transitions: Vec<Transition>,
    /// Receives transitions as they happen.
    qlog: Option<QlogSink>,
}

impl Shared {
    /// Returns true while the connection may jump with what it was offered, if it holds it.
    fn may_jump(&self) -> bool {
        self.accepted && !self.closed && self.refusal.is_none()
    }
}

impl ResumeHandle {
    /// Creates a handle without an offer.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        // Every change is a single assignment, so that a panic elsewhere cannot leave inconsistent
        // state.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the shared state on behalf of this clone's controller, unless the connection has
    /// left its path.
    fn report(&self, change: impl FnOnce(&mut Shared)) {
        let mut shared = self.lock();
        if shared.path == self.path {
            change(&mut shared);
        }
    }

    /// Starts another path of the connection after a migration (RFC 9000 §9), and returns the
    /// handle of its controller. Nothing is known about the path. Saved parameters may be offered
    /// for comparison, but are not used: the connection left the path that it had confirmed (RFC
    /// 9959 §3.2 and §3.5).
    #[must_use]
    pub fn begin_path(&self) -> Self {
        let mut shared = self.lock();
        let (path, transitions) = (shared.path + 1, std::mem::take(&mut shared.transitions));
        *shared = Shared {
            path,
            refusal: Some(Refusal::EndpointMismatch),
            transitions,
            qlog: shared.qlog.take(),
            ..Shared::default()
        };
        Self { shared: self.shared.clone(), path }
    }

    /// Offers the saved parameters of this path. Only the first offer counts. Returns false if it
    /// cannot be used because it is not the first, was refused before, is empty, or the connection
    /// has found its window by other means. Later observations are compared with the first offer
    /// even then.
    pub fn offer(&self, saved: SavedParameters) -> bool {
        let mut shared = self.lock();
        if shared.offered.is_some() || !saved.is_usable() {
            return false;
        }
        shared.offered = Some(saved);
        shared.accepted = !shared.closed && shared.refusal.is_none();
        shared.accepted
    }

    /// Forbids this connection the use of saved parameters of this path. Only the first refusal
    /// counts, and only before the jump.
    pub fn refuse(&self, refusal: Refusal) {
        self.lock().refusal.get_or_insert(refusal);
    }

    /// Returns why the parameters are not used. `None` unless the store refused them or the
    /// controller found them expired.
    pub fn refusal(&self) -> Option<Refusal> {
        self.lock().refusal
    }

    /// Returns the latest observation worth saving. The store sets its Lifetime.
    pub fn observed(&self) -> Option<SavedParameters> {
        self.lock().observed
    }

    /// Returns true if the connection has jumped.
    pub fn jumped(&self) -> bool {
        self.lock().jumped
    }

    /// Returns true if the saved parameters led to congestion, so that they must be deleted (RFC
    /// 9959 §3.5).
    pub fn retreated(&self) -> bool {
        self.lock().retreated
    }

    /// Returns what the connection currently knows about its path.
    pub fn resume_state(&self) -> ResumeState {
        let shared = self.lock();
        ResumeState {
            offered: shared.offered,
            observed: shared.observed,
            retreated: shared.retreated,
            path: shared.path,
        }
    }

    /// Returns true if no other connection may use the parameters (RFC 9959 §4.2). They are in use
    /// from the offer until the connection ends if it jumps, otherwise until it gives them up or
    /// back.
    pub fn in_use(&self) -> bool {
        let shared = self.lock();
        shared.jumped || (shared.may_jump() && !shared.given_back)
    }

    /// Gives the parameters back, unless the connection has jumped: others may use them. It asks
    /// for them again before it jumps ([`ResumeHandle::wants_again`]).
    pub fn give_back(&self) {
        let mut shared = self.lock();
        shared.given_back = !shared.jumped && shared.may_jump();
    }

    /// Returns true if the connection could use parameters that it has given back. Answer with
    /// [`ResumeHandle::lend_again`], or with [`ResumeHandle::refuse`].
    pub fn wants_again(&self) -> bool {
        let shared = self.lock();
        shared.wanted && shared.may_jump()
    }

    /// Lets the connection use the parameters that it has given back.
    pub fn lend_again(&self) {
        let mut shared = self.lock();
        (shared.given_back, shared.wanted) = (false, false);
    }

    /// Writes each transition to `sink` when it happens.
    pub fn set_qlog(&self, sink: QlogSink) {
        self.lock().qlog = Some(sink);
    }

    /// Returns the transitions since the last call, in order: the first [`MAX_TRANSITIONS`].
    pub fn take_transitions(&self) -> Vec<Transition> {
        std::mem::take(&mut self.lock().transitions)
    }

    /// Returns the offer and the refusal so far.
    pub(super) fn offered(&self) -> (Option<SavedParameters>, Option<Refusal>) {
        let shared = self.lock();
        (shared.offered, shared.refusal)
    }

    /// Returns the parameters that the store still holds, as far as this connection knows.
    pub(super) fn current(&self) -> Option<SavedParameters> {
        let shared = self.lock();
        shared.offered.filter(|_| !shared.retreated)
    }

    pub(super) fn set_retreated(&self) {
        self.report(|shared| shared.retreated = true);
    }

    /// Returns true if the connection holds the parameters that it was offered; asks for them if it
    /// has given them back.
    pub(super) fn holds_or_asks(&self) -> bool {
        self.report(|shared| shared.wanted = shared.given_back);
        !self.lock().given_back
    }

    pub(super) fn set_jumped(&self) {
        self.report(|shared| shared.jumped = true);
    }

    /// Rejects all further offers.
    pub(super) fn close(&self) {
        self.report(|shared| shared.closed = true);
    }

    pub(super) fn set_observed(&self, observed: Option<SavedParameters>) {
        self.report(|shared| shared.observed = observed);
    }

    pub(super) fn push(&self, transition: Transition) {
        self.report(|shared| {
            if let Some(sink) = &shared.qlog {
                sink.add(transition.at, &transition.event());
            }
            if shared.transitions.len() < MAX_TRANSITIONS {
                shared.transitions.push(transition);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_units::{Bytes, Span};

    fn saved(window: u64) -> SavedParameters {
        SavedParameters::new(Bytes::new(window), Span::from_millis(600))
    }

    #[test]
    fn the_first_offer_counts() {
        let handle = ResumeHandle::new();
        assert!(handle.offer(saved(300_000)));
        assert!(!handle.offer(saved(500_000)));
        assert_eq!(handle.offered().0, Some(saved(300_000)));
        assert!(handle.in_use());
    }

    #[test]
    fn empty_parameters_are_no_offer() {
        let handle = ResumeHandle::new();
        assert!(!handle.offer(saved(0)));
        assert!(!handle.offer(SavedParameters { rtt: Span::ZERO, ..saved(300_000) }));
        assert!(!handle.in_use());
        assert!(handle.offer(saved(300_000)));
    }

    #[test]
    fn refused_parameters_are_not_in_use() {
        let handle = ResumeHandle::new();
        assert!(handle.offer(saved(300_000)));
        handle.refuse(Refusal::InUse);
        assert!(!handle.in_use());
        assert_eq!(handle.refusal(), Some(Refusal::InUse));
    }

    #[test]
    fn parameters_that_were_given_back_are_asked_for_again() {
        let handle = ResumeHandle::new();
        assert!(handle.offer(saved(300_000)));
        assert!(handle.holds_or_asks() && !handle.wants_again());
        handle.give_back();
        assert!(!handle.in_use() && !handle.wants_again());
        assert!(!handle.holds_or_asks() && handle.wants_again());
        handle.lend_again();
        assert!(handle.in_use() && handle.holds_or_asks() && !handle.wants_again());
        handle.set_jumped();
        handle.give_back();
        assert!(handle.in_use() && handle.holds_or_asks());
    }

    #[test]
    fn an_offer_after_the_end_is_rejected() {
        let handle = ResumeHandle::new();
        handle.close();
        assert!(!handle.offer(saved(300_000)));
        assert!(!handle.in_use());
    }

    #[test]
    fn nothing_of_a_path_is_known_after_a_migration() {
        let handle = ResumeHandle::new();
        assert!(handle.offer(saved(300_000)));
        handle.set_jumped();
        handle.set_observed(Some(saved(200_000)));
        handle.set_retreated();
        let next = handle.begin_path();
        let empty = ResumeState { path: 1, ..ResumeState::default() };
        assert_eq!((handle.resume_state(), handle.in_use()), (empty, false));
        // The controller of the old path no longer counts, that of the new one does.
        handle.set_observed(Some(saved(200_000)));
        handle.set_retreated();
        assert_eq!(next.resume_state(), empty);
        next.set_observed(Some(saved(100_000)));
        assert_eq!(handle.observed(), Some(saved(100_000)));
    }

    #[test]
    fn parameters_of_the_path_after_a_migration_serve_only_for_comparison() {
        let handle = ResumeHandle::new().begin_path();
        assert!(!handle.offer(saved(300_000)));
        assert_eq!(handle.current(), Some(saved(300_000)));
        assert_eq!(handle.offered().1, Some(Refusal::EndpointMismatch));
        assert!(!handle.in_use());
    }
}

//! The cell between a controller and whoever keeps the memory of paths.

use super::{Saved, Transition};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Why a set may not be used (RFC 9959 §3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Another connection uses it.
    InUse,
    /// Its Lifetime is over: it must be deleted.
    Expired,
    /// It is of another path.
    EndpointMismatch,
}

/// What a connection knows of its path: what was brought to it and what it found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Knowledge {
    /// The first saved set that was offered, used or not.
    pub offered: Option<Saved>,
    /// The latest observation worth saving.
    pub observed: Option<Saved>,
    /// The saved set met congestion.
    pub retreated: bool,
}

/// Notes that a connection's controller and the keeper of its path's memory pass to each other.
///
/// The keeper may come late: a set can arrive in a token of the client's first flight, when the controller exists already.
/// Clones are the same notes. One connection has one; a set that is offered counts as leased to that connection.
///
/// Call order: [`PathNotes::offer`] or [`PathNotes::refuse`] at most once, when the set is known; the other calls at any time,
/// and once more when the connection ends: [`PathNotes::retreated`] first, since what is deleted may then be replaced by
/// [`PathNotes::observed`].
#[derive(Debug, Clone, Default)]
pub struct PathNotes(Arc<Mutex<Notes>>);

#[derive(Debug, Default)]
struct Notes {
    offered: Option<Saved>,
    /// The set was offered in time to be used.
    accepted: bool,
    refusal: Option<Refusal>,
    /// The connection takes no set any more.
    closed: bool,
    /// It has jumped.
    jumped: bool,
    retreated: bool,
    observed: Option<Saved>,
    transitions: Vec<Transition>,
}

impl PathNotes {
    /// Empty notes.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, Notes> {
        // Every change is a single assignment: a panic elsewhere cannot leave the notes half written.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Offers the saved set of this path. Only the first counts. False where it cannot be used: it came second, it was refused
    /// before, it says nothing, or the connection has found its window by other means. What came first serves later
    /// observations as a comparison even then.
    pub fn offer(&self, saved: Saved) -> bool {
        let mut notes = self.lock();
        if notes.offered.is_some() || !saved.is_usable() {
            return false;
        }
        notes.offered = Some(saved);
        notes.accepted = !notes.closed && notes.refusal.is_none();
        notes.accepted
    }

    /// There is a set for this path, but this connection must not use it. Too late once it has jumped. Only the first counts.
    pub fn refuse(&self, refusal: Refusal) {
        self.lock().refusal.get_or_insert(refusal);
    }

    /// Why the set is not used, where the keeper said so or the controller found it expired.
    pub fn refusal(&self) -> Option<Refusal> {
        self.lock().refusal
    }

    /// The latest observation worth saving. It has no Lifetime yet: that is the keeper's.
    pub fn observed(&self) -> Option<Saved> {
        self.lock().observed
    }

    /// Whether the saved set was jumped to.
    pub fn jumped(&self) -> bool {
        self.lock().jumped
    }

    /// Whether the saved set met congestion: it must be deleted (RFC 9959 §3.5).
    pub fn retreated(&self) -> bool {
        self.lock().retreated
    }

    /// What they say of the path now.
    pub fn knowledge(&self) -> Knowledge {
        let notes = self.lock();
        Knowledge { offered: notes.offered, observed: notes.observed, retreated: notes.retreated }
    }

    /// Whether no other connection may use the set (RFC 9959 §4.2): from the offer on, and to the connection's end once it has
    /// jumped; until it leaves the set alone otherwise.
    pub fn in_use(&self) -> bool {
        let notes = self.lock();
        notes.jumped || (notes.accepted && !notes.closed && notes.refusal.is_none())
    }

    /// The transitions since the last call, in order.
    pub fn take_transitions(&self) -> Vec<Transition> {
        std::mem::take(&mut self.lock().transitions)
    }

    /// The set and the refusal so far, for the controller.
    pub(super) fn offered(&self) -> (Option<Saved>, Option<Refusal>) {
        let notes = self.lock();
        (notes.offered, notes.refusal)
    }

    /// The set that the keeper still has, as far as this connection knows.
    pub(super) fn standing(&self) -> Option<Saved> {
        let notes = self.lock();
        notes.offered.filter(|_| !notes.retreated)
    }

    pub(super) fn set_retreated(&self) {
        self.lock().retreated = true;
    }

    pub(super) fn set_jumped(&self) {
        self.lock().jumped = true;
    }

    /// No set is taken from now on.
    pub(super) fn close(&self) {
        self.lock().closed = true;
    }

    pub(super) fn set_observed(&self, observed: Option<Saved>) {
        self.lock().observed = observed;
    }

    pub(super) fn push(&self, transition: Transition) {
        self.lock().transitions.push(transition);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_units::{Bytes, Span};

    fn saved(window: u64) -> Saved {
        Saved { window: Bytes::new(window), rtt: Span::from_millis(600), valid_until: None }
    }

    #[test]
    fn the_first_offer_counts() {
        let notes = PathNotes::new();
        assert!(notes.offer(saved(300_000)));
        assert!(!notes.offer(saved(500_000)));
        assert_eq!(notes.offered().0, Some(saved(300_000)));
        assert!(notes.in_use());
    }

    #[test]
    fn an_empty_set_is_no_offer() {
        let notes = PathNotes::new();
        assert!(!notes.offer(saved(0)));
        assert!(!notes.offer(Saved { rtt: Span::ZERO, ..saved(300_000) }));
        assert!(!notes.in_use());
        assert!(notes.offer(saved(300_000)));
    }

    #[test]
    fn a_refused_set_is_not_in_use() {
        let notes = PathNotes::new();
        assert!(notes.offer(saved(300_000)));
        notes.refuse(Refusal::InUse);
        assert!(!notes.in_use());
        assert_eq!(notes.refusal(), Some(Refusal::InUse));
    }

    #[test]
    fn an_offer_after_the_end_is_turned_down() {
        let notes = PathNotes::new();
        notes.close();
        assert!(!notes.offer(saved(300_000)));
        assert!(!notes.in_use());
    }
}

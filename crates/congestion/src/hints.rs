//! What is known of the path's future: orbits are predictable, and so are the changes of path that they bring.
//!
//! Whoever knows the path (a simulator; on a terminal, its modem) announces each change in a [`HintFeed`]; a layer around a
//! controller reads it ([`crate::hinted`]). Nothing of it passes through the transport protocol.

use bentpipe_units::{Rate, Span, Time};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A change of path to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathHint {
    /// When packets that leave the sender begin to take the other way.
    pub at: Time,
    /// Round trip of the empty path until then: propagation both ways; none where there is no path.
    pub rtt_before: Option<Span>,
    /// Round trip of the empty path from then on; none where the ends lose each other.
    pub rtt_after: Option<Span>,
    /// The slowest link's rate from then on, where it is known.
    pub rate_after: Option<Rate>,
    /// Silence at the change, while an end turns to another satellite: nothing passes from `at` for so long.
    pub silence: Span,
}

/// Most changes that wait to be read: older ones are forgotten first.
pub(crate) const MOST: usize = 64;

/// Where changes are announced, and read. Clones are the same feed, each with a place of its own up to which it has read: the connections of
/// a flow all learn of a change, and the copy of a controller reads on from where the controller was.
#[derive(Debug, Default)]
pub struct HintFeed {
    announced: Arc<Announced>,
    /// Announcements that this handle has read.
    read: AtomicU64,
}

#[derive(Debug, Default)]
struct Announced {
    /// How many there have been.
    count: AtomicU64,
    /// Those kept, each with its number from 1.
    kept: Mutex<VecDeque<(u64, PathHint)>>,
}

impl HintFeed {
    /// A feed that nothing has been announced in.
    pub fn new() -> Self {
        Self::default()
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<(u64, PathHint)>> {
        self.announced.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Announces a change. One at the same time replaces what was announced of it; times in the past are allowed, for who learns late.
    pub fn announce(&self, hint: PathHint) {
        let mut kept = self.kept();
        kept.retain(|(_, other)| other.at != hint.at);
        if kept.len() >= MOST {
            kept.pop_front();
        }
        // Written under the lock alone: the number says how far the list goes.
        let number = self.announced.count.load(Ordering::Relaxed) + 1;
        kept.push_back((number, hint));
        self.announced.count.store(number, Ordering::Release);
    }

    /// Everything announced that this handle has not taken, in order of time; it is taken by this.
    pub fn take(&self) -> Vec<PathHint> {
        let kept = self.kept();
        let read = self.read.swap(self.announced.count.load(Ordering::Relaxed), Ordering::Relaxed);
        let mut hints: Vec<PathHint> =
            kept.iter().filter(|(number, _)| *number > read).map(|(_, hint)| *hint).collect();
        hints.sort_by_key(|hint| hint.at);
        hints
    }

    /// True where there is something to take. Costs an atomic load: asked with each acknowledgement.
    pub fn is_fresh(&self) -> bool {
        self.announced.count.load(Ordering::Acquire) > self.read.load(Ordering::Relaxed)
    }
}

impl Clone for HintFeed {
    fn clone(&self) -> Self {
        Self { announced: self.announced.clone(), read: AtomicU64::new(self.read.load(Ordering::Relaxed)) }
    }
}

impl PartialEq for HintFeed {
    /// Clones are the same feed; what has been read of it is no part of it.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.announced, &other.announced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(at_ms: u64, after_ms: u64) -> PathHint {
        PathHint {
            at: Time::from_millis(at_ms),
            rtt_before: Some(Span::from_millis(40)),
            rtt_after: Some(Span::from_millis(after_ms)),
            rate_after: None,
            silence: Span::ZERO,
        }
    }

    #[test]
    fn what_is_announced_is_taken_once_and_in_order_of_time() {
        let feed = HintFeed::new();
        assert!(!feed.is_fresh());
        feed.announce(hint(900, 70));
        feed.announce(hint(300, 50));
        assert!(feed.is_fresh());
        assert_eq!(feed.take(), [hint(300, 50), hint(900, 70)]);
        assert!(!feed.is_fresh() && feed.take().is_empty());
    }

    #[test]
    fn a_later_announcement_of_the_same_time_replaces_the_earlier_one() {
        let feed = HintFeed::new();
        feed.announce(hint(300, 50));
        feed.announce(hint(300, 60));
        assert_eq!(feed.take(), [hint(300, 60)]);
    }

    #[test]
    fn every_clone_reads_for_itself_and_from_where_it_was_made() {
        let feed = HintFeed::new();
        let other = feed.clone();
        feed.announce(hint(300, 50));
        assert_eq!((feed.take().len(), other.take().len()), (1, 1));
        let copy = other.clone();
        assert!(!copy.is_fresh());
        other.announce(hint(600, 70));
        assert_eq!((feed.take(), copy.take()), (vec![hint(600, 70)], vec![hint(600, 70)]));
        assert_eq!(feed, copy);
        assert_ne!(feed, HintFeed::new());
    }

    #[test]
    fn what_waits_is_bounded_and_the_oldest_is_forgotten() {
        let feed = HintFeed::new();
        for at in 0..1_000 {
            feed.announce(hint(at, 50));
        }
        let taken = feed.take();
        assert_eq!((taken.len(), taken[0].at), (MOST, Time::from_millis(1_000 - MOST as u64)));
    }
}

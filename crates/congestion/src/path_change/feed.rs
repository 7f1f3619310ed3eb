//! The feed of announced path changes.
//!
//! Orbits are predictable, and so are the path changes that they cause. A component that knows the
//! path (a simulator; on a terminal, its modem) announces each change in a [`PathChangeFeed`], and
//! the [layer](super::layer) around a controller reads it. The transport protocol does not carry
//! announcements.

use bentpipe_units::{Rate, Span, Time};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The announcement of a path change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathChangeNotice {
    /// Time from which packets that leave the sender take the new path.
    pub at: Time,
    /// RTT of the empty path before the change: propagation in both directions. `None` if there is
    /// no path.
    pub rtt_before: Option<Span>,
    /// RTT of the empty path after the change. `None` if there is no path.
    pub rtt_after: Option<Span>,
    /// Rate of the slowest link after the change. `None` if unknown.
    pub rate_after: Option<Rate>,
    /// Outage at the change, while an endpoint hands over to another satellite: no packet passes
    /// for this long from `at` on.
    pub outage: Span,
}

/// Announcements kept for reading; older ones are dropped first.
pub(crate) const CAPACITY: usize = 64;

/// A feed of announced path changes.
///
/// Clones share the feed but keep separate read positions. All connections of a flow thus learn of
/// each change, and the copy of a controller continues at the position of the original.
#[derive(Debug, Default)]
pub struct PathChangeFeed {
    announced: Arc<Announced>,
    /// Number of announcements read through this handle.
    read: AtomicU64,
}

#[derive(Debug, Default)]
struct Announced {
    /// Number of announcements so far.
    count: AtomicU64,
    /// The latest announcements, each with its number from 1.
    notices: Mutex<VecDeque<(u64, PathChangeNotice)>>,
}

impl PathChangeFeed {
    /// Creates an empty feed.
    pub fn new() -> Self {
        Self::default()
    }

    fn notices(&self) -> MutexGuard<'_, VecDeque<(u64, PathChangeNotice)>> {
        self.announced.notices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Announces a change. It replaces an earlier announcement of a change at the same time. The
    /// time may lie in the past if the change becomes known late.
    pub fn announce(&self, notice: PathChangeNotice) {
        let mut notices = self.notices();
        notices.retain(|(_, other)| other.at != notice.at);
        if notices.len() >= CAPACITY {
            notices.pop_front();
        }
        // Only written under the lock, so that the number matches the list.
        let number = self.announced.count.load(Ordering::Relaxed) + 1;
        notices.push_back((number, notice));
        self.announced.count.store(number, Ordering::Release);
    }

    /// Returns all announcements that this handle has not read, in the order of time.
    pub fn take(&self) -> Vec<PathChangeNotice> {
        let notices = self.notices();
        let read = self.read.swap(self.announced.count.load(Ordering::Relaxed), Ordering::Relaxed);
        let mut unread: Vec<PathChangeNotice> = notices
            .iter()
            .filter(|(number, _)| *number > read)
            .map(|(_, notice)| *notice)
            .collect();
        unread.sort_by_key(|notice| notice.at);
        unread
    }

    /// Returns true if there are unread announcements. It costs one atomic load, since every ACK
    /// calls it.
    pub fn is_fresh(&self) -> bool {
        self.announced.count.load(Ordering::Acquire) > self.read.load(Ordering::Relaxed)
    }
}

impl Clone for PathChangeFeed {
    fn clone(&self) -> Self {
        Self {
            announced: self.announced.clone(),
            read: AtomicU64::new(self.read.load(Ordering::Relaxed)),
        }
    }
}

impl PartialEq for PathChangeFeed {
    /// Compares the feeds, not their read positions.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.announced, &other.announced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(at_ms: u64, after_ms: u64) -> PathChangeNotice {
        PathChangeNotice {
            at: Time::from_millis(at_ms),
            rtt_before: Some(Span::from_millis(40)),
            rtt_after: Some(Span::from_millis(after_ms)),
            rate_after: None,
            outage: Span::ZERO,
        }
    }

    #[test]
    fn announcements_are_read_once_and_in_order_of_time() {
        let feed = PathChangeFeed::new();
        assert!(!feed.is_fresh());
        feed.announce(notice(900, 70));
        feed.announce(notice(300, 50));
        assert!(feed.is_fresh());
        assert_eq!(feed.take(), [notice(300, 50), notice(900, 70)]);
        assert!(!feed.is_fresh() && feed.take().is_empty());
    }

    #[test]
    fn a_later_announcement_of_the_same_time_replaces_the_earlier_one() {
        let feed = PathChangeFeed::new();
        feed.announce(notice(300, 50));
        feed.announce(notice(300, 60));
        assert_eq!(feed.take(), [notice(300, 60)]);
    }

    #[test]
    fn clones_read_independently_from_the_position_of_the_original() {
        let feed = PathChangeFeed::new();
        let other = feed.clone();
        feed.announce(notice(300, 50));
        assert_eq!((feed.take().len(), other.take().len()), (1, 1));
        let copy = other.clone();
        assert!(!copy.is_fresh());
        other.announce(notice(600, 70));
        assert_eq!((feed.take(), copy.take()), (vec![notice(600, 70)], vec![notice(600, 70)]));
        assert_eq!(feed, copy);
        assert_ne!(feed, PathChangeFeed::new());
    }

    #[test]
    fn unread_announcements_are_bounded_and_the_oldest_is_dropped() {
        let feed = PathChangeFeed::new();
        for at in 0..1_000 {
            feed.announce(notice(at, 50));
        }
        let taken = feed.take();
        assert_eq!(
            (taken.len(), taken[0].at),
            (CAPACITY, Time::from_millis(1_000 - CAPACITY as u64))
        );
    }
}

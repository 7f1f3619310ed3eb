//! Drops redundant acknowledgements ahead of a narrow return link (ACK filtering, RFC 3449 §5.2.1).

use crate::segment::Segment;
use bentpipe_units::{Span, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Number of connections tracked at once. Segments of others pass unfiltered until a tracked one
/// has been idle for an interval.
const CONNECTIONS: usize = 1024;

/// Delays pure acknowledgements and forwards only the newest of each connection, once per interval.
///
/// Acknowledgements are cumulative, so a newer one replaces earlier ones. A segment with other
/// information passes at once and replaces the held one: payload, SYN, FIN or RST; SACK blocks, ECE
/// or CWR that differ from the last; a duplicate acknowledgement, since senders count those (RFC
/// 5681 §3.2); a window update.
///
/// Call order: [`AckFilter::offer`] with each segment; [`AckFilter::poll`] at
/// [`AckFilter::next_timeout`], until `None`.
#[derive(Debug)]
pub struct AckFilter {
    interval: Span,
    connections: BTreeMap<u32, Connection>,
    /// Connections with a held segment, by due time.
    due: BTreeSet<(Time, u32)>,
    dropped: u64,
    /// Time at which idle connections were last removed.
    swept: Time,
}

/// State of one connection.
#[derive(Debug)]
struct Connection {
    /// The last segment with an acknowledgement, forwarded or held.
    last: Segment,
    /// The held segment and its due time.
    held: Option<(Time, Segment)>,
    /// Time at which the first of those was offered that it stands for.
    held_since: Time,
    /// Time at which an acknowledgement was last forwarded.
    passed: Time,
}

impl AckFilter {
    /// Creates a filter that forwards one acknowledgement per connection and `interval`.
    pub fn new(interval: Span) -> Self {
        Self {
            interval,
            connections: BTreeMap::new(),
            due: BTreeSet::new(),
            dropped: 0,
            swept: Time::ZERO,
        }
    }

    /// Processes a segment of `connection`. Returns it if it passes at once.
    pub fn offer(&mut self, now: Time, connection: u32, segment: Segment) -> Option<Segment> {
        if segment.flags.syn || segment.flags.rst {
            // The held segment belongs to the connection that ends here, or to an earlier one.
            self.drop_held(connection);
            self.connections.remove(&connection);
            return Some(segment);
        }
        if !segment.flags.ack {
            return Some(segment);
        }
        let Some(known) = self.connections.get_mut(&connection) else {
            if self.has_room(now) {
                self.connections.insert(
                    connection,
                    Connection { last: segment, held: None, held_since: now, passed: now },
                );
            }
            return Some(segment);
        };
        let due = known.passed + self.interval;
        let older = segment.ack < known.last.ack;
        let urgent = !segment.is_pure_ack() || says_more(&known.last, &segment);
        if !older {
            known.last = segment;
        }
        if older && !urgent {
            // A newer acknowledgement with the same content replaces it.
            self.dropped += 1;
            return None;
        }
        if urgent || now >= due {
            if !older {
                known.passed = now;
                self.drop_held(connection);
            }
            return Some(segment);
        }
        match known.held.replace((due, segment)) {
            Some(_) => self.dropped += 1,
            None => {
                known.held_since = now;
                self.due.insert((due, connection));
            }
        }
        None
    }

    /// Returns the next held segment due by `now`, with its connection.
    pub fn poll(&mut self, now: Time) -> Option<(u32, Segment)> {
        let &(at, connection) = self.due.first()?;
        if at > now {
            return None;
        }
        self.due.remove(&(at, connection));
        let known = self.connections.get_mut(&connection)?;
        let (_, segment) = known.held.take()?;
        known.passed = now;
        Some((connection, segment))
    }

    /// Returns since when the next held segment, or one that it has replaced, is held.
    pub fn next_held_since(&self) -> Option<Time> {
        let (_, connection) = self.due.first()?;
        self.connections.get(connection).map(|known| known.held_since)
    }

    /// Returns when the next held segment is due.
    pub fn next_timeout(&self) -> Option<Time> {
        self.due.first().map(|&(at, _)| at)
    }

    /// Returns the number of acknowledgements dropped.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    fn drop_held(&mut self, connection: u32) {
        let held = self.connections.get_mut(&connection).and_then(|known| known.held.take());
        if let Some((due, _)) = held {
            self.due.remove(&(due, connection));
            self.dropped += 1;
        }
    }

    /// Returns true if another connection can be tracked, after removing those idle for an
    /// interval.
    fn has_room(&mut self, now: Time) -> bool {
        if self.connections.len() >= CONNECTIONS && now.since(self.swept) >= self.interval {
            self.swept = now;
            let interval = self.interval;
            self.connections
                .retain(|_, known| known.held.is_some() || now.since(known.passed) < interval);
        }
        self.connections.len() < CONNECTIONS
    }
}

/// Returns true if `new` informs the sender of anything beyond progress since `last`.
fn says_more(last: &Segment, new: &Segment) -> bool {
    let repeats = new.ack == last.ack;
    let was_closed = last.window == 0 && new.window > 0;
    repeats
        || was_closed
        || new.sack != last.sack
        || new.flags.ece != last.flags.ece
        || new.flags.cwr
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::{Flags, Sack};
    use proptest::prelude::*;

    const INTERVAL: Span = Span::from_millis(20);

    fn ack(position: u64) -> Segment {
        let flags = Flags { ack: true, ..Flags::default() };
        Segment { seq: 1, ack: position, window: 65_535, flags, ..Segment::default() }
    }

    #[test]
    fn the_newest_ack_of_each_interval_passes() {
        let mut filter = AckFilter::new(INTERVAL);
        assert_eq!(
            filter.offer(Time::ZERO, 1, ack(1000)),
            Some(ack(1000)),
            "no segment is held after an idle period"
        );
        for n in 1..=19 {
            assert_eq!(filter.offer(Time::from_millis(n), 1, ack(1000 + n)), None);
        }
        assert_eq!(filter.next_timeout(), Some(Time::from_millis(20)));
        assert_eq!(filter.poll(Time::from_millis(19)), None);
        assert_eq!(filter.poll(Time::from_millis(20)), Some((1, ack(1019))));
        assert_eq!((filter.poll(Time::from_millis(20)), filter.next_timeout()), (None, None));
        assert_eq!(filter.dropped(), 18);
    }

    #[test]
    fn connections_are_filtered_independently() {
        let mut filter = AckFilter::new(INTERVAL);
        for connection in [1, 2] {
            assert!(filter.offer(Time::ZERO, connection, ack(1000)).is_some());
            assert!(filter.offer(Time::from_millis(1), connection, ack(2000)).is_none());
        }
        assert_eq!(filter.poll(Time::from_millis(20)), Some((1, ack(2000))));
        assert_eq!(filter.poll(Time::from_millis(20)), Some((2, ack(2000))));
        assert_eq!(filter.dropped(), 0);
    }

    /// Checks that `segment` passes at once and replaces a held acknowledgement of 2000, after a
    /// first one of 1000.
    fn passes(segment: Segment) {
        let mut filter = AckFilter::new(INTERVAL);
        filter.offer(Time::ZERO, 1, ack(1000));
        assert_eq!(filter.offer(Time::from_millis(1), 1, ack(2000)), None);
        assert_eq!(filter.offer(Time::from_millis(2), 1, segment), Some(segment));
        assert_eq!((filter.next_timeout(), filter.dropped()), (None, 1), "{segment:?}");
    }

    #[test]
    fn segments_with_more_than_progress_pass_at_once_and_replace_the_held_one() {
        let next = ack(3000);
        passes(Segment { len: 100, ..next });
        for flags in [
            Flags { syn: true, ..next.flags },
            Flags { fin: true, ..next.flags },
            Flags { rst: true, ..next.flags },
            Flags { ece: true, ..next.flags },
            Flags { cwr: true, ..next.flags },
        ] {
            passes(Segment { flags, ..next });
        }
        let mut sack = Sack::default();
        sack.push(4000, 5000);
        passes(Segment { sack, ..next });
        // A duplicate, and one with another window.
        passes(ack(2000));
        passes(Segment { window: 100_000, ..ack(2000) });
    }

    #[test]
    fn a_reopened_window_passes_at_once() {
        let mut filter = AckFilter::new(INTERVAL);
        filter.offer(Time::ZERO, 1, Segment { window: 0, ..ack(1000) });
        assert!(filter.offer(Time::from_millis(1), 1, ack(1500)).is_some());
        assert!(filter.offer(Time::from_millis(2), 1, ack(2000)).is_none());
    }

    #[test]
    fn unchanged_blocks_do_not_count_while_the_ack_advances() {
        let mut filter = AckFilter::new(INTERVAL);
        let mut sack = Sack::default();
        sack.push(9000, 9500);
        assert!(filter.offer(Time::ZERO, 1, Segment { sack, ..ack(1000) }).is_some());
        assert!(filter.offer(Time::from_millis(1), 1, Segment { sack, ..ack(2000) }).is_none());
    }

    #[test]
    fn an_overtaken_ack_is_dropped_and_the_held_one_stays() {
        let mut filter = AckFilter::new(INTERVAL);
        filter.offer(Time::ZERO, 1, ack(1000));
        filter.offer(Time::from_millis(1), 1, ack(3000));
        assert_eq!(filter.offer(Time::from_millis(2), 1, ack(2000)), None);
        // A segment with payload passes but does not replace the held one.
        let data = Segment { len: 10, ..ack(2000) };
        assert_eq!(filter.offer(Time::from_millis(3), 1, data), Some(data));
        assert_eq!(filter.poll(Time::from_millis(20)), Some((1, ack(3000))));
        assert_eq!(filter.dropped(), 1);
    }

    #[test]
    fn excess_connections_pass_unfiltered_until_others_are_idle() {
        let mut filter = AckFilter::new(INTERVAL);
        let many = CONNECTIONS as u32;
        for connection in 0..2 * many {
            for position in [1000, 2000] {
                let passes = position == 1000 || connection >= many;
                let now = Time::from_millis(1);
                assert_eq!(
                    filter.offer(now, connection, ack(position)).is_some(),
                    passes,
                    "{connection}"
                );
            }
        }
        assert_eq!(filter.connections.len(), CONNECTIONS);
        let later = Time::from_secs(1);
        while filter.poll(later).is_some() {}
        let silent = Time::from_secs(2);
        assert!(filter.offer(silent, 3 * many, ack(1000)).is_some());
        assert!(filter.offer(silent, 3 * many, ack(2000)).is_none());
        assert_eq!(filter.connections.len(), 1);
    }

    proptest! {
        /// For any input, the newest acknowledgement passes within an interval, and the counts
        /// match.
        #[test]
        fn the_newest_acknowledgement_passes_within_an_interval(
            steps in proptest::collection::vec((0u64..30, 0u64..3, 0u32..3, 0u64..2), 1..200),
        ) {
            let mut filter = AckFilter::new(INTERVAL);
            let (mut now, mut newest, mut passed) = (Time::ZERO, [0u64; 3], [0u64; 3]);
            let mut waiting_since = [None; 3];
            let (mut offered, mut through) = (0u64, 0u64);
            for (wait, progress, connection, len) in steps {
                let until = now + Span::from_millis(wait);
                while let Some(due) = filter.next_timeout().filter(|&due| due <= until) {
                    while let Some((connection, segment)) = filter.poll(due) {
                        let connection = connection as usize;
                        through += 1;
                        prop_assert_eq!(segment.ack, newest[connection]);
                        prop_assert!(due.since(waiting_since[connection].unwrap()) <= INTERVAL);
                        passed[connection] = segment.ack;
                        waiting_since[connection] = None;
                    }
                }
                now = until;
                let index = connection as usize;
                newest[index] += progress;
                offered += 1;
                let segment = Segment { len: len as u32, ..ack(newest[index]) };
                match filter.offer(now, connection, segment) {
                    Some(segment) => {
                        through += 1;
                        passed[index] = segment.ack;
                        waiting_since[index] = None;
                    }
                    None => waiting_since[index] = waiting_since[index].or(Some(now)),
                }
            }
            while let Some(due) = filter.next_timeout() {
                while let Some((connection, segment)) = filter.poll(due) {
                    through += 1;
                    passed[connection as usize] = segment.ack;
                }
            }
            prop_assert_eq!(passed, newest);
            prop_assert_eq!(through + filter.dropped(), offered);
        }
    }
}

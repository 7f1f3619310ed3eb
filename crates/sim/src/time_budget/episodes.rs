//! The longest episodes of a visit in which time was lost to one cause.

use bentpipe_timeseries::TimePart;
use bentpipe_units::{Span, Time};

/// An interval in which time was spent on one part again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Episode {
    /// What the time was spent on.
    pub part: TimePart,
    /// Beginning and end, since the start of the visit.
    pub from: Span,
    /// End, since the start of the visit.
    pub to: Span,
    /// Time spent on the part in between.
    pub time: Span,
}

/// Number of episodes that are kept.
pub const MAX_EPISODES: usize = 6;
/// Number above which the shortest are dropped.
const MOST: usize = 64;

/// Collects episodes: gaps with the same part belong together if they are at most a round trip
/// apart.
#[derive(Debug, Default)]
pub(super) struct Episodes {
    all: Vec<Episode>,
}

impl Episodes {
    /// Adds what was spent on a gap between `from` and `to` of a visit that began at `start`, over
    /// a path of round-trip time `rtt`.
    pub(super) fn add(
        &mut self,
        spent: &[(TimePart, Span)],
        (start, from, to): (Time, Time, Time),
        rtt: Span,
    ) {
        let (from, to) = (from.since(start), to.since(start));
        for &(part, time) in spent {
            if matches!(part, TimePart::Serialisation | TimePart::Headers) {
                continue;
            }
            let last = self.all.iter_mut().rev().find(|episode| episode.part == part);
            match last {
                Some(episode) if from.saturating_sub(episode.to) <= rtt => {
                    episode.to = to;
                    episode.time += time;
                }
                _ => self.all.push(Episode { part, from, to, time }),
            }
        }
        if self.all.len() > MOST {
            self.shorten(MOST / 2);
        }
    }

    /// Counts `time` of the latest episode of `old`, between `from` and `to`, as `new`.
    pub(super) fn rename(
        &mut self,
        old: TimePart,
        new: TimePart,
        time: Span,
        (start, from, to): (Time, Time, Time),
    ) {
        if let Some(index) = self.all.iter().rposition(|episode| episode.part == old) {
            self.all[index].time = self.all[index].time.saturating_sub(time);
            if self.all[index].time.is_zero() {
                self.all.remove(index);
            }
        }
        self.add(&[(new, time)], (start, from, to), Span::ZERO);
    }

    /// Keeps the `count` longest, in the order in which they began.
    fn shorten(&mut self, count: usize) {
        self.all.sort_by_key(|episode| std::cmp::Reverse(episode.time));
        self.all.truncate(count);
        self.all.sort_by_key(|episode| episode.from);
    }

    /// Appends later episodes.
    pub(super) fn followed_by(mut self, later: Self) -> Self {
        self.all.extend(later.all);
        self
    }

    /// Returns the longest episodes, in the order in which they began.
    pub(super) fn into_longest(mut self) -> Vec<Episode> {
        self.shorten(MAX_EPISODES);
        self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(episodes: &mut Episodes, part: TimePart, from: u64, to: u64, ms: u64) {
        let at = |ms| Time::from_millis(1000 + ms);
        let times = (at(0), at(from), at(to));
        episodes.add(&[(part, Span::from_millis(ms))], times, Span::from_millis(100));
    }

    #[test]
    fn gaps_within_a_round_trip_are_one_episode() {
        let mut episodes = Episodes::default();
        add(&mut episodes, TimePart::SlowStart, 0, 50, 40);
        add(&mut episodes, TimePart::Timeout, 60, 100, 10);
        add(&mut episodes, TimePart::SlowStart, 150, 200, 40);
        add(&mut episodes, TimePart::SlowStart, 400, 450, 5);
        let found: Vec<_> = episodes
            .into_longest()
            .iter()
            .map(|episode| {
                let ms = |span: Span| span.as_nanos() / 1_000_000;
                (episode.part, ms(episode.from), ms(episode.to), ms(episode.time))
            })
            .collect();
        let expected = [
            (TimePart::SlowStart, 0, 200, 80),
            (TimePart::Timeout, 60, 100, 10),
            (TimePart::SlowStart, 400, 450, 5),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn the_shortest_episodes_are_dropped() {
        let mut episodes = Episodes::default();
        for index in 0..1000 {
            add(&mut episodes, TimePart::Timeout, index * 1000, index * 1000 + 1, index % 97 + 1);
        }
        let longest = episodes.into_longest();
        assert_eq!(longest.len(), MAX_EPISODES);
        assert!(longest.iter().all(|episode| episode.time >= Span::from_millis(90)));
        assert!(longest.windows(2).all(|pair| pair[0].from < pair[1].from));
    }
}

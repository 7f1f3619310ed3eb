//! What the time between any two times was spent on.

use super::spending::Interval;
use bentpipe_timeseries::TimePart;
use bentpipe_units::{Span, Time};

/// Intervals of which the sum is kept: thousands of requests at once ask for thousands of intervals
/// each.
const BLOCK: usize = 64;

type Times = [Span; TimePart::COUNT];

/// The intervals of a transfer, in order, and the sums of blocks of them.
pub(super) struct Spent<'a> {
    intervals: &'a [Interval],
    blocks: Vec<Block>,
}

struct Block {
    /// The begin of its first interval, and the latest end.
    from: Time,
    to: Time,
    times: Times,
}

impl<'a> Spent<'a> {
    pub fn new(intervals: &'a [Interval]) -> Self {
        let blocks = intervals.chunks(BLOCK).map(|chunk| {
            let from = chunk.first().map_or(Time::ZERO, |one| one.from);
            let to = chunk.iter().map(|one| one.to).max().unwrap_or_default();
            Block { from, to, times: times(chunk, from, to) }
        });
        Self { intervals, blocks: blocks.collect() }
    }

    /// Returns how much of the time from `from` to `to` each part took.
    pub fn between(&self, from: Time, to: Time) -> Times {
        let mut all = Times::default();
        let chunks = self.intervals.chunks(BLOCK);
        let after = self.blocks.partition_point(|one| one.to <= from);
        let inside = self.blocks.iter().zip(chunks).skip(after);
        for (block, chunk) in inside.take_while(|(block, _)| block.from < to) {
            let is_whole = from <= block.from && block.to <= to;
            let part = if is_whole { block.times } else { times(chunk, from, to) };
            all.iter_mut().zip(part).for_each(|(sum, time)| *sum += time);
        }
        all
    }

    /// Returns what most of the time from `from` to `to` was spent on.
    pub fn most(&self, from: Time, to: Time) -> Option<(TimePart, Span)> {
        let times = self.between(from, to);
        let longest = TimePart::ALL.into_iter().zip(times).max_by_key(|(_, time)| *time);
        longest.filter(|(_, time)| !time.is_zero())
    }
}

fn times(intervals: &[Interval], from: Time, to: Time) -> Times {
    let mut times = Times::default();
    for one in intervals.iter().filter(|one| one.from < to && one.to > from) {
        if let Some(time) = times.get_mut(one.part as usize) {
            *time += one.to.min(to).since(one.from.max(from));
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_blocks_are_those_of_their_intervals() {
        let parts = [TimePart::SlowStart, TimePart::Capacity, TimePart::Outage];
        let intervals: Vec<Interval> = (0..1000_u64)
            .map(|number| Interval {
                part: parts[(number % 7 % 3) as usize],
                from: Time::from_millis(10 * number),
                to: Time::from_millis(10 * number + number % 11),
            })
            .collect();
        let spent = Spent::new(&intervals);
        for (from, to) in [(0, 10_000), (3, 9), (15, 7503), (637, 640), (9_999, 20_000), (70, 70)] {
            let (from, to) = (Time::from_millis(from), Time::from_millis(to));
            assert_eq!(spent.between(from, to), times(&intervals, from, to), "{from:?} {to:?}");
        }
    }
}

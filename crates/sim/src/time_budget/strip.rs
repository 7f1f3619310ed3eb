//! What time was spent on, over time: the strip below the plots of a visit.

use bentpipe_timeseries::{BoundedSeries, Points, SeriesLimit, TimePart};
use bentpipe_units::{Span, Time};

/// Number of bins. When they are used up, pairs are joined into bins of twice the width.
const BINS: usize = 512;
/// Width of the first bins.
const FIRST_WIDTH: Span = Span::from_millis(1);

/// The time spent on each part in bins of equal width since the start of a visit.
#[derive(Debug)]
pub(super) struct Strip {
    width: Span,
    /// Nanoseconds of each part.
    bins: Vec<[u64; TimePart::COUNT]>,
    /// The bin that was added to last: beginning and end in nanoseconds.
    last: (u64, u64),
}

impl Strip {
    pub(super) fn new() -> Self {
        Self { width: FIRST_WIDTH, bins: Vec::new(), last: (0, 0) }
    }

    /// Adds `time` spent on one part in a gap between `from` and `to` of a visit that began at
    /// `start`.
    #[inline]
    pub(super) fn add_one(
        &mut self,
        part: TimePart,
        time: Span,
        (start, from, to): (Time, Time, Time),
    ) {
        let (begin, end) = self.last;
        // Most gaps lie in the bin of the one before.
        if from.since(start).as_nanos() >= begin
            && to.since(start).as_nanos() <= end
            && let Some(bin) = self.bins.last_mut()
        {
            bin[part as usize] += time.as_nanos();
            return;
        }
        if !time.is_zero() {
            self.add(&[(part, time)], (start, from, to));
        }
    }

    /// Counts what was spent on `old` between `from` and `to` as spent on `new`.
    pub(super) fn rename(
        &mut self,
        old: TimePart,
        new: TimePart,
        (start, from, to): (Time, Time, Time),
    ) {
        let (from, to) = (from.since(start).as_nanos(), to.since(start).as_nanos());
        let width = self.width.as_nanos();
        for (index, bin) in self.bins.iter_mut().enumerate().skip((from / width) as usize) {
            let begin = index as u64 * width;
            if begin >= to {
                break;
            }
            let within = to.min(begin + width) - from.max(begin);
            let moved = within.min(bin[old as usize]);
            bin[old as usize] -= moved;
            bin[new as usize] += moved;
        }
    }

    /// Adds what was spent on a gap between `from` and `to` of a visit that began at `start`.
    pub(super) fn add(
        &mut self,
        spent: &[(TimePart, Span)],
        (start, from, to): (Time, Time, Time),
    ) {
        let (from, to) = (from.since(start).as_nanos(), to.since(start).as_nanos());
        while to > self.width.as_nanos() * BINS as u64 {
            self.join_pairs();
        }
        let width = self.width.as_nanos();
        let last = (to.max(1) - 1) / width;
        if self.bins.len() <= last as usize {
            self.bins.resize(last as usize + 1, [0; TimePart::COUNT]);
            self.last = (last * width, (last + 1) * width);
        }
        let whole = (to - from).max(1);
        let first = from / width;
        for &(part, time) in spent {
            let time = time.as_nanos();
            if first == last {
                // The usual case: gaps are shorter than bins.
                if let Some(bin) = self.bins.get_mut(last as usize) {
                    bin[part as usize] += time;
                }
                continue;
            }
            // Each bin gets its share of the interval; the last one what rounding has left.
            let mut left = time;
            for index in first..=last {
                let begin = from.max(index * width);
                let end = to.min((index + 1) * width);
                let share = u128::from(time) * u128::from(end - begin) / u128::from(whole);
                let share = if index == last { left } else { share as u64 };
                left -= share;
                if let Some(bin) = self.bins.get_mut(index as usize) {
                    bin[part as usize] += share;
                }
            }
        }
    }

    fn join_pairs(&mut self) {
        self.width = self.width * 2;
        self.last = (0, 0);
        self.bins = self
            .bins
            .chunks(2)
            .map(|pair| {
                let second = pair.get(1).copied().unwrap_or([0; TimePart::COUNT]);
                std::array::from_fn(|part| pair[0][part] + second[part])
            })
            .collect();
    }

    /// Returns, for each part that has time, its share of each bin in percent, at the beginning of
    /// the bin. The visit began at `start`.
    pub(super) fn into_series(self, start: Time) -> Vec<(TimePart, Points)> {
        let Self { width, bins, .. } = self;
        let parts = TimePart::ALL.into_iter();
        let used = parts.filter(|&part| bins.iter().any(|bin| bin[part as usize] > 0));
        used.map(|part| {
            let mut series = BoundedSeries::new(SeriesLimit::new(2 * BINS));
            for (bin, index) in bins.iter().zip(0u64..) {
                let sum: u64 = bin.iter().sum();
                let share = bin[part as usize] as f64 / sum.max(1) as f64 * 100.0;
                series.push(start + width * index, share);
            }
            (part, series.into_points())
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_spread_over_the_bins_that_it_covers() {
        let mut strip = Strip::new();
        let (slow_start, data) = (Span::from_millis(3000), Span::from_millis(1000));
        let spent = [(TimePart::SlowStart, slow_start), (TimePart::Serialisation, data)];
        let at = Time::from_millis;
        strip.add(&spent, (at(500), at(500), at(4500)));
        let series = strip.into_series(at(500));
        let names: Vec<TimePart> = series.iter().map(|(part, _)| *part).collect();
        assert_eq!(names, [TimePart::Serialisation, TimePart::SlowStart]);
        let slow_start: Vec<(Time, f64)> = series[1].1.points.clone();
        assert_eq!((slow_start.len(), slow_start[0].0), (500, at(500)), "bins of 8 ms");
        assert!(slow_start.iter().all(|(_, share)| (share - 75.0).abs() < 0.01));
    }

    #[test]
    fn time_is_kept_when_bins_are_joined() {
        let mut strip = Strip::new();
        let (start, mut from) = (Time::ZERO, Time::ZERO);
        for round in 1..400 {
            let to = from + Span::from_millis(round);
            let part = TimePart::ALL[round as usize % 3];
            strip.add(&[(part, Span::from_millis(round))], (start, from, to));
            from = to;
        }
        let sum: u64 = strip.bins.iter().flatten().sum();
        assert_eq!(Span::from_nanos(sum), from.since_start());
        assert!(strip.bins.len() <= BINS);
    }
}

//! One measured quantity over time.

use super::clock::ReplayClock;
use crate::acm::curve::Curve;
use crate::schedule::Timeline;
use bentpipe_units::Span;

/// Number of median steps for which a value is held without a measurement.
pub(crate) const HELD_STEPS: u64 = 5;

/// The measured values of one quantity, the first at zero.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Column<T> {
    /// Times of the values, in ascending order, and the values. Never empty.
    points: Vec<(Span, T)>,
    /// Longest time for which a value is held without a step.
    held: Span,
    /// First place at which nothing was measured for longer than that.
    pub gap: Option<Gap>,
}

/// A time during which nothing was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// Line of the file on which the last value before it stands, from 1.
    pub line: usize,
    /// Time in the recording of that value.
    pub at: Span,
    /// Length.
    pub length: Span,
    /// Longest time for which a value is held.
    pub held: Span,
}

impl<T: Copy + PartialEq> Column<T> {
    /// Creates a column from measured values with their times and lines, in ascending order, in a
    /// recording of `length` with the median step `step`. `None` without values.
    pub fn new(measured: &[(Span, T, usize)], length: Span, step: Span) -> Option<Self> {
        let (first_at, first, first_line) = *measured.first()?;
        let held = step * HELD_STEPS;
        let times = measured.iter().map(|(at, ..)| *at);
        let ends = times.skip(1).chain([length]);
        let lengths = measured.iter().zip(ends).map(|((at, _, line), end)| (*line, *at, end - *at));
        let before = [(first_line, Span::ZERO, first_at)];
        let gap = before
            .into_iter()
            .chain(lengths)
            .find(|(_, _, length)| *length > held)
            .map(|(line, at, length)| Gap { line, at, length, held });
        let mut points: Vec<(Span, T)> =
            measured.iter().map(|(at, value, _)| (*at, *value)).collect();
        // Before the first measurement its value is the best that is known.
        if let Some(point) = points.first_mut().filter(|_| !first_at.is_zero()) {
            *point = (Span::ZERO, first);
        }
        Some(Self { points, held, gap })
    }

    /// Returns the values in steps, as the clock replays them.
    pub fn steps(&self, clock: &ReplayClock) -> (Timeline, Vec<T>) {
        steps(&self.points, clock)
    }

    /// Returns the values by the total time for which each is held, in a recording of `length`.
    pub fn weighted(&self, length: Span) -> impl Iterator<Item = (Span, T)> {
        let ends = self.points.iter().skip(1).map(|(at, _)| *at).chain([length]);
        let points = self.points.iter().zip(ends);
        points.map(move |((at, value), end)| (end.min(length).saturating_sub(*at), *value))
    }
}

impl Column<Span> {
    /// Returns points between which the value changes linearly, as the clock replays them: except
    /// where nothing was measured for long, and at multiples of the clock's period, at which it
    /// jumps.
    pub fn lines(&self, clock: &ReplayClock) -> (Timeline, Vec<Span>) {
        let last = Span::from_nanos(1);
        let mut points = Vec::with_capacity(self.points.len() + 2);
        let ends = self.points.iter().skip(1).map(|(at, _)| *at).chain([clock.length]);
        for ((at, value), end) in self.points.iter().zip(ends) {
            if *at >= clock.length {
                break;
            }
            points.push((*at, *value));
            let end = end.min(clock.length);
            let period = |period: Span| {
                at.as_nanos() / period.as_nanos() != end.as_nanos() / period.as_nanos()
            };
            let jumps =
                end == clock.length || end - *at > self.held || clock.period.is_some_and(period);
            if jumps && end.saturating_sub(last) > *at {
                points.push((end.saturating_sub(last), *value));
            }
        }
        // The run begins between two points.
        let index = points.partition_point(|(at, _)| *at <= clock.start).saturating_sub(1);
        if let (Some((from, a)), Some((to, b))) = (points.get(index), points.get(index + 1))
            && *from < clock.start
        {
            let share = (clock.start - *from).as_secs_f64() / (*to - *from).as_secs_f64();
            let value = a.mul_f64(1.0 - share) + b.mul_f64(share);
            points.insert(index + 1, (clock.start, value));
        }
        shifted(&points, clock)
    }
}

impl Column<f64> {
    /// Returns the values as the clock replays them, with straight lines between them, except where
    /// nothing was measured for long: there the value is held, and jumps. The last value is held to
    /// the end.
    pub fn curve(&self, clock: &ReplayClock) -> Curve {
        let secs = |at: Span| at.as_secs_f64();
        let mut points: Vec<(f64, f64)> = Vec::with_capacity(self.points.len() + 3);
        for (index, (at, value)) in self.points.iter().enumerate() {
            points.push((secs(*at), *value));
            let next = self.points.get(index + 1);
            if let Some((end, _)) = next.filter(|(end, _)| *end - *at > self.held) {
                points.push((secs(*end), *value));
            }
        }
        let (start, length) = (secs(clock.start), secs(clock.length));
        let whole = Curve::once(points.clone());
        // With what is in force at the end, of which the part behind it is cut.
        points.retain(|(at, _)| *at < length);
        points.push((length, whole.at(length.next_down())));
        if !clock.repeats() {
            return Curve::once(points.iter().map(|(at, db)| (at - start, *db)).collect());
        }
        let first = points.partition_point(|(at, _)| *at <= start);
        let begun = (start, whole.at(start));
        let after = points[first..].iter().map(|(at, db)| (at - start, *db));
        let again = points[..first].iter().map(|(at, db)| (at + length - start, *db));
        let end = (length, begun.1);
        let points = [(0.0, begun.1)].into_iter().chain(after).chain(again).chain([end]);
        Curve::repeating(points.collect(), length)
    }
}

/// Returns the values of `points` in steps, each kept until the next, as the clock replays them.
fn steps<T: Copy + PartialEq>(points: &[(Span, T)], clock: &ReplayClock) -> (Timeline, Vec<T>) {
    let (timeline, values) = shifted(points, clock);
    let mut starts: Vec<Span> = timeline.starts().collect();
    let mut kept: Vec<T> = Vec::with_capacity(values.len());
    let mut index = 0;
    starts.retain(|_| {
        let value = values[index];
        index += 1;
        let new = kept.last() != Some(&value);
        if new {
            kept.push(value);
        }
        new
    });
    (Timeline::new(starts.into_iter(), timeline.repeat()), kept)
}

/// Returns `points` within the clock's length, the run beginning at its start.
fn shifted<T: Copy>(points: &[(Span, T)], clock: &ReplayClock) -> (Timeline, Vec<T>) {
    let points = &points[..points.partition_point(|(at, _)| *at < clock.length)];
    let after = points.partition_point(|(at, _)| *at <= clock.start);
    // The value in force at the start; the first point is at zero.
    let first = points.get(after.saturating_sub(1)).map(|(_, value)| (Span::ZERO, *value));
    let rest = points[after..].iter().map(|(at, value)| (*at - clock.start, *value));
    let again = points.iter().take_while(|(at, _)| clock.repeats() && *at < clock.start);
    let again = again.map(|(at, value)| (clock.length - clock.start + *at, *value));
    let (starts, values): (Vec<Span>, Vec<T>) = first.into_iter().chain(rest).chain(again).unzip();
    let repeat = clock.repeats().then_some(clock.length);
    (Timeline::new(starts.into_iter(), repeat), values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorded::clock::AtEnd;
    use bentpipe_units::Time;

    fn ms(ms: u64) -> Span {
        Span::from_millis(ms)
    }

    fn column(points: &[(u64, u64)], length: u64) -> Column<Span> {
        let measured: Vec<_> =
            points.iter().zip(1..).map(|((at, value), line)| (ms(*at), ms(*value), line)).collect();
        Column::new(&measured, ms(length), ms(10)).unwrap()
    }

    fn at(line: &(Timeline, Vec<Span>), at: u64) -> Span {
        line.1[line.0.segment(Time::from_millis(at)).index]
    }

    #[test]
    fn a_start_rotates_the_values_and_equal_ones_become_one_step() {
        let column = column(&[(0, 1), (10, 2), (20, 2), (30, 3)], 40);
        for start in [0, 5, 10, 25, 39] {
            let clock = ReplayClock { start: ms(start), ..ReplayClock::repeating(ms(40)) };
            let steps = column.steps(&clock);
            for time in 0..100 {
                let expected = [1, 2, 2, 3][(time + start) as usize % 40 / 10];
                assert_eq!(at(&steps, time), ms(expected), "start {start}, {time} ms");
            }
            assert!(steps.1.len() <= 4, "{:?}", steps.1);
        }
    }

    #[test]
    fn the_last_value_stays_if_nothing_follows() {
        let column = column(&[(0, 1), (10, 2), (20, 3)], 30);
        let hold = ReplayClock { at_end: AtEnd::Hold, ..ReplayClock::repeating(ms(30)) };
        let steps = column.steps(&ReplayClock { start: ms(15), ..hold });
        for (time, value) in [(0, 2), (4, 2), (5, 3), (14, 3), (15, 3), (1000, 3)] {
            assert_eq!(at(&steps, time), ms(value), "{time} ms");
        }
    }

    #[test]
    fn a_gap_is_longer_than_five_steps() {
        let gap = |points: &[(u64, u64)], length| column(points, length).gap;
        assert_eq!(gap(&[(0, 1), (50, 1), (100, 1)], 150), None);
        let found = gap(&[(0, 1), (51, 1)], 60).unwrap();
        assert_eq!((found.line, found.at, found.length), (1, ms(0), ms(51)));
        assert_eq!(gap(&[(0, 1), (10, 1)], 61).unwrap().line, 2, "to the end");
        assert_eq!(gap(&[(60, 1), (70, 1)], 80).unwrap().at, ms(0), "from the start");
    }

    fn decibels(points: &[(u64, f64)], length: u64) -> Column<f64> {
        let measured: Vec<_> =
            points.iter().zip(1..).map(|((at, value), line)| (ms(*at), *value, line)).collect();
        Column::new(&measured, ms(length), ms(10)).unwrap()
    }

    #[test]
    fn a_curve_has_lines_but_not_over_gaps_and_begins_anywhere() {
        let column = decibels(&[(0, 1.0), (10, 2.0), (20, 4.0), (100, 8.0)], 110);
        let expected =
            [(0, 1.0), (5, 1.5), (15, 3.0), (20, 4.0), (99, 4.0), (101, 8.0), (109, 8.0)];
        for start in [0, 5, 10, 20, 60, 105] {
            let clock = ReplayClock { start: ms(start), ..ReplayClock::repeating(ms(110)) };
            let again = column.curve(&clock);
            let held = column.curve(&ReplayClock { at_end: AtEnd::Hold, ..clock });
            for (at, db) in expected {
                let at_s = (at as f64 - start as f64) / 1e3;
                for found in [again.at(at_s), again.at(at_s + 0.11), held.at(at_s)] {
                    assert!((found - db).abs() < 1e-9, "start {start}, {at} ms: {found}");
                }
            }
            assert_eq!(held.at(9.0), 8.0);
            assert_eq!(again.lowest(), 1.0, "start {start}");
        }
        // Cut between two values.
        let cut = column.curve(&ReplayClock::repeating(ms(15)));
        assert!((cut.at(0.0149) - 2.98).abs() < 1e-9 && (cut.at(0.0151) - 1.01).abs() < 1e-9);
    }

    #[test]
    fn lines_jump_over_gaps_and_at_the_period() {
        let column = column(&[(0, 10), (10, 20), (20, 30), (100, 50), (110, 60)], 120);
        let clock = ReplayClock { period: Some(ms(15)), ..ReplayClock::repeating(ms(120)) };
        for start in [0, 5, 13] {
            let clock = ReplayClock { start: ms(start), ..clock };
            let (timeline, values) = column.lines(&clock);
            let model = crate::delay::model::DelayModel::Schedule {
                timeline: std::sync::Arc::new(timeline),
                base: ms(0),
                delays: values.into(),
                jitter: None,
                interpolate: true,
                keep_order: true,
            };
            for (time, value) in
                [(0, 10), (5, 15), (10, 20), (14, 20), (19, 20), (20, 30), (99, 30)]
            {
                let time = Time::from_millis((time + 120 - start) % 120);
                let found = model.at(time).as_millis_f64();
                assert!((found - value as f64).abs() < 1e-3, "start {start}: {found} at {time}");
            }
        }
    }
}

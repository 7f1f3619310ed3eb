//! Properties of bounded series.

use bentpipe_timeseries::{BinnedSum, BoundedSeries, Points, SeriesLimit, extremes};
use bentpipe_units::{Span, Time};
use proptest::prelude::*;

type Point = (Time, f64);

fn series(points: &[Point], limit: usize) -> Points {
    let mut series = BoundedSeries::new(SeriesLimit::new(limit));
    points.iter().for_each(|&(at, value)| series.push(at, value));
    assert_eq!(series.last(), points.last().copied());
    series.into_points()
}

/// The first, lowest, highest and last of each `size` points.
fn grouped(points: &[Point], size: usize) -> Vec<Point> {
    let groups = points.chunks(size);
    groups.flat_map(|group| extremes(group.len(), |i| group[i].1).map(|i| group[i])).collect()
}

fn at_steps(values: &[f64]) -> Vec<Point> {
    values.iter().enumerate().map(|(i, &value)| (Time::from_millis(i as u64 / 3), value)).collect()
}

/// Values that rise, that stay, and that jump.
fn values() -> impl Strategy<Value = Vec<f64>> {
    let any = prop::collection::vec(-1e6..1e6, 0..5000);
    let few = prop::collection::vec((0..5u8).prop_map(f64::from), 0..5000);
    let rising = any.clone().prop_map(|mut values| {
        values.sort_by(f64::total_cmp);
        values
    });
    prop_oneof![any, few, rising]
}

proptest! {
    #[test]
    fn kept_points_are_those_of_equal_bins(values in values(), limit in 64..600usize) {
        let all = at_steps(&values);
        let kept = series(&all, limit);
        prop_assert!(kept.points.len() <= limit);
        prop_assert_eq!(kept.downsampled, all.len() > limit);
        let mut sizes = (0..=all.len().max(2).ilog2()).map(|power| 1 << power);
        let same = |size: &usize| grouped(&all, *size) == kept.points;
        let size = if kept.downsampled { sizes.find(same) } else { Some(1).filter(same) };
        prop_assert!(size.is_some(), "{} points of {}", kept.points.len(), all.len());
    }

    #[test]
    fn extremes_and_both_ends_survive_in_order_of_time(values in values()) {
        let all = at_steps(&values);
        let kept = series(&all, 64).points;
        prop_assert_eq!((kept.first(), kept.last()), (all.first(), all.last()));
        let bounds = |points: &[Point]| {
            let values = points.iter().map(|&(_, value)| value);
            (values.clone().fold(f64::MAX, f64::min), values.fold(f64::MIN, f64::max))
        };
        prop_assert_eq!(bounds(&kept), bounds(&all));
        prop_assert!(kept.is_sorted_by(|a, b| a.0 <= b.0));
        // Bins of at most four points are merged only while more than half of the limit is kept, so
        // that at least five remain, each but the last with two points or more.
        prop_assert!(kept.len() > 8 || kept.len() == all.len());
    }

    #[test]
    fn sums_of_bins_are_complete_and_gaps_are_zero(
        steps in prop::collection::vec((0..400u64, 1..2000u64), 0..300),
    ) {
        let mut series = BinnedSum::new(Span::from_millis(50), 1.0, SeriesLimit::DEFAULT);
        let mut expected = std::collections::BTreeMap::new();
        let mut ms = 0;
        for (step, amount) in steps {
            ms += step;
            series.add(Time::from_millis(ms), amount);
            *expected.entry(ms / 50).or_insert(0) += amount;
        }
        let points = series.into_points().points;
        prop_assert!(points.is_sorted_by(|a, b| a.0 < b.0));
        // A plot in steps: each point lasts until the next.
        let at = |bin: u64| {
            let time = Time::from_millis(50 * bin);
            points.iter().rev().find(|(at, _)| *at <= time).map(|&(_, value)| value)
        };
        for bin in 0..expected.keys().max().map_or(0, |last| last + 1) {
            let value = expected.get(&bin).copied().unwrap_or_default() as f64;
            prop_assert_eq!(at(bin), Some(value), "bin {}", bin);
        }
    }
}

#[test]
fn memory_does_not_grow_with_the_number_of_points() {
    let kept = |n: u64| {
        let mut series = BoundedSeries::default();
        (0..n).for_each(|i| series.push(Time::from_nanos(i), (i * 7919 % 1000) as f64));
        series.into_points().points
    };
    let sizes = [10_000, 100_000, 10_000_000].map(|n| kept(n).len());
    let limit = SeriesLimit::DEFAULT.points();
    assert!(sizes.iter().all(|size| (limit / 4..=limit).contains(size)), "{sizes:?}");
}

#[test]
fn late_amounts_cost_two_points() {
    let mut series = BinnedSum::new(Span::from_millis(50), 2.0, SeriesLimit::DEFAULT);
    series.add(Time::from_millis(10), 1);
    series.add(Time::from_secs(1_000_000_000), 3);
    series.add(Time::from_secs(999_999_999), 1);
    let points = series.into_points().points;
    let ms = |ms, value| (Time::from_millis(ms), value);
    let late = 1_000_000_000_000;
    assert_eq!(points, [ms(0, 2.0), ms(50, 0.0), ms(late - 50, 0.0), ms(late, 8.0)]);
}

#[test]
fn bins_begin_with_that_of_the_start() {
    let series = || {
        let series = BinnedSum::new(Span::from_millis(100), 1.0, SeriesLimit::DEFAULT);
        series.starting_at(Time::from_millis(250))
    };
    assert!(series().into_points().points.is_empty());
    let mut sum = series();
    sum.add(Time::from_millis(420), 5);
    let ms = |ms, value| (Time::from_millis(ms), value);
    assert_eq!(sum.into_points().points, [ms(200, 0.0), ms(300, 0.0), ms(400, 5.0)]);
}

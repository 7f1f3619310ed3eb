//! Downsampling of time series, for reports that would be too large for a browser.
//!
//! Each group of consecutive points keeps its first, lowest, highest and last point, in order. A
//! plot looks the same unless it is zoomed, including peaks and gaps. Only plots use downsampled
//! series; results are computed from all points.

use bentpipe_recorder::{RunTrace, Series};
use bentpipe_units::Time;
use std::borrow::Cow;

/// Number of points that each group keeps.
const KEPT: usize = 4;
/// Minimum limit of a series, in points: more than the columns of a screen.
const MIN_LIMIT: usize = 4_000;

/// Returns the maximum number of points per series of `trace`, so that all series together have at
/// most `budget` points. The limit is at least 4000.
pub fn limit(trace: &RunTrace, budget: usize) -> usize {
    let series = trace
        .flows
        .iter()
        .flat_map(|flow| &flow.series)
        .chain(trace.links.iter().flat_map(|link| &link.series));
    let mut sizes: Vec<usize> = series.map(|series| series.points.len()).collect();
    sizes.sort_unstable();
    let (mut left, mut count) = (budget, sizes.len());
    // Small series keep all their points. The rest of the budget is divided among the large ones.
    for size in sizes {
        if size > left / count {
            return (left / count).max(MIN_LIMIT);
        }
        left -= size;
        count -= 1;
    }
    usize::MAX
}

/// Returns about `limit` points of `series`; all of them if there are no more.
pub fn downsample(series: &Series, limit: usize) -> Cow<'_, [(Time, f64)]> {
    let all = &series.points;
    if all.len() <= limit {
        return Cow::Borrowed(all);
    }
    let group_size = all.len().div_ceil((limit / KEPT).max(1));
    let mut kept = Vec::with_capacity(limit);
    for group in all.chunks(group_size) {
        let extreme = |better: fn(f64, f64) -> bool| {
            (1..group.len()).fold(0, |best, index| {
                if better(group[index].1, group[best].1) { index } else { best }
            })
        };
        let mut indices = [0, extreme(|a, b| a < b), extreme(|a, b| a > b), group.len() - 1];
        indices.sort_unstable();
        let mut last = None;
        for index in indices {
            if last != Some(index) {
                kept.push(group[index]);
            }
            last = Some(index);
        }
    }
    Cow::Owned(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(n: u64) -> Series {
        let value = |index: u64| if index == 777 { 1e9 } else { (index % 10) as f64 };
        Series {
            name: "rtt",
            unit: "ms",
            points: (0..n).map(|i| (Time::from_millis(i), value(i))).collect(),
        }
    }

    #[test]
    fn peaks_and_both_ends_are_kept_in_order_of_time() {
        let series = series(100_000);
        let kept = downsample(&series, 1_000);
        assert!(kept.len() <= 1_000 && kept.len() > 500, "{}", kept.len());
        assert!(kept.contains(&(Time::from_millis(777), 1e9)));
        assert_eq!((kept.first(), kept.last()), (series.points.first(), series.points.last()));
        assert!(kept.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn large_series_share_the_budget_that_small_ones_leave() {
        let link = |n| bentpipe_recorder::LinkTrace {
            name: String::new(),
            rate: None,
            queue_limit: None,
            series: vec![series(n)],
        };
        let trace = RunTrace {
            flows: Vec::new(),
            links: vec![link(1_000), link(100_000), link(50_000)],
            paths: Vec::new(),
        };
        assert_eq!(limit(&trace, 41_000), 20_000);
        assert_eq!(limit(&trace, 151_000), usize::MAX);
        assert_eq!(limit(&trace, 10), MIN_LIMIT);
    }
}

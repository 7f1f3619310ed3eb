//! Downsampling of time series, for pages that would be too large for a browser.
//!
//! Each group of consecutive points keeps its first, lowest, highest and last point, in order. A
//! plot looks the same unless it is zoomed, including peaks and gaps. Only plots use downsampled
//! series; results are computed from all points.

use crate::traces::{SeriesRef, parts};
use bentpipe_timeseries::extremes;

/// Number of points that each group keeps.
const KEPT: usize = 4;

/// Returns the maximum number of points per series, so that series of `sizes` points have at most
/// `budget` points together.
pub fn limit(sizes: impl Iterator<Item = usize>, budget: usize) -> usize {
    let mut sizes: Vec<usize> = sizes.collect();
    sizes.sort_unstable();
    let (mut left, mut count) = (budget, sizes.len());
    // Small series keep all their points. The rest of the budget is divided among the large ones.
    for size in sizes {
        if size > left / count {
            return left / count;
        }
        left -= size;
        count -= 1;
    }
    usize::MAX
}

/// Units in a second to which times are rounded, a power of two: compressed, a point takes half as
/// many bytes.
const TIME_UNITS: f64 = (1 << 20) as f64;

/// Appends at most `limit` points of `series`, but at least four, to `to`, and sets its reference
/// to them; times are rounded to about a microsecond. `from` holds its points. A series outside of
/// `from` becomes empty.
pub fn copy(series: &mut SeriesRef, from: &[u8], limit: usize, to: &mut Vec<u8>) {
    let offset = to.len();
    let (times, values) = parts(series, from).unwrap_or_default();
    let n = values.len() / 4;
    let kept = if n <= limit { (0..n).collect() } else { groups(n, limit, values) };
    for index in &kept {
        let time = times[8 * index..8 * index + 8].try_into().map_or(0.0, f64::from_le_bytes);
        to.extend_from_slice(&((time * TIME_UNITS).round() / TIME_UNITS).to_le_bytes());
    }
    for index in &kept {
        to.extend_from_slice(&values[4 * index..4 * index + 4]);
    }
    series.n = kept.len();
    to.resize(to.len().next_multiple_of(8), 0);
    series.offset = offset;
}

/// Returns the positions of the points that are kept of `n`.
fn groups(n: usize, limit: usize, values: &[u8]) -> Vec<usize> {
    let group = n.div_ceil((limit / KEPT).max(1));
    let value = |index: usize| match values.get(4 * index..4 * index + 4) {
        Some(bytes) => f64::from(f32::from_le_bytes(bytes.try_into().unwrap_or_default())),
        None => f64::NAN,
    };
    let positions = (0..n).step_by(group).flat_map(|first| {
        let kept = extremes(group.min(n - first), |index| value(first + index));
        kept.map(move |index| first + index)
    });
    positions.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traces::points;

    #[test]
    fn peaks_and_both_ends_are_kept_in_order_of_time() {
        let n = 100_000;
        let value = |index: usize| if index == 777 { 1e9 } else { (index % 10) as f32 };
        let mut blob = vec![0; 16];
        (0..n).for_each(|i| blob.extend((i as f64).to_le_bytes()));
        (0..n).for_each(|i| blob.extend(value(i).to_le_bytes()));
        let series = SeriesRef { offset: 16, n, unit: "ms".to_owned() };
        let all = points(&series, &blob);
        let kept = |limit| {
            let (mut kept, mut to) = (series.clone(), vec![0; 8]);
            copy(&mut kept, &blob, limit, &mut to);
            assert!(kept.offset == 8 && to.len() % 8 == 0);
            points(&kept, &to)
        };
        assert_eq!(kept(n), all);
        let kept = kept(1_000);
        assert!(kept.len() <= 1_000 && kept.len() > 500, "{}", kept.len());
        assert!(kept.contains(&(777.0, 1e9)));
        assert_eq!((kept.first(), kept.last()), (all.first(), all.last()));
        assert!(kept.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn large_series_share_the_budget_that_small_ones_leave() {
        let of = |budget| limit([1_000, 100_000, 50_000].into_iter(), budget);
        assert_eq!(of(41_000), 20_000);
        assert_eq!(of(151_000), usize::MAX);
        assert_eq!(limit(std::iter::empty(), 0), usize::MAX);
    }
}

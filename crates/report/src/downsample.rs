//! Series with fewer points, for reports that would grow too large for a browser.
//!
//! Of each stretch of points the first, the lowest, the highest and the last stay, in their order:
//! a picture that is not zoomed into looks the same, peaks and gaps included. Results are computed
//! from everything; only what is drawn is thinned.

use bentpipe_recorder::{RunTrace, Series};
use bentpipe_units::Time;
use std::borrow::Cow;

/// Points that each stretch keeps.
const KEPT: usize = 4;
/// No series is thinned below so many points: more than a screen has columns.
const LEAST: usize = 4_000;

/// The most points that each series of `trace` may keep, so that all of them together have `budget`
/// where that leaves each [`LEAST`].
pub fn limit(trace: &RunTrace, budget: usize) -> usize {
    let series = trace
        .flows
        .iter()
        .flat_map(|flow| &flow.series)
        .chain(trace.links.iter().flat_map(|link| &link.series));
    let mut sizes: Vec<usize> = series.map(|series| series.points.len()).collect();
    sizes.sort_unstable();
    let (mut left, mut count) = (budget, sizes.len());
    // Small series keep everything; what they do not need is for the large ones.
    for size in sizes {
        if size > left / count {
            return (left / count).max(LEAST);
        }
        left -= size;
        count -= 1;
    }
    usize::MAX
}

/// At most about `most` of the points of `series`.
pub fn downsample(series: &Series, most: usize) -> Cow<'_, [(Time, f64)]> {
    let all = &series.points;
    if all.len() <= most {
        return Cow::Borrowed(all);
    }
    let stretch = all.len().div_ceil((most / KEPT).max(1));
    let mut kept = Vec::with_capacity(most);
    for part in all.chunks(stretch) {
        let place = |better: fn(f64, f64) -> bool| {
            (1..part.len()).fold(
                0,
                |best, index| if better(part[index].1, part[best].1) { index } else { best },
            )
        };
        let mut places = [0, place(|a, b| a < b), place(|a, b| a > b), part.len() - 1];
        places.sort_unstable();
        let mut last = None;
        for index in places {
            if last != Some(index) {
                kept.push(part[index]);
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
    fn peaks_and_both_ends_stay_in_order_of_time() {
        let series = series(100_000);
        let thinned = downsample(&series, 1_000);
        assert!(thinned.len() <= 1_000 && thinned.len() > 500, "{}", thinned.len());
        assert!(thinned.contains(&(Time::from_millis(777), 1e9)));
        assert_eq!(
            (thinned.first(), thinned.last()),
            (series.points.first(), series.points.last())
        );
        assert!(thinned.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn small_series_leave_their_room_to_large_ones() {
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
        assert_eq!(limit(&trace, 10), LEAST);
    }
}

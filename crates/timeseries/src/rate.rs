//! What a link could carry, if that changes.

use crate::{BoundedSeries, Series, SeriesLimit};
use bentpipe_units::{Rate, Time};

/// Maximum number of points.
const MAX_POINTS: usize = 8192;

/// Returns the series `rate` (Mbps, from each time on) of a link whose rate changes as given, or is
/// `constant`, and which carries nothing in `outages` (from, until); `None` if it never changes.
pub fn rate_series(
    changes: impl Iterator<Item = (Time, Rate)>,
    constant: Option<Rate>,
    outages: Vec<(Time, Time)>,
) -> Option<Series> {
    let mut points = BoundedSeries::new(SeriesLimit::new(MAX_POINTS));
    if outages.is_empty() {
        changes.for_each(|(at, rate)| points.push(at, rate.as_mbps_f64()));
    } else {
        let constant = constant.map(|rate| (Time::ZERO, rate));
        with_outages(constant.into_iter().chain(changes), outages, &mut points);
    }
    (!points.is_empty()).then(|| Series::new("rate", "Mbps", points.into_points()))
}

/// Adds the `rates` outside of `outages`, and zero within.
fn with_outages(
    rates: impl Iterator<Item = (Time, Rate)>,
    outages: Vec<(Time, Time)>,
    points: &mut BoundedSeries,
) {
    let edges = outages.into_iter().flat_map(|(from, until)| [(from, true), (until, false)]);
    let mut edges: Vec<(Time, bool)> = edges.filter(|(at, _)| *at < Time::MAX).collect();
    edges.sort_unstable();
    let (mut rates, mut edges) = (rates.peekable(), edges.into_iter().peekable());
    let (mut rate, mut outages) = (Rate::default(), 0_usize);
    let next = |at: Option<&Time>| at.copied().unwrap_or(Time::MAX);
    loop {
        let at = next(rates.peek().map(|(at, _)| at)).min(next(edges.peek().map(|(at, _)| at)));
        if at == Time::MAX {
            return;
        }
        while let Some((_, new)) = rates.next_if(|(time, _)| *time == at) {
            rate = new;
        }
        while let Some((_, begins)) = edges.next_if(|(time, _)| *time == at) {
            outages = if begins { outages + 1 } else { outages.saturating_sub(1) };
        }
        points.push_change(at, if outages > 0 { 0.0 } else { rate.as_mbps_f64() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    #[test]
    fn each_change_is_a_point_and_a_constant_rate_has_no_series() {
        let changes = [(at(0), Rate::from_mbps(50)), (at(1500), Rate::from_mbps(20))];
        let series = rate_series(changes.into_iter(), None, Vec::new()).unwrap();
        assert_eq!((series.name, series.unit), ("rate", "Mbps"));
        assert_eq!(series.points, [(at(0), 50.0), (at(1500), 20.0)]);
        assert!(rate_series(std::iter::empty(), Some(Rate::from_mbps(9)), Vec::new()).is_none());
    }

    #[test]
    fn outages_are_zero_and_end_with_the_rate_that_holds_then() {
        let outages = vec![(at(100), at(180)), (at(150), at(300)), (at(900), Time::MAX)];
        let constant = Some(Rate::from_mbps(9));
        let series = rate_series(std::iter::empty(), constant, outages.clone()).unwrap();
        let alone = [(at(0), 9.0), (at(100), 0.0), (at(300), 9.0), (at(900), 0.0)];
        assert_eq!(series.points, alone);

        let changes = [(at(0), Rate::from_mbps(50)), (at(200), Rate::from_mbps(20))];
        let series = rate_series(changes.into_iter(), None, outages).unwrap();
        let both = [(at(0), 50.0), (at(100), 0.0), (at(300), 20.0), (at(900), 0.0)];
        assert_eq!(series.points, both);
    }
}

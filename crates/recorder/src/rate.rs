//! The rate of a link that changes.

use crate::Series;
use bentpipe_series::{BoundedSeries, SeriesLimit};
use bentpipe_units::{Rate, Time};

/// Maximum number of points.
const MAX_POINTS: usize = 8192;

/// Returns the series `rate` (Mbps, from each time on) of a link whose rate changes as given;
/// `None` if there are no changes.
pub fn rate_series(changes: impl Iterator<Item = (Time, Rate)>) -> Option<Series> {
    let mut points = BoundedSeries::new(SeriesLimit::new(MAX_POINTS));
    changes.for_each(|(at, rate)| points.push(at, rate.as_mbps_f64()));
    (!points.is_empty()).then(|| Series::new("rate", "Mbps", points.into_points()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_is_a_point_and_a_constant_rate_has_no_series() {
        let at = Time::from_millis;
        let changes = [(at(0), Rate::from_mbps(50)), (at(1500), Rate::from_mbps(20))];
        let series = rate_series(changes.into_iter()).unwrap();
        assert_eq!((series.name, series.unit), ("rate", "Mbps"));
        assert_eq!(series.points, [(at(0), 50.0), (at(1500), 20.0)]);
        assert!(rate_series(std::iter::empty()).is_none());
    }
}

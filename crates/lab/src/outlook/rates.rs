//! Series of rates.

use bentpipe_timeseries::Series;
use bentpipe_units::{Rate, Time};

/// Largest number of points of a series. More would only be slower to draw.
pub(super) const MAX_POINTS: usize = 4000;
/// Name of a series with the rate of a link.
const RATE: &str = "rate";

/// Returns a series of rates in Mbps.
pub(super) fn rates(points: impl IntoIterator<Item = (Time, Rate)>) -> Series {
    let points = points.into_iter().take(MAX_POINTS).map(|(at, rate)| (at, rate.as_mbps_f64()));
    Series { name: RATE, unit: "Mbps", points: points.collect(), downsampled: false }
}

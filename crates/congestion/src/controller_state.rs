//! A controller's own variables, for series and traces of whoever asks for them.

use bentpipe_timeseries::{BoundedSeries, SeriesLimit};
use bentpipe_units::{Bytes, Rate, Span, Time};

/// A variable of a controller after an event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StateField {
    /// Name in the controller's document.
    pub name: &'static str,
    /// Unit of the value; empty for a plain number.
    pub unit: &'static str,
    /// Value. A bound that does not limit is 0, and a condition 0 or 1.
    pub value: f64,
}

impl StateField {
    /// Returns a plain number.
    pub fn number(name: &'static str, value: f64) -> Self {
        Self { name, unit: "", value }
    }

    /// Returns a condition.
    pub fn flag(name: &'static str, value: bool) -> Self {
        Self::number(name, f64::from(u8::from(value)))
    }

    /// Returns a rate in Mbps; the largest one does not limit.
    pub fn rate(name: &'static str, value: Rate) -> Self {
        let limits = value.as_bps() != u64::MAX;
        Self { name, unit: "Mbps", value: if limits { value.as_mbps_f64() } else { 0.0 } }
    }

    /// Returns a volume in bytes; the largest one does not limit.
    pub fn volume(name: &'static str, value: Bytes) -> Self {
        let limits = value != Bytes::MAX;
        Self { name, unit: "bytes", value: if limits { value.get() as f64 } else { 0.0 } }
    }

    /// Returns a time span in ms.
    pub fn span(name: &'static str, value: Span) -> Self {
        Self { name, unit: "ms", value: value.as_millis_f64() }
    }

    /// Returns a moment in seconds since the start of the run.
    pub fn time(name: &'static str, value: Time) -> Self {
        Self { name, unit: "s", value: value.as_secs_f64() }
    }
}

/// Time series of a controller's variables, each with its name and unit, in the order in which they
/// are first reported.
#[derive(Debug)]
pub struct StateSeries {
    limit: SeriesLimit,
    series: Vec<(&'static str, &'static str, BoundedSeries)>,
}

impl StateSeries {
    pub(crate) fn new(limit: SeriesLimit) -> Self {
        Self { limit, series: Vec::new() }
    }

    /// Adds the values that have changed.
    pub(crate) fn record(&mut self, now: Time, fields: &[StateField]) {
        for field in fields {
            let place = self.place_of(field);
            self.series[place].2.push_change(now, field.value);
        }
    }

    fn place_of(&mut self, field: &StateField) -> usize {
        let known = self.series.iter().position(|(name, ..)| *name == field.name);
        known.unwrap_or_else(|| {
            self.series.push((field.name, field.unit, BoundedSeries::new(self.limit)));
            self.series.len() - 1
        })
    }

    /// Returns the series.
    pub fn into_series(self) -> Vec<(&'static str, &'static str, BoundedSeries)> {
        self.series
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_has_a_point_for_each_change() {
        let mut series = StateSeries::new(SeriesLimit::FULL);
        for (ms, rate, count) in [(0, 10, 1.0), (1, 10, 2.0), (2, 20, 2.0)] {
            let fields = [
                StateField::rate("max_bw", Rate::from_mbps(rate)),
                StateField::number("round_count", count),
            ];
            series.record(Time::from_millis(ms), &fields);
        }
        let points: Vec<_> = series
            .into_series()
            .into_iter()
            .map(|(name, unit, series)| (name, unit, series.into_points().points.len()))
            .collect();
        assert_eq!(points, [("max_bw", "Mbps", 2), ("round_count", "", 2)]);
    }

    #[test]
    fn a_variable_that_appears_later_gets_a_series_of_its_own() {
        let mut series = StateSeries::new(SeriesLimit::FULL);
        let (bw, rounds) = (StateField::number("bw", 1.0), StateField::number("rounds", 7.0));
        series.record(Time::ZERO, &[bw]);
        series.record(Time::from_millis(1), &[rounds, bw]);
        let names: Vec<_> = series.into_series().iter().map(|(name, ..)| *name).collect();
        assert_eq!(names, ["bw", "rounds"]);
    }

    #[test]
    fn bounds_that_do_not_limit_are_zero() {
        assert_eq!(StateField::volume("inflight_longterm", Bytes::MAX).value, 0.0);
        assert_eq!(StateField::rate("bw_shortterm", Rate::from_bps(u64::MAX)).value, 0.0);
    }
}

//! What a sender says of its own state in a qlog file.

use crate::event::Metrics;
use bentpipe_timeseries::{BoundedSeries, Series, SeriesLimit};
use bentpipe_units::{Bytes, Span, Time};

/// Series of a sender's state, by the names that reports give them.
#[derive(Debug)]
pub(super) struct SenderState {
    cwnd: BoundedSeries,
    in_flight: BoundedSeries,
    ssthresh: BoundedSeries,
    rtt: BoundedSeries,
    smoothed_rtt: BoundedSeries,
}

impl SenderState {
    pub fn new(limit: SeriesLimit) -> Self {
        let [cwnd, in_flight, ssthresh, rtt, smoothed_rtt] =
            std::array::from_fn(|_| BoundedSeries::new(limit));
        Self { cwnd, in_flight, ssthresh, rtt, smoothed_rtt }
    }

    pub fn changed(&mut self, at: Time, metrics: &Metrics) {
        let bytes = |series: &mut BoundedSeries, value: Option<Bytes>| {
            if let Some(value) = value {
                series.push_change(at, value.get() as f64);
            }
        };
        bytes(&mut self.cwnd, metrics.window);
        bytes(&mut self.in_flight, metrics.in_flight);
        // Before the first congestion it is "infinite": the largest number of its type, in some
        // unit.
        bytes(&mut self.ssthresh, metrics.ssthresh.filter(|value| value.get() < MAX_SSTHRESH));
        let time = |series: &mut BoundedSeries, value: Option<Span>| {
            if let Some(value) = value {
                series.push_change(at, value.as_millis_f64());
            }
        };
        time(&mut self.rtt, metrics.latest_rtt);
        time(&mut self.smoothed_rtt, metrics.smoothed_rtt);
    }

    /// True if the file has samples of the RTT.
    pub fn knows_rtt(&self) -> bool {
        !self.rtt.is_empty()
    }

    /// True if the file has the bytes in flight.
    pub fn knows_flight(&self) -> bool {
        !self.in_flight.is_empty()
    }

    pub fn into_series(self) -> Vec<Series> {
        [
            ("cwnd", "B", self.cwnd),
            ("bytes_in_flight", "B", self.in_flight),
            ("ssthresh", "B", self.ssthresh),
            ("rtt", "ms", self.rtt),
            ("smoothed_rtt", "ms", self.smoothed_rtt),
        ]
        .map(|(name, unit, series)| Series::new(name, unit, series.into_points()))
        .into()
    }
}

/// Slow start thresholds from here on stand for none.
const MAX_SSTHRESH: u64 = 1 << 31;

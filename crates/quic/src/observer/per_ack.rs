//! Data packets per acknowledgement over time.

use bentpipe_timeseries::{BoundedSeries, Points, SeriesLimit};
use bentpipe_units::{Span, Time};

/// Width of a bin: a fraction of a long path's RTT, in which even a receiver that acknowledges four
/// times per RTT mostly does so once.
const BIN: Span = Span::from_millis(200);

/// Data packets per acknowledgement in bins of 200 ms. The packets of a bin without an
/// acknowledgement count for the next bin with one.
#[derive(Debug)]
pub struct PerAck {
    /// Start of the current bin.
    begin: Time,
    data: u64,
    acks: u64,
    series: BoundedSeries,
}

impl PerAck {
    /// Creates an empty series of at most `limit` points.
    pub fn new(limit: SeriesLimit) -> Self {
        Self { begin: Time::ZERO, data: 0, acks: 0, series: BoundedSeries::new(limit) }
    }

    /// Counts a data packet that arrived at `now`, which never goes back.
    pub fn on_data(&mut self, now: Time) {
        self.advance(now);
        self.data += 1;
    }

    /// Counts an acknowledgement that left at `now`.
    pub fn on_ack(&mut self, now: Time) {
        self.advance(now);
        self.acks += 1;
    }

    fn advance(&mut self, now: Time) {
        if now.since(self.begin) >= BIN {
            self.close();
            self.begin = Time::ZERO + BIN * (now.as_nanos() / BIN.as_nanos());
        }
    }

    fn close(&mut self) {
        if self.acks > 0 {
            self.series.push(self.begin, self.data as f64 / self.acks as f64);
            (self.data, self.acks) = (0, 0);
        }
    }

    /// Returns the start of each bin with an acknowledgement, and its data packets per
    /// acknowledgement.
    pub fn into_points(mut self) -> Points {
        self.close();
        self.series.into_points()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_without_an_acknowledgement_count_for_the_next() {
        let mut per_ack = PerAck::new(SeriesLimit::DEFAULT);
        let at = Time::from_millis;
        for ms in [10, 20, 30, 190, 210] {
            per_ack.on_data(at(ms));
        }
        per_ack.on_ack(at(410));
        per_ack.on_data(at(600));
        per_ack.on_ack(at(601));
        per_ack.on_ack(at(602));
        per_ack.on_data(at(900));
        assert_eq!(per_ack.into_points().points, [(at(400), 5.0), (at(600), 0.5)]);
    }
}

//! How many data packets arrive for each acknowledgement that leaves, over time.

use bentpipe_units::{Span, Time};

/// Width of a bin: a fraction of a long path's round trip, in which even a receiver that
/// acknowledges four times a round trip mostly does so once.
const BIN: Span = Span::from_millis(200);

/// Data packets to an acknowledgement in bins of 200 ms. Where none left in a bin, its packets
/// count for the next in which one does, so that nothing is lost and nothing divided by zero.
#[derive(Debug, Default)]
pub struct PerAck {
    /// The bin under way.
    bin: u64,
    data: u64,
    acks: u64,
    points: Vec<(Time, f64)>,
}

impl PerAck {
    /// A data packet arrived at `now`, which never goes back.
    pub fn data(&mut self, now: Time) {
        self.advance(now);
        self.data += 1;
    }

    /// An acknowledgement left at `now`.
    pub fn acknowledgement(&mut self, now: Time) {
        self.advance(now);
        self.acks += 1;
    }

    fn advance(&mut self, now: Time) {
        let bin = now.as_nanos() / BIN.as_nanos();
        if bin != self.bin {
            self.close();
            self.bin = bin;
        }
    }

    fn close(&mut self) {
        if self.acks > 0 {
            self.points.push((Time::ZERO + BIN * self.bin, self.data as f64 / self.acks as f64));
            (self.data, self.acks) = (0, 0);
        }
    }

    /// The beginning of each bin with an acknowledgement, and the packets to each.
    pub fn into_points(mut self) -> Vec<(Time, f64)> {
        self.close();
        self.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_without_an_acknowledgement_count_for_the_next() {
        let mut per_ack = PerAck::default();
        let at = Time::from_millis;
        for ms in [10, 20, 30, 190, 210] {
            per_ack.data(at(ms));
        }
        per_ack.acknowledgement(at(410));
        per_ack.data(at(600));
        per_ack.acknowledgement(at(601));
        per_ack.acknowledgement(at(602));
        per_ack.data(at(900));
        assert_eq!(per_ack.into_points(), [(at(400), 5.0), (at(600), 0.5)]);
    }
}

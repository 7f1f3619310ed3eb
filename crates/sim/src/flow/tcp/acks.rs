//! Counts ACKs of the receiver of a TCP visit's data.

use crate::flow::report::ReverseReport;
use crate::outcome::Acknowledgements;
use bentpipe_quic::SenderSeries;
use bentpipe_quic::observer::PerAck;
use bentpipe_tcp::Segment;
use bentpipe_timeseries::{Series, SeriesLimit};
use bentpipe_units::Time;

/// Counts the segments that the data's receiver receives and sends, over all connections.
#[derive(Debug, Default)]
pub struct TcpAckCounter {
    counted: Acknowledgements,
    /// Data segments per ACK over time, if recorded.
    per_ack: Option<PerAck>,
}

impl TcpAckCounter {
    /// Creates zero counts. With a limit, it records time series.
    pub fn new(series: Option<SeriesLimit>) -> Self {
        Self { counted: Acknowledgements::default(), per_ack: series.map(PerAck::new) }
    }

    /// Counts a segment that has reached the data's receiver.
    pub fn arrived(&mut self, now: Time, segment: &Segment) {
        if segment.len == 0 {
            return;
        }
        self.counted.data += 1;
        if let Some(per_ack) = &mut self.per_ack {
            per_ack.on_data(now);
        }
    }

    /// Counts a segment that the data's receiver sends.
    pub fn sent(&mut self, now: Time, segment: &Segment) {
        if !segment.flags.ack {
            return;
        }
        self.counted.packets += 1;
        if segment.is_pure_ack() {
            self.counted.only += 1;
            self.counted.sizes.add(segment.option_bytes());
        }
        if let Some(per_ack) = &mut self.per_ack {
            per_ack.on_ack(now);
        }
    }

    /// Returns the counts, with series of the first connection's `sender`, from which it takes the
    /// numbers of segments.
    pub fn reverse(self, sender: Option<&mut SenderSeries>) -> ReverseReport {
        let mut series = Vec::new();
        let mut add = |name, points| series.push(Series::new(name, "packets", points));
        if let Some(numbers) = sender.and_then(|sender| sender.numbers.take()) {
            add("packet_number_sent", numbers.sent.into_points());
            add("packet_number_acked", numbers.acked.into_points());
        }
        if let Some(per_ack) = self.per_ack {
            add("data_per_ack", per_ack.into_points());
        }
        ReverseReport { acknowledgements: Some(self.counted), layers: None, series }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_tcp::Flags;

    #[test]
    fn requests_carry_acknowledgements() {
        let ack = Flags { ack: true, ..Flags::default() };
        let mut segments = TcpAckCounter::new(Some(SeriesLimit::DEFAULT));
        let at = Time::from_millis;
        segments.sent(
            at(1),
            &Segment { flags: Flags { syn: true, ..Flags::default() }, ..Segment::default() },
        );
        segments
            .arrived(at(2), &Segment { flags: Flags { syn: true, ..ack }, ..Segment::default() });
        segments.sent(at(3), &Segment { flags: ack, len: 100, ..Segment::default() });
        for ms in 4..8 {
            segments.arrived(at(ms), &Segment { flags: ack, len: 1448, ..Segment::default() });
        }
        segments.sent(at(8), &Segment { flags: ack, ..Segment::default() });
        let reverse = segments.reverse(None);
        let counted = reverse.acknowledgements.unwrap();
        assert_eq!((counted.packets, counted.only, counted.data), (2, 1, 4));
        assert_eq!(counted.sizes.counts().iter().collect::<Vec<_>>(), [(&12, &1)]);
        assert_eq!(reverse.series[0].points, [(Time::ZERO, 2.0)]);
    }
}

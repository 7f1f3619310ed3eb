//! Counts ACKs of the receiver of a TCP visit's data.

use super::progress::ReverseReport;
use crate::outcome::Acknowledgements;
use bentpipe_quic::SenderSeries;
use bentpipe_quic::account::{PerAck, Points};
use bentpipe_recorder::Series;
use bentpipe_tcp::Segment;
use bentpipe_units::Time;

/// Counts the segments that the data's receiver receives and sends, over all connections.
#[derive(Debug, Default)]
pub struct TcpAckCounter {
    counted: Acknowledgements,
    /// Data segments per ACK over time, if recorded.
    per_ack: Option<PerAck>,
}

impl TcpAckCounter {
    /// Creates zero counts. `record` enables time series.
    pub fn new(record: bool) -> Self {
        Self { counted: Acknowledgements::default(), per_ack: record.then(PerAck::default) }
    }

    /// Counts a segment that has reached the data's receiver.
    pub fn arrived(&mut self, now: Time, segment: &Segment) {
        if segment.len == 0 {
            return;
        }
        self.counted.data += 1;
        if let Some(per_ack) = &mut self.per_ack {
            per_ack.data(now);
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
            per_ack.acknowledgement(now);
        }
    }

    /// Returns the counts, with series derived from those of the first connection's `sender`.
    pub fn reverse(self, sender: Option<&SenderSeries>) -> ReverseReport {
        let mut series = Vec::new();
        let mut add = |name, points| series.push(Series { name, unit: "packets", points });
        if let Some(sender) = sender {
            let (sent, acknowledged) = numbers(sender);
            add("packet_number_sent", sent);
            add("packet_number_acked", acknowledged);
        }
        add("data_per_ack", self.per_ack.map(PerAck::into_points).unwrap_or_default());
        ReverseReport { acknowledgements: Some(self.counted), layers: None, series }
    }
}

/// Returns the numbers of sent and of acknowledged segments over time. Segments have no packet
/// numbers, so their index in the order of sending replaces them, from 0 as in QUIC.
fn numbers(sender: &SenderSeries) -> (Points, Points) {
    let sent =
        sender.sent.iter().enumerate().map(|(number, &(at, _))| (at, number as f64)).collect();
    // Positions are bytes sent up to and including each segment, in ascending order.
    let number = |position: f64| sender.sent.partition_point(|&(_, end)| end < position) as f64;
    let acknowledged = sender.acked.iter().map(|&(at, position)| (at, number(position))).collect();
    (sent, acknowledged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_tcp::Flags;

    #[test]
    fn requests_carry_acknowledgements() {
        let ack = Flags { ack: true, ..Flags::default() };
        let mut segments = TcpAckCounter::new(true);
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

    #[test]
    fn acknowledgements_have_the_number_of_their_segment() {
        let at = Time::from_millis;
        let sender = SenderSeries {
            sent: vec![(at(1), 1448.0), (at(2), 2896.0), (at(3), 3000.0)],
            acked: vec![(at(9), 2896.0), (at(10), 3000.0)],
            ..SenderSeries::default()
        };
        let (sent, acknowledged) = numbers(&sender);
        assert_eq!(sent, [(at(1), 0.0), (at(2), 1.0), (at(3), 2.0)]);
        assert_eq!(acknowledged, [(at(9), 1.0), (at(10), 2.0)]);
    }
}

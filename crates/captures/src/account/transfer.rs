//! The result of explaining a trace.

use super::exchange::{Exchange, RequestAccount};
use super::far_end::BothEnds;
use super::path::PathEstimate;
use super::spending::{Evidence, Interval};
use bentpipe_timeseries::{TimeBudget, TimePart};
use bentpipe_units::{Bytes, Span, Time};

/// A recorded transfer.
#[derive(Debug, Clone)]
pub struct CapturedTransfer {
    /// Data of the transfer.
    pub bytes: Bytes,
    /// True if the data was encrypted and the keys are missing: it is told from sizes, and nothing
    /// is known of acknowledgements and losses.
    pub is_encrypted: bool,
    /// True if the end that recorded it sent the data.
    pub is_sender: bool,
    /// True if the client sent the data.
    pub is_upload: bool,
    /// Completion time: from the client's first packet to its last data.
    pub completion: Span,
    /// What the time was spent on, in seconds. The parts add up to the completion time.
    pub budget: TimeBudget<f64>,
    /// The path.
    pub path: PathEstimate,
    /// When what held the transfer up, in the order of their times. Without the times in which the
    /// link was busy.
    pub intervals: Vec<Interval>,
    /// What passed between the ends, if both recorded it.
    pub both: Option<BothEnds>,
    /// What the parts rest on.
    pub evidence: Evidence,
    /// Its requests and their answers.
    pub exchanges: Vec<Exchange>,
    /// Lost packets of data: when each was sent or, at the receiver, when its data came after all;
    /// and whether it came upon a full queue, as far as the file shows that.
    pub losses: Vec<(Time, bool)>,
    /// What could not be told from the file, each a sentence.
    pub notes: Vec<String>,
}

impl CapturedTransfer {
    /// Divides the time of the request at `index` of [`Self::exchanges`]; `None` if there is none.
    pub fn request(&self, index: usize) -> Option<RequestAccount> {
        self.exchanges.get(index).map(|one| one.account(&self.intervals))
    }
}

/// Divides the time that the link was busy by what it carried: data, packets that were lost,
/// repeated data, and the rest.
pub(crate) fn divide_busy(budget: &mut TimeBudget<f64>, busy_s: f64, wire: &Carried) {
    // A file may name packets that are shorter than their data.
    let named = wire.lost.saturating_add(wire.repeated).saturating_add(wire.data);
    let total = wire.total.max(named);
    let share = |bytes: u64| busy_s * (bytes as f64 / total.max(1) as f64);
    budget.add(TimePart::LostPackets, share(wire.lost));
    budget.add(TimePart::Duplicates, share(wire.repeated));
    budget.add(TimePart::Serialisation, share(wire.data));
    budget.add(TimePart::Headers, if total == 0 { busy_s } else { share(total - named) });
}

/// Share of the time for which acknowledgements are late from which on these, and not the link,
/// determine when data comes, or when its sender hears of it.
const LATE_ACKS: f64 = 0.1;
/// Share of the packets that come late from which on the delay of the path scatters, and with it
/// the times from which a rate follows.
const OUT_OF_ORDER: f64 = 0.01;

/// Returns true if acknowledgements that are late, or packets out of order, hide the rate of the
/// link towards the receiver.
pub(crate) fn hides_rate(budget: &TimeBudget<f64>, reordered: f64) -> bool {
    let late = budget.get(TimePart::ReturnLink) + budget.get(TimePart::HeldAcks);
    late >= LATE_ACKS * budget.total_s() || reordered >= OUT_OF_ORDER
}

/// Bytes on the link.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Carried {
    pub total: u64,
    pub lost: u64,
    pub repeated: u64,
    /// New data of the application.
    pub data: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acknowledgements_that_are_late_and_packets_out_of_order_hide_the_rate() {
        let hides = |part, seconds, reordered| {
            let mut budget = TimeBudget::from_iter([]);
            budget.add(TimePart::Serialisation, 9.0);
            budget.add(part, seconds);
            hides_rate(&budget, reordered)
        };
        assert!(hides(TimePart::ReturnLink, 1.1, 0.0) && hides(TimePart::HeldAcks, 1.1, 0.0));
        assert!(hides(TimePart::SlowStart, 1.1, 0.02));
        assert!(!hides(TimePart::ReturnLink, 0.5, 0.0) && !hides(TimePart::SlowStart, 1.1, 0.0));
    }

    #[test]
    fn busy_time_is_divided_even_if_packets_are_shorter_than_their_data() {
        for (total, data) in [(1500, 1448), (100, 1448), (0, 0)] {
            let mut budget = TimeBudget::from_iter([]);
            let wire = Carried { total, lost: 0, repeated: 30, data };
            let wire = if total == 0 { Carried::default() } else { wire };
            divide_busy(&mut budget, 2.0, &wire);
            assert!((budget.total_s() - 2.0).abs() < 1e-9, "{total}");
        }
    }
}

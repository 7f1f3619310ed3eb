//! The result of explaining a trace.

use crate::path::PathEstimate;
use bentpipe_results::TimeBudget;
use bentpipe_units::{Bytes, Span};

/// A recorded transfer.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// Data of the transfer.
    pub bytes: Bytes,
    /// True if the end that recorded it sent the data.
    pub is_sender: bool,
    /// True if the client sent the data.
    pub is_upload: bool,
    /// Completion time: from the client's first packet to its last data.
    pub completion: Span,
    /// What the time was spent on. The parts add up to the completion time.
    pub budget: TimeBudget,
    /// The path.
    pub path: PathEstimate,
    /// What could not be told from the file, each a sentence.
    pub notes: Vec<String>,
}

/// Divides the time that the link was busy by what it carried: data, packets that were lost,
/// repeated data, and the rest.
pub(crate) fn divide_busy(budget: &mut TimeBudget, busy_s: f64, wire: &Carried) {
    let total = wire.total.max(1) as f64;
    let share = |bytes: u64| busy_s * (bytes as f64 / total).min(1.0);
    budget.lost_packets_s += share(wire.lost);
    budget.duplicates_s += share(wire.repeated);
    budget.serialisation_s += share(wire.data);
    let rest = wire.total.saturating_sub(wire.lost + wire.repeated + wire.data);
    budget.headers_s += share(rest);
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

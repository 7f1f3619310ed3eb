//! A transfer for tests.

use bentpipe_captures::{CapturedTransfer, Evidence, FlowLimit, LimitKind, PathEstimate};
use bentpipe_timeseries::{TimeBudget, TimePart};
use bentpipe_units::{Bytes, Rate, Span};

/// What is in flight in [`limited`].
pub const WINDOW: Bytes = Bytes::new(100_000);

/// The same at a policer: most of the time is that of data, on a link that was never full, and
/// losses come in bursts.
pub fn policed() -> CapturedTransfer {
    let mut recorded = limited(LimitKind::Sender);
    recorded.path.is_filled = false;
    recorded.evidence = Evidence { lost: 260, loss_episodes: 2, ..Evidence::default() };
    recorded.budget.add(TimePart::Serialisation, 3.6);
    recorded.budget.add(TimePart::LostPackets, 0.4);
    recorded.budget.add(TimePart::SlowStart, 0.4);
    recorded
}

/// 2 MB over 20 Mbps and 200 ms, with [`WINDOW`] in flight.
pub fn limited(kind: LimitKind) -> CapturedTransfer {
    let (rtt, rate) = (Span::from_millis(200), Rate::from_mbps(20));
    CapturedTransfer {
        bytes: Bytes::from_mb(2),
        is_encrypted: false,
        is_sender: true,
        is_upload: false,
        completion: Span::from_millis(2 * 200 + 20 * 200),
        budget: TimeBudget::from_iter([]),
        path: PathEstimate {
            rtt,
            rate,
            proven: rate,
            is_filled: true,
            queue: Span::ZERO,
            is_full: false,
            loss: 0.0,
        },
        intervals: Vec::new(),
        both: None,
        evidence: Evidence {
            limit: Some((FlowLimit { kind, size: WINDOW }, Span::from_secs(4))),
            ..Evidence::default()
        },
        exchanges: Vec::new(),
        losses: Vec::new(),
        notes: Vec::new(),
    }
}

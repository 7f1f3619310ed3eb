//! Tail loss probes (RFC 8985 §7): a segment more after two round trips of silence, so that a lost
//! tail is found out.

use bentpipe_units::{Span, Time};

/// Longest that a receiver is thought to delay an acknowledgement of a lone segment (RFC 8985 §7.2,
/// WCDelAckT).
const ACK_DELAY: Span = Span::from_millis(200);

/// A probe that went out.
#[derive(Debug, Clone, Copy)]
struct Outstanding {
    /// SND.NXT then (TLP.end_seq).
    end: u64,
    /// Whether it sent something again.
    retransmission: bool,
}

/// The probe timer and the probe.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tlp {
    /// When the next is to go.
    pub(crate) due: Option<Time>,
    /// It is time for one.
    pub(crate) wanted: bool,
    outstanding: Option<Outstanding>,
    /// Where the last segment that a probe sent again ends.
    repeated: Option<u64>,
}

impl Tlp {
    /// PTO without the limit that the retransmission timer sets.
    pub(crate) fn timeout(srtt: Span, alone: bool) -> Span {
        srtt * 2 + if alone { ACK_DELAY } else { Span::ZERO }
    }

    /// Whether a probe has not been answered yet: there is one at a time.
    pub(crate) fn is_outstanding(&self) -> bool {
        self.outstanding.is_some()
    }

    /// A probe goes out.
    pub(crate) fn sent(&mut self, end: u64, retransmission: bool) {
        self.wanted = false;
        self.due = None;
        self.outstanding = Some(Outstanding { end, retransmission });
        if retransmission {
            self.repeated = Some(end);
        }
    }

    /// Whether a duplicate that ends there is of a probe, and tells of no reordering.
    pub(crate) fn repeated(&self, end: u64) -> bool {
        self.repeated == Some(end)
    }

    /// Everything before `una` is acknowledged. What that says of the original of a repeated
    /// segment is found out where it is accounted for.
    pub(crate) fn acknowledged(&mut self, una: u64) {
        let Some(metrics) = self.outstanding else { return };
        if una >= metrics.end {
            self.outstanding = None;
            if !metrics.retransmission {
                self.repeated = None;
            }
        }
    }

    /// A timeout or a recovery takes over.
    pub(crate) fn cancel(&mut self) {
        self.due = None;
        self.wanted = false;
        self.outstanding = None;
    }
}

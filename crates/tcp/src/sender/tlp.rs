//! Tail loss probes (RFC 8985 §7): one more segment after two RTTs without acknowledgement, so that
//! a lost tail is detected.

use bentpipe_units::{Span, Time};

/// Assumed maximum delay of the acknowledgement of a lone segment (RFC 8985 §7.2, WCDelAckT).
const ACK_DELAY: Span = Span::from_millis(200);

/// A probe that was sent.
#[derive(Debug, Clone, Copy)]
struct Outstanding {
    /// SND.NXT at that time (TLP.end_seq).
    end: u64,
    /// True if it retransmitted a segment.
    retransmission: bool,
}

/// The probe timer and the probe.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tlp {
    /// Time of the next probe.
    pub(crate) due: Option<Time>,
    /// True if a probe must be sent.
    pub(crate) wanted: bool,
    outstanding: Option<Outstanding>,
    /// End of the last segment that a probe retransmitted.
    repeated: Option<u64>,
}

impl Tlp {
    /// Returns PTO without the limit that the retransmission timer sets.
    pub(crate) fn timeout(srtt: Span, alone: bool) -> Span {
        srtt * 2 + if alone { ACK_DELAY } else { Span::ZERO }
    }

    /// Returns true if a probe is unanswered: there is one at a time.
    pub(crate) fn is_outstanding(&self) -> bool {
        self.outstanding.is_some()
    }

    /// Records that a probe was sent.
    pub(crate) fn sent(&mut self, end: u64, retransmission: bool) {
        self.wanted = false;
        self.due = None;
        self.outstanding = Some(Outstanding { end, retransmission });
        if retransmission {
            self.repeated = Some(end);
        }
    }

    /// Returns true if a duplicate with this end results from a probe, and is no sign of
    /// reordering.
    pub(crate) fn repeated(&self, end: u64) -> bool {
        self.repeated == Some(end)
    }

    /// Handles that everything before `una` is acknowledged. The effect on the original of a
    /// repeated segment is handled when that is accounted for.
    pub(crate) fn acknowledged(&mut self, una: u64) {
        let Some(metrics) = self.outstanding else { return };
        if una >= metrics.end {
            self.outstanding = None;
            if !metrics.retransmission {
                self.repeated = None;
            }
        }
    }

    /// Cancels the probe, because of a timeout or a recovery.
    pub(crate) fn cancel(&mut self) {
        self.due = None;
        self.wanted = false;
        self.outstanding = None;
    }
}

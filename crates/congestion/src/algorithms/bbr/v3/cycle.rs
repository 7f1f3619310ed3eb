//! The cycle of ProbeBW (draft §5.3.3).

use super::model::UNBOUNDED;
use bentpipe_units::{Bytes, Span, Time};

/// Phase of the feedback for a probe (§2.13, BBR.ack_phase).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// State of the cycle.
#[derive(Debug, Clone)]
pub(super) struct Cycle {
    pub(super) ack_phase: AckPhase,
    /// Start of the current phase (cycle_stamp).
    pub(super) stamp: Time,
    /// Time before the next probe (bw_probe_wait).
    pub(super) wait: Span,
    /// Rounds since the last probe (rounds_since_probe_up).
    pub(super) rounds_since_probe: u64,
    /// True if losses now belong to a probe (is_bw_probe_sample).
    pub(super) is_probe_sample: bool,
    /// True if the last probe lost too much.
    pub(super) prev_probe_too_high: bool,
    /// True if the last probe ended as a precaution.
    pub(super) prev_probe_precautionary: bool,
    /// Rounds during which inflight_longterm has grown (bw_probe_up_rounds).
    pub(super) up_rounds: u32,
    /// Bytes acknowledged since inflight_longterm last grew (bw_probe_up_acked).
    pub(super) up_acked: Bytes,
    /// Bytes to acknowledge before inflight_longterm grows by a packet (probe_up_acked_per_inc).
    pub(super) acked_per_packet: Bytes,
}

impl Cycle {
    /// Returns the state before the first cycle.
    pub(super) fn new(now: Time) -> Self {
        Self {
            ack_phase: AckPhase::Init,
            stamp: now,
            wait: Span::ZERO,
            rounds_since_probe: 0,
            is_probe_sample: false,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            up_rounds: 0,
            up_acked: Bytes::ZERO,
            acked_per_packet: UNBOUNDED,
        }
    }

    /// Ends the probe. After this round, ACKs no longer belong to it.
    pub(super) fn stop(&mut self) {
        self.ack_phase = AckPhase::ProbeStopping;
    }
}

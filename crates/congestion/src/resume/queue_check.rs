//! Losses by chance in a jump: those that no queue explains.

use super::saved::SavedParameters;
use crate::windowed::{FRAMES, WindowedRtt};
use bentpipe_units::{Span, Time};

/// Fraction of a jump's packets that may be lost while no queue delays them: as many as long-path
/// slow start takes in a round (`max_loss`), and more than most satellite links lose by chance. A
/// jump that exceeds its share of a link without a queue, as before a policer or a buffer of few
/// packets, loses more.
pub(super) const CHANCE: f64 = 0.05;

/// More than a packet and its acknowledgement wait for their frames on satellite links (26.5 and
/// 10 ms).
pub(super) const FRAME_WAITS: Span = Span::from_millis(40);

/// Largest increase of the RTT over the smallest one that is no queue: ten milliseconds, or 3 %.
pub(super) fn noise(rtt: Span) -> Span {
    rtt.mul_f64(0.03).max(Span::from_millis(10))
}

/// Smallest increase of the RTT over the saved one that only a queue explains: an eighth, and more
/// than waits for frames.
fn queue(saved_rtt: Span) -> Span {
    saved_rtt.mul_f64(0.125).max(FRAME_WAITS)
}

/// Compares the RTT with the saved one. The saved RTT was measured over minutes, and a queue that
/// another flow keeps full is in every RTT of this connection, its minimum included.
#[derive(Debug, Clone)]
pub(super) struct QueueCheck {
    recent: WindowedRtt,
}

impl QueueCheck {
    pub(super) fn new() -> Self {
        Self { recent: WindowedRtt::smallest() }
    }

    pub(super) fn on_ack(&mut self, now: Time, rtt: Span) {
        self.recent.update(now, FRAMES, rtt);
    }

    /// Returns the fraction of losses that are chance, zero if packets of the path with these
    /// parameters queue.
    pub(super) fn loss_tolerance(&self, saved: &SavedParameters) -> f64 {
        let free = self.recent.get().is_some_and(|rtt| rtt <= saved.rtt + noise(saved.rtt));
        if free { CHANCE } else { 0.0 }
    }

    /// Returns true if the first packets of the path with these parameters certainly queue.
    pub(super) fn shows_queue(&self, saved: &SavedParameters) -> bool {
        let expected = saved.rtt.max(saved.first_rtt.unwrap_or_default());
        self.recent.get().is_some_and(|rtt| rtt > expected + queue(saved.rtt))
    }
}

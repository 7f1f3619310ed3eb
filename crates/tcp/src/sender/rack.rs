//! RACK: a segment is lost if one sent sufficiently later has arrived (RFC 8985 §6).

use bentpipe_units::{Span, Time};

/// Segments beyond a gap that make a loss likely even if no segment was ever reordered (RFC 8985
/// §3, DupThresh).
const DUP_THRESH: u64 = 3;
/// Number of recoveries for which an increased reordering window lasts (RFC 8985 §6.2).
const PERSIST: u32 = 16;

/// State of RACK.
#[derive(Debug, Clone)]
pub(crate) struct Rack {
    /// Number of the most recently sent segment that has arrived (RACK.xmit_ts), and the RTT of the
    /// most recently delivered one (RACK.rtt).
    newest: Option<(u64, Span)>,
    /// The highest position that arrived (RACK.fack).
    fack: u64,
    reordering_seen: bool,
    /// Multiple of a quarter of the minimum RTT (RACK.reo_wnd_mult).
    multiple: u64,
    persist: u32,
    /// Position up to which the window has responded to duplicates (RACK.dsack_round).
    dsack_round: Option<u64>,
    /// Time of the next check.
    pub(crate) due: Option<Time>,
}

/// Inputs of the reordering window.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReorderingInputs {
    /// Minimum RTT.
    pub(crate) min_rtt: Span,
    /// Smoothed RTT.
    pub(crate) srtt: Span,
    /// True if a loss is being repaired.
    pub(crate) in_recovery: bool,
    /// Segments beyond a gap.
    pub(crate) sacked: u64,
}

impl Rack {
    pub(crate) fn new() -> Self {
        Self {
            newest: None,
            fack: 0,
            reordering_seen: false,
            multiple: 1,
            persist: PERSIST,
            dsack_round: None,
            due: None,
        }
    }

    /// Records that a transmission has arrived, without ambiguity (RFC 8985 §6.2 step 2). The RTT
    /// of a late segment counts as well: it is how long others on their way may take.
    pub(crate) fn arrived(&mut self, number: u64, rtt: Span) {
        let newest = self.newest.map_or(number, |(newest, _)| newest.max(number));
        self.newest = Some((newest, rtt));
    }

    /// Records the end of a segment that has arrived. One that was sent once and lies below another
    /// that has arrived is reordered (§6.2 step 3).
    pub(crate) fn reached(&mut self, end: u64, retransmitted: bool) {
        if end > self.fack {
            self.fack = end;
        } else if end < self.fack && !retransmitted {
            self.reordering_seen = true;
        }
    }

    /// Records that a recovery was spurious: the path reorders.
    pub(crate) fn reordered(&mut self) {
        self.reordering_seen = true;
    }

    /// Handles a duplicate reported by the peer: the reordering window was too small. It grows once
    /// per RTT.
    pub(crate) fn duplicated(&mut self, una: u64, nxt: u64) {
        if self.dsack_round.is_none_or(|round| una >= round) {
            self.dsack_round = Some(nxt);
            self.multiple += 1;
            self.persist = PERSIST;
        }
    }

    /// Records the end of a recovery.
    pub(crate) fn recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.multiple = 1;
        }
    }

    /// Returns by how much a segment may arrive later than another that was sent after it
    /// (RACK.reo_wnd).
    pub(crate) fn reordering_window(&self, now: &ReorderingInputs) -> Span {
        if !self.reordering_seen && (now.in_recovery || now.sacked >= DUP_THRESH) {
            return Span::ZERO;
        }
        (now.min_rtt / 4 * self.multiple).min(now.srtt)
    }

    /// Returns the number of the most recently sent segment that has arrived, and the RTT of the
    /// most recently delivered one.
    pub(crate) fn newest(&self) -> Option<(u64, Span)> {
        self.newest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: ReorderingInputs = ReorderingInputs {
        min_rtt: Span::from_millis(400),
        srtt: Span::from_millis(500),
        in_recovery: false,
        sacked: 1,
    };

    #[test]
    fn without_reordering_three_segments_beyond_a_gap_or_a_recovery_end_the_wait() {
        let mut rack = Rack::new();
        assert_eq!(rack.reordering_window(&QUIET), Span::from_millis(100));
        assert_eq!(rack.reordering_window(&ReorderingInputs { sacked: 3, ..QUIET }), Span::ZERO);
        assert_eq!(
            rack.reordering_window(&ReorderingInputs { in_recovery: true, ..QUIET }),
            Span::ZERO
        );
        rack.reached(3000, false);
        rack.reached(2000, true);
        assert_eq!(rack.reordering_window(&ReorderingInputs { sacked: 3, ..QUIET }), Span::ZERO);
        rack.reached(2000, false);
        assert_eq!(
            rack.reordering_window(&ReorderingInputs { sacked: 3, ..QUIET }),
            Span::from_millis(100)
        );
    }

    #[test]
    fn the_rtt_is_that_of_the_latest_delivery_and_the_number_that_of_the_latest_transmission() {
        let mut rack = Rack::new();
        rack.arrived(8, Span::from_millis(400));
        rack.arrived(5, Span::from_millis(460));
        assert_eq!(rack.newest(), Some((8, Span::from_millis(460))));
        rack.arrived(9, Span::from_millis(410));
        assert_eq!(rack.newest(), Some((9, Span::from_millis(410))));
    }

    #[test]
    fn duplicates_widen_the_window_once_per_rtt_for_sixteen_recoveries() {
        let mut rack = Rack::new();
        rack.duplicated(100, 900);
        rack.duplicated(800, 1700);
        assert_eq!(rack.reordering_window(&QUIET), Span::from_millis(200));
        (0..9).for_each(|round| rack.duplicated(900 + 800 * round, 1700 + 800 * round));
        // Never longer than an RTT.
        assert_eq!(rack.reordering_window(&QUIET), QUIET.srtt);
        (0..15).for_each(|_| rack.recovered());
        assert_eq!(rack.reordering_window(&QUIET), QUIET.srtt);
        rack.recovered();
        assert_eq!(rack.reordering_window(&QUIET), Span::from_millis(100));
    }
}

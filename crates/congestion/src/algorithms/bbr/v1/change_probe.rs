//! Probes at changes of the path that a clock announces, as two modifications of BBRv1 for Starlink
//! have them.
//!
//! SatPipe (INFOCOM 2025) enters ProbeRTT 50 ms before each reconfiguration, for 300 ms. LeoCC
//! (SIGCOMM 2025) enters it 100 ms before, with half of a bandwidth-delay product in flight, takes
//! the RTT at its end as the minimum of the new path, forgets the rate of the old one and starts
//! up again. Both are described here from their published code; LeoCC's filters of rate and RTT,
//! and the longer RTprop filter of both (`min_rtt_window`), are not part of the probes.

use super::{Bbr1, PROBE_RTT, State};
use crate::controller::{Ack, ChangeProbe};
use bentpipe_units::{Bytes, Rate, Span};

/// Minimum duration of a ProbeRTT of SatPipe.
const CHANGE_PROBE_RTT: Span = Span::from_millis(300);

impl Bbr1 {
    /// Enters ProbeRTT because the path is about to change. A model of the old path is given up
    /// only if it was complete.
    pub(super) fn probe_change(&mut self, probe: ChangeProbe) {
        let enters = match probe {
            ChangeProbe::None => false,
            ChangeProbe::MinRtt => self.state != State::ProbeRtt,
            ChangeProbe::Model => matches!(self.state, State::ProbeBw(_)),
        };
        if enters {
            self.enter_probe_rtt(probe);
        }
    }

    /// Returns the window in ProbeRTT.
    pub(super) fn probe_rtt_window(&self) -> Bytes {
        match self.change_probe {
            ChangeProbe::Model => self.bdp_times(0.5).max(self.min_pipe()),
            ChangeProbe::None | ChangeProbe::MinRtt => self.min_pipe(),
        }
    }

    /// Returns the minimum duration of ProbeRTT.
    pub(super) fn probe_rtt_duration(&self) -> Span {
        if self.change_probe == ChangeProbe::MinRtt { CHANGE_PROBE_RTT } else { PROBE_RTT }
    }

    /// Ends a probe at the end of ProbeRTT: with [`ChangeProbe::Model`], the model starts again
    /// with the RTT of the new path.
    pub(super) fn end_change_probe(&mut self, ack: &Ack<'_>) {
        if std::mem::take(&mut self.change_probe) != ChangeProbe::Model {
            return;
        }
        self.min_rtt = Some(ack.rtt);
        self.min_rtt_stale = false;
        self.bandwidth.reset(self.rounds.count, 0);
        self.full_pipe.restart_search(Rate::ZERO);
        self.full_pipe.reached = false;
    }
}

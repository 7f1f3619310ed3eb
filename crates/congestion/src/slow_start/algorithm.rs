//! The interface of slow-start algorithms.

use crate::controller::{Ack, EcnCe, Loss, PathChange, Restart, SentPacket};
use bentpipe_units::{Bytes, Rate, Span};
use std::fmt::Debug;

/// The state of a slow start after an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It continues.
    Continue,
    /// It has found the capacity: the controller continues in congestion avoidance.
    Found(CapacityEstimate),
    /// The path is congested: the controller continues with the slow start's window and responds to
    /// the event itself.
    Congested,
    /// It is of no use on this path: the controller's own slow start continues with its window.
    Fallback,
}

/// The capacity that a slow start has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapacityEstimate {
    /// Congestion window that fills the path.
    pub window: Bytes,
    /// Bottleneck rate. `None` if it was not measured.
    pub rate: Option<Rate>,
    /// Minimum RTT.
    pub min_rtt: Span,
    /// Start of the recovery period: losses of packets with smaller numbers do not reduce the
    /// window.
    pub recovery_start: u64,
}

/// A slow-start algorithm. Call order as for [`Controller`](crate::controller::Controller).
pub trait SlowStart: Debug + Send + Sync {
    /// Handles a packet that was sent.
    fn on_packet_sent(&mut self, packet: &SentPacket) {
        let _ = packet;
    }

    /// Handles newly acknowledged packets.
    fn on_ack(&mut self, ack: &Ack<'_>) -> Progress;

    /// Handles packets that were declared lost. The controller is not notified if this returns
    /// [`Progress::Continue`].
    fn on_loss(&mut self, loss: &Loss<'_>) -> Progress {
        let _ = loss;
        Progress::Congested
    }

    /// Handles the report that all losses of the last response were spurious.
    fn on_spurious_loss(&mut self) {}

    /// Sets the fraction of losses that the controller does not take as congestion
    /// ([`SendControl::loss_tolerance`]). Called once, before any event.
    ///
    /// [`SendControl::loss_tolerance`]: crate::controller::SendControl::loss_tolerance
    fn set_loss_tolerance(&mut self, losses: f64) {
        let _ = losses;
    }

    /// Tells into how many shares the first burst is divided, if that is known. Called before each
    /// ACK; `shares` takes a lock.
    fn set_shares(&mut self, shares: &dyn Fn() -> u64) {
        let _ = shares;
    }

    /// Handles packets that arrived with ECN-CE.
    fn on_ecn_ce(&mut self, ecn_ce: &EcnCe) -> Progress {
        let _ = ecn_ce;
        Progress::Congested
    }

    /// Handles a change of the maximum packet size.
    fn on_mtu_update(&mut self, mtu: Bytes) {
        let _ = mtu;
    }

    /// Continues with a window that a layer sets without a threshold. Returns false to end, so that
    /// the controller's own slow start continues.
    fn on_restart(&mut self, to: &Restart) -> bool {
        let _ = to;
        false
    }

    /// Returns true if it measures the capacity of the path by its first packets. It needs no RTTs
    /// to find it then, and losses that may be chance do not end it.
    fn measures_path(&self) -> bool {
        false
    }

    /// Handles a path change. Returns false to end, so that the controller's own slow start
    /// continues with the current window.
    fn on_path_change(&mut self, change: &PathChange) -> bool {
        let _ = change;
        false
    }

    /// Returns the congestion window.
    fn window(&self) -> Bytes;

    /// Returns the pacing rate. `None` leaves it to the sender.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// Returns the start of the recovery period for an end with [`Progress::Fallback`].
    fn recovery_start(&self) -> u64 {
        0
    }

    /// Returns the name of the current phase, for traces.
    fn phase(&self) -> &'static str;

    /// Returns a copy of the algorithm and its state.
    fn clone_box(&self) -> Box<dyn SlowStart>;
}

//! The phases of Careful Resume with their data.

use super::packet_range::PacketRange;
use super::transitions::Phase;
use crate::controller::Ack;
use bentpipe_units::{Bytes, Rate, Span, Time};

/// A phase (RFC 9959 §3) and its data.
#[derive(Debug, Clone)]
pub(super) enum PhaseState {
    /// The path is being confirmed (§3.2).
    Reconnaissance(Reconnaissance),
    /// Packets beyond the controller's own window are being sent (§3.3).
    Unvalidated(Jump),
    /// The unvalidated packets are sent, and their acknowledgements are awaited (§3.4).
    Validating(Validation),
    /// The jump met congestion (§3.5).
    SafeRetreat(Retreat),
    /// The controller continues without the layer (§3.7).
    Normal,
}

/// How a controller jumps.
#[derive(Debug, Clone, Copy)]
pub(super) enum Jump {
    /// By its window.
    Window(WindowJump),
    /// By a probing rate (appendix C), since the given round of the connection.
    Rate(u64),
}

/// A jump of a window-based controller.
#[derive(Debug, Clone, Copy)]
pub(super) struct WindowJump {
    /// Congestion window.
    pub(super) window: Bytes,
    /// Latest RTT.
    pub(super) rtt: Span,
    /// Time of sending of the first unvalidated packet.
    pub(super) first_sent_at: Option<Time>,
}

impl WindowJump {
    /// Returns the pacing rate: one window per current RTT (§4.3.2).
    pub(super) fn pacing_rate(&self) -> Rate {
        Rate::over(self.window, self.rtt).max(Rate::from_bps(1))
    }

    /// Returns true if more than an RTT has passed since the first unvalidated packet was sent. The
    /// sender may pause between the jump and that packet, as in Reconnaissance.
    pub(super) fn is_overdue(&self, now: Time) -> bool {
        self.first_sent_at.is_some_and(|sent_at| now.since(sent_at) > self.rtt)
    }
}

/// The validation of a jump.
#[derive(Debug, Clone, Copy)]
pub(super) enum Validation {
    /// Of a window-based controller.
    Window,
    /// Of a rate-based controller that has been probing since the given round.
    Rate(u64),
}

/// The retreat after a jump that met congestion.
#[derive(Debug, Clone, Copy)]
pub(super) enum Retreat {
    /// Of a window-based controller.
    Window {
        /// Congestion window.
        window: Bytes,
        /// Start of the recovery period: the retreat covers losses of packets with smaller numbers.
        recovery_start: u64,
        /// True if nothing but losses led to it, which may have been chance.
        doubtful: bool,
    },
    /// Of a rate-based controller, in its Drain.
    Rate,
}

/// What a retreat took away, in case all losses that led to it prove to be spurious.
#[derive(Debug, Clone, Copy)]
pub(super) struct UndoRetreat {
    /// Window before it.
    pub(super) window: Bytes,
    /// True if all packets that were declared lost have arrived.
    pub(super) late: bool,
    /// Once the retreat has ended: an ACK of this packet, or a later one, makes it final.
    pub(super) until: Option<u64>,
}

impl PhaseState {
    /// Returns the phase without its data.
    pub(super) fn phase(&self) -> Phase {
        match self {
            Self::Reconnaissance(_) => Phase::Reconnaissance,
            Self::Unvalidated(_) => Phase::Unvalidated,
            Self::Validating(_) => Phase::Validating,
            Self::SafeRetreat(_) => Phase::SafeRetreat,
            Self::Normal => Phase::Normal,
        }
    }

    /// Returns the first round of a rate-based controller's probe.
    pub(super) fn probe_round(&self) -> Option<u64> {
        match self {
            Self::Unvalidated(Jump::Rate(round)) | Self::Validating(Validation::Rate(round)) => {
                Some(*round)
            }
            _ => None,
        }
    }

    /// Returns true if a rate-based controller is probing or retreating.
    pub(super) fn is_by_rate(&self) -> bool {
        self.probe_round().is_some() || matches!(self, Self::SafeRetreat(Retreat::Rate))
    }
}

/// Observations of Reconnaissance.
#[derive(Debug, Clone, Default)]
pub(super) struct Reconnaissance {
    /// Packets sent before the first ACK: normally the initial window.
    pub(super) initial: PacketRange,
    /// Latest RTT.
    pub(super) rtt: Option<Span>,
    /// Minimum RTT of the phase.
    pub(super) min_rtt: Option<Span>,
    /// The current round, and its start.
    round: Option<(u64, Time)>,
}

impl Reconnaissance {
    pub(super) fn on_packet_sent(&mut self, number: u64) {
        self.initial.on_packet_sent(number);
    }

    pub(super) fn on_ack(&mut self, ack: &Ack<'_>) {
        self.initial.close(ack.next_number);
        self.initial.on_ack(ack.packets, ack.next_number);
        self.rtt = Some(ack.rtt);
        self.min_rtt = Some(self.min_rtt.map_or(ack.rtt, |min| min.min(ack.rtt)));
        if ack.round_start {
            self.round = Some((ack.round, ack.now));
        }
    }

    /// Returns the round that starts at `now`. An initial window takes several ACKs: the first of
    /// them starts the round, the last completes the window. Up to an eighth of an RTT may lie
    /// between them.
    pub(super) fn starting_round(&self, now: Time) -> Option<u64> {
        let (round, start) = self.round?;
        (now.since(start) <= self.rtt? / 8).then_some(round)
    }
}

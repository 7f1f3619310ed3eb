//! Phases of Careful Resume and the triggers of their transitions, by the names in
//! draft-ietf-tsvwg-careful-resume-qlog.

use super::saved::SavedParameters;
use bentpipe_qlog::{CarefulResume, Event, Restored};
use bentpipe_units::{Bytes, Time};

/// A phase of Careful Resume (RFC 9959 §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The path is being confirmed; the controller runs normally (§3.2).
    Reconnaissance,
    /// The window is that of the jump, sent at one window per RTT (§3.3).
    Unvalidated,
    /// The acknowledgements of all unvalidated packets are awaited (§3.4).
    Validating,
    /// The unvalidated packets met congestion: the window is small until all are accounted for
    /// (§3.5).
    SafeRetreat,
    /// The controller runs normally from now on (§3.7).
    Normal,
}

impl Phase {
    /// Returns the name in qlog.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reconnaissance => "reconnaissance",
            Self::Unvalidated => "unvalidated",
            Self::Validating => "validating",
            Self::SafeRetreat => "safe_retreat",
            Self::Normal => "normal",
        }
    }
}

/// The trigger of a transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// The sender has more to send than cwnd allows.
    CongestionWindowLimited,
    /// The RTT does not match the saved one.
    RttNotValidated,
    /// The window of the jump is in flight.
    LastUnvalidatedPacketSent,
    /// The first unvalidated packet was acknowledged.
    FirstUnvalidatedPacketAcknowledged,
    /// An RTT has passed since the jump.
    RttExceeded,
    /// The application used too little of the jump's window.
    RateLimited,
    /// The last unvalidated packet was acknowledged.
    LastUnvalidatedPacketAcknowledged,
    /// Packets take another path.
    PathChanged,
    /// A packet was lost.
    PacketLoss,
    /// A packet arrived with ECN-CE.
    EcnCe,
    /// The retreat has ended.
    ExitRecovery,
}

impl Trigger {
    /// Returns the name in qlog.
    pub fn name(self) -> &'static str {
        match self {
            Self::CongestionWindowLimited => "congestion_window_limited",
            Self::RttNotValidated => "rtt_not_validated",
            Self::LastUnvalidatedPacketSent => "last_unvalidated_packet_sent",
            Self::FirstUnvalidatedPacketAcknowledged => "first_unvalidated_packet_acknowledged",
            Self::RttExceeded => "rtt_exceeded",
            Self::RateLimited => "rate_limited",
            Self::LastUnvalidatedPacketAcknowledged => "last_unvalidated_packet_acknowledged",
            Self::PathChanged => "path_changed",
            Self::PacketLoss => "packet_loss",
            Self::EcnCe => "ECN_CE",
            Self::ExitRecovery => "exit_recovery",
        }
    }
}

/// A transition between phases, with the state after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition {
    /// Time of the transition.
    pub at: Time,
    /// Phase before; `None` for the first transition.
    pub old: Option<Phase>,
    /// Phase after.
    pub new: Phase,
    /// Trigger. `None` if the qlog draft has no name for it: the parameters are in use elsewhere,
    /// have expired or offer no gain.
    pub trigger: Option<Trigger>,
    /// PipeSize: bytes that the path is known to hold.
    pub pipesize: Bytes,
    /// Number of the first unvalidated packet, in the order of sending ([`SentPacket::number`]).
    ///
    /// [`SentPacket::number`]: crate::controller::SentPacket::number
    pub first_unvalidated_packet: Option<u64>,
    /// Number of the last unvalidated packet.
    pub last_unvalidated_packet: Option<u64>,
    /// Congestion window.
    pub window: Bytes,
    /// Slow-start threshold, once it is set.
    pub ssthresh: Option<Bytes>,
    /// Saved parameters, if they were offered.
    pub saved: Option<SavedParameters>,
}

impl Transition {
    /// Returns the event in qlog.
    pub(super) fn event(&self) -> Event<'static> {
        Event::CarefulResumePhaseUpdated(CarefulResume {
            old: self.old.map(Phase::name),
            new: self.new.name(),
            pipesize: self.pipesize.get(),
            first_unvalidated_packet: self.first_unvalidated_packet,
            last_unvalidated_packet: self.last_unvalidated_packet,
            congestion_window: self.window.get(),
            ssthresh: self.ssthresh.map(Bytes::get),
            restored: self
                .saved
                .map(|saved| Restored { congestion_window: saved.window.get(), rtt: saved.rtt }),
            trigger: self.trigger.map(Trigger::name),
        })
    }
}

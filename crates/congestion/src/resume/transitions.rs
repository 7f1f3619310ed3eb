//! Phases of Careful Resume, and what moves a connection from one to the next, by the names of
//! draft-ietf-tsvwg-careful-resume-qlog.

use super::Saved;
use bentpipe_units::{Bytes, Time};

/// Where a connection stands (RFC 9959 §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The path is confirmed while the controller runs as ever (§3.2).
    Reconnaissance,
    /// The window is raised to the jump, and filled at the pace of one window a round trip (§3.3).
    Unvalidated,
    /// Waiting for word of the packets that were sent so (§3.4).
    Validating,
    /// They met congestion: the window is small until all of them are accounted for (§3.5).
    SafeRetreat,
    /// The controller runs as ever, for good (§3.7).
    Normal,
}

impl Phase {
    /// Its name in qlog.
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

/// What moved it on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// More is to be sent than the window admits.
    CongestionWindowLimited,
    /// The round trip does not fit the saved one.
    RttNotValidated,
    /// The jump's window is full.
    LastUnvalidatedPacketSent,
    /// The first packet beyond the controller's own window was acknowledged.
    FirstUnvalidatedPacketAcknowledged,
    /// A round trip has passed since the jump.
    RttExceeded,
    /// The application used too little of the jump.
    RateLimited,
    /// Everything beyond the controller's own window was acknowledged.
    LastUnvalidatedPacketAcknowledged,
    /// Packets take another path.
    PathChanged,
    /// A packet was lost.
    PacketLoss,
    /// A packet was marked.
    EcnCe,
    /// The retreat is over.
    ExitRecovery,
}

impl Trigger {
    /// Its name in qlog.
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

/// One step, with everything as it is after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition {
    /// When.
    pub at: Time,
    /// The phase before; `None` for the first.
    pub old: Option<Phase>,
    /// The phase from now on.
    pub new: Phase,
    /// Why; `None` where the qlog draft has no word for it: a set that is in use elsewhere, has expired or gains nothing.
    pub trigger: Option<Trigger>,
    /// PipeSize: what the path is known to hold.
    pub pipesize: Bytes,
    /// Number of the first packet beyond the controller's own window, in order of sending ([`Packet::number`]).
    ///
    /// [`Packet::number`]: crate::controller::Packet::number
    pub first_unvalidated_packet: Option<u64>,
    /// Number of the last.
    pub last_unvalidated_packet: Option<u64>,
    /// The window.
    pub window: Bytes,
    /// The slow-start threshold, where there is one.
    pub ssthresh: Option<Bytes>,
    /// The set, where one was offered.
    pub saved: Option<Saved>,
}

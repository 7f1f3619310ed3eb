//! Packets as a link sees them, and what happens to them.

use crate::Dscp;
use bentpipe_units::{Span, Time};

/// The ECN field of an IP packet (RFC 3168 §5).
// Of 16 bits, so that a packet, which it is a part of beside the DSCP, has no padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u16)]
pub enum Ecn {
    /// Not ECN-capable transport.
    #[default]
    NotEct,
    /// ECN-capable transport, code point ECT(0).
    Ect0,
    /// ECN-capable transport, code point ECT(1), which RFC 9331 assigns to L4S.
    Ect1,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// Returns the two bits of the field (RFC 3168 §5).
    pub const fn bits(self) -> u8 {
        match self {
            Self::NotEct => 0b00,
            Self::Ect1 => 0b01,
            Self::Ect0 => 0b10,
            Self::Ce => 0b11,
        }
    }

    /// Returns true if a queue may mark the packet instead of dropping it: ECT(0), ECT(1) or
    /// already marked.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}

/// Identifies the flow of a packet for queues that tell flows apart. Two flows may have one key,
/// but seldom do.
///
/// Of packets that no such queue sees, it may be the default ([`DirectionModel::needs_flow`]).
///
/// [`DirectionModel::needs_flow`]: crate::DirectionModel::needs_flow
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FlowKey(pub u32);

/// One IP packet. The link looks only at its header fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<P> {
    /// Size of the whole IP packet in bytes, headers included.
    pub bytes: u32,
    /// The ECN field; a queue may set [`Ecn::Ce`].
    pub ecn: Ecn,
    /// The DSCP.
    pub dscp: Dscp,
    /// The flow.
    pub flow: FlowKey,
    /// Payload, returned unchanged.
    pub payload: P,
}

impl<P> Packet<P> {
    /// Creates a packet of `bytes` without a flow key and with the default DSCP.
    #[inline]
    pub const fn new(bytes: u32, ecn: Ecn, payload: P) -> Self {
        Self { bytes, ecn, dscp: Dscp::BEST_EFFORT, flow: FlowKey(0), payload }
    }

    /// Returns a packet with the same header fields and another payload.
    #[inline]
    pub fn with_payload<Q>(&self, payload: Q) -> Packet<Q> {
        let Self { bytes, ecn, dscp, flow, .. } = *self;
        Packet { bytes, ecn, dscp, flow, payload }
    }
}

/// Why a packet was not delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropCause {
    /// The policer had too few tokens.
    Policer,
    /// The queue was full: when the packet arrived, or when another one arrived for which it had to
    /// make room.
    QueueFull,
    /// Active queue management, such as CoDel, dropped the packet before the queue was full.
    Aqm,
    /// A loss process lost the packet on the link. The number is the process's position in the
    /// scenario's list, from 0.
    Loss(u8),
}

/// Why a packet was lost after the link had accepted it: any [`DropCause`] but
/// [`DropCause::Policer`].
pub type LossCause = DropCause;

/// How long a packet waited for the transmitter and occupied it.
///
/// The rest of a packet's time on a link is propagation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Service {
    /// Time from the offer to the start of the transmission, and the parts of the transmission that
    /// count as blocked.
    pub queued: Span,
    /// The part of `queued` in which the transmitter could not send: rate zero, no opportunity of a
    /// trace, or no allocated capacity; and `growing`.
    pub blocked: Span,
    /// The part of `blocked` that a growing rate on demand causes: how much later the packet was
    /// sent than at the highest rate.
    pub growing: Span,
    /// The rest of the transmission in nanoseconds, at most 4.29 s. On a link with a rate trace,
    /// the packet's time at the trace's mean rate; while a rate on demand grows, that at the
    /// highest.
    ///
    /// Short, because a packet with its service is moved several times on each link.
    pub serialised_ns: u32,
    /// Time from the end of the transmission to the end of its frame
    /// ([`DirectionConfig::frame`](crate::DirectionConfig::frame)).
    pub framed: Span,
}

impl Service {
    /// Returns the time that the packet occupied the transmitter, at most 4.29 s.
    #[inline]
    pub fn serialised(&self) -> Span {
        Span::from_nanos(u64::from(self.serialised_ns))
    }
}

/// Result of [`Link::enqueue`](crate::Link::enqueue).
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "contains the packet if it was dropped"]
pub enum Enqueue<P> {
    /// Accepted: [`Link::poll`](crate::Link::poll) will return it, delivered or lost.
    Queued,
    /// Dropped and returned.
    Dropped(DropCause, Packet<P>),
}

/// Result of [`Link::poll`](crate::Link::poll).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event<P> {
    /// A packet reached the far end, at the polled deadline.
    Delivered {
        /// The port on which it was offered.
        port: usize,
        /// Time at which it was offered to [`Link::enqueue`](crate::Link::enqueue).
        sent: Time,
        /// How the transmitter served it.
        service: Service,
        /// The packet, possibly CE-marked.
        packet: Packet<P>,
    },
    /// A packet was lost.
    Lost {
        /// Cause of the loss.
        cause: LossCause,
        /// Time of the loss: when it left the queue or the transmitter (loss process).
        at: Time,
        /// The port on which it was offered.
        port: usize,
        /// How the transmitter had served it; nothing if the queue dropped it.
        service: Service,
        /// The packet.
        packet: Packet<P>,
    },
}

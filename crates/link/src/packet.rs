//! Packets as a link sees them, and what happens to them.

use bentpipe_units::{Span, Time};

/// The ECN field of an IP packet (RFC 3168 §5).
// Of 32 bits, so that packets, which it is a part of, are moved in whole words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u32)]
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
    /// Returns true if a queue may mark the packet instead of dropping it: ECT(0), ECT(1) or
    /// already marked.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}

/// One IP packet. The link looks only at its size and ECN field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<P> {
    /// Size of the whole IP packet in bytes, headers included.
    pub bytes: u32,
    /// The ECN field; a link with CoDel may set [`Ecn::Ce`].
    pub ecn: Ecn,
    /// Payload, returned unchanged.
    pub payload: P,
}

/// Why a packet was not delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropCause {
    /// The policer had too few tokens.
    Policer,
    /// The queue was full when the packet arrived.
    QueueFull,
    /// Active queue management (CoDel) dropped the packet from the queue.
    Aqm,
    /// A loss process lost the packet on the link. The number is the process's position in the
    /// scenario's list, from 0.
    Loss(u8),
}

/// Why a packet was lost after the link had accepted it: [`DropCause::Aqm`] or [`DropCause::Loss`].
pub type LossCause = DropCause;

/// How long a packet waited for the transmitter and occupied it.
///
/// The rest of a packet's time on a link is the end of its frame and propagation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Service {
    /// Time from the offer to the start of the transmission, and of the transmission at rate zero.
    pub queued: Span,
    /// The part of `queued` in which the transmitter could not send: rate zero, no opportunity of a
    /// trace, or no allocated capacity.
    pub blocked: Span,
    /// The rest of the transmission in nanoseconds, at most 4.29 s. On a link with a rate trace,
    /// the packet's time at the trace's mean rate.
    ///
    /// Short, because a packet with its service is moved several times on each link.
    pub serialised_ns: u32,
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
        /// Time of the loss: when it left the queue (CoDel) or the transmitter (loss process).
        at: Time,
        /// The port on which it was offered.
        port: usize,
        /// How the transmitter had served it; nothing if the queue dropped it.
        service: Service,
        /// The packet.
        packet: Packet<P>,
    },
}

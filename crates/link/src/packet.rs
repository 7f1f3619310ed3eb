//! Packets as a link sees them, and what becomes of them.

use bentpipe_units::Time;

/// The ECN field of an IP packet (RFC 3168 §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Ecn {
    /// The sender does not take part.
    #[default]
    NotEct,
    /// The sender takes part, code point ECT(0).
    Ect0,
    /// The sender takes part, code point ECT(1); RFC 9331 gives it to L4S.
    Ect1,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// True where a queue may mark instead of drop: ECT(0), ECT(1) and what is marked already.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}

/// One IP packet. The link looks at its size and ECN field only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet<P> {
    /// Size of the whole IP packet in bytes, headers included.
    pub bytes: u32,
    /// The ECN field; a link with CoDel may set [`Ecn::Ce`].
    pub ecn: Ecn,
    /// What is carried, handed back untouched.
    pub payload: P,
}

/// Why a packet did not come out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropCause {
    /// The policer had too few tokens for it.
    Policer,
    /// The queue was full when it arrived.
    QueueFull,
    /// Active queue management (CoDel) dropped it from the queue.
    Aqm,
    /// A loss process lost it on the way; the number is the process's place in the scenario's list, from 0.
    Loss(u8),
}

/// Why a packet was lost after the link had taken it: the same causes, [`DropCause::Policer`] and
/// [`DropCause::QueueFull`] excepted.
pub type LossCause = DropCause;

/// What [`Link::enqueue`](crate::Link::enqueue) did with a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a dropped packet comes back here"]
pub enum Enqueue<P> {
    /// Taken: it will come out of [`Link::poll`](crate::Link::poll), delivered or lost.
    Queued,
    /// Not taken, and handed back.
    Dropped(DropCause, Packet<P>),
}

/// What [`Link::poll`](crate::Link::poll) tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event<P> {
    /// A packet reached the far end at the deadline that led to this poll.
    Delivered {
        /// The port it came in on.
        port: usize,
        /// When it was handed to [`Link::enqueue`](crate::Link::enqueue).
        sent: Time,
        /// The packet, its ECN field perhaps marked.
        packet: Packet<P>,
    },
    /// A packet is gone.
    Lost {
        /// Why.
        cause: LossCause,
        /// When: as it left the queue (CoDel) or the transmitter (loss process).
        at: Time,
        /// The port it came in on.
        port: usize,
        /// The packet.
        packet: Packet<P>,
    },
}

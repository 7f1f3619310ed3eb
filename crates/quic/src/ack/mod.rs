//! When a receiver's acknowledgements leave: the policies that scenarios name, and their
//! implementation.
//!
//! Either side can decide. The sender asks with an ACK_FREQUENCY frame
//! (draft-ietf-quic-ack-frequency), which the stack sends as configured before the connection
//! begins. The receiver decides by itself by holding back packets that only acknowledge:
//! acknowledgements are cumulative, the peer never acknowledges such packets, and any sender
//! understands those that remain. [`Acknowledger`] is that receiver.
//!
//! For every policy:
//!
//! - An ACK is held only while packets keep arriving: after a pause of a [`QUIET`]th of an RTT, and
//!   of max_ack_delay at most, it leaves. The stack wrote its delay field when it made the ACK, so
//!   RTT samples grow by at most that pause, and no probe timeout of the sender, which allows for
//!   max_ack_delay, expires early. While packets arrive, the ACK that leaves is the newest.
//! - A gap, a packet out of order, the first CE mark after unmarked packets, and a request of the
//!   sender (IMMEDIATE_ACK) are answered at once (RFC 9000 §13.2.1, draft-ietf-quic-ack-frequency
//!   §6). `auto` answers at once unless it has just sent an ACK, and then within its interval.
//! - Packets of the handshake are never held, and nothing is held before the handshake completes.

mod ack_rtt;
mod acknowledger;
mod arrivals;
mod auto;
mod rule;
mod scheduler;
#[cfg(test)]
mod tests;
mod unreported;

pub use acknowledger::{AckContext, AckDecision, Acknowledger, QUIET};
pub(crate) use arrivals::Arrivals;
pub use auto::Auto;
pub use rule::{AckBy, AckRule, AckRuleError};
pub(crate) use scheduler::AckScheduler;

//! When a receiver's acknowledgements leave: what scenarios write, and what an endpoint asks.
//!
//! Two sides can decide. The sender asks with an ACK_FREQUENCY frame (draft-ietf-quic-ack-frequency), which the stack sends as configured before the
//! connection begins. The receiver decides by itself by holding back the packets that do nothing but acknowledge: they are cumulative, the
//! peer never acknowledges them, and any sender understands what remains. [`Acknowledger`] is that receiver.

mod outlet;
mod rule;

pub(crate) use outlet::Outlet;
pub use rule::{AckBy, AckRule, AckRuleError};

use crate::packets::PacketSeen;
use bentpipe_units::{Span, Time};

/// What becomes of an ACK-only packet that the stack wants to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It leaves now.
    Send,
    /// It waits until then at most: a later one replaces it, and so does any packet that acknowledges as much.
    Hold(Time),
}

/// Decides when the acknowledgements of one connection leave.
///
/// Order of calls: [`Self::received`] for each packet that has arrived; for each packet that the stack makes, in its order,
/// [`Self::verdict`] where it is ACK-only, and [`Self::left`] for every packet that does leave, at once or once held. `now` never goes back.
#[derive(Debug)]
pub struct Acknowledger {}

impl Acknowledger {
    /// What `rule` says, for a receiver whose stack waits `max_ack_delay` at most (RFC 9000 §18.2).
    pub fn new(rule: AckRule, max_ack_delay: Span) -> Self {
        let _ = (rule, max_ack_delay);
        Self {}
    }

    /// A packet arrived. `smoothed_rtt`: as this side knows it from what it sent itself, where it does.
    pub fn received(&mut self, now: Time, packet: &PacketSeen, smoothed_rtt: Option<Span>) {
        let _ = (now, packet, smoothed_rtt);
    }

    /// What becomes of `packet`, which only acknowledges.
    pub fn verdict(&mut self, now: Time, packet: &PacketSeen) -> Verdict {
        let _ = (now, packet);
        Verdict::Send
    }

    /// `packet` leaves.
    pub fn left(&mut self, now: Time, packet: &PacketSeen) {
        let _ = (now, packet);
    }
}

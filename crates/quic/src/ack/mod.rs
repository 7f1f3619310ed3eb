//! When a receiver's acknowledgements leave: what scenarios write, and what an endpoint asks.
//!
//! Two sides can decide. The sender asks with an ACK_FREQUENCY frame
//! (draft-ietf-quic-ack-frequency), which the stack sends as configured before the connection
//! begins. The receiver decides by itself by holding back the packets that do nothing but
//! acknowledge: they are cumulative, the peer never acknowledges them, and any sender understands
//! what remains. [`Acknowledger`] is that receiver.
//!
//! What holds for every rule:
//!
//! - An ACK is held only while packets keep coming: once they have been silent for [`QUIET`] of a
//!   round trip, and for max_ack_delay at most, it leaves. The stack wrote its delay field when it
//!   made the ACK, so that is the most by which a round trip is measured too long, and no probe
//!   timeout of the sender, which allows for max_ack_delay, comes early. While packets do come, the
//!   ACK that leaves is the newest.
//! - A gap, a packet out of order, the first mark after packets without, and a sender that asks
//!   (IMMEDIATE_ACK) are answered at once (RFC 9000 §13.2.1, draft-ietf-quic-ack-frequency §6);
//!   `auto` answers at once unless it has just sent an ACK, and then within its interval.
//! - Packets of the handshake are never held, nor is anything until it is complete.

mod ack_rtt;
mod auto;
mod rule;
mod scheduler;
#[cfg(test)]
mod tests;
mod unreported;

pub use auto::Auto;
pub use rule::{AckBy, AckRule, AckRuleError};
pub(crate) use scheduler::AckScheduler;

use crate::packets::{PacketInfo, Space};
use auto::Pace;
use bentpipe_units::{Span, Time};
use unreported::Unreported;

/// Silence after which nothing is held any longer: so small a part of the round trip, and never
/// beyond max_ack_delay. Our choice: what it adds to a measured round trip stays below what
/// delay-based controllers answer to.
pub const QUIET: u64 = 8;

/// What becomes of an ACK-only packet that the stack wants to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AckDecision {
    /// It leaves now.
    Send,
    /// It waits until then at most: a later one replaces it, and so does any packet that
    /// acknowledges as much.
    Hold(Time),
}

/// What a receiver knows beside a packet when it arrives.
#[derive(Debug, Clone, Copy, Default)]
pub struct AckContext {
    /// The packet was marked CE (RFC 3168).
    pub marked: bool,
    /// The smoothed round trip as this side knows it, once the handshake is complete.
    pub smoothed_rtt: Option<Span>,
}

/// Decides when the acknowledgements of one connection leave.
///
/// Order of calls: [`Self::received`] for each packet that has arrived; for each packet that the
/// stack makes, in its order, [`Self::decide`] where it is ACK-only, and [`Self::left`] for every
/// packet that does leave, at once or once held. What is held leaves when [`Self::until`] says,
/// which arrivals may change. `now` never goes back.
#[derive(Debug, Clone)]
pub struct Acknowledger {
    rule: AckRule,
    max_ack_delay: Span,
    smoothed_rtt: Option<Span>,
    unreported: Unreported,
    pace: Pace,
}

impl Acknowledger {
    /// What `rule` says, for a receiver whose stack waits `max_ack_delay` at most (RFC 9000 §18.2).
    pub fn new(rule: AckRule, max_ack_delay: Span) -> Self {
        Self::with(rule, max_ack_delay, Auto::default())
    }

    /// The same with `auto` tuned otherwise.
    pub fn with(rule: AckRule, max_ack_delay: Span, auto: Auto) -> Self {
        Self {
            rule,
            max_ack_delay,
            smoothed_rtt: None,
            unreported: Unreported::default(),
            pace: Pace::new(auto),
        }
    }

    /// A packet arrived.
    pub fn received(&mut self, now: Time, packet: &PacketInfo, seen: AckContext) {
        self.smoothed_rtt = seen.smoothed_rtt.or(self.smoothed_rtt);
        self.unreported.received(now, packet, seen.marked);
        self.pace.received(now, packet, seen.smoothed_rtt);
    }

    /// What becomes of `packet`, which only acknowledges.
    pub fn decide(&mut self, now: Time, packet: &PacketInfo) -> AckDecision {
        if packet.space != Space::Data {
            return AckDecision::Send;
        }
        self.unreported.answered();
        if self.smoothed_rtt.is_none() {
            return AckDecision::Send;
        }
        let until = self.until();
        if until <= now || self.is_due() { AckDecision::Send } else { AckDecision::Hold(until) }
    }

    /// When an ACK that is held leaves at the latest.
    pub fn until(&self) -> Time {
        let Some(smoothed_rtt) = self.smoothed_rtt else { return Time::ZERO };
        let quiet = self.unreported.newest() + (smoothed_rtt / QUIET).min(self.max_ack_delay);
        quiet.min(self.expires(smoothed_rtt))
    }

    /// `packet` leaves.
    pub fn left(&mut self, now: Time, packet: &PacketInfo) {
        self.unreported.left(packet);
        self.pace.left(now, packet);
    }

    /// Whether the next packet should elicit an acknowledgement, so that the return path can be
    /// judged by it.
    pub fn wants_ping(&self, now: Time) -> bool {
        let Some(smoothed_rtt) = self.smoothed_rtt.filter(|_| self.rule == AckRule::Auto) else {
            return false;
        };
        // With a packet that acknowledges anyway it costs one byte. The stack makes one for every
        // other packet.
        self.unreported.unanswered() > 1 && self.pace.wants_ping(now, smoothed_rtt)
    }

    /// Whether so much has arrived that an ACK leaves at once.
    fn is_due(&self) -> bool {
        let unreported = &self.unreported;
        let prompt = unreported.event() || unreported.asked();
        match self.rule {
            AckRule::Stack => true,
            AckRule::Every(every) => prompt || unreported.packets() >= u64::from(every),
            AckRule::Stepwise { every, packets, then } => {
                let every = if unreported.total() <= u64::from(packets) { every } else { then };
                prompt || unreported.packets() >= u64::from(every)
            }
            AckRule::PerRoundTrip(_) => prompt,
            AckRule::Auto => unreported.asked(),
        }
    }

    /// When an ACK has to leave however fast packets keep coming.
    fn expires(&self, smoothed_rtt: Span) -> Time {
        let oldest = self.unreported.oldest().unwrap_or(Time::ZERO);
        match self.rule {
            AckRule::Stack => Time::ZERO,
            AckRule::Every(_) | AckRule::Stepwise { .. } => oldest + self.max_ack_delay,
            AckRule::PerRoundTrip(divisor) => oldest + smoothed_rtt / u64::from(divisor.max(1)),
            AckRule::Auto => self.pace.next(smoothed_rtt),
        }
    }
}

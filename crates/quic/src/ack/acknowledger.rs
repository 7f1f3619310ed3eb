//! The decision when acknowledgements leave.

use super::auto::{Auto, AutoFrequency};
use super::rule::AckRule;
use super::unreported::Unreported;
use crate::observer::{PacketInfo, Space};
use bentpipe_units::{Span, Time};

/// Part of an RTT without packets after which nothing is held any longer, and never beyond
/// max_ack_delay. Our choice: it lengthens RTT samples by less than delay-based controllers react
/// to.
pub const QUIET: u64 = 8;

/// Gaps after which an ACK leaves at once, whatever the policy. The stack reports the newest 64
/// ranges of packets and forgets older ones, which its peer then declares lost. Half of them leaves
/// a second ACK if the first is lost.
const MAX_GAPS: u32 = 32;

/// Whether an ACK-only packet of the stack leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AckDecision {
    /// It leaves now.
    Send,
    /// It is held until that time at most. A later ACK replaces it, and so does any packet that
    /// acknowledges as much.
    Hold(Time),
}

/// State of the receiver when a packet arrives.
#[derive(Debug, Clone, Copy, Default)]
pub struct AckContext {
    /// Whether the packet was marked CE (RFC 3168).
    pub marked: bool,
    /// The smoothed RTT of this side, once the handshake is complete.
    pub smoothed_rtt: Option<Span>,
}

/// Decides when the acknowledgements of one connection leave.
///
/// Order of calls: [`Self::on_received`] for each packet that has arrived; for each packet that the
/// stack makes, in its order, [`Self::decide`] if it is ACK-only, and [`Self::on_sent`] for every
/// packet that leaves, at once or after it was held. A held packet leaves at [`Self::until`], which
/// arrivals may change. `now` never goes back.
#[derive(Debug, Clone)]
pub struct Acknowledger {
    rule: AckRule,
    max_ack_delay: Span,
    smoothed_rtt: Option<Span>,
    unreported: Unreported,
    pub(super) auto: AutoFrequency,
}

impl Acknowledger {
    /// Applies `rule`, for a receiver whose stack delays ACKs by `max_ack_delay` at most (RFC 9000
    /// §18.2).
    pub fn new(rule: AckRule, max_ack_delay: Span) -> Self {
        Self::with(rule, max_ack_delay, Auto::default())
    }

    /// Like [`Self::new`], with parameters for `auto`.
    pub fn with(rule: AckRule, max_ack_delay: Span, auto: Auto) -> Self {
        Self {
            rule,
            max_ack_delay,
            smoothed_rtt: None,
            unreported: Unreported::default(),
            auto: AutoFrequency::new(auto),
        }
    }

    /// Handles a packet that arrived.
    pub fn on_received(&mut self, now: Time, packet: &PacketInfo, context: AckContext) {
        self.smoothed_rtt = context.smoothed_rtt.or(self.smoothed_rtt);
        self.unreported.on_received(now, packet, context.marked);
        self.auto.on_received(now, packet, context.smoothed_rtt);
    }

    /// Decides about `packet`, which only acknowledges.
    pub fn decide(&mut self, now: Time, packet: &PacketInfo) -> AckDecision {
        if packet.space != Space::Data {
            return AckDecision::Send;
        }
        self.unreported.on_ack_made();
        if self.smoothed_rtt.is_none() {
            return AckDecision::Send;
        }
        let until = self.until();
        if until <= now || self.is_due() { AckDecision::Send } else { AckDecision::Hold(until) }
    }

    /// Returns the time at which a held ACK leaves at the latest.
    pub fn until(&self) -> Time {
        let Some(smoothed_rtt) = self.smoothed_rtt else { return Time::ZERO };
        let quiet = self.unreported.newest() + (smoothed_rtt / QUIET).min(self.max_ack_delay);
        quiet.min(self.expires(smoothed_rtt))
    }

    /// Handles a packet that leaves.
    pub fn on_sent(&mut self, now: Time, packet: &PacketInfo) {
        self.unreported.on_sent(packet);
        self.auto.on_sent(now, packet);
    }

    /// Returns true if the next packet should elicit an acknowledgement, to measure the RTT of the
    /// return path.
    pub fn wants_ping(&self, now: Time) -> bool {
        let Some(smoothed_rtt) = self.smoothed_rtt.filter(|_| self.rule == AckRule::Auto) else {
            return false;
        };
        // In a packet that acknowledges anyway it costs one byte. The stack makes one for every
        // other packet.
        self.unreported.since_ack_made() > 1 && self.auto.wants_ping(now, smoothed_rtt)
    }

    /// Returns true if enough has arrived for an ACK to leave at once.
    fn is_due(&self) -> bool {
        let unreported = &self.unreported;
        let prompt = unreported.event() || unreported.requested();
        if unreported.gaps() >= MAX_GAPS {
            return true;
        }
        match self.rule {
            AckRule::Stack => true,
            AckRule::Every(every) => prompt || unreported.packets() >= u64::from(every),
            AckRule::Stepwise { every, packets, then } => {
                let every = if unreported.total() <= u64::from(packets) { every } else { then };
                prompt || unreported.packets() >= u64::from(every)
            }
            AckRule::PerRoundTrip(_) => prompt,
            AckRule::Auto => unreported.requested(),
        }
    }

    /// Returns the time at which an ACK must leave however fast packets arrive.
    fn expires(&self, smoothed_rtt: Span) -> Time {
        let oldest = self.unreported.oldest().unwrap_or(Time::ZERO);
        match self.rule {
            AckRule::Stack => Time::ZERO,
            AckRule::Every(_) | AckRule::Stepwise { .. } => oldest + self.max_ack_delay,
            AckRule::PerRoundTrip(divisor) => oldest + smoothed_rtt / u64::from(divisor.max(1)),
            AckRule::Auto => self.auto.next(smoothed_rtt),
        }
    }
}

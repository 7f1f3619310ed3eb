//! Bounded suppression of loss signals that a path change causes.
//!
//! On a path that becomes shorter, packets overtake others, which the sender takes for lost; a
//! handover loses some of the packets in flight; during an outage, timers expire.
//!
//! **The rule.** Packets are *affected* if they were in flight at the change, or were sent within
//! one RTT of the new path after the change and its outage. Losses and ECN-CE of affected packets
//! are hidden if they are reported within three more RTTs and make up less than [`MAX_HIDDEN`] of
//! the affected bytes: a path that drops more carries half of the traffic, and half the window is
//! then no wrong response. An event that includes any other packet is passed on. A timeout is
//! hidden while no ACK from the new path can have arrived; until one does, two packets may be in
//! flight. After a suppression, the next one starts only after a pause as long as the last
//! suppression, so that lasting congestion is passed on after at most one.

use super::feed::PathChangeNotice;
use crate::controller::{Ack, EcnCe, Loss, SentPacket};
use bentpipe_units::{Bytes, Span, Time};

/// Fraction of the affected bytes from which on losses and ECN-CE are passed on. Our choice, for
/// the reason above.
const MAX_HIDDEN: f64 = 0.5;

/// RTTs after the last affected packet during which its loss may be reported. Loss detection takes
/// 9/8 of an RTT (RFC 9002 §6.1.2), a probe timeout about two (RFC 9002 §6.2.1).
const DETECTION_RTTS: u64 = 3;

/// The packets affected by one change, and the signals hidden because of it.
#[derive(Debug, Clone, Default)]
pub(super) struct LossSuppression {
    from: Time,
    /// Packets sent later are not affected.
    until: Time,
    /// Reports that arrive later are passed on.
    expires: Time,
    /// No ACK from the new path can arrive earlier.
    outage_until: Time,
    /// Affected bytes so far.
    affected: Bytes,
    /// Bytes of hidden losses and ECN-CE.
    hidden: Bytes,
    /// Bytes of hidden losses, and the time of the latest.
    hidden_lost: Bytes,
    hidden_lost_at: Time,
    /// Bytes in flight after the latest event.
    in_flight: Bytes,
    /// First packet sent after `until`.
    first_unaffected: Option<u64>,
    /// Bytes of the latest ACK.
    acked: Bytes,
    /// True from a hidden timeout to the next ACK.
    probing: bool,
}

impl LossSuppression {
    /// Starts at a change. `smoothed_rtt` replaces RTTs that were not announced.
    pub(super) fn begin(&mut self, notice: &PathChangeNotice, smoothed_rtt: Span) {
        let duration = self.expires.since(self.from);
        if self.expires > Time::ZERO && notice.at < self.expires + duration {
            return;
        }
        let rtt = notice.rtt_after.or(notice.rtt_before).unwrap_or(smoothed_rtt);
        let until = notice.at + notice.outage + rtt;
        // The smoothed RTT includes queueing, the announced one does not.
        let longest_rtt = rtt.max(smoothed_rtt);
        *self = Self {
            from: notice.at,
            until,
            expires: until + longest_rtt * DETECTION_RTTS,
            outage_until: notice.at + notice.outage + longest_rtt,
            affected: self.in_flight,
            in_flight: self.in_flight,
            acked: self.acked,
            probing: self.probing,
            ..Self::default()
        };
    }

    pub(super) fn on_packet_sent(&mut self, packet: &SentPacket) {
        self.in_flight = packet.in_flight;
        if packet.sent_at <= self.until {
            self.affected += packet.bytes;
        } else if self.first_unaffected.is_none() {
            self.first_unaffected = Some(packet.number);
        }
    }

    pub(super) fn on_ack(&mut self, ack: &Ack<'_>) {
        self.probing = false;
        self.in_flight = ack.bytes_in_flight;
        self.acked = ack.bytes;
    }

    fn is_active(&self, now: Time) -> bool {
        self.expires > Time::ZERO && now <= self.expires
    }

    /// Hides `bytes` if the bound allows it.
    fn hide(&mut self, bytes: Bytes) -> bool {
        let hidden = self.hidden + bytes;
        let fits = (hidden.get() as f64) < self.affected.get() as f64 * MAX_HIDDEN;
        if fits {
            self.hidden = hidden;
        }
        fits
    }

    /// Returns true if the controller must not be notified of `loss`.
    pub(super) fn hides_loss(&mut self, loss: &Loss<'_>) -> bool {
        self.in_flight = loss.bytes_in_flight;
        if !self.is_active(loss.now) {
            return false;
        }
        if loss.persistent {
            self.probing |= self.is_outage(loss.now);
            return self.probing;
        }
        let hides = loss.newest().sent_at <= self.until && self.hide(loss.bytes);
        if hides {
            self.hidden_lost += loss.bytes;
            self.hidden_lost_at = loss.now;
        }
        hides
    }

    /// Returns true if the controller must not be notified of `ecn_ce`. Since the number of marked
    /// packets is unknown, all bytes of the ACK that reports them count.
    pub(super) fn hides_ecn_ce(&mut self, ecn_ce: &EcnCe) -> bool {
        self.is_active(ecn_ce.now)
            && self.first_unaffected.is_none_or(|first| ecn_ce.newest < first)
            && self.hide(self.acked)
    }

    /// Returns true while no ACK from the new path can have arrived.
    pub(super) fn is_outage(&self, now: Time) -> bool {
        self.expires > Time::ZERO && now <= self.outage_until
    }

    /// Returns true after a hidden timeout until the next ACK.
    pub(super) fn is_probing(&self) -> bool {
        self.probing
    }

    /// Returns the hidden bytes that were declared lost since a packet was sent at `sent_at`: all
    /// bytes of the suppression if it hid a loss later. For packets sent between two hidden losses
    /// the result is too large, by less than the losses of one RTT.
    pub(super) fn hidden_since(&self, sent_at: Time) -> Bytes {
        if sent_at <= self.hidden_lost_at { self.hidden_lost } else { Bytes::ZERO }
    }
}

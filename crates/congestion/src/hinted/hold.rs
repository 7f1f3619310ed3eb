//! What a change of path does to packets is no sign of congestion: losses and marks near it are held back, within bounds.
//!
//! Where the path becomes shorter, packets overtake others, and the sender takes those for lost; where an end turns to another satellite, some
//! of what is in the air is lost; where it falls silent, timers expire.
//!
//! **The rule.** Packets are *the change's* if they were in flight when it came, or were sent within one round trip of the new path after it (and
//! after the silence, where there is one). What is reported of them within three more round trips is held back while it is less than [`BOUND`]
//! of their bytes: a path that drops so much carries half of what was sent, and there half a window is no false answer. An event that names
//! any other packet is told. A timeout is held while nothing of the new path can have been heard; until something is, two packets may be
//! in flight. A new hold begins no earlier after the last one than that lasted: congestion that stays is told after one hold at the latest.

use crate::controller::{Ack, Loss, Mark, Packet};
use crate::hints::PathHint;
use bentpipe_units::{Bytes, Span, Time};

/// Share of the change's packets from which on losses and marks are told (our choice).
const BOUND: f64 = 0.5;

/// Round trips after the last of its packets for which reports of them are the change's: loss detection takes 9/8 of one (RFC 9002 §6.1.2),
/// a probe timeout about two (RFC 9002 §6.2.1).
const PATIENCE: u64 = 3;

/// One change's packets, and what is kept of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Hold {
    from: Time,
    /// Packets sent after it are not the change's.
    until: Time,
    /// What is reported after it is told.
    expires: Time,
    /// Nothing of the new path can have been heard before.
    quiet: Time,
    /// Bytes of the change's packets, so far.
    sent: Bytes,
    /// Bytes of losses and marks held back.
    held: Bytes,
    /// Bytes of losses held back, and when the last were.
    lost: Bytes,
    lost_at: Time,
    /// Bytes in flight after the last packet sent.
    in_flight: Bytes,
    /// First packet sent after `until`.
    beyond: Option<u64>,
    /// Bytes of the last acknowledgement.
    acked: Bytes,
    /// A timeout was held back, and nothing has been heard since.
    silenced: bool,
}

impl Hold {
    /// A change comes. `smoothed_rtt`: where its round trips are not known.
    pub(super) fn begin(&mut self, hint: &PathHint, smoothed_rtt: Span) {
        let lasted = self.expires.since(self.from);
        if self.expires > Time::ZERO && hint.at < self.expires + lasted {
            return;
        }
        let rtt = hint.rtt_after.or(hint.rtt_before).unwrap_or(smoothed_rtt);
        let until = hint.at + hint.silence + rtt;
        // What waits in queues is in the smoothed round trip and not in the announced one.
        let slow = rtt.max(smoothed_rtt);
        *self = Self {
            from: hint.at,
            until,
            expires: until + slow * PATIENCE,
            quiet: hint.at + hint.silence + slow,
            sent: self.in_flight,
            in_flight: self.in_flight,
            acked: self.acked,
            silenced: self.silenced,
            ..Self::default()
        };
    }

    /// A packet is sent.
    pub(super) fn sent(&mut self, packet: &Packet) {
        self.in_flight = packet.in_flight;
        if packet.sent_at <= self.until {
            self.sent += packet.bytes;
        } else if self.beyond.is_none() {
            self.beyond = Some(packet.number);
        }
    }

    /// An acknowledgement: the path is not silent.
    pub(super) fn heard(&mut self, ack: &Ack<'_>) {
        self.silenced = false;
        self.in_flight = ack.bytes_in_flight;
        self.acked = ack.bytes;
    }

    fn is_open(&self, now: Time) -> bool {
        self.expires > Time::ZERO && now <= self.expires
    }

    fn fits(&mut self, bytes: Bytes) -> bool {
        let held = self.held + bytes;
        let fits = (held.get() as f64) < self.sent.get() as f64 * BOUND;
        if fits {
            self.held = held;
        }
        fits
    }

    /// Whether the controller is not to hear of `loss`.
    pub(super) fn takes_loss(&mut self, loss: &Loss<'_>) -> bool {
        self.in_flight = loss.bytes_in_flight;
        if !self.is_open(loss.now) {
            return false;
        }
        if loss.persistent {
            self.silenced |= self.is_quiet(loss.now);
            return self.silenced;
        }
        let takes = loss.newest().sent_at <= self.until && self.fits(loss.bytes);
        if takes {
            self.lost += loss.bytes;
            self.lost_at = loss.now;
        }
        takes
    }

    /// Whether the controller is not to hear of `mark`. How many packets were marked is not known: the acknowledgement that reports it counts as
    /// a whole.
    pub(super) fn takes_mark(&mut self, mark: &Mark) -> bool {
        self.is_open(mark.now) && self.beyond.is_none_or(|beyond| mark.newest < beyond) && self.fits(self.acked)
    }

    /// Whether nothing of the new path can have been heard at `now`.
    pub(super) fn is_quiet(&self, now: Time) -> bool {
        self.expires > Time::ZERO && now <= self.quiet
    }

    /// Whether a timeout was held back and nothing has been heard since.
    pub(super) fn is_silenced(&self) -> bool {
        self.silenced
    }

    /// Bytes declared lost since a packet was sent at `sent_at` that the controller has not heard of. All of a hold that lost something later: of
    /// what was sent between two of its losses it takes off too much, less than a round trip's.
    pub(super) fn unheard(&self, sent_at: Time) -> Bytes {
        if sent_at <= self.lost_at { self.lost } else { Bytes::ZERO }
    }
}

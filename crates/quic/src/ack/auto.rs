//! `auto`: as many ACKs in an RTT as the return path carries without a queue.

use super::ack_rtt::AckRtt;
use crate::observer::{PacketInfo, Space};
use bentpipe_units::{Span, Time};

/// Parameters of `auto`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Auto {
    /// ACKs per RTT until an RTT was measured.
    pub initial: f64,
    /// Most ACKs per RTT.
    pub max: f64,
    /// Fewest ACKs per RTT.
    pub min: f64,
    /// Share of the return link that ACKs may take, as estimated from the handshake.
    pub share: f64,
    /// Part of the shortest RTT by which a longer one indicates a queue.
    pub inflation: f64,
    /// Factor of the ACK frequency in each RTT without a queue.
    pub up: f64,
    /// Factor of the ACK frequency in an RTT with a queue.
    pub down: f64,
    /// Part of the frequency that met a queue which is then the upper limit.
    pub ceiling: f64,
    /// How long that limit lasts.
    pub ceiling_duration: Span,
    /// RTT samples per RTT.
    pub pings: u64,
}

impl Default for Auto {
    fn default() -> Self {
        Self {
            initial: 56.0,
            max: 64.0,
            min: 6.0,
            share: 0.4,
            inflation: 0.125,
            up: 1.5,
            down: 0.125,
            ceiling: 0.75,
            ceiling_duration: Span::from_secs(10),
            pings: 4,
        }
    }
}

/// The frequency of ACKs.
#[derive(Debug, Clone)]
pub(super) struct AutoFrequency {
    auto: Auto,
    /// ACKs per RTT.
    frequency: f64,
    /// Upper limit of the frequency, and the time at which it ends.
    ceiling: Option<(f64, Time)>,
    rtt: AckRtt,
    /// RTT of the handshake's large packets.
    handshake_rtt: Option<Span>,
    /// Frequency estimated from the handshake.
    estimate: f64,
    /// Time at which the first small packet was acknowledged.
    first_sample: Option<Time>,
    /// Time at which the last ACK left.
    last: Option<Time>,
    /// Time of the last change of the frequency.
    changed: Option<Time>,
}

/// Variation of the RTT without any queue: the peer may wait for max_ack_delay (25 ms, RFC 9000
/// §18.2).
const NOISE: Span = Span::from_millis(30);
/// Number of ACK packets that take as long to send as the first packet of a handshake, less one:
/// that packet has 1228 bytes with IP and UDP headers, an ACK 65.
const ACKS_IN_INITIAL: f64 = 18.0;

impl AutoFrequency {
    pub fn new(auto: Auto) -> Self {
        Self {
            auto,
            frequency: auto.initial,
            ceiling: None,
            rtt: AckRtt::default(),
            handshake_rtt: None,
            estimate: 0.0,
            first_sample: None,
            last: None,
            changed: None,
        }
    }

    /// Returns the time at which the next ACK may leave.
    pub fn next(&self, smoothed_rtt: Span) -> Time {
        let rtt = self.rtt.min().unwrap_or(smoothed_rtt);
        self.last.map_or(Time::ZERO, |last| last + rtt.mul_f64(1.0 / self.frequency.max(1.0)))
    }

    pub fn on_sent(&mut self, now: Time, packet: &PacketInfo) {
        self.rtt.on_sent(now, packet);
        if packet.space == Space::Data && packet.frames.ack > 0 {
            self.last = Some(now);
        }
    }

    pub fn on_received(&mut self, now: Time, packet: &PacketInfo, smoothed_rtt: Option<Span>) {
        let before = self.rtt.min();
        if before.is_none() && self.handshake_rtt.is_none() {
            self.handshake_rtt = smoothed_rtt;
        }
        let sample = self.rtt.on_received(now, packet);
        let Some(min) = self.rtt.min() else { return };
        let first_sample = *self.first_sample.get_or_insert(now);
        if before.is_none_or(|before| min < before)
            && now.since(first_sample) < self.auto.ceiling_duration
        {
            self.estimate(first_sample, now, min);
        }
        let limit = min + min.mul_f64(self.auto.inflation).max(NOISE);
        let queued = self.rtt.waiting(now).max(sample).is_some_and(|sample| sample > limit);
        if !queued && sample.is_none() {
            return;
        }
        // One change per RTT: the effect of the last one must have been measured.
        if self.changed.is_some_and(|changed| {
            now.since(changed) < sample.map_or(limit, |sample| sample.max(limit))
        }) {
            return;
        }
        self.changed = Some(now);
        if queued {
            let ceiling = self.frequency * self.auto.ceiling;
            self.ceiling = Some((ceiling, now + self.auto.ceiling_duration));
            self.frequency *= self.auto.down;
        } else {
            self.frequency *= self.auto.up;
        }
        self.bound(now);
    }

    /// Estimates the frequency from the handshake: the time by which its large packets took longer
    /// than a small one is the time that the return link took to send them.
    fn estimate(&mut self, first_sample: Time, now: Time, rtt: Span) {
        let longer = self.handshake_rtt.unwrap_or(rtt).saturating_sub(rtt).as_secs_f64();
        let ack = longer / ACKS_IN_INITIAL;
        let estimate = self.auto.share * rtt.as_secs_f64() / ack.max(1e-9);
        self.estimate = estimate;
        match &mut self.ceiling {
            Some((ceiling, _)) => *ceiling = ceiling.min(estimate),
            None => {
                self.frequency = estimate;
                self.ceiling = Some((estimate, first_sample + self.auto.ceiling_duration));
            }
        }
        self.bound(now);
    }

    fn bound(&mut self, now: Time) {
        let ceiling = self
            .ceiling
            .filter(|&(_, until)| now < until)
            .map_or(f64::INFINITY, |(ceiling, _)| ceiling);
        // So few ACKs do not cause a queue, even if the link's rate has fallen to a tenth.
        let min = self.auto.min.max(self.estimate / 10.0).min(self.auto.max);
        self.frequency = self.frequency.min(ceiling).clamp(min, self.auto.max);
    }

    /// Returns true if an RTT sample is due, and with it an ACK that can carry the PING.
    pub fn wants_ping(&self, now: Time, smoothed_rtt: Span) -> bool {
        let interval = self.rtt.min().unwrap_or(smoothed_rtt) / self.auto.pings.max(1);
        self.rtt.any_acknowledged()
            && self.rtt.may_ping(now, interval)
            && self.next(smoothed_rtt) <= now
    }
}

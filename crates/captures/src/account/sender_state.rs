//! What a sender was allowed to do, as its trace tells it.

use super::sent::Sent;
use super::spending::{FlowLimit, LimitKind};
use super::steady::prompt;
use crate::event::{Event, Metrics, Packet, Transport};
use bentpipe_units::{Bytes, Span, Time};
use std::collections::BTreeMap;

/// Room in a window that counts as none.
const PACKET: u64 = 1500;

/// Gaps of pacing from which on a wait is more than pacing.
const LONG_WAIT: u64 = 4;
/// Share of a round trip from which on a gap is long, and the share of it after the first arrival
/// within which a sender goes on that waited for that: on a busy machine, or one that writes again
/// once a part of its send buffer is free.
const LONG_GAP: f64 = 0.3;
const WOKEN: f64 = 0.15;
/// Longest gap of pacing.
const PACE: Span = Span::from_millis(50);

/// What a sender was allowed to do, as far as its trace says.
#[derive(Debug)]
pub struct SenderState {
    transport: Transport,
    /// True if the packets are not opened: of the limits, only the first are known.
    is_encrypted: bool,
    pub window: Option<Bytes>,
    ssthresh: Option<Bytes>,
    /// Bytes of data packets that are neither acknowledged nor declared lost.
    pub in_flight: u64,
    pub slow_start: bool,
    /// True if the file names the states of the controller: losses then do not end slow start, as
    /// in BBR's Startup.
    names_states: bool,
    pub last_arrival: Time,
    /// The first arrival since the previous data packet.
    first_arrival: Option<Time>,
    /// Flow control: limits of the connection and of streams, and what was sent.
    connection_limit: Option<u64>,
    stream_limit: Option<u64>,
    stream_limits: BTreeMap<u64, u64>,
    pub offsets: BTreeMap<u64, u64>,
    /// Sum of `offsets`.
    sent_bytes: u64,
    /// After the previous data packet: its time, whether the window was full, and whether flow
    /// control left no room.
    pub previous: Time,
    pub window_was_full: bool,
    pub credit_was_used: bool,
    /// The limit that left no room.
    limit: Option<FlowLimit>,
    /// The last short gap between data packets: that of pacing.
    pace: Span,
}

impl SenderState {
    pub fn new(transport: Transport, is_encrypted: bool, start: Time) -> Self {
        Self {
            transport,
            is_encrypted,
            window: None,
            ssthresh: None,
            in_flight: 0,
            slow_start: true,
            names_states: false,
            last_arrival: start,
            first_arrival: None,
            connection_limit: None,
            stream_limit: None,
            stream_limits: BTreeMap::new(),
            offsets: BTreeMap::new(),
            sent_bytes: 0,
            previous: start,
            window_was_full: false,
            credit_was_used: false,
            limit: None,
            pace: Span::ZERO,
        }
    }

    /// Handles an event other than a packet that was sent.
    pub fn handle(&mut self, now: Time, event: &Event, sent: &Sent, flight: &mut Flight) {
        match event {
            Event::Metrics(metrics) => self.update(metrics),
            Event::State(name) => self.enter(name),
            Event::Lost(number) if sent.numbers.contains_key(number) => {
                self.slow_start &= self.names_states;
                self.in_flight -= flight.leave(*number).min(self.in_flight);
            }
            Event::PeerLimits { connection, stream } => {
                self.connection_limit = self.connection_limit.max(Some(*connection));
                self.stream_limit = Some(*stream);
            }
            Event::Received(packet) if packet.is_application => {
                self.arrived(now, packet);
                for range in &packet.acknowledged {
                    self.in_flight -= flight.leave_range(*range).min(self.in_flight);
                }
            }
            _ => {}
        }
    }

    fn enter(&mut self, name: &str) {
        self.names_states |= name.contains("start") || is_later_state(name);
        self.slow_start &= !is_later_state(name);
    }

    fn update(&mut self, metrics: &Metrics) {
        self.window = metrics.window.or(self.window);
        self.ssthresh = metrics.ssthresh.or(self.ssthresh);
        // A threshold of the size of the window at the start is none.
        self.slow_start &= self.window.zip(self.ssthresh).is_none_or(|(a, b)| a < b);
    }

    /// Handles that a data packet has left.
    pub fn sent(&mut self, now: Time, packet: &Packet) {
        self.in_flight = self.in_flight.saturating_add(packet.bytes);
        for part in &packet.data {
            let end = self.offsets.entry(part.stream).or_default();
            let before =
                std::mem::replace(end, (*end).max(part.offset.saturating_add(part.length)));
            self.sent_bytes = self.sent_bytes.saturating_add(*end - before);
        }
        let gap = now.since(self.previous);
        if !gap.is_zero() && gap <= PACE {
            self.pace = gap;
        }
        self.previous = now;
        self.first_arrival = None;
        self.window_was_full =
            self.window.is_some_and(|window| self.in_flight.saturating_add(PACKET) > window.get());
        self.limit = self.used_credit(packet);
        self.credit_was_used = packet.is_blocked || self.limit.is_some();
    }

    /// Returns true if a `wait` of a sender that paces ended with an arrival: the next packet
    /// leaves when pacing lets it.
    pub fn is_paced_prompt(&self, now: Time, wait: Span) -> bool {
        wait >= self.pace * LONG_WAIT && now.since(self.last_arrival) <= self.pace.mul_f64(1.5)
    }

    /// Returns the limit that left no room for the packet before this one.
    pub fn flow_limit(&self) -> Option<FlowLimit> {
        let unknown = FlowLimit { kind: self.of_connection(), size: Bytes::new(self.in_flight) };
        self.credit_was_used.then(|| self.limit.unwrap_or(unknown))
    }

    /// Returns true if the last wait ended with an arrival.
    pub fn is_prompt(&self, now: Time, rtt: Span) -> bool {
        let gap = now.since(self.previous);
        let woken = self.first_arrival.map_or(Span::MAX, |first| now.since(first));
        let is_late = gap >= rtt.mul_f64(LONG_GAP) && woken <= gap.mul_f64(WOKEN);
        is_late || now.since(self.last_arrival) <= prompt(rtt)
    }

    fn of_connection(&self) -> LimitKind {
        match self.transport {
            Transport::Tcp => LimitKind::ReceiveWindow,
            Transport::Quic => LimitKind::Connection,
        }
    }

    /// Returns the limit of flow control that leaves no room after `packet`.
    fn used_credit(&self, packet: &Packet) -> Option<FlowLimit> {
        // As if a first limit stayed the size of the window.
        let is_short = |limit: u64, sent: u64| {
            let used = if self.is_encrypted { self.in_flight } else { sent };
            used.saturating_add(PACKET) > limit
        };
        // What is neither acknowledged nor lost is about what the receiver holds room for.
        let size = Bytes::new(self.in_flight);
        let of_stream = packet.data.iter().any(|part| {
            let limit = self.stream_limits.get(&part.stream).copied().or(self.stream_limit);
            let sent = self.offsets.get(&part.stream).copied().unwrap_or_default();
            limit.is_some_and(|limit| is_short(limit, sent))
        });
        if of_stream {
            return Some(FlowLimit { kind: LimitKind::Stream, size });
        }
        let limit = self.connection_limit.filter(|limit| is_short(*limit, self.sent_bytes));
        limit.map(|_| FlowLimit { kind: self.of_connection(), size })
    }

    fn arrived(&mut self, now: Time, packet: &Packet) {
        self.last_arrival = now;
        self.first_arrival = self.first_arrival.or(Some(now));
        self.connection_limit = packet.max_data.max(self.connection_limit);
        for &(stream, limit) in &packet.details.max_stream_data {
            let known = self.stream_limits.entry(stream).or_default();
            *known = (*known).max(limit);
        }
    }
}

/// Returns true if a controller in this state is no longer in slow start.
fn is_later_state(name: &str) -> bool {
    ["avoidance", "recovery", "drain", "probe"].iter().any(|part| name.contains(part))
}

/// The sizes of packets in flight.
#[derive(Debug, Default)]
pub struct Flight {
    sizes: BTreeMap<u64, u64>,
}

impl Flight {
    pub fn add(&mut self, number: u64, bytes: u64) {
        self.sizes.insert(number, bytes);
    }

    pub fn leave(&mut self, number: u64) -> u64 {
        self.sizes.remove(&number).unwrap_or_default()
    }

    pub fn leave_range(&mut self, (first, last): (u64, u64)) -> u64 {
        self.sizes.extract_if(first..=last, |_, _| true).map(|(_, bytes)| bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_of_a_paced_sender_ends_with_an_arrival_that_pacing_follows() {
        let at = Time::from_millis;
        let mut state = SenderState::new(Transport::Quic, false, at(0));
        for ms in [0, 8, 16, 24] {
            state.sent(at(ms), &Packet::default());
        }
        state.last_arrival = at(290);
        let rtt = Span::from_millis(40);
        assert!(!state.is_prompt(at(299), rtt) && state.is_paced_prompt(at(299), rtt * 6));
        assert!(!state.is_paced_prompt(at(310), rtt * 6), "long after the arrival");
        assert!(!state.is_paced_prompt(at(299), Span::from_millis(8)), "pacing itself");
    }
}

//! One sender, one bottleneck, one receiver: a minimal loop for observing a controller.
//!
//! It is deterministic. The bottleneck is a tail-drop queue in front of a link of fixed rate, after
//! which packets are lost at random. The receiver acknowledges every n-th packet, or after 25 ms,
//! and its return link can hold ACKs for a frame.

#![allow(dead_code, reason = "each test and example uses only part of the loop")]

pub mod bbr;
pub mod moving;

use bentpipe_congestion::controller::{Controller, SentPacket};
use bentpipe_congestion::sent_packets::SentPackets;
use bentpipe_units::{Bytes, Rate, Span, Time};
use std::collections::BTreeMap;

/// Size of each packet.
pub const MTU: Bytes = Bytes::new(1200);

const ACK_DELAY: Span = Span::from_millis(25);

/// RTT as a function of the time at which a packet is sent.
pub type Motion = fn(Time) -> Span;

/// The path between sender and receiver.
#[derive(Debug, Clone)]
pub struct Path {
    /// Rate of the bottleneck.
    pub rate: Rate,
    /// RTT without queueing.
    pub rtt: Span,
    /// Capacity of the queue.
    pub buffer: Bytes,
    /// Whether the queue is the bucket of a policer: it drops alike, but no packet waits in it.
    pub policed: bool,
    /// Probability that a packet is lost.
    pub loss: f64,
    /// Packets per ACK.
    pub ack_every: usize,
    /// ACKs only leave at multiples of this; zero disables frames.
    pub frame: Span,
    /// Rate at which the application writes. `None` for unlimited data.
    pub application: Option<Rate>,
    /// RTT that depends on the time of sending and replaces `rtt`: packets may overtake each other.
    pub motion: Option<Motion>,
    /// Returns true for send times at which packets are lost.
    pub is_outage: Option<fn(Time) -> bool>,
    /// Time of `motion` and `is_outage` at the start of the flow.
    pub offset: Span,
    /// Packets that others overtake.
    pub late: Option<Late>,
}

/// Every fourth packet of some time, which arrives later than those around it.
#[derive(Debug, Clone, Copy)]
pub struct Late {
    /// When the first of them leaves.
    pub from: Time,
    /// When the last of them leaves.
    pub until: Time,
    /// How much later they arrive.
    pub by: Span,
    /// Most packets that do.
    pub most: u64,
}

impl Path {
    /// Returns a path with a queue of one bandwidth-delay product, no loss, and an ACK for every
    /// second packet.
    pub fn new(rate: Rate, rtt: Span) -> Self {
        let buffer = rate.bytes_in(rtt);
        Self {
            rate,
            rtt,
            buffer,
            policed: false,
            loss: 0.0,
            ack_every: 2,
            frame: Span::ZERO,
            application: None,
            motion: None,
            is_outage: None,
            offset: Span::ZERO,
            late: None,
        }
    }
}

impl Path {
    /// Returns the one-way delay of a packet sent at `at`.
    fn one_way(&self, at: Time) -> Span {
        self.motion.map_or(self.rtt, |rtt| rtt(at + self.offset)) / 2
    }

    /// Returns the delay of packet `number`, which is sent at `at`, beyond that of others.
    fn later(&self, number: u64, at: Time) -> Span {
        let due = |late: &Late| late.most > 0 && (late.from..late.until).contains(&at);
        let late = self.late.filter(due);
        late.filter(|_| number.is_multiple_of(4)).map_or(Span::ZERO, |late| late.by)
    }
}

#[derive(Debug)]
enum Event {
    Pace,
    Arrive(u64),
    AckTimer(u64),
    Ack(Vec<u64>),
    Timeout,
}

/// A running simulation.
pub struct Run {
    pub path: Path,
    pub controller: Box<dyn Controller>,
    pub sent_packets: SentPackets,
    pub now: Time,
    /// (time, phase) of each change of phase.
    pub phases: Vec<(Time, &'static str)>,
    /// (time, bytes delivered by then) at each ACK.
    pub delivered: Vec<(Time, u64)>,
    /// Packets dropped by the queue and lost at random.
    pub dropped: u64,
    /// Packets that passed the bottleneck, and the sum of their queueing delays.
    pub passed: (u64, Span),
    /// Packets declared lost.
    pub declared_lost: u64,
    /// Times at which all losses since [`Run::delay_packets`] had proven spurious.
    pub spurious: Vec<Time>,
    /// Packets declared lost since [`Run::delay_packets`] and not acknowledged yet.
    missing: BTreeMap<u64, SentPacket>,
    events: BTreeMap<(Time, u64), Event>,
    order: u64,
    free_at: Time,
    next_send: Time,
    /// Time at which the single send timer fires.
    wake_at: Option<Time>,
    oldest: u64,
    pending: Vec<u64>,
    acks: u64,
    /// Time of the latest ACK, or of the first packet of the flight.
    last_ack_at: Time,
    /// True if a timeout event is scheduled.
    timer: bool,
    written: Bytes,
    application_since: Time,
    random: u64,
}

impl Run {
    pub fn new(path: Path, controller: Box<dyn Controller>, seed: u64) -> Self {
        let mut run = Self {
            path,
            controller,
            sent_packets: SentPackets::new(),
            now: Time::ZERO,
            phases: Vec::new(),
            delivered: Vec::new(),
            dropped: 0,
            passed: (0, Span::ZERO),
            declared_lost: 0,
            spurious: Vec::new(),
            missing: BTreeMap::new(),
            events: BTreeMap::new(),
            order: 0,
            free_at: Time::ZERO,
            next_send: Time::ZERO,
            wake_at: None,
            oldest: 0,
            pending: Vec::new(),
            acks: 0,
            last_ack_at: Time::ZERO,
            timer: false,
            written: Bytes::ZERO,
            application_since: Time::ZERO,
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        };
        run.wake(Time::ZERO);
        run
    }

    fn at(&mut self, when: Time, event: Event) {
        self.order += 1;
        self.events.insert((when, self.order), event);
    }

    fn wake(&mut self, when: Time) {
        if self.wake_at.is_none_or(|at| when < at) {
            self.wake_at = Some(when);
            self.at(when, Event::Pace);
        }
    }

    fn chance(&mut self) -> f64 {
        // Xorshift64 (Marsaglia 2003).
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Sets the rate at which the application writes from now on.
    pub fn write_at(&mut self, rate: Option<Rate>) {
        self.path.application = rate;
        self.application_since = self.now;
        self.written = Bytes::ZERO;
        self.wake(self.now);
    }

    /// Makes every fourth packet of the next `during`, up to `most`, arrive later than others by
    /// `by`.
    pub fn delay_packets(&mut self, during: Span, by: Span, most: u64) {
        self.path.late = Some(Late { from: self.now, until: self.now + during, by, most });
        self.missing.clear();
    }

    /// Runs until `end`.
    pub fn until(&mut self, end: Time) {
        while let Some(entry) = self.events.first_entry().filter(|entry| entry.key().0 <= end) {
            let ((when, _), event) = entry.remove_entry();
            self.now = when;
            self.step(event);
            let phase = self.controller.send_control().phase;
            if self.phases.last().is_none_or(|&(_, last)| last != phase) {
                self.phases.push((self.now, phase));
            }
        }
        self.now = end;
    }

    fn step(&mut self, event: Event) {
        match event {
            Event::Pace => {
                if self.wake_at != Some(self.now) {
                    return;
                }
                self.wake_at = None;
            }
            Event::Arrive(number) => {
                self.pending.push(number);
                if self.pending.len() >= self.path.ack_every {
                    self.acknowledge();
                } else if self.pending.len() == 1 {
                    self.at(self.now + ACK_DELAY, Event::AckTimer(self.acks));
                }
                return;
            }
            Event::AckTimer(acks) => {
                if acks == self.acks && !self.pending.is_empty() {
                    self.acknowledge();
                }
                return;
            }
            Event::Ack(numbers) => self.on_ack(&numbers),
            Event::Timeout => {
                let due = self.last_ack_at + self.ack_timeout();
                self.timer = !self.sent_packets.bytes_in_flight().is_zero();
                if !self.timer {
                    return;
                }
                if self.now < due {
                    self.at(due, Event::Timeout);
                    return;
                }
                self.timer = false;
                // No ACK for that long counts as persistent congestion.
                let next = self.sent_packets.next_number();
                for number in self.oldest..next {
                    self.sent_packets.on_lost(number);
                }
                self.oldest = next;
                let controller = &mut self.controller;
                self.sent_packets.report_loss(self.now, true, |loss| controller.on_loss(loss));
            }
        }
        self.send();
    }

    /// Returns the time without an ACK after which all packets in flight count as lost.
    fn ack_timeout(&self) -> Span {
        self.path.rtt * 3 + Span::from_secs(1)
    }

    fn acknowledge(&mut self) {
        self.acks += 1;
        let numbers = std::mem::take(&mut self.pending);
        let frame = self.path.frame.as_nanos().max(1);
        let leaves = Time::from_nanos(self.now.as_nanos().div_ceil(frame) * frame);
        self.at(leaves + self.path.one_way(leaves), Event::Ack(numbers));
    }

    fn on_ack(&mut self, numbers: &[u64]) {
        self.last_ack_at = self.now;
        let mut late = false;
        for &number in numbers {
            self.sent_packets.on_acked(self.now, number);
            if let Some(packet) = self.missing.remove(&number) {
                self.sent_packets.on_acked_late(self.now, packet);
                late = true;
            }
        }
        let controller = &mut self.controller;
        let mut delivered = 0;
        let limited = self.path.application.is_some();
        self.sent_packets.report_ack(self.now, limited, |ack| {
            delivered = ack.delivered.get();
            controller.on_ack(ack);
        });
        self.delivered.push((self.now, delivered));
        // RFC 9002 §6.1.1, kPacketThreshold.
        let largest = numbers.iter().max().copied().unwrap_or(0);
        while self.oldest + 3 <= largest {
            let packet = self.sent_packets.get(self.oldest).copied();
            self.declared_lost += u64::from(self.sent_packets.on_lost(self.oldest));
            self.missing.extend(packet.map(|packet| (packet.number, packet)));
            self.oldest += 1;
        }
        let controller = &mut self.controller;
        self.sent_packets.report_loss(self.now, false, |loss| controller.on_loss(loss));
        if late && self.missing.is_empty() {
            self.controller.on_spurious_loss(self.now);
            self.spurious.push(self.now);
        }
    }

    fn send(&mut self) {
        loop {
            if self.sent_packets.bytes_in_flight() + MTU > self.controller.send_control().cwnd {
                return;
            }
            if let Some(rate) = self.path.application {
                let allowed = rate.bytes_in(self.now.since(self.application_since));
                if self.written + MTU > allowed {
                    self.sent_packets.set_app_limited();
                    let wait = rate.time_for(self.written + MTU);
                    if wait < Span::MAX {
                        let next = self.application_since + wait + Span::from_nanos(1000);
                        self.wake(next);
                    }
                    return;
                }
            }
            if self.next_send > self.now {
                self.wake(self.next_send);
                return;
            }
            self.written += MTU;
            if self.sent_packets.bytes_in_flight().is_zero() {
                self.last_ack_at = self.now;
            }
            if !self.timer {
                self.timer = true;
                self.at(self.now + self.ack_timeout(), Event::Timeout);
            }
            let packet = self.sent_packets.on_sent(self.now, MTU);
            self.controller.on_packet_sent(&packet);
            if let Some(rate) = self.controller.send_control().pacing_rate {
                self.next_send = self.now + rate.time_for(MTU);
            }
            let waiting = self.path.rate.bytes_in(self.free_at.since(self.now));
            let lost = self.chance() < self.path.loss;
            if waiting + MTU > self.path.buffer {
                self.dropped += 1;
                continue;
            }
            self.free_at = self.free_at.max(self.now) + self.path.rate.time_for(MTU);
            let leaves = if self.path.policed { self.now } else { self.free_at };
            if lost
                || self.path.is_outage.is_some_and(|is_outage| is_outage(leaves + self.path.offset))
            {
                self.dropped += 1;
            } else {
                self.passed.0 += 1;
                self.passed.1 += leaves.since(self.now);
                let later = self.path.later(packet.number, self.now);
                if let Some(late) = self.path.late.as_mut().filter(|_| !later.is_zero()) {
                    late.most -= 1;
                }
                let arrives = leaves + self.path.one_way(leaves) + later;
                self.at(arrives, Event::Arrive(packet.number));
            }
        }
    }

    /// Returns the bytes delivered between two times.
    pub fn delivered_between(&self, from: Time, to: Time) -> u64 {
        let by = |end: Time| {
            let count = self.delivered.partition_point(|&(when, _)| when <= end);
            self.delivered[..count].last().map_or(0, |&(_, bytes)| bytes)
        };
        by(to) - by(from)
    }

    /// Returns the fraction of the bottleneck's rate that was delivered between two times.
    pub fn utilisation(&self, from: Time, to: Time) -> f64 {
        self.delivered_between(from, to) as f64
            / self.path.rate.bytes_in(to.since(from)).get() as f64
    }

    /// Returns start and end of each visit to `phase`.
    pub fn visits(&self, phase: &str) -> Vec<(Time, Time)> {
        let ends = self.phases.iter().skip(1).map(|&(when, _)| when).chain([self.now]);
        self.phases
            .iter()
            .zip(ends)
            .filter(|((_, name), _)| *name == phase)
            .map(|(&(from, _), to)| (from, to))
            .collect()
    }

    /// Returns the bytes in the queue.
    pub fn queue(&self) -> Bytes {
        self.path.rate.bytes_in(self.free_at.since(self.now))
    }
}

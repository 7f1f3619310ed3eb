//! One sender, one bottleneck, one receiver: the smallest loop in which a controller can be
//! watched.
//!
//! Deterministic. The bottleneck is a tail-drop queue in front of a fixed rate; packets are lost at
//! random after it; the receiver acknowledges every n-th packet or after 25 ms, and its return link
//! can hold acknowledgements for a frame.

#![allow(dead_code, reason = "each test and example uses its part of the loop")]

pub mod moving;

use bentpipe_congestion::controller::Controller;
use bentpipe_congestion::sent_packets::SentPackets;
use bentpipe_units::{Bytes, Rate, Span, Time};
use std::collections::BTreeMap;

/// Size of each packet.
pub const MTU: Bytes = Bytes::new(1200);

const ACK_DELAY: Span = Span::from_millis(25);

/// A round trip by when a packet sets out.
pub type Motion = fn(Time) -> Span;

/// What lies between the two.
#[derive(Debug, Clone)]
pub struct Path {
    /// Of the bottleneck.
    pub rate: Rate,
    /// Both ways, without queue.
    pub rtt: Span,
    /// Of the queue.
    pub buffer: Bytes,
    /// Probability that a packet is lost.
    pub loss: f64,
    /// Packets to an acknowledgement.
    pub ack_every: usize,
    /// Acknowledgements leave at multiples of this only; zero for at once.
    pub frame: Span,
    /// How fast the application writes; `None` for as fast as may be.
    pub application: Option<Rate>,
    /// A round trip that depends on when a packet sets out, instead of `rtt`: packets may overtake
    /// each other.
    pub motion: Option<Motion>,
    /// Whether what sets out then is lost.
    pub silent: Option<fn(Time) -> bool>,
    /// How far `motion` and `silent` are when the flow begins.
    pub offset: Span,
}

impl Path {
    /// A path with a queue of one bandwidth-delay product that loses nothing and acknowledges every
    /// second packet.
    pub fn new(rate: Rate, rtt: Span) -> Self {
        let buffer = rate.bytes_in(rtt);
        Self {
            rate,
            rtt,
            buffer,
            loss: 0.0,
            ack_every: 2,
            frame: Span::ZERO,
            application: None,
            motion: None,
            silent: None,
            offset: Span::ZERO,
        }
    }
}

impl Path {
    /// Time to the receiver, or back, of what sets out at `at`.
    fn one_way(&self, at: Time) -> Span {
        self.motion.map_or(self.rtt, |rtt| rtt(at + self.offset)) / 2
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

/// The loop.
pub struct Run {
    pub path: Path,
    pub controller: Box<dyn Controller>,
    pub sent_packets: SentPackets,
    pub now: Time,
    /// (when, phase) of each change of phase.
    pub phases: Vec<(Time, &'static str)>,
    /// (when, bytes delivered so far) at each acknowledgement.
    pub delivered: Vec<(Time, u64)>,
    /// Packets dropped by the queue and lost at random.
    pub dropped: u64,
    /// Packets that got through the bottleneck, and the time that they waited for it.
    pub passed: (u64, Span),
    /// Packets declared lost.
    pub declared_lost: u64,
    events: BTreeMap<(Time, u64), Event>,
    order: u64,
    free_at: Time,
    next_send: Time,
    /// When the one timer for sending fires.
    wake_at: Option<Time>,
    oldest: u64,
    pending: Vec<u64>,
    acks: u64,
    /// When something was last heard, or the flight began.
    heard_at: Time,
    /// Whether a timeout is to come.
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
            events: BTreeMap::new(),
            order: 0,
            free_at: Time::ZERO,
            next_send: Time::ZERO,
            wake_at: None,
            oldest: 0,
            pending: Vec::new(),
            acks: 0,
            heard_at: Time::ZERO,
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

    /// Lets the application write at `rate` from now on.
    pub fn write_at(&mut self, rate: Option<Rate>) {
        self.path.application = rate;
        self.application_since = self.now;
        self.written = Bytes::ZERO;
        self.wake(self.now);
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
            Event::Ack(numbers) => self.hear(&numbers),
            Event::Timeout => {
                let due = self.heard_at + self.patience();
                self.timer = !self.sent_packets.bytes_in_flight().is_zero();
                if !self.timer {
                    return;
                }
                if self.now < due {
                    self.at(due, Event::Timeout);
                    return;
                }
                self.timer = false;
                // Nothing was heard for three round trips: persistent congestion.
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

    /// How long nothing is heard until all in flight is taken for lost.
    fn patience(&self) -> Span {
        self.path.rtt * 3 + Span::from_secs(1)
    }

    fn acknowledge(&mut self) {
        self.acks += 1;
        let numbers = std::mem::take(&mut self.pending);
        let frame = self.path.frame.as_nanos().max(1);
        let leaves = Time::from_nanos(self.now.as_nanos().div_ceil(frame) * frame);
        self.at(leaves + self.path.one_way(leaves), Event::Ack(numbers));
    }

    fn hear(&mut self, numbers: &[u64]) {
        self.heard_at = self.now;
        for &number in numbers {
            self.sent_packets.on_acked(self.now, number);
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
            self.declared_lost += u64::from(self.sent_packets.on_lost(self.oldest));
            self.oldest += 1;
        }
        let controller = &mut self.controller;
        self.sent_packets.report_loss(self.now, false, |loss| controller.on_loss(loss));
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
                self.heard_at = self.now;
            }
            if !self.timer {
                self.timer = true;
                self.at(self.now + self.patience(), Event::Timeout);
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
            if lost
                || self.path.silent.is_some_and(|silent| silent(self.free_at + self.path.offset))
            {
                self.dropped += 1;
            } else {
                self.passed.0 += 1;
                self.passed.1 += self.free_at.since(self.now);
                self.at(
                    self.free_at + self.path.one_way(self.free_at),
                    Event::Arrive(packet.number),
                );
            }
        }
    }

    /// Bytes delivered between two points.
    pub fn delivered_between(&self, from: Time, to: Time) -> u64 {
        let by = |end: Time| {
            let count = self.delivered.partition_point(|&(when, _)| when <= end);
            self.delivered[..count].last().map_or(0, |&(_, bytes)| bytes)
        };
        by(to) - by(from)
    }

    /// Share of the bottleneck's rate that was delivered between two points.
    pub fn utilisation(&self, from: Time, to: Time) -> f64 {
        self.delivered_between(from, to) as f64
            / self.path.rate.bytes_in(to.since(from)).get() as f64
    }

    /// When each visit of `phase` began and ended.
    pub fn visits(&self, phase: &str) -> Vec<(Time, Time)> {
        let ends = self.phases.iter().skip(1).map(|&(when, _)| when).chain([self.now]);
        self.phases
            .iter()
            .zip(ends)
            .filter(|((_, name), _)| *name == phase)
            .map(|(&(from, _), to)| (from, to))
            .collect()
    }

    /// Bytes waiting in the queue.
    pub fn queue(&self) -> Bytes {
        self.path.rate.bytes_in(self.free_at.since(self.now))
    }
}

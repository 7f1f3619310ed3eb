//! One transfer: sender and receiver.

use super::path::{Links, Path};
use super::{ACK, Event, MTU, PACKET, PAYLOAD, Transfer};
use bentpipe_congestion::{Controller, SentPackets};
use bentpipe_units::{Bytes, Span, Time};
use std::collections::{BTreeMap, VecDeque};

/// Outcome of a transfer.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Time from the client's first packet to the last byte. `None` if it did not complete.
    pub completion: Option<Span>,
    /// Data packets sent.
    pub sent: u64,
    /// Packets that the queue or a policer dropped.
    pub dropped: u64,
    /// Packets dropped among those sent until 2.5 RTTs after the end of slow start.
    pub dropped_at_start: u64,
    /// Dropped packets by the controller's phase when they were sent.
    pub dropped_in: BTreeMap<&'static str, u64>,
    /// Phases of the controller, in order.
    pub phases: Vec<&'static str>,
    /// End of slow start.
    pub started: Option<Time>,
    /// Log lines, if requested.
    pub log: Vec<String>,
    /// Data that arrived from [`Transfer::counted_from`] on.
    pub counted: Bytes,
}

impl Outcome {
    /// Returns the seconds to the last byte, infinite if the transfer did not complete.
    pub fn seconds(&self) -> f64 {
        self.completion.map_or(f64::INFINITY, Span::as_secs_f64)
    }
}

#[derive(Clone, Copy)]
struct Sent {
    at: Time,
    /// Index of the data. `None` for the handshake.
    piece: Option<u32>,
    outstanding: bool,
}

type Made = Vec<(Time, Event)>;

pub(super) struct Flow {
    transfer: Transfer,
    controller: Box<dyn Controller>,
    sent_packets: SentPackets,
    rtt: Span,
    ack_every: usize,
    // State of the sender.
    sent: Vec<Sent>,
    oldest: u64,
    largest_acked: Option<u64>,
    next_piece: u32,
    pieces: u32,
    again: VecDeque<u32>,
    tokens: f64,
    tokens_at: Time,
    waiting: bool,
    smoothed: f64,
    variation: f64,
    latest: f64,
    probes: u32,
    timer_at: Time,
    read: usize,
    begun: Time,
    // State of the receiver.
    arrived: Vec<u64>,
    got: Vec<bool>,
    missing: u32,
    largest: Option<u64>,
    unacked: usize,
    told: usize,
    // Reported values.
    outcome: Outcome,
    start_over: Option<Time>,
    log_at: Option<Time>,
}

impl Flow {
    pub(super) fn new(path: &Path, transfer: Transfer, controller: Box<dyn Controller>) -> Self {
        let pieces = transfer.bytes.div_ceil(PAYLOAD) as u32;
        let outcome = Outcome {
            completion: None,
            sent: 0,
            dropped: 0,
            dropped_at_start: 0,
            dropped_in: BTreeMap::new(),
            phases: vec![],
            started: None,
            log: vec![],
            counted: Bytes::ZERO,
        };
        Self {
            controller,
            sent_packets: SentPackets::new(),
            rtt: path.rtt,
            ack_every: path.ack_every,
            sent: Vec::new(),
            oldest: 0,
            largest_acked: None,
            next_piece: 0,
            pieces,
            again: VecDeque::new(),
            tokens: 0.0,
            tokens_at: Time::ZERO,
            waiting: false,
            smoothed: 0.0,
            variation: 0.0,
            latest: 0.0,
            probes: 0,
            timer_at: Time::MAX,
            read: 0,
            begun: Time::ZERO,
            arrived: Vec::new(),
            got: vec![false; pieces as usize],
            missing: pieces,
            largest: None,
            unacked: 0,
            told: 0,
            outcome,
            start_over: None,
            log_at: transfer.logged.then_some(Time::ZERO),
            transfer,
        }
    }

    pub(super) fn is_complete(&self) -> bool {
        self.missing == 0
    }

    pub(super) fn outcome(self) -> Outcome {
        self.outcome
    }

    /// Returns the arrival of the client's first packet at the server, after `half` an RTT.
    pub(super) fn greeted(&self, half: Span) -> Time {
        self.transfer.at + half
    }

    /// Returns the arrival of the request at the server, whom the client's first packet reaches at
    /// `at`. A handshake adds one RTT; the server's first packet and its ACK represent it.
    pub(super) fn greet(&mut self, at: Time, half: Span, links: &mut Links) -> Time {
        if !self.transfer.handshake {
            return at;
        }
        self.note_sent(at, None);
        self.arrived.push(0);
        self.largest = Some(0);
        let there = links.forward(at, PACKET).unwrap_or(at + half);
        links.back(there, ACK).unwrap_or(there + half)
    }

    pub(super) fn begin(&mut self, now: Time, links: &mut Links, made: &mut Made) {
        self.begun = now;
        self.tokens_at = now;
        self.tokens = 10.0 * MTU as f64;
        if self.transfer.handshake {
            self.ack(now, 1, links, made);
            self.told = 1;
        } else {
            self.fill(now, links, made);
        }
    }

    fn note_sent(&mut self, now: Time, piece: Option<u32>) -> u64 {
        let packet = self.sent_packets.on_sent(now, Bytes::new(MTU));
        self.controller.on_packet_sent(&packet);
        self.sent.push(Sent { at: now, piece, outstanding: true });
        packet.number
    }

    /// Returns the number of pieces that the application has written by now.
    fn written(&self, now: Time) -> u32 {
        let Some(rate) = self.transfer.written else { return self.pieces };
        let bytes = rate * now.since(self.begun).as_secs_f64();
        ((bytes / PAYLOAD as f64) as u32 + 1).min(self.pieces)
    }

    fn fill(&mut self, now: Time, links: &mut Links, made: &mut Made) {
        if self.is_complete() {
            return;
        }
        let mtu = MTU as f64;
        let paced = self
            .controller
            .send_control()
            .pacing_rate
            .map(|rate| rate.as_bps() as f64 / 8.0)
            .or_else(|| {
                let window = self.controller.send_control().cwnd.get() as f64;
                (self.smoothed > 0.0).then(|| 1.25 * window / self.smoothed)
            });
        if let Some(rate) = paced {
            let most = (10.0 * mtu).max(0.002 * rate);
            let earned = rate * now.since(self.tokens_at).as_secs_f64();
            self.tokens = (self.tokens + earned).min(most);
        }
        self.tokens_at = now;
        let written = self.written(now);
        while self.sent_packets.bytes_in_flight() + Bytes::new(MTU)
            <= self.controller.send_control().cwnd
        {
            if let Some(rate) = paced {
                if self.tokens < mtu {
                    if !self.waiting {
                        self.waiting = true;
                        made.push((
                            now + Span::from_secs_f64((mtu - self.tokens) / rate + 1e-6),
                            Event::Send,
                        ));
                    }
                    break;
                }
                self.tokens -= mtu;
            }
            if !self.send_one(now, written, links, made) {
                self.sent_packets.set_app_limited();
                if let Some(rate) =
                    self.transfer.written.filter(|_| written < self.pieces && !self.waiting)
                {
                    self.waiting = true;
                    made.push((now + Span::from_secs_f64(PAYLOAD as f64 / rate), Event::Send));
                }
                break;
            }
        }
        self.arm(now, made);
    }

    fn send_one(&mut self, now: Time, written: u32, links: &mut Links, made: &mut Made) -> bool {
        let piece = loop {
            match self.again.pop_front() {
                Some(piece) if self.got[piece as usize] => {}
                Some(piece) => break piece,
                None if self.next_piece < written => {
                    self.next_piece += 1;
                    break self.next_piece - 1;
                }
                None => return false,
            }
        };
        self.transmit(now, piece, links, made);
        true
    }

    fn transmit(&mut self, now: Time, piece: u32, links: &mut Links, made: &mut Made) {
        let number = self.note_sent(now, Some(piece));
        self.outcome.sent += 1;
        match links.forward(now, PACKET) {
            Ok(at) => made.push((at, Event::Data(number))),
            Err(dropped) => {
                let early =
                    self.start_over.is_none_or(|over| now.since(over) < self.rtt.mul_f64(2.5));
                self.outcome.dropped += u64::from(dropped);
                *self
                    .outcome
                    .dropped_in
                    .entry(self.controller.send_control().phase)
                    .or_default() += u64::from(dropped);
                self.outcome.dropped_at_start += u64::from(dropped && early);
            }
        }
    }

    pub(super) fn send_timer(&mut self, now: Time, links: &mut Links, made: &mut Made) {
        self.waiting = false;
        self.fill(now, links, made);
    }

    // Receiver (RFC 9000 §13.2).

    pub(super) fn data(&mut self, now: Time, number: u64, links: &mut Links, made: &mut Made) {
        let in_order = self.largest.is_none_or(|largest| number == largest + 1);
        self.largest = self.largest.max(Some(number));
        self.arrived.push(number);
        if let Some(piece) =
            self.sent[number as usize].piece.filter(|piece| !self.got[*piece as usize])
        {
            self.got[piece as usize] = true;
            self.missing -= 1;
            if now >= self.transfer.counted_from {
                self.outcome.counted += Bytes::new(PAYLOAD);
            }
            if self.missing == 0 {
                self.outcome.completion = Some(now.since(self.transfer.at));
            }
        }
        self.unacked += 1;
        if self.unacked >= self.ack_every || !in_order {
            self.tell(now, links, made);
        } else if self.unacked == 1 {
            made.push((now + Span::from_millis(25), Event::Delayed(self.arrived.len())));
        }
    }

    pub(super) fn delayed(
        &mut self,
        now: Time,
        arrivals: usize,
        links: &mut Links,
        made: &mut Made,
    ) {
        if self.told < arrivals {
            self.tell(now, links, made);
        }
    }

    fn tell(&mut self, now: Time, links: &mut Links, made: &mut Made) {
        self.unacked = 0;
        self.told = self.arrived.len();
        if let Some(at) = links.back(now, ACK) {
            made.push((at, Event::Ack(self.told)));
        }
    }

    // Sender (RFC 9002).

    pub(super) fn ack(&mut self, now: Time, arrivals: usize, links: &mut Links, made: &mut Made) {
        if arrivals <= self.read {
            return;
        }
        let mut newest = None;
        for index in self.read..arrivals {
            let number = self.arrived[index];
            if self.sent_packets.on_acked(now, number) {
                newest = newest.max(Some(number));
            }
            self.sent[number as usize].outstanding = false;
        }
        self.read = arrivals;
        let Some(newest) = newest else { return };
        if self.largest_acked < Some(newest) {
            self.largest_acked = Some(newest);
            self.sample(now.since(self.sent[newest as usize].at).as_secs_f64());
        }
        self.probes = 0;
        // Limited by something other than the window: no data to send although the window has room.
        let idle = self.again.is_empty() && self.next_piece >= self.written(now);
        let limited = idle
            && self.sent_packets.bytes_in_flight() + Bytes::new(10 * MTU)
                < self.controller.send_control().cwnd;
        let controller = &mut self.controller;
        self.sent_packets.report_ack(
            now,
            limited || newest == 0 && self.transfer.handshake,
            |ack| controller.on_ack(ack),
        );
        self.lose(now, made);
        self.note(now);
        self.fill(now, links, made);
    }

    fn sample(&mut self, rtt: f64) {
        self.latest = rtt;
        if self.smoothed == 0.0 {
            (self.smoothed, self.variation) = (rtt, rtt / 2.0);
        } else {
            self.variation = 0.75 * self.variation + 0.25 * (self.smoothed - rtt).abs();
            self.smoothed = 0.875 * self.smoothed + 0.125 * rtt;
        }
    }

    /// RFC 9002 §6.1: declares packets lost after three later packets, or 9/8 of an RTT.
    fn lose(&mut self, now: Time, made: &mut Made) {
        let Some(largest) = self.largest_acked else { return };
        let late = Span::from_secs_f64(1.125 * self.smoothed.max(self.latest));
        let mut number = self.oldest;
        let mut gap = false;
        while number < largest {
            let sent = &mut self.sent[number as usize];
            if sent.outstanding && (number + 3 <= largest || sent.at + late <= now) {
                sent.outstanding = false;
                self.again.extend(sent.piece);
                self.sent_packets.on_lost(number);
            }
            gap |= sent.outstanding;
            number += 1;
            if !gap {
                self.oldest = number;
            }
        }
        let controller = &mut self.controller;
        self.sent_packets.report_loss(now, false, |loss| controller.on_loss(loss));
        self.arm(now, made);
    }

    /// Sets the timer: for the time threshold if a gap is open, otherwise for the probe (RFC 9002
    /// §6.2).
    fn arm(&mut self, now: Time, made: &mut Made) {
        let Some(last) =
            self.sent.last().filter(|_| !self.sent_packets.bytes_in_flight().is_zero())
        else {
            return;
        };
        let gap = self.largest_acked.is_some_and(|largest| self.oldest < largest);
        let at = if gap {
            self.sent[self.oldest as usize].at
                + Span::from_secs_f64(1.125 * self.smoothed.max(self.latest))
        } else {
            let timeout = if self.smoothed == 0.0 {
                1.0
            } else {
                self.smoothed + (4.0 * self.variation).max(0.001)
            };
            last.at + Span::from_secs_f64((timeout + 0.025) * f64::from(1u32 << self.probes.min(6)))
        };
        let at = at.max(now + Span::from_micros(1));
        // A timer that fires early checks again.
        if at < self.timer_at || self.timer_at <= now {
            self.timer_at = at;
            made.push((at, Event::Timer));
        }
    }

    pub(super) fn timer(&mut self, now: Time, links: &mut Links, made: &mut Made) {
        if now < self.timer_at || self.is_complete() {
            return;
        }
        self.timer_at = Time::MAX;
        if self.largest_acked.is_some_and(|largest| self.oldest < largest) {
            self.lose(now, made);
        } else if let Some(last) = self.sent.last().copied() {
            let timeout = self.smoothed + (4.0 * self.variation).max(0.001) + 0.025;
            let timeout = if self.smoothed == 0.0 { 1.025 } else { timeout };
            let due =
                last.at + Span::from_secs_f64(timeout * f64::from(1u32 << self.probes.min(6)));
            if due <= now {
                self.probes += 1;
                self.controller.on_timeout(now);
                let first = (self.oldest..self.sent.len() as u64)
                    .find(|number| self.sent[*number as usize].outstanding);
                if let Some(piece) = first.and_then(|number| self.sent[number as usize].piece) {
                    // Even if it has arrived, since all its ACKs may have been lost.
                    self.transmit(now, piece, links, made);
                }
            }
        }
        self.fill(now, links, made);
    }

    fn note(&mut self, now: Time) {
        if self.outcome.phases.last() != Some(&self.controller.send_control().phase) {
            self.outcome.phases.push(self.controller.send_control().phase);
        }
        if self.start_over.is_none() && !self.controller.send_control().in_slow_start {
            self.start_over = Some(now);
            self.outcome.started = Some(now);
        }
        if self.log_at.is_some_and(|at| at <= now) {
            self.log_at = Some(now + self.rtt / 8);
            let rate =
                self.controller.send_control().pacing_rate.map_or(0.0, |rate| rate.as_mbps_f64());
            self.outcome.log.push(format!(
                "{now} {:<12} window {:>9} flight {:>9} pace {rate:>7.1} Mbps rtt {:.3} sent {} \
                    dropped {} arrived {}",
                self.controller.send_control().phase,
                self.controller.send_control().cwnd.get(),
                self.sent_packets.bytes_in_flight().get(),
                self.latest,
                self.outcome.sent,
                self.outcome.dropped,
                self.arrived.len(),
            ));
        }
    }
}

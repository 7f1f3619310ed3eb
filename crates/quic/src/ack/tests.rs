//! The behaviour of each policy, and the invariants of all of them on random histories.

use super::*;
use crate::observer::{Frames, PacketInfo, Space};
use bentpipe_units::{Span, Time};
use proptest::prelude::*;

const RTT: Span = Span::from_millis(600);
const MAX_ACK_DELAY: Span = Span::from_millis(25);
const MILLISECOND: Span = Span::from_millis(1);

fn data(number: u64) -> PacketInfo {
    let frames = Frames { stream: 1400, eliciting: true, ..Frames::default() };
    PacketInfo { space: Space::Data, number, header: 11, tag: 16, frames }
}

fn ack(number: u64, acknowledges: u64) -> PacketInfo {
    let frames =
        Frames { ack: 8, acknowledges: Some(acknowledges), ranges: 1, ..Frames::default() };
    PacketInfo { space: Space::Data, number, header: 11, tag: 16, frames }
}

/// A receiver after its handshake, whose stack acknowledges every other packet, every gap, and
/// packets that have waited for 25 ms.
struct Receiver {
    policy: Acknowledger,
    now: Time,
    largest: u64,
    unacknowledged: u64,
    oldest: Time,
    /// Largest packet number that the held ACK acknowledges.
    held: Option<u64>,
    number: u64,
    /// Times at which ACKs left, and the largest packet number of each.
    sent: Vec<(Time, u64)>,
}

impl Receiver {
    fn new(rule: &str) -> Self {
        Self {
            policy: Acknowledger::new(rule.parse().unwrap(), MAX_ACK_DELAY),
            now: Time::from_secs(1),
            largest: 0,
            unacknowledged: 0,
            oldest: Time::ZERO,
            held: None,
            number: 0,
            sent: Vec::new(),
        }
    }

    /// A receiver that has measured an RTT on a fast return link.
    fn measured() -> Self {
        let mut receiver = Self::new("auto");
        let context = AckContext { marked: false, smoothed_rtt: Some(RTT) };
        let mut ping = ack(0, 0);
        ping.frames.eliciting = true;
        receiver.policy.on_received(receiver.now, &data(0), context);
        receiver.policy.on_sent(receiver.now, &ping);
        receiver.now += RTT;
        receiver.policy.on_received(receiver.now, &ack(0, 0), context);
        receiver
    }

    fn on_packet_with(&mut self, packet: &PacketInfo, marked: bool) {
        let prompt = packet.number != self.largest + 1 || packet.frames.immediate || marked;
        self.largest = self.largest.max(packet.number);
        self.policy.on_received(self.now, packet, AckContext { marked, smoothed_rtt: Some(RTT) });
        if self.held.is_some() {
            assert!(self.policy.until() <= self.now + MAX_ACK_DELAY, "held beyond its bound");
        }
        if self.unacknowledged == 0 {
            self.oldest = self.now;
        }
        self.unacknowledged += 1;
        if prompt || self.unacknowledged > 1 {
            self.stack_acknowledges();
        }
    }

    fn on_packet(&mut self, number: u64) {
        self.on_packet_with(&data(number), false);
    }

    fn stack_acknowledges(&mut self) {
        self.unacknowledged = 0;
        self.number += 1;
        match self.policy.decide(self.now, &ack(self.number, self.largest)) {
            AckDecision::Send => self.send(self.largest),
            AckDecision::Hold(until) => {
                assert!(until > self.now && until <= self.now + MAX_ACK_DELAY);
                self.held = Some(self.largest);
            }
        }
    }

    fn send(&mut self, acknowledges: u64) {
        self.held = None;
        self.policy.on_sent(self.now, &ack(self.number, acknowledges));
        self.sent.push((self.now, acknowledges));
    }

    /// Advances the time by `span`.
    fn wait(&mut self, span: Span) {
        let end = self.now + span;
        loop {
            let timer = (self.unacknowledged > 0).then_some(self.oldest + MAX_ACK_DELAY);
            let release = self.held.map(|_| self.policy.until().max(self.now));
            let Some(next) = timer.into_iter().chain(release).min().filter(|&next| next <= end)
            else {
                break;
            };
            self.now = next;
            if timer == Some(next) {
                self.stack_acknowledges();
            } else if let Some(acknowledges) = self.held {
                self.send(acknowledges);
            }
        }
        self.now = end;
    }

    fn stream(&mut self, packets: u64, spacing: Span) {
        for _ in 0..packets {
            self.on_packet(self.largest + 1);
            self.wait(spacing);
        }
    }
}

#[test]
fn one_for_ten_leaves_with_every_tenth_packet() {
    let mut receiver = Receiver::new("1:10");
    receiver.stream(100, MILLISECOND);
    let numbers: Vec<u64> = receiver.sent.iter().map(|&(_, number)| number).collect();
    assert_eq!(numbers, (1..=10).map(|tens| tens * 10).collect::<Vec<_>>());
}

#[test]
fn a_slow_stream_is_acknowledged_within_the_maximum_delay() {
    let mut receiver = Receiver::new("1:64");
    receiver.stream(200, Span::from_millis(4));
    let gaps = receiver.sent.windows(2).map(|pair| pair[1].0.since(pair[0].0));
    assert!(gaps.max().unwrap() <= MAX_ACK_DELAY + Span::from_millis(8));
}

#[test]
fn stepwise_is_dense_at_first_and_sparse_after() {
    let mut receiver = Receiver::new("1:2 for 100, then 1:10");
    receiver.stream(200, MILLISECOND);
    let early = receiver.sent.iter().filter(|&&(_, number)| number <= 100).count();
    assert_eq!((early, receiver.sent.len() - early), (50, 10));
}

#[test]
fn a_fraction_of_the_rtt_is_the_interval_of_acks() {
    let mut receiver = Receiver::new("rtt/4");
    receiver.stream(6000, MILLISECOND / 5);
    // 1.2 s of packets at 150 ms.
    assert!((7..=8).contains(&receiver.sent.len()), "{}", receiver.sent.len());
}

#[test]
fn auto_is_one_for_two_while_few_packets_are_in_flight() {
    let mut receiver = Receiver::measured();
    // 60 packets per RTT.
    receiver.stream(120, Span::from_millis(10));
    assert_eq!(receiver.sent.len(), 60);
}

#[test]
fn auto_sends_a_bounded_number_per_rtt_while_many_packets_are_in_flight() {
    let mut receiver = Receiver::measured();
    // 6,000 packets per RTT.
    receiver.stream(12_000, MILLISECOND / 10);
    let max = Auto::default().max as usize;
    assert!((2 * max - 4..=2 * max + 1).contains(&receiver.sent.len()), "{}", receiver.sent.len());
}

#[test]
fn auto_acknowledges_the_first_packets_of_a_burst_at_once() {
    let mut receiver = Receiver::new("auto");
    receiver.stream(2, Span::ZERO);
    assert_eq!(receiver.sent, [(Time::from_secs(1), 2)]);
    receiver.stream(8, Span::ZERO);
    receiver.wait(RTT);
    assert_eq!(receiver.sent.last().map(|&(_, number)| number), Some(10));
    assert_eq!(receiver.sent.len(), 2);
}

#[test]
fn a_gap_is_reported_at_once_and_by_auto_within_its_interval() {
    for rule in ["1:64", "rtt/4", "1:2 for 10, then 1:64", "auto"] {
        let mut receiver = Receiver::new(rule);
        receiver.stream(20, MILLISECOND / 10);
        let before = receiver.now;
        receiver.on_packet(receiver.largest + 3);
        let gap = receiver.largest;
        receiver.wait(RTT / 40);
        let (sent, number) = receiver.sent.last().copied().unwrap();
        assert_eq!(number, gap, "{rule}");
        assert!(rule == "auto" || sent == before, "{rule}: {sent}");
    }
}

#[test]
fn auto_reports_every_packet_of_a_burst_of_losses() {
    let mut receiver = Receiver::measured();
    // Every other packet is lost, 3,000 of 6,000 per RTT. The stack remembers 64 ranges.
    let mut gaps = Vec::new();
    for _ in 0..3_000 {
        let reported = receiver.sent.len();
        receiver.on_packet(receiver.largest + 2);
        receiver.wait(MILLISECOND / 5);
        gaps.push(receiver.sent.len() > reported);
    }
    let longest = gaps.split(|sent| *sent).map(<[bool]>::len).max().unwrap();
    assert!(longest < 64, "{longest} ranges between two ACKs");
}

#[test]
fn pings_in_flight_leave_room_for_another_packet() {
    let mut receiver = Receiver::measured();
    // No answer: the queue of the other direction is long, and each ACK has many ranges.
    let mut bytes = 0;
    for number in 1..200 {
        for _ in 0..2 {
            receiver.largest += 1;
            let context = AckContext { marked: false, smoothed_rtt: Some(RTT) };
            receiver.policy.on_received(receiver.now, &data(receiver.largest), context);
            receiver.now += MILLISECOND * 20;
        }
        let mut packet = ack(number, receiver.largest);
        packet.frames.ack = 140;
        if receiver.policy.wants_ping(receiver.now) {
            packet.frames.eliciting = true;
            bytes += packet.bytes();
        }
        receiver.policy.on_sent(receiver.now, &packet);
    }
    assert!((500..=1200).contains(&bytes), "{bytes} B of PINGs");
}

#[test]
fn a_mark_after_packets_without_is_reported_at_once_and_the_next_is_not() {
    let mut receiver = Receiver::new("1:64");
    receiver.stream(3, MILLISECOND);
    receiver.on_packet_with(&data(4), true);
    assert_eq!(receiver.sent.len(), 1);
    receiver.on_packet_with(&data(5), true);
    assert_eq!(receiver.sent.len(), 1);
}

#[test]
fn a_request_of_the_sender_is_answered_at_once() {
    for rule in ["1:64", "rtt/4", "auto"] {
        let mut receiver = Receiver::new(rule);
        receiver.stream(21, MILLISECOND / 10);
        let mut packet = data(receiver.largest + 1);
        packet.frames.immediate = true;
        receiver.on_packet_with(&packet, false);
        assert_eq!(receiver.sent.last(), Some(&(receiver.now, receiver.largest)), "{rule}");
    }
}

#[test]
fn nothing_is_held_before_the_handshake_is_complete() {
    let mut policy = Acknowledger::new("1:64".parse().unwrap(), MAX_ACK_DELAY);
    policy.on_received(Time::ZERO, &data(1), AckContext::default());
    assert_eq!(policy.decide(Time::ZERO, &ack(0, 1)), AckDecision::Send);
}

#[test]
fn auto_sends_fewer_acks_while_the_rtt_shows_a_queue_and_recovers() {
    let mut policy = Acknowledger::new(AckRule::Auto, MAX_ACK_DELAY);
    let mut now = Time::ZERO;
    let mut ping = |policy: &mut Acknowledger, number: u64, rtt: Span| {
        let mut packet = ack(number, number);
        packet.frames.eliciting = true;
        policy.on_sent(now, &packet);
        now += rtt;
        policy.on_received(
            now,
            &ack(number, number),
            AckContext { marked: false, smoothed_rtt: Some(RTT) },
        );
        // The time to the next ACK shows the frequency.
        policy.on_sent(now, &ack(number, number));
        policy.auto.next(RTT).since(now)
    };
    // As on 280 kbps, of which ACKs may take 40 %: 131 per RTT, and 13 on a tenth of that rate.
    let handshake = RTT + Span::from_millis(33);
    policy.on_received(
        Time::ZERO,
        &data(0),
        AckContext { marked: false, smoothed_rtt: Some(handshake) },
    );
    ping(&mut policy, 1, RTT);
    let dense = ping(&mut policy, 2, RTT);
    let mut sparse = dense;
    for number in 3..8 {
        sparse = ping(&mut policy, number, RTT * 2);
    }
    assert!(sparse >= dense * 4, "{dense} to {sparse}");
    for number in 8..60 {
        sparse = ping(&mut policy, number, RTT);
    }
    assert!(sparse <= dense, "{dense} to {sparse}");
}

#[derive(Debug, Clone)]
enum Event {
    Packet { skip: u64, marked: bool, immediate: bool },
    Old(u64),
    Wait(u64),
}

fn history() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        8 => (
            prop_oneof![20 => Just(0u64), 1 => 1u64..5],
            prop::bool::weighted(0.02),
            prop::bool::weighted(0.02),
        )
            .prop_map(|(skip, marked, immediate)| Event::Packet { skip, marked, immediate }),
        1 => (0u64..50).prop_map(Event::Old),
        6 => (0u64..3_000_000).prop_map(Event::Wait),
        1 => (0u64..100_000_000).prop_map(Event::Wait),
    ];
    prop::collection::vec(event, 1..400)
}

fn rules() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "stack",
        "1:2",
        "1:10",
        "1:64",
        "1:2 for 100, then 1:10",
        "rtt/4",
        "rtt/16",
        "auto",
    ])
}

proptest! {
    // Each arrival and each decision asserts that no ACK is held beyond its bound.
    #[test]
    fn every_packet_is_acknowledged_once_packets_pause(rule in rules(), history in history()) {
        let mut receiver = Receiver::new(rule);
        for event in history {
            match event {
                Event::Packet { skip, marked, immediate } => {
                    let mut packet = data(receiver.largest + 1 + skip);
                    packet.frames.immediate = immediate;
                    receiver.on_packet_with(&packet, marked);
                    if skip > 0 && packet.number > skip + 1 && rule != "auto" {
                        let newest = (receiver.now, receiver.largest);
                        prop_assert_eq!(receiver.sent.last(), Some(&newest));
                    }
                }
                Event::Old(back) => receiver.on_packet(receiver.largest.saturating_sub(back)),
                Event::Wait(nanos) => receiver.wait(Span::from_secs_f64(nanos as f64 / 1e9)),
            }
        }
        let newest = receiver.now;
        receiver.wait(Span::from_secs(1));
        prop_assert_eq!(receiver.sent.last().map_or(0, |&(_, number)| number), receiver.largest);
        prop_assert!(receiver.sent.last().is_none_or(|&(sent, _)| sent <= newest + MAX_ACK_DELAY));
    }
}

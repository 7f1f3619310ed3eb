//! Accounts of connections whose packets are not opened.

use super::account;
use crate::event::{CapturedConnection, Event, Packet, PacketDetails, Side, StreamPart, Transport};
use bentpipe_timeseries::TimePart;
use bentpipe_units::{Span, Time};

/// The packets of a connection 50 ms away, as one end recorded them, in milliseconds.
struct Recorded {
    side: Side,
    events: Vec<(u64, Event)>,
    numbers: [u64; 2],
    offsets: [u64; 2],
}

impl Recorded {
    /// Begins with a handshake, and a request at its end.
    fn new(side: Side) -> Self {
        let mut made = Self { side, events: Vec::new(), numbers: [0; 2], offsets: [0; 2] };
        let answer = Packet { acknowledged: vec![(0, 0)].into(), ..Packet::default() };
        let own = [(0, Event::Sent(Packet::default())), (50, Event::Received(answer))];
        made.events.extend(own);
        made.add(51, side == Side::Client, 100, &[]);
        made
    }

    /// Adds a packet that this end sent or received.
    fn add(&mut self, at: u64, is_own: bool, length: u64, acknowledged: &[(u64, u64)]) {
        self.add_held(at, is_own, length, acknowledged, None);
    }

    fn add_held(
        &mut self,
        at: u64,
        is_own: bool,
        length: u64,
        acknowledged: &[(u64, u64)],
        ack_delay: Option<Span>,
    ) {
        let end = usize::from(is_own);
        let part = StreamPart { stream: 0, offset: self.offsets[end], length };
        let packet = Packet {
            is_application: true,
            bytes: length + 40,
            number: self.numbers[end],
            data: (length > 0).then_some(part).into_iter().collect(),
            acknowledged: acknowledged.to_vec().into(),
            details: PacketDetails { ack_delay, ..PacketDetails::default() }.into(),
            ..Packet::default()
        };
        self.offsets[end] += length;
        self.numbers[end] += 1;
        self.events.push((at, if is_own { Event::Sent(packet) } else { Event::Received(packet) }));
    }

    fn budget(mut self) -> impl Fn(TimePart) -> f64 {
        self.events.sort_by_key(|(at, _)| *at);
        let events = self.events.into_iter().map(|(at, one)| (Time::from_millis(at), one));
        let trace = CapturedConnection {
            events: events.collect(),
            is_encrypted: true,
            ..CapturedConnection::empty(Transport::Quic, self.side)
        };
        let budget = account(&trace, None).expect("a transfer").budget;
        move |part| budget.get(part)
    }
}

#[test]
fn a_request_long_after_the_last_acknowledgement_is_late_because_of_the_client() {
    let mut server = Recorded::new(Side::Server);
    let mut now = 52;
    for turn in 0..5 {
        let first = turn * 5;
        (0..5).for_each(|after| server.add(now + after, true, 1000, &[]));
        // The acknowledgement comes a little sooner than the handshake said, so that the last
        // packet counts as acknowledged by the request.
        server.add(now + 52, false, 0, &[(first, first + 3)]);
        server.add(now + 1200, false, 100, &[(first + 4, first + 4)]);
        now += 1201;
    }
    server.add(now, true, 1000, &[]);
    server.add(now + 50, false, 0, &[(25, 25)]);
    let budget = server.budget();
    assert!(budget(TimePart::Capacity) < 0.1, "{}", budget(TimePart::Capacity));
    assert!(budget(TimePart::Application) > 5.0, "{}", budget(TimePart::Application));
}

#[test]
fn a_sender_that_paces_while_acknowledgements_are_held_back_waits_for_these() {
    let mut server = Recorded::new(Side::Server);
    let (mut now, mut sent, mut known) = (52, 0, 0);
    // Each acknowledgement is of what was sent a round trip before.
    for packets in [18_u64, 23, 20, 17, 22] {
        (0..packets).for_each(|step| server.add(now + step * 20, true, 1000, &[]));
        now += packets * 20;
        sent += packets;
        let held = Some(Span::from_millis(packets * 20 - 60));
        server.add_held(now, false, 0, &[(known, sent - 4)], held);
        known = sent - 3;
    }
    let budget = server.budget();
    let (held, paused) = (budget(TimePart::HeldAcks), budget(TimePart::Application));
    assert!(held > 1.0 && paused < 0.5, "held back {held}, application {paused}");
}

#[test]
fn a_silence_between_full_packets_is_an_outage_and_one_after_a_last_packet_a_pause() {
    for (last, part) in [(1000, TimePart::Outage), (700, TimePart::Application)] {
        let mut client = Recorded::new(Side::Client);
        for index in 0..40 {
            let at = 102 + index * 10 + if index < 20 { 0 } else { 5000 };
            client.add(at, false, if index == 19 { last } else { 1000 }, &[]);
            client.add(at + 2, true, 0, &[]);
        }
        let budget = client.budget();
        assert!(budget(part) > 4.9, "{part:?}: {}", budget(part));
    }
}

//! Links with external delays: each far end at its own distance, fewer deadlines, and withdrawn
//! packets.

use crate::common;

use bentpipe_link::{
    Counters, DirectionConfig, DirectionModel, Ecn, Enqueue, Event, Link, LinkContext, Packet,
};
use bentpipe_units::{LinearDelay, Span, Time};
use common::{Arrival, RTT, direction, model};
use proptest::prelude::*;

/// 12 Mbps: 1500 bytes take a millisecond.
fn config(queue: &str, delay: &str) -> DirectionConfig {
    direction(&format!("rate = \"12 Mbps\"\ndelay = \"{delay}\"\nqueue = {queue}"))
}

fn new(model: &DirectionModel) -> Link<usize> {
    Link::new(model, &LinkContext { rtt: RTT, seed: 1, run: 0, name: "test".into() }, 1)
}

fn with_external_delay(queue: &str, ports: &[LinearDelay]) -> Link<usize> {
    let mut link = new(&model(&config(queue, "1 s")).with_external_delay());
    for (end, law) in ports.iter().enumerate() {
        link.set_delay(end, *law);
    }
    link
}

fn fixed(ms: u64) -> LinearDelay {
    LinearDelay::new(Time::ZERO, Span::from_millis(ms), 0)
}

fn packet(payload: usize) -> Packet<usize> {
    Packet::new(1500, Ecn::NotEct, payload)
}

/// Returns the remaining outputs with port and time. With `lazy`, the link is only woken for
/// outputs.
fn rest(link: &mut Link<usize>, lazy: bool) -> Vec<(Time, usize, usize)> {
    let mut out = Vec::new();
    while let Some(now) = if lazy { link.next_output() } else { link.next_deadline() } {
        while let Some(event) = link.poll(now) {
            let Event::Delivered { port, packet, .. } = event else { panic!("{event:?}") };
            out.push((now, port, packet.payload));
        }
    }
    out
}

#[test]
fn a_packet_gets_the_delay_of_its_port_when_it_leaves_the_transmitter() {
    // 10 ms at the start, and a microsecond more per millisecond.
    let mut link = with_external_delay(
        "\"10 packets\"",
        &[LinearDelay::new(Time::ZERO, Span::from_millis(10), 1_000_000_000)],
    );
    for number in 0..2 {
        assert_eq!(link.enqueue(Time::ZERO, 0, packet(number)), Enqueue::Queued);
    }
    // The second packet leaves after the delay has been set again.
    link.advance_to(Time::from_millis(1));
    link.set_delay(0, fixed(20));
    let arrivals = [(Time::from_nanos(11_001_000), 0, 0), (Time::from_millis(22), 0, 1)];
    assert_eq!(rest(&mut link, false), arrivals);
}

#[test]
fn a_nearer_port_is_reached_first_and_each_port_keeps_its_order() {
    for lazy in [false, true] {
        let mut link = with_external_delay("\"10 packets\"", &[fixed(10), fixed(2)]);
        for (number, end) in [0, 0, 1].into_iter().enumerate() {
            assert_eq!(link.enqueue(Time::ZERO, end, packet(number)), Enqueue::Queued);
        }
        let ms = Time::from_millis;
        assert_eq!(
            rest(&mut link, lazy),
            [(ms(5), 1, 2), (ms(11), 0, 0), (ms(12), 0, 1)],
            "lazy: {lazy}"
        );
    }
    // The far end comes so much nearer that the second packet would overtake the first.
    let mut link = with_external_delay("\"10 packets\"", &[fixed(10)]);
    let _ = link.enqueue(Time::ZERO, 0, packet(0));
    link.advance_to(Time::from_millis(1));
    link.set_delay(0, fixed(5));
    let _ = link.enqueue(Time::from_millis(1), 0, packet(1));
    let arrivals: Vec<usize> = rest(&mut link, true).iter().map(|&(_, _, number)| number).collect();
    assert_eq!(arrivals, [0, 1]);
}

#[test]
fn adding_a_port_does_not_affect_packets_in_flight() {
    let mut link = with_external_delay("\"10 packets\"", &[fixed(10)]);
    let _ = link.enqueue(Time::ZERO, 0, packet(0));
    let _ = link.enqueue(Time::ZERO, 0, packet(1));
    link.advance_to(Time::from_millis(2));
    link.set_delay(1, fixed(1));
    let _ = link.enqueue(Time::from_millis(2), 1, packet(2));
    let ms = Time::from_millis;
    assert_eq!(rest(&mut link, true), [(ms(4), 1, 2), (ms(11), 0, 0), (ms(12), 0, 1)]);
}

fn balanced(link: &Link<usize>, now: Time) -> Counters {
    let c = *link.counters();
    let lost_packets = [c.dropped_queue, c.dropped_loss, c.withdrawn];
    assert_eq!(
        c.packets_in,
        c.packets_out + lost_packets.iter().map(|tally| tally.packets).sum::<u64>() + link.held()
    );
    assert_eq!(
        c.bytes_in,
        c.bytes_out + lost_packets.iter().map(|tally| tally.bytes).sum::<u64>() + c.in_flight.bytes
    );
    let time = link.queue_time(now);
    assert_eq!(
        (time.occupied_packets, time.occupied_bytes),
        (time.waited_packets, time.waited_bytes)
    );
    c
}

#[test]
fn queued_packets_of_one_port_are_withdrawn_and_the_rest_continues() {
    let mut link = with_external_delay("\"10 packets\"", &[fixed(10), fixed(10)]);
    for number in 0..6 {
        let _ = link.enqueue(Time::ZERO, number % 2, packet(number));
    }
    // Packet 0 is in propagation, 1 in transmission, 2 to 5 are queued.
    let now = Time::from_nanos(1_500_000);
    let mut taken = Vec::new();
    link.withdraw(now, 1, false, |packet| taken.push(packet.payload));
    assert_eq!(taken, [3, 5]);
    let counters = balanced(&link, now);
    assert_eq!((counters.withdrawn.packets, counters.withdrawn.bytes), (2, 3000));
    let ms = Time::from_millis;
    assert_eq!(
        rest(&mut link, true),
        [(ms(11), 0, 0), (ms(12), 1, 1), (ms(13), 0, 2), (ms(14), 0, 4)]
    );
    balanced(&link, ms(20));
}

#[test]
fn packets_in_flight_are_withdrawn_too_and_a_transmission_stops() {
    let mut link = with_external_delay("\"10 packets\"", &[fixed(10), fixed(10)]);
    for number in 0..6 {
        let _ = link.enqueue(Time::ZERO, usize::from(number > 0) * (number % 2), packet(number));
    }
    // Packet 0 is in propagation to the other port, 1 and 2 are in propagation, 3 is in
    // transmission.
    let now = Time::from_nanos(3_250_000);
    let mut taken = Vec::new();
    link.withdraw(now, 1, true, |packet| taken.push(packet.payload));
    assert_eq!(taken, [1, 3, 5]);
    assert_eq!(balanced(&link, now).busy, Span::from_nanos(3_250_000));
    let ms = Time::from_millis;
    // Packet 4 starts at once.
    assert_eq!(
        rest(&mut link, true),
        [(ms(11), 0, 0), (ms(13), 0, 2), (Time::from_nanos(14_250_000), 0, 4)]
    );
    balanced(&link, ms(20));
}

#[test]
fn a_packet_dropped_before_the_queue_is_counted() {
    let mut link = with_external_delay("\"1 packet\"", &[fixed(10)]);
    link.count_refused(0, 1500);
    let counters = balanced(&link, Time::ZERO);
    assert_eq!((counters.packets_in, counters.dropped_queue.packets), (1, 1));
}

proptest! {
    /// Waking a link only for its outputs has the same result as waking it for every deadline, and
    /// an external delay the same as one of its own.
    #[test]
    fn lazy_links_and_told_delays_change_nothing(
        arrivals in proptest::collection::vec((0u64..3_000_000, 0usize..3, 20u32..1600), 1..120),
        queue in proptest::sample::select(&[
            r#""5 packets""#,
            r#"{ limit = "100 kB", aqm = "codel", target = "1 ms", interval = "10 ms" }"#,
        ][..]),
        ports in 1usize..4,
    ) {
        let mut at = Time::ZERO;
        let arrivals: Vec<Arrival> = arrivals.into_iter().map(|(gap, port, bytes)| {
            at += Span::from_nanos(gap);
            Arrival { at, port: port % ports, bytes, ecn: Ecn::NotEct }
        }).collect();
        let play = |link: &mut Link<usize>, lazy: bool| {
            let mut out = Vec::new();
            let mut drain = |link: &mut Link<usize>, until: Time| {
                let due = |link: &Link<usize>| {
                    let due = if lazy { link.next_output() } else { link.next_deadline() };
                    due.filter(|now| *now < until)
                };
                while let Some(now) = due(link) {
                    while let Some(event) = link.poll(now) {
                        out.push(match event {
                            Event::Delivered { port, packet, .. } => {
                                (now, port, packet.payload, true)
                            }
                            Event::Lost { at, port, packet, .. } => {
                                (at, port, packet.payload, false)
                            }
                        });
                    }
                }
            };
            for (number, arrival) in arrivals.iter().enumerate() {
                drain(link, arrival.at);
                let packet = Packet::new(arrival.bytes, arrival.ecn, number);
                let _ = link.enqueue(arrival.at, arrival.port, packet);
            }
            drain(link, Time::MAX);
            link.advance_to(Time::from_secs(10));
            out.sort();
            (out, *link.counters(), link.queue_time(Time::from_secs(10)))
        };
        let laws: Vec<LinearDelay> = [7, 3, 5].into_iter().take(ports).map(fixed).collect();
        let lazy = play(&mut with_external_delay(queue, &laws), true);
        let eager = play(&mut with_external_delay(queue, &laws), false);
        prop_assert_eq!(&lazy, &eager);
        if ports == 1 {
            prop_assert_eq!(&lazy, &play(&mut new(&model(&config(queue, "7 ms"))), false));
        }
    }
}

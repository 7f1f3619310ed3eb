//! How a link accounts for the time of each packet: [`Service`].

use crate::common;

use bentpipe_link::{Ecn, Event, Packet, Service};
use bentpipe_units::{Span, Time};
use common::{direction, link};

/// Returns the service of packets of 1500 bytes that are offered at these times in microseconds.
fn services(config: &str, offered: &[u64]) -> Vec<Service> {
    let mut link = link(&direction(config), 1, 1);
    let mut services = Vec::new();
    let mut offered = offered.iter().map(|&micros| Time::ZERO + Span::from_micros(micros));
    let mut next = offered.next();
    while let Some(now) =
        [next, link.next_deadline()].into_iter().flatten().filter(|at| *at < Time::MAX).min()
    {
        while let Some(event) = link.poll(now) {
            if let Event::Delivered { service, .. } = event {
                services.push(service);
            }
        }
        if next == Some(now) {
            let packet = Packet::new(1500, Ecn::NotEct, 0);
            let _ = link.enqueue(now, 0, packet);
            next = offered.next();
        }
    }
    services
}

/// Returns a service of 1 ms whose other times are given in microseconds.
fn micros(queued: u64, blocked: u64) -> Service {
    let [queued, blocked] = [queued, blocked].map(Span::from_micros);
    Service { queued, blocked, serialised_ns: 1_000_000, ..Service::default() }
}

/// 12 Mbps, so that 1500 bytes take a millisecond, with an outage from 10 to 30 ms.
const OUTAGE: &str = r#"
    delay = "300 ms"
    rate.schedule = [
        { at = "0 s", rate = "12 Mbps" },
        { at = "10 ms", rate = "0 bps" },
        { at = "30 ms", rate = "12 Mbps" },
    ]
"#;

#[test]
fn packets_wait_for_those_before_them() {
    let served = services("rate = \"12 Mbps\"\ndelay = \"300 ms\"", &[0, 0, 0, 10_000]);
    let expected = [0, 1000, 2000, 0];
    assert_eq!(served, expected.map(|queued| micros(queued, 0)));
}

#[test]
fn an_outage_blocks_the_packet_in_transmission_and_those_behind_it() {
    let served = services(OUTAGE, &[9_500, 9_500, 15_000, 40_000]);
    // The third is offered while the first is suspended: its wait is blocked to the last half
    // millisecond of each of the others, which cannot be told apart.
    let expected = [(20_000, 20_000), (21_000, 20_000), (16_500, 16_500), (0, 0)];
    assert_eq!(served, expected.map(|(queued, blocked)| micros(queued, blocked)));
}

#[test]
fn packets_offered_in_an_outage_are_blocked_until_its_end() {
    let served = services(OUTAGE, &[20_000, 25_000]);
    assert_eq!(served, [micros(10_000, 10_000), micros(6_000, 5_000)]);
}

#[test]
fn the_end_of_a_frame_is_a_wait_of_its_own() {
    let config = "rate = \"12 Mbps\"\ndelay = \"300 ms\"\nframe = \"10 ms\"";
    let served = services(config, &[0, 0, 0, 20_000]);
    let phase = served[0].framed;
    assert!(phase > Span::ZERO && phase < Span::from_millis(10), "{phase}");
    // The third packet waits two milliseconds behind the others, and so much less for a frame.
    let third = served[2];
    assert_eq!(Service { framed: Span::ZERO, ..third }, micros(2000, 0));
    let later = third.framed + Span::from_millis(12);
    assert_eq!(later.saturating_sub(phase).as_nanos() % 10_000_000, 0, "{third:?}");
    assert_eq!(served[3], Service { framed: phase, ..micros(0, 0) });
}

#[test]
fn a_packet_is_blocked_until_its_capacity_is_allocated() {
    let config =
        "rate = \"12 Mbps\"\ndelay = \"300 ms\"\ncapacity_allocation = { rbdc = \"12 Mbps\" }";
    let served = services(config, &[0]);
    let [service] = served[..] else { panic!("{served:?}") };
    assert_eq!((service.queued, service.serialised()), (service.blocked, Span::from_millis(1)));
    assert!(service.blocked > Span::from_millis(500), "a request takes a round trip: {service:?}");
}

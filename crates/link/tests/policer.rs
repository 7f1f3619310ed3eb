//! A policer lets pass what its bucket has tokens for, all of it and nothing else.

mod common;

use bentpipe_link::DropCause;
use bentpipe_units::{Rate, Span, Time};
use common::{Arrival, PacketOutcome, direction, link, run, steady};
use proptest::prelude::*;

/// Sends `arrivals` through a policer in front of a link that takes everything.
fn policed(rate: Rate, burst: u64, arrivals: &[Arrival]) -> Vec<PacketOutcome> {
    let (rate, link_text) =
        (rate.as_bps(), "rate = \"10 Gbps\"\ndelay = \"1 ms\"\nqueue = \"1 GB\"");
    let text = format!("{link_text}\npolicer = {{ rate = \"{rate} bps\", burst = \"{burst} B\" }}");
    let mut fates = run(&mut link(&direction(&text), 1, 3), arrivals, |_| ());
    fates.sort_unstable_by_key(|fate| fate.packet);
    fates
}

/// Whether `bytes` in `span` keep within the contract: exact, in bits times nanoseconds.
fn within(rate: Rate, burst: u64, bytes: u64, span: Span) -> bool {
    let allowed =
        u128::from(burst) * 8_000_000_000 + u128::from(rate.as_bps()) * u128::from(span.as_nanos());
    u128::from(bytes) * 8_000_000_000 <= allowed
}

/// Whether one more packet keeps every time that ends with it within the contract.
fn conforms(rate: Rate, burst: u64, passed: &[Arrival], next: &Arrival) -> bool {
    let mut bytes = u64::from(next.bytes);
    within(rate, burst, bytes, Span::ZERO)
        && passed.iter().rev().all(|earlier| {
            bytes += u64::from(earlier.bytes);
            within(rate, burst, bytes, next.at.since(earlier.at))
        })
}

fn any_arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let gap = prop_oneof![3 => Just(0), 6 => 0u64..2_000_000, 1 => 0u64..200_000_000];
    proptest::collection::vec((gap, 0usize..3, 20u32..3000), 1..200).prop_map(|packets| {
        let mut at = Time::ZERO;
        let arrival = |(gap, port, bytes)| {
            at += Span::from_nanos(gap);
            Arrival { at, port, bytes, ecn: bentpipe_link::Ecn::NotEct }
        };
        packets.into_iter().map(arrival).collect()
    })
}

proptest! {
    #[test]
    fn a_packet_passes_if_and_only_if_no_time_then_has_more_than_burst_and_rate(
        bps in 1_000u64..100_000_000, burst in 1_500u64..100_000, arrivals in any_arrivals(),
    ) {
        let rate = Rate::from_bps(bps);
        let mut passed: Vec<Arrival> = Vec::new();
        for fate in policed(rate, burst, &arrivals) {
            let arrival = arrivals[fate.packet];
            let conforms = conforms(rate, burst, &passed, &arrival);
            prop_assert_eq!(fate.lost, (!conforms).then_some(DropCause::Policer), "packet {}", fate.packet);
            if conforms {
                passed.push(arrival);
            }
        }
    }

    #[test]
    fn what_keeps_within_burst_and_rate_passes_whole(
        bps in 1_000u64..100_000_000, burst in 3_000u64..100_000, mut arrivals in any_arrivals(),
    ) {
        let rate = Rate::from_bps(bps);
        // Each packet waits until it conforms with all that went before.
        let mut delay = Span::ZERO;
        for index in 0..arrivals.len() {
            let mut at = arrivals[index].at + delay;
            let mut bytes = u64::from(arrivals[index].bytes);
            for earlier in arrivals[..index].iter().rev() {
                bytes += u64::from(earlier.bytes);
                let beyond = bentpipe_units::Bytes::new(bytes.saturating_sub(burst));
                at = at.max(earlier.at + rate.time_for(beyond));
            }
            delay = at.since(arrivals[index].at);
            arrivals[index].at = at;
        }
        prop_assert!(policed(rate, burst, &arrivals).iter().all(|fate| fate.lost.is_none()));
    }
}

#[test]
fn a_burst_passes_at_once_and_then_what_the_rate_allows() {
    // 12 Mbps: tokens for a packet of 1500 bytes each millisecond. Packets come twice as fast.
    let arrivals = steady(100, Span::from_micros(500), bentpipe_link::Ecn::NotEct);
    let fates = policed(Rate::from_mbps(12), 15_000, &arrivals);
    let passed: Vec<usize> =
        fates.iter().filter(|fate| fate.lost.is_none()).map(|fate| fate.packet).collect();
    // Ten packets of tokens, of which each packet uses half of one more than comes meanwhile: 19
    // pass.
    assert_eq!(passed[..19], (0..19).collect::<Vec<_>>());
    assert_eq!(passed[19..], (20..100).step_by(2).collect::<Vec<_>>());
}

#[test]
fn what_the_policer_refuses_never_waits_in_the_queue() {
    let text = "rate = \"12 Mbps\"\ndelay = \"1 ms\"\nqueue = \"100 packets\"\npolicer = \
        { rate = \"12 Mbps\", burst = \"6000 B\" }";
    let mut link = link(&direction(text), 1, 1);
    run(&mut link, &steady(50, Span::ZERO, bentpipe_link::Ecn::NotEct), |_| ());
    let counters = link.counters();
    assert_eq!((counters.dropped_policer.packets, counters.dropped_queue.packets), (46, 0));
    assert_eq!((counters.packets_out, counters.queue_max_packets), (4, 3));
}

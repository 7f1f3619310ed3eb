//! A policer passes exactly the packets for which its bucket has tokens.

use crate::common;

use bentpipe_link::DropCause;
use bentpipe_units::{Rate, Span, Time};
use common::{Arrival, PacketOutcome, direction, link, run, steady};
use proptest::prelude::*;

/// Sends `arrivals` through a policer in front of a link without other limits.
fn policed(rate: Rate, burst: u64, arrivals: &[Arrival]) -> Vec<PacketOutcome> {
    let (rate, link_text) =
        (rate.as_bps(), "rate = \"10 Gbps\"\ndelay = \"1 ms\"\nqueue = \"1 GB\"");
    let text = format!("{link_text}\npolicer = {{ rate = \"{rate} bps\", burst = \"{burst} B\" }}");
    let mut outcomes = run(&mut link(&direction(&text), 1, 3), arrivals, |_| ());
    outcomes.sort_unstable_by_key(|outcome| outcome.packet);
    outcomes
}

/// Returns true if `bytes` in `span` conform. Exact, in bits times nanoseconds.
fn within(rate: Rate, burst: u64, bytes: u64, span: Span) -> bool {
    let allowed =
        u128::from(burst) * 8_000_000_000 + u128::from(rate.as_bps()) * u128::from(span.as_nanos());
    u128::from(bytes) * 8_000_000_000 <= allowed
}

/// Returns true if one more packet conforms over every interval that ends with it.
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
    fn a_packet_passes_exactly_if_it_conforms_over_every_interval(
        bps in 1_000u64..100_000_000, burst in 1_500u64..100_000, arrivals in any_arrivals(),
    ) {
        let rate = Rate::from_bps(bps);
        let mut passed: Vec<Arrival> = Vec::new();
        for outcome in policed(rate, burst, &arrivals) {
            let arrival = arrivals[outcome.packet];
            let conforms = conforms(rate, burst, &passed, &arrival);
            let expected = (!conforms).then_some(DropCause::Policer);
            prop_assert_eq!(outcome.lost, expected, "packet {}", outcome.packet);
            if conforms {
                passed.push(arrival);
            }
        }
    }

    #[test]
    fn conforming_traffic_passes_completely(
        bps in 1_000u64..100_000_000, burst in 3_000u64..100_000, mut arrivals in any_arrivals(),
    ) {
        let rate = Rate::from_bps(bps);
        // Each packet waits until it conforms with all earlier ones.
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
        prop_assert!(policed(rate, burst, &arrivals).iter().all(|outcome| outcome.lost.is_none()));
    }
}

#[test]
fn a_burst_passes_at_once_and_then_the_rate() {
    // 12 Mbps: tokens for a packet of 1500 bytes per millisecond. Packets arrive at twice that
    // rate.
    let arrivals = steady(100, Span::from_micros(500), bentpipe_link::Ecn::NotEct);
    let outcomes = policed(Rate::from_mbps(12), 15_000, &arrivals);
    let passed: Vec<usize> = outcomes
        .iter()
        .filter(|outcome| outcome.lost.is_none())
        .map(|outcome| outcome.packet)
        .collect();
    // Tokens for ten packets, of which each packet uses half a packet more than arrives meanwhile:
    // 19 pass.
    assert_eq!(passed[..19], (0..19).collect::<Vec<_>>());
    assert_eq!(passed[19..], (20..100).step_by(2).collect::<Vec<_>>());
}

#[test]
fn dropped_packets_never_wait_in_the_queue() {
    let text = "rate = \"12 Mbps\"\ndelay = \"1 ms\"\nqueue = \"100 packets\"\n\
         policer = { rate = \"12 Mbps\", burst = \"6000 B\" }";
    let mut link = link(&direction(text), 1, 1);
    run(&mut link, &steady(50, Span::ZERO, bentpipe_link::Ecn::NotEct), |_| ());
    let counters = link.counters();
    assert_eq!((counters.dropped_policer.packets, counters.dropped_queue.packets), (46, 0));
    assert_eq!((counters.packets_out, counters.queue_max_packets), (4, 3));
}

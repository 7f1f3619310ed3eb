//! A link never sends more than its rate allows over any window, and no less if it has packets to
//! send.

use crate::common;

use bentpipe_link::Ecn;
use bentpipe_units::{Rate, Span, Time};
use common::{Arrival, direction, link, run, steady};
use proptest::prelude::*;

/// Returns the departures of `arrivals` from a link with `rate`: their ends and bytes. Without
/// delay, an arrival is a departure.
fn departures(rate: &str, arrivals: &[Arrival]) -> Vec<(Time, u32)> {
    let config = direction(&format!("rate = {rate}\ndelay = \"0 s\"\nqueue = \"100 MB\""));
    run(&mut link(&config, 1, 1), arrivals, |_| ())
        .iter()
        .map(|outcome| (outcome.at, outcome.bytes))
        .collect()
}

fn any_arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let gap = prop_oneof![4 => Just(0), 4 => 0u64..3_000_000, 1 => 0u64..100_000_000];
    proptest::collection::vec((gap, 20u32..3000), 1..150).prop_map(|packets| {
        let mut at = Time::ZERO;
        let arrival = |(gap, bytes)| {
            at += Span::from_nanos(gap);
            Arrival { at, port: 0, bytes, ecn: Ecn::NotEct }
        };
        packets.into_iter().map(arrival).collect()
    })
}

/// Checks that between the ends of any two packets, no more bits leave than `capacity` of that
/// window.
fn check_windows(
    departures: &[(Time, u32)],
    capacity: impl Fn(Time, Time) -> f64,
) -> Result<(), TestCaseError> {
    for (index, (from, _)) in departures.iter().enumerate() {
        let mut bits = 0.0;
        for (to, bytes) in &departures[index + 1..] {
            bits += f64::from(*bytes) * 8.0;
            prop_assert!(bits <= capacity(*from, *to) + 1e-3, "{bits} bits from {from} to {to}");
        }
    }
    Ok(())
}

/// Returns the bits that steps of (milliseconds, rate), repeated with a period in milliseconds,
/// allow from the start to `at`.
fn allowed(steps: &[(u64, Rate)], period: u64, at: Time) -> f64 {
    let per_period = |until: f64| -> f64 {
        let ports = steps.iter().skip(1).map(|step| step.0 as f64).chain([period as f64]);
        steps
            .iter()
            .zip(ports)
            .map(|((from, rate), end)| {
                let from = *from as f64;
                (until.min(end) - from).max(0.0) * 1e-3 * rate.as_bps() as f64
            })
            .sum()
    };
    let ms = at.as_nanos() as f64 / 1e6;
    let whole = (ms / period as f64).floor();
    whole * per_period(period as f64) + per_period(ms - whole * period as f64)
}

proptest! {
    #[test]
    fn a_constant_rate_is_never_exceeded(kbps in 64u64..1_000_000, arrivals in any_arrivals()) {
        let rate = Rate::from_bps(kbps * 1000);
        let departures = departures(&format!("\"{rate}\""), &arrivals);
        check_windows(&departures, |from, to| to.since(from).as_secs_f64() * rate.as_bps() as f64)?;
    }

    #[test]
    fn a_schedule_is_never_exceeded(
        steps in proptest::collection::vec((1u64..40, 0u64..50_000), 1..6),
        last in 1u64..40, base in 500u64..50_000, arrivals in any_arrivals(),
    ) {
        let mut at = 0;
        let mut schedule = vec![(0, Rate::from_bps(base * 1000))];
        for (gap, kbps) in steps {
            at += gap;
            schedule.push((at, Rate::from_bps(kbps * 1000)));
        }
        let period = at + last;
        let steps: Vec<String> = schedule.iter().map(|(at, rate)| format!("{{ at = \"{at} ms\", \
            rate = \"{rate}\" }}")).collect();
        let rate = format!("{{ schedule = [{}], repeat = \"{period} ms\" }}", steps.join(", "));
        let departures = departures(&rate, &arrivals);
        let until = |at| allowed(&schedule, period, at);
        check_windows(&departures, |from, to| until(to) - until(from))?;
    }

    #[test]
    fn a_trace_is_never_exceeded(arrivals in any_arrivals()) {
        let text = include_str!("../data/delivery.trace");
        let millis: Vec<u64> = text.lines().map(|line| line.parse().unwrap()).collect();
        let period = *millis.last().unwrap();
        // Counts opportunities up to and including `at`.
        let until = |at: Time| {
            let ms = at.as_nanos() / 1_000_000;
            let last_cycle = millis.iter().filter(|time| **time <= ms % period).count();
            (ms / period) * millis.len() as u64 + last_cycle as u64
        };
        let departures = departures("{ trace = \"tests/data/delivery.trace\" }", &arrivals);
        prop_assert!(departures.iter().all(|(at, _)| at.as_nanos() % 1_000_000 == 0));
        for (index, (from, _)) in departures.iter().enumerate() {
            let mut bytes = 0;
            for (to, size) in &departures[index..] {
                bytes += u64::from(*size) + 4;
                // Opportunities at the window's first instant count too, since the first packet may
                // have started before.
                let opportunities = until(*to) - until(Time::from_nanos(from.as_nanos() - 1));
                prop_assert!(bytes <= opportunities * 1504 + 3004, "{bytes} bytes from {from} to \
                    {to}");
            }
        }
    }
}

#[test]
fn a_busy_link_uses_its_whole_rate() {
    // 10,000 packets of 1500 bytes at 12 Mbps take exactly 10 s and keep the link busy throughout.
    let config = direction("rate = \"12 Mbps\"\ndelay = \"0 s\"\nqueue = \"100 MB\"");
    let mut link = link(&config, 1, 1);
    let outcomes = run(&mut link, &steady(10_000, Span::from_micros(10), Ecn::NotEct), |_| ());
    assert_eq!(outcomes.last().unwrap().at, Time::from_secs(10));
    assert_eq!(link.counters().busy, Span::from_secs(10));
}

#[test]
fn a_link_that_drops_to_10_mbps_after_5_s_uses_both_rates() {
    // draft-kuhn-quic-4-sat, "variable medium": 5 s at 50 Mbps and 5 s at 10 Mbps are 37.5 MB.
    let config = direction(
        "rate = { schedule = [{ at = \"0 s\", rate = \"50 Mbps\" }, { at = \"5 s\", \
         rate = \"10 Mbps\" }] }\ndelay = \"325 ms\"\nqueue = \"100 MB\"",
    );
    let mut link = link(&config, 1, 1);
    let outcomes = run(&mut link, &steady(25_000, Span::from_micros(100), Ecn::NotEct), |_| ());
    assert_eq!(outcomes.last().unwrap().at, Time::from_millis(10_325));
    assert_eq!(link.rate_at(Time::from_millis(4999)), Rate::from_mbps(50));
    assert_eq!(link.rate_at(Time::from_secs(5)), Rate::from_mbps(10));
}

#[test]
fn a_frame_lets_packets_leave_together_at_its_end() {
    let config = direction("rate = \"12 Mbps\"\ndelay = \"0 s\"\nframe = \"26.5 ms\"");
    let mut phases = Vec::new();
    for seed in 0..20 {
        let outcomes = run(
            &mut link(&config, seed, 1),
            &steady(200, Span::from_millis(2), Ecn::NotEct),
            |_| (),
        );
        let frame = 26_500_000;
        let phase = outcomes[0].at.as_nanos() % frame;
        assert!(outcomes.iter().all(|outcome| outcome.at.as_nanos() % frame == phase));
        for (number, outcome) in outcomes.iter().enumerate() {
            let ready = number as u64 * 2_000_000 + 1_000_000;
            let wait = outcome.at.as_nanos() - ready;
            assert!(wait < frame, "packet {number} waited {wait} ns");
        }
        phases.push(phase);
    }
    phases.sort_unstable();
    phases.dedup();
    assert_eq!(phases.len(), 20, "each run must draw its own phase");
}

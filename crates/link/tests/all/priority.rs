//! Strict priority: the high class waits for one low packet, and the low one for all high packets.

use crate::common;

use bentpipe_link::{Dscp, Ecn, Link, Packet};
use bentpipe_units::{Span, Time};
use common::{PacketOutcome, direction, drain, link, offer};

/// Two megabits per second: 1500 bytes take 6 ms.
fn slow(queue: &str) -> Link<usize> {
    link(&direction(&format!("rate = \"2 Mbps\"\ndelay = \"0 s\"\nqueue = {queue}")), 1, 1)
}

/// Offers packets of 1500 bytes of the low class each 4 ms, and packets of `bytes` and `dscp` each
/// `gap`, for 10 s. Returns the waits of the high packets and the number of low ones that arrive.
fn served(queue: &str, dscp: &str, bytes: u32, gap: Span) -> (Vec<Span>, usize) {
    let mut link = slow(queue);
    let dscp: Dscp = dscp.parse().unwrap_or_else(|error| panic!("{error}"));
    let mut arrivals: Vec<(Time, Packet<usize>)> = Vec::new();
    let end = Time::from_secs(10);
    let steps = |gap: Span, first: u64| {
        (0..).map(move |number| Time::from_nanos(first) + gap * number).take_while(|at| *at < end)
    };
    arrivals
        .extend(steps(Span::from_millis(4), 0).map(|at| (at, Packet::new(1500, Ecn::NotEct, 0))));
    arrivals.extend(
        steps(gap, 7_000).map(|at| (at, Packet { dscp, ..Packet::new(bytes, Ecn::NotEct, 0) })),
    );
    arrivals.sort_by_key(|(at, _)| *at);
    let mut outcomes: Vec<PacketOutcome> = Vec::new();
    for (number, (at, packet)) in arrivals.iter().enumerate() {
        offer(&mut link, *at, 0, Packet { payload: number, ..*packet }, &mut outcomes);
    }
    drain(&mut link, end, &mut outcomes);
    let is_high = |outcome: &PacketOutcome| arrivals[outcome.packet].1.dscp == dscp;
    let delivered = || outcomes.iter().filter(|outcome| outcome.lost.is_none());
    let own = |outcome: &PacketOutcome| Span::from_micros(u64::from(outcome.bytes) * 4);
    let waits = delivered().filter(|outcome| is_high(outcome));
    let waits =
        waits.map(|outcome| (outcome.at - arrivals[outcome.packet].0).saturating_sub(own(outcome)));
    (waits.collect(), delivered().filter(|outcome| !is_high(outcome)).count())
}

#[test]
fn the_high_class_waits_for_at_most_one_low_packet() {
    // 600 kbps of 150 bytes: 30 % of the rate.
    let (waits, low) = served("{ aqm = \"priority\" }", "EF", 150, Span::from_millis(2));
    // All 5,000, but for those of the last 6 ms.
    assert!((4_997..=5_000).contains(&waits.len()), "{}", waits.len());
    let longest = waits.iter().max().copied().unwrap_or_default();
    assert!(longest <= Span::from_millis(6) && longest > Span::from_micros(5_500), "{longest}");
    // 70 % of the rate are left: 1,166 packets of 6 ms in 10 s.
    assert!((1_160..=1_167).contains(&low), "{low}");
}

#[test]
fn the_low_class_starves_if_the_high_one_has_the_whole_rate() {
    let rate = Span::from_micros(600);
    let (waits, low) = served("{ aqm = \"priority\" }", "VA", 150, rate);
    assert!(waits.len() > 16_600 && low <= 1, "{} and {low}", waits.len());
    // Any other class is low, and shares the queue.
    let (waits, low) = served("{ aqm = \"priority\" }", "AF41", 150, rate);
    let longest = waits.iter().max().copied().unwrap_or_default();
    assert!(low > 100 && longest > Span::from_millis(100), "{low}, {longest}");
}

#[test]
fn classes_are_as_configured_and_have_a_limit_each() {
    let queue = "{ aqm = \"priority\", high = [\"AF41\", 3], limit = \"10 packets\" }";
    for (dscp, is_high) in [("AF41", true), ("3", true), ("EF", false)] {
        let (waits, _) = served(queue, dscp, 150, Span::from_millis(2));
        let longest = waits.iter().max().copied().unwrap_or_default();
        assert_eq!(longest <= Span::from_millis(6), is_high, "{dscp}: {longest}");
    }
    let mut link = slow(queue);
    let mut outcomes = Vec::new();
    for number in 0..60 {
        let dscp = if number < 30 { Dscp::BEST_EFFORT } else { Dscp::new(34).unwrap_or_default() };
        let packet = Packet { dscp, ..Packet::new(1500, Ecn::NotEct, number) };
        offer(&mut link, Time::ZERO, 0, packet, &mut outcomes);
    }
    // Beside the one in transmission.
    assert_eq!((link.queue_packets(), link.counters().dropped_queue.packets), (20, 39));
}

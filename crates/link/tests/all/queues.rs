//! Queues have their configured size, and CoDel keeps the delay short.

use crate::common;

use bentpipe_link::{DirectionConfig, DropCause, Ecn, Enqueue, FlowKey, Packet};
use bentpipe_units::{Span, Time};
use common::{PacketOutcome, RTT, direction, link, run, steady};
use proptest::prelude::*;

fn with_queue(rate: &str, queue: &str) -> DirectionConfig {
    direction(&format!("rate = {rate}\ndelay = \"300 ms\"\nqueue = {queue}"))
}

/// Returns the bytes of 100-byte packets in the full queue.
fn capacity(config: &DirectionConfig) -> u64 {
    let mut link = link(config, 1, 1);
    let packet = || Packet::new(100, Ecn::NotEct, 0);
    while link.enqueue(Time::ZERO, 0, packet()) == Enqueue::Queued {}
    link.queue_bytes()
}

#[test]
fn littles_law_has_both_sides() {
    // 1500 bytes take a millisecond: of three packets, the second waits for one, the third for two.
    let mut link = link(&with_queue("\"12 Mbps\"", "\"10 packets\""), 1, 1);
    for payload in 0..3 {
        let _ = link.enqueue(Time::ZERO, 0, Packet::new(1500, Ecn::NotEct, payload));
    }
    while link.poll(Time::from_millis(1)).is_some() {}
    let packet_ms = |time: u64| [u128::from(time) * 1_000_000, u128::from(time) * 1_500_000_000];
    for (at, sum) in [(1, 2), (2, 3)] {
        let time = link.queue_time(Time::from_millis(at));
        assert_eq!([time.occupied_packets, time.occupied_bytes], packet_ms(sum), "at {at} ms");
        assert_eq!([time.waited_packets, time.waited_bytes], packet_ms(sum), "at {at} ms");
    }
    while link.poll(Time::from_secs(1)).is_some() {}
    let time = link.queue_time(Time::from_secs(1));
    assert_eq!([time.occupied_packets, time.waited_packets], [3_000_000; 2]);
    assert_eq!([time.occupied_bytes, time.waited_bytes], [packet_ms(3)[1]; 2]);
}

#[test]
fn sizes_in_bdp_and_time_come_out_right() {
    assert_eq!(RTT, Span::from_millis(600));
    for (rate, queue, bytes) in [
        ("\"50 Mbps\"", "\"1 BDP\"", 3_750_000),
        ("\"50 Mbps\"", "\"0.25 BDP\"", 937_500),
        ("\"20 Mbps\"", "\"1.5 BDP\"", 2_250_000),
        ("\"20 Mbps\"", "\"100 ms\"", 250_000),
        ("\"20 Mbps\"", "\"500 kB\"", 500_000),
        ("\"20 Mbps\"", "\"25 packets\"", 2_500),
        ("\"20 Mbps\"", "{ limit = \"100 ms\", aqm = \"codel\" }", 250_000),
        // A schedule is sized by its highest rate, a trace by its mean: 251 opportunities in 300
        // ms.
        (
            "{ schedule = [{ at = \"0 s\", rate = \"10 Mbps\" }, \
             { at = \"1 s\", rate = \"50 Mbps\" }] }",
            "\"1 BDP\"",
            3_750_000,
        ),
        ("{ trace = \"tests/data/delivery.trace\" }", "\"1 BDP\"", 753_000),
        // At least one packet.
        ("\"64 kbps\"", "\"0.01 BDP\"", 1_500),
    ] {
        let full = capacity(&with_queue(rate, queue));
        assert!(full <= bytes && full + 100 > bytes, "{queue} at {rate}: {full}, expected {bytes}");
    }
}

#[test]
fn a_full_drop_tail_queue_adds_its_own_delay_and_no_more() {
    // 100 ms at 12 Mbps are 100 packets of 1500 bytes, plus one in transmission.
    let mut link = link(&with_queue("\"12 Mbps\"", "\"100 ms\""), 1, 1);
    let arrivals = steady(2_000, Span::from_micros(500), Ecn::NotEct);
    let outcomes = run(&mut link, &arrivals, |_| ());
    let longest =
        delivered(&outcomes).map(|outcome| outcome.at - arrivals[outcome.packet].at).max();
    assert_eq!(longest, Some(Span::from_millis(300 + 101)));
    assert_eq!(link.counters().queue_max_packets, 100);
}

#[test]
fn a_head_drop_queue_loses_as_much_and_tells_sooner() {
    // 200 Mbps into 70 Mbps, 4,000 packets: 0.65 of each packet that arrives stay, so that packet
    // 6,155 finds a full queue. By then, 2,154 packets have left.
    let gap = Span::from_micros(60);
    let results = ["drop-tail", "head-drop"].map(|aqm| {
        let queue = format!("{{ limit = \"4000 packets\", aqm = \"{aqm}\" }}");
        let arrivals = steady(20_000, gap, Ecn::NotEct);
        let outcomes = run(&mut link(&with_queue("\"70 Mbps\"", &queue), 1, 1), &arrivals, |_| ());
        let lost = outcomes.iter().filter(|outcome| outcome.lost.is_some());
        assert!(lost.clone().all(|outcome| outcome.lost == Some(DropCause::QueueFull)));
        let first = lost.clone().map(|outcome| outcome.packet).min().unwrap();
        // A receiver notices a loss when it gets a later packet.
        let noticed = delivered(&outcomes).find(|outcome| outcome.packet > first).unwrap().at;
        (first, noticed, lost.count())
    });
    let [(tail, tail_noticed, tail_lost), (head, head_noticed, head_lost)] = results;
    assert!(tail.abs_diff(6_155) <= 1 && head.abs_diff(2_155) <= 1, "{tail}, {head}");
    let sooner = (tail_noticed - head_noticed).as_millis_f64();
    assert!((685.0..687.0).contains(&sooner), "{sooner} ms");
    assert_eq!(tail_lost, head_lost);
}

/// Queues of every discipline with room for `limit`, the AQM of which has no reason to act for ten
/// seconds.
fn idle_aqm(limit: &str) -> Vec<String> {
    let aqm = "target = \"10 s\", interval = \"20 s\"";
    [
        "aqm = \"drop-tail\"".to_owned(),
        "aqm = \"head-drop\"".to_owned(),
        format!("aqm = \"codel\", {aqm}"),
        "aqm = \"fq\"".to_owned(),
        "aqm = \"fq\", hash = \"exact\", overflow = \"oldest\"".to_owned(),
        "aqm = \"fq\", hash = \"exact\", overflow = \"arriving\"".to_owned(),
        format!("aqm = \"fq-codel\", {aqm}"),
        format!("aqm = \"fq-codel\", hash = \"exact\", {aqm}"),
        "aqm = \"priority\"".to_owned(),
        format!("aqm = \"cake\", {aqm}"),
        format!("aqm = \"cake\", tins = \"diffserv4\", {aqm}"),
        "aqm = \"pie\", target = \"10 s\"".to_owned(),
        "aqm = \"dualpi2\", target = \"10 s\"".to_owned(),
        "aqm = \"red\", min_threshold = 100000, max_threshold = 200000".to_owned(),
    ]
    .iter()
    .map(|keys| format!("{{ limit = \"{limit}\", {keys} }}"))
    .collect()
}

/// Offers packets of 1500 bytes of seven flows at 12 Mbps, `count` in bursts whose mean rate is
/// `load` times that.
fn offer_bursts(queue: &str, count: usize, load: f64) -> Vec<PacketOutcome> {
    let mut link = link(&with_queue("\"12 Mbps\"", queue), 1, 1);
    let mut outcomes = Vec::new();
    let burst = |number: usize| (number / 13) as f64 * 13.0 / load;
    for number in 0..count {
        let at = Time::from_nanos((burst(number) * 1e6) as u64);
        let flow = FlowKey((number * number % 7) as u32);
        let packet = Packet { flow, ..Packet::new(1500, Ecn::NotEct, number) };
        common::offer(&mut link, at, 0, packet, &mut outcomes);
    }
    common::drain(&mut link, Time::MAX, &mut outcomes);
    let time = link.queue_time(link.next_deadline().unwrap_or(Time::from_secs(3600)));
    assert_eq!(time.occupied_packets, time.waited_packets, "{queue}");
    assert_eq!(time.occupied_bytes, time.waited_bytes, "{queue}");
    assert_eq!(outcomes.len(), count, "{queue}: each packet has one fate");
    outcomes
}

#[test]
fn every_discipline_serves_as_many_packets_at_any_time_as_a_fifo() {
    let times = |queue: &str| {
        let outcomes = offer_bursts(queue, 5_000, 0.9);
        assert!(outcomes.iter().all(|outcome| outcome.lost.is_none()), "{queue}");
        outcomes.iter().map(|outcome| outcome.at).collect::<Vec<_>>()
    };
    let fifo = times("\"1000 packets\"");
    for queue in idle_aqm("1000 packets") {
        assert_eq!(times(&queue), fifo, "{queue}");
    }
}

#[test]
fn every_discipline_loses_what_the_link_cannot_carry() {
    // At 1.25 times the rate, one in five packets.
    for queue in idle_aqm("50 packets") {
        let outcomes = offer_bursts(&queue, 50_000, 1.25);
        let lost = outcomes.iter().filter(|outcome| outcome.lost.is_some()).count();
        let ratio = lost as f64 / 50_000.0;
        // The 50 packets that wait at the end are 0.1 %.
        assert!((ratio - 0.2).abs() < 0.002, "{queue}: {ratio}");
    }
}

fn delivered(outcomes: &[PacketOutcome]) -> impl Iterator<Item = &PacketOutcome> {
    outcomes.iter().filter(|outcome| outcome.lost.is_none())
}

/// Runs a responsive sender: it reduces its rate by 30 % on drops and marks by the queue, at most
/// once per 100 ms, and on tail drops; it grows by 200 packets per second per second. Returns send
/// time and wait (ms) of delivered packets, and the numbers of AQM drops and marks.
fn responsive(queue: &str, ecn: Ecn) -> (Vec<(f64, f64)>, u64, u64) {
    let mut link =
        link(&direction(&format!("rate = \"12 Mbps\"\ndelay = \"0 s\"\nqueue = {queue}")), 1, 1);
    let (mut rate, mut backoff) = (500.0, 0.0);
    let (mut at, mut arrived, mut waits) = (0.0, Vec::new(), Vec::new());
    while at < 60.0 {
        let now = Time::from_nanos((at * 1e9) as u64);
        let mut outcomes = Vec::new();
        common::drain(&mut link, now, &mut outcomes);
        for outcome in outcomes {
            if (outcome.lost.is_some() || outcome.ecn == Ecn::Ce)
                && outcome.at.as_secs_f64() > backoff
            {
                rate *= 0.7;
                backoff = outcome.at.as_secs_f64() + 0.1;
            }
            if outcome.lost.is_none() {
                let sent: f64 = arrived[outcome.packet];
                waits.push((sent, (outcome.at.as_secs_f64() - sent) * 1000.0));
            }
        }
        let packet = Packet::new(1500, ecn, arrived.len());
        arrived.push(now.as_secs_f64());
        if let Enqueue::Dropped(..) = link.enqueue(now, 0, packet) {
            rate *= 0.7;
        }
        rate += 200.0 / rate;
        at += 1.0 / rate;
    }
    let counters = link.counters();
    (waits, counters.dropped_aqm.packets, counters.marked_ce)
}

#[test]
fn codel_bounds_the_standing_delay_unlike_drop_tail() {
    let late = |waits: &[(f64, f64)]| {
        let mut late: Vec<f64> =
            waits.iter().filter(|(sent, _)| *sent > 10.0).map(|(_, wait)| *wait).collect();
        late.sort_by(f64::total_cmp);
        (late[late.len() / 2], late[late.len() / 20])
    };
    let (tail_median, _) = late(&responsive("\"500 ms\"", Ecn::NotEct).0);
    assert!(tail_median > 200.0, "{tail_median}");
    for (ecn, marks) in [(Ecn::NotEct, false), (Ecn::Ect0, true), (Ecn::Ect1, true)] {
        let (waits, dropped, marked) =
            responsive("{ limit = \"500 ms\", aqm = \"codel\", ecn = true }", ecn);
        let (median, low) = late(&waits);
        // The standing delay, which remains whatever the sender does, is at most the target. The
        // sender's sawtooth adds to the median.
        assert!(low < 5.0 && median < 25.0, "{ecn:?}: {low} and {median} ms");
        assert_eq!(
            (dropped > 0, marked > 0),
            (!marks, marks),
            "{ecn:?}: {dropped} dropped, {marked} marked"
        );
    }
}

#[test]
fn codel_without_ecn_drops_packets_that_could_be_marked() {
    let (_, dropped, marked) = responsive("{ limit = \"500 ms\", aqm = \"codel\" }", Ecn::Ect0);
    assert!(dropped > 0 && marked == 0);
}

#[test]
fn codel_leaves_an_unloaded_queue_alone() {
    let config = with_queue("\"12 Mbps\"", "{ limit = \"1 BDP\", aqm = \"codel\" }");
    let outcomes =
        run(&mut link(&config, 1, 1), &steady(5_000, Span::from_millis(1), Ecn::NotEct), |_| ());
    assert!(outcomes.iter().all(|outcome| outcome.lost.is_none()));
}

#[test]
fn codel_drops_at_the_head_and_reports_the_time() {
    // Twice the rate for 2 s, without a response of the sender.
    let config = with_queue("\"12 Mbps\"", "{ limit = \"10 BDP\", aqm = \"codel\" }");
    let outcomes =
        run(&mut link(&config, 1, 1), &steady(4_000, Span::from_micros(500), Ecn::NotEct), |_| ());
    let dropped: Vec<&PacketOutcome> =
        outcomes.iter().filter(|outcome| outcome.lost == Some(DropCause::Aqm)).collect();
    // The wait exceeds 5 ms after 10 ms; the first drop follows an interval later.
    let first = dropped[0].at.as_secs_f64();
    assert!((0.105..0.115).contains(&first), "{first}");
    let gaps: Vec<f64> =
        dropped.windows(2).map(|pair| (pair[1].at - pair[0].at).as_millis_f64()).collect();
    for (number, gap) in gaps.iter().take(20).enumerate() {
        let law = 100.0 / f64::sqrt(number as f64 + 1.0);
        assert!((gap - law).abs() <= 1.0, "gap {number}: {gap} ms, expected {law}");
    }
}

proptest! {
    #[test]
    fn a_port_sees_only_its_own_packets(ports in proptest::collection::vec(0usize..4, 1..200)) {
        let mut link = link(&with_queue("\"12 Mbps\"", "\"20 packets\""), 1, 4);
        let arrivals: Vec<_> = ports.iter().zip(steady(200, Span::from_micros(300), Ecn::NotEct))
            .map(|(port, arrival)| common::Arrival { port: *port, ..arrival }).collect();
        run(&mut link, &arrivals, |_| ());
        for port in 0..4 {
            let counters = link.port_counters(port);
            let expected = ports.iter().filter(|other| **other == port).count() as u64;
            prop_assert_eq!(counters.packets_in, expected);
            prop_assert!(counters.queue_max_packets <= 20);
        }
        let busy = (0..4).fold(Span::ZERO, |sum, port| sum + link.port_counters(port).busy);
        prop_assert_eq!(busy, link.counters().busy);
    }
}

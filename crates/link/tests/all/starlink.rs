//! Queues of an access link as measured on Starlink (specs/starlink-as-measured.md, checks S1 to
//! S3, S5, S9 and S12).

use crate::common;

use bentpipe_link::random::stream;
use bentpipe_link::{Ecn, FlowKey, Packet};
use bentpipe_units::{Span, Time};
use common::{PacketOutcome, direction, drain, link, offer};

/// Bits of a packet of 1500 bytes.
const BITS: f64 = 12_000.0;

fn queue(mbps: u64, packets: u64, queue: &str) -> String {
    format!(
        "rate = \"{mbps} Mbps\"\ndelay = \"0 s\"\n\
         queue = {{ limit = \"{packets} packets\", {queue} }}"
    )
}

/// Offers `count` packets at `mbps` from time zero on. Returns the time of each and the outcomes.
fn steady(config: &str, mbps: f64, count: usize) -> (Vec<Time>, Vec<PacketOutcome>) {
    let mut link = link(&direction(config), 1, 1);
    let at = |number: usize| Time::from_nanos((number as f64 * BITS * 1e3 / mbps) as u64);
    let times: Vec<Time> = (0..count).map(at).collect();
    let mut outcomes = Vec::new();
    for (number, at) in times.iter().enumerate() {
        offer(&mut link, *at, 0, Packet::new(1500, Ecn::NotEct, number), &mut outcomes);
    }
    drain(&mut link, Time::MAX, &mut outcomes);
    (times, outcomes)
}

/// S1 to S3: the first packet that is lost, by its number from 1, and the delay in a full queue.
#[test]
fn a_full_queue_loses_and_delays_as_the_formulas_say() {
    // Offered, rate, packets; first lost at the tail and at the head; delay at the tail and at the
    // head, ms: K/µ and K/λ.
    for (offered, mbps, packets, firsts, delays) in [
        (200.0, 70, 4000, [6_155, 2_155], [685.7, 240.0]),
        (700.0, 300, 1500, [2_627, 1_127], [60.0, 25.7]),
        (500.0, 300, 1500, [3_752, 2_252], [60.0, 36.0]),
        (500.0, 100, 1500, [1_877, 377], [180.0, 36.0]),
        (140.0, 60, 4000, [7_002, 3_002], [800.0, 343.0]),
        (140.0, 30, 4000, [5_092, 1_092], [1600.0, 343.0]),
    ] {
        let count = 4 * packets + firsts[0];
        for (aqm, first, delay) in [
            ("aqm = \"drop-tail\"", firsts[0], delays[0]),
            ("aqm = \"head-drop\"", firsts[1], delays[1]),
        ] {
            let config = queue(mbps, packets as u64, aqm);
            let (times, outcomes) = steady(&config, offered, count);
            let lost = outcomes.iter().filter(|one| one.lost.is_some()).map(|one| one.packet);
            let found = lost.min().map_or(0, |number| number + 1);
            assert!(found.abs_diff(first) <= 1, "{config}: first lost {found}, expected {first}");
            // Of those that were sent to a full queue and delivered while more came.
            let full = outcomes.iter().filter(|one| {
                let sent = one.packet;
                one.lost.is_none() && sent > firsts[0] + 10 && sent + packets < count
            });
            let waits: Vec<f64> =
                full.map(|one| one.at.since(times[one.packet]).as_millis_f64()).collect();
            let mean = waits.iter().sum::<f64>() / waits.len() as f64;
            assert!((mean - delay).abs() < 0.01 * delay, "{config}: {mean} ms, expected {delay}");
        }
    }
}

/// S5: of a burst at λ into an idle link, N(1 − µ/λ) − K are lost.
#[test]
fn a_burst_loses_what_neither_the_link_nor_the_queue_takes() {
    for aqm in ["drop-tail", "head-drop"] {
        let config = queue(300, 1500, &format!("aqm = \"{aqm}\""));
        let (_, outcomes) = steady(&config, 545.0, 6_000);
        let lost = outcomes.iter().filter(|one| one.lost.is_some()).count();
        assert!(lost.abs_diff(1_197) <= 2, "{aqm}: {lost}");
    }
}

/// Loss in percent, of the first two seconds, and mean delay in milliseconds, once the queue is
/// full, of two Poisson flows.
fn two_flows(config: &str, rates: [f64; 2]) -> [(f64, f64); 2] {
    let runs: Vec<_> = (0..8).map(|run| one_run(config, rates, run)).collect();
    [0, 1].map(|flow| {
        let mean = |of: fn(&(f64, f64)) -> f64| {
            runs.iter().map(|run| of(&run[flow])).sum::<f64>() / runs.len() as f64
        };
        (mean(|run| run.0), mean(|run| run.1))
    })
}

fn one_run(config: &str, rates: [f64; 2], run: u64) -> [(f64, f64); 2] {
    let end = 2.0;
    let mut arrivals: Vec<(Time, usize)> = Vec::new();
    for (flow, mbps) in rates.iter().enumerate() {
        let mut random = stream(9, run, &format!("flow/{flow}"));
        let mut at = 0.0;
        while at < end {
            at += random.exponential() * BITS / (mbps * 1e6);
            arrivals.push((Time::from_nanos((at * 1e9) as u64), flow));
        }
    }
    arrivals.sort_unstable();
    let mut link = link(&direction(config), 1, 1);
    let mut outcomes = Vec::new();
    for (number, (at, flow)) in arrivals.iter().enumerate() {
        let packet =
            Packet { flow: FlowKey(*flow as u32), ..Packet::new(1500, Ecn::NotEct, number) };
        offer(&mut link, *at, 0, packet, &mut outcomes);
    }
    drain(&mut link, Time::MAX, &mut outcomes);
    // The queue is full after 0.6 s, and empties once nothing comes any more.
    let steady = Time::from_millis(700)..Time::from_millis(1500);
    [0, 1].map(|flow| {
        let own: Vec<&PacketOutcome> =
            outcomes.iter().filter(|one| arrivals[one.packet].1 == flow).collect();
        let lost = own.iter().filter(|one| one.lost.is_some()).count();
        let delivered = own.iter().filter(|one| one.lost.is_none());
        let delivered = delivered.filter(|one| steady.contains(&arrivals[one.packet].0));
        let waits: Vec<f64> =
            delivered.map(|one| one.at.since(arrivals[one.packet].0).as_millis_f64()).collect();
        (
            100.0 * lost as f64 / own.len() as f64,
            waits.iter().sum::<f64>() / waits.len().max(1) as f64,
        )
    })
}

/// S9: whether a small flow shares the losses of a large one.
#[test]
fn losses_are_shared_or_not_as_the_overflow_says() {
    let fq = |overflow: &str| format!("aqm = \"fq\", hash = \"exact\", overflow = \"{overflow}\"");
    let down = (340, 1500, [500.0, 30.0]);
    let up = (60, 4000, [140.0, 10.0]);
    let head = "aqm = \"head-drop\"".to_owned();
    for ((mbps, packets, rates), aqm, expected) in [
        (down, fq("arriving"), [(33.9, 36.2), (33.6, 0.0)]),
        (up, fq("arriving"), [(44.0, 343.0), (43.3, 0.2)]),
        (down, fq("fattest"), [(35.9, 36.2), (0.0, 0.0)]),
        (up, fq("fattest"), [(47.0, 343.0), (0.0, 0.2)]),
        (down, fq("oldest"), [(35.9, 36.2), (0.0, 0.0)]),
        (down, head, [(34.0, 34.0), (34.0, 34.0)]),
    ] {
        let config = queue(mbps, packets, &aqm);
        let found = two_flows(&config, rates);
        for ((loss, delay), (expected_loss, expected_delay)) in found.iter().zip(expected) {
            assert!((loss - expected_loss).abs() <= 1.0, "{config}: {found:?} {expected:?}");
            let near: f64 = (0.02_f64 * expected_delay).max(0.4);
            assert!((delay - expected_delay).abs() <= near, "{config}: {found:?} {expected:?}");
        }
    }
}

/// Offers packets of `bytes` at `rate` per second for `seconds` to a link of 10 Gbps with the flow
/// meter of the point of presence: 500 Mbps, 10 MB, 700 packets. Returns their times and outcomes.
fn metered(bytes: u32, rate: f64, seconds: f64) -> (Vec<Time>, Vec<PacketOutcome>) {
    let config = "rate = \"10 Gbps\"\ndelay = \"0 s\"\nqueue = \"1000 packets\"\n\
        flow_meter = { rate = \"500 Mbps\", burst = \"10 MB\", queue = \"700 packets\" }";
    let mut link = link(&direction(config), 1, 1);
    let count = (seconds * rate) as usize;
    let times: Vec<Time> =
        (0..count).map(|number| Time::from_nanos((number as f64 * 1e9 / rate) as u64)).collect();
    let mut outcomes = Vec::new();
    for (number, at) in times.iter().enumerate() {
        offer(&mut link, *at, 0, Packet::new(bytes, Ecn::NotEct, number), &mut outcomes);
    }
    drain(&mut link, Time::MAX, &mut outcomes);
    (times, outcomes)
}

/// S12: payloads of 1400 B, which the class counts as the kernel does, with the Ethernet header:
/// 1442 B.
#[test]
fn a_flow_above_the_meter_is_moved_to_its_class_and_loses_there() {
    let (bytes, bits) = (1442, 1400.0 * 8.0);
    for (mbps, marked_ms) in [(700.0, 320.0), (600.0, 560.0)] {
        let rate = mbps * 1e6 / bits;
        let (times, outcomes) = metered(bytes, rate, 1.5);
        let waits = |one: &&PacketOutcome| one.at.since(times[one.packet]).as_millis_f64() > 0.01;
        let first = outcomes.iter().filter(waits).map(|one| times[one.packet]).min().unwrap();
        let marked = first.since(Time::ZERO).as_millis_f64();
        assert!((marked - marked_ms).abs() < 1.0, "{mbps} Mbps: marked after {marked} ms");
        let lost: Vec<_> = outcomes.iter().filter(|one| one.lost.is_some()).collect();
        let class = 500e6 / (8.0 * f64::from(bytes));
        let full = lost.iter().map(|one| one.at).min().unwrap();
        let filled = full.since(first).as_millis_f64();
        let expected = 700.0 / (rate - class) * 1e3;
        assert!((filled - expected).abs() < 0.3, "{mbps} Mbps: full after {filled}, {expected} ms");
        // Once it is full, up to the last packet that another one pushes out.
        let settled =
            |one: &&PacketOutcome| times[one.packet] > full && one.packet + 700 < times.len();
        let (mut delays, mut all, mut gone) = (Vec::new(), 0, 0);
        for one in outcomes.iter().filter(settled) {
            all += 1;
            match one.lost {
                Some(_) => gone += 1,
                None => delays.push(one.at.since(times[one.packet]).as_millis_f64()),
            }
        }
        let delay = delays.iter().sum::<f64>() / delays.len() as f64;
        assert!((delay - 700.0 / rate * 1e3).abs() < 0.1, "{mbps} Mbps: {delay} ms");
        let loss = 100.0 * f64::from(gone) / f64::from(all);
        assert!((loss - 100.0 * (1.0 - class / rate)).abs() < 0.2, "{mbps} Mbps: {loss} % lost");
    }
    // 41,607 packets in a second: never.
    let (times, outcomes) = metered(bytes, 466e6 / bits, 2.0);
    assert_eq!(outcomes.len(), times.len());
    let delayed = |one: &&PacketOutcome| one.at.since(times[one.packet]).as_millis_f64() > 0.01;
    assert_eq!(outcomes.iter().find(delayed), None);
}

/// Flows have meters of their own, stay in the class, and begin anew once they have been silent.
#[test]
fn a_metered_flow_leaves_others_alone_and_is_forgotten() {
    let config = "rate = \"10 Gbps\"\ndelay = \"0 s\"\nqueue = \"1000 packets\"\n\
        flow_meter = { rate = \"12 Mbps\", burst = \"15 kB\", queue = \"50 packets\", \
        expires = \"1 s\" }";
    let mut link = link(&direction(config), 1, 1);
    let mut outcomes = Vec::new();
    let mut number = 0;
    let mut send = |link: &mut _, at: Time, flow: u32, outcomes: &mut Vec<PacketOutcome>| {
        let packet = Packet { flow: FlowKey(flow), ..Packet::new(1500, Ecn::NotEct, number) };
        number += 1;
        offer(link, at, 0, packet, outcomes);
        drain(link, at + Span::from_micros(5), outcomes);
        outcomes.iter().any(|one| one.packet + 1 == number)
    };
    // Ten at once are the burst, the eleventh passes the idle class, the twelfth waits 1 ms.
    let passed: Vec<bool> =
        (0..12).map(|k| send(&mut link, Time::from_nanos(2_000 * k), 1, &mut outcomes)).collect();
    assert_eq!(passed, [[true; 11].as_slice(), &[false]].concat());
    assert_eq!(link.queue_packets(), 1);
    assert!(send(&mut link, Time::from_nanos(40_000), 2, &mut outcomes), "another flow waits, too");
    drain(&mut link, Time::from_millis(2), &mut outcomes);
    assert_eq!(link.queue_packets(), 0);
    // It stays in the class, however slow it is: two at once, and the second waits.
    assert!(send(&mut link, Time::from_millis(500), 1, &mut outcomes));
    assert!(!send(&mut link, Time::from_nanos(500_010_000), 1, &mut outcomes));
    drain(&mut link, Time::from_millis(502), &mut outcomes);
    // Silent for longer than a second: its bucket is full again.
    let later = Time::from_millis(1600);
    let again: Vec<bool> = (0..10)
        .map(|k| send(&mut link, later + Span::from_micros(2 * k), 1, &mut outcomes))
        .collect();
    assert_eq!(again, [true; 10]);
    let counters = link.counters();
    assert_eq!((counters.packets_in, counters.packets_out), (25, 25));
    assert_eq!(link.held(), 0);
}

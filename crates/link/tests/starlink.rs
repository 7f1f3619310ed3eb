//! Queues of an access link as measured on Starlink (specs/starlink-as-measured.md, checks S1 to
//! S3, S5 and S9).

mod common;

use bentpipe_link::random::stream;
use bentpipe_link::{Ecn, FlowKey, Packet};
use bentpipe_units::Time;
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

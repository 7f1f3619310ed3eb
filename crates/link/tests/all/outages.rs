//! Outages in which packets wait, as at the reconfigurations of a low orbit
//! (specs/starlink-as-measured.md, checks S10, S11 and S13).

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use bentpipe_link::Ecn;
use bentpipe_link::random::stream;
use bentpipe_units::{Span, Time};
use common::{Arrival, PacketOutcome, direction, link, run, steady};

/// An outage of 82.5 ms from 1 s on, on a link of 340 Mbps that drops the oldest packet.
const OUTAGE: &str = "rate = { schedule = [{ at = \"0 s\", rate = \"340 Mbps\" }, \
    { at = \"1 s\", rate = \"0 bps\" }, { at = \"1.0825 s\", rate = \"340 Mbps\" }] }\n\
    delay = \"10 ms\"\n";

fn head_drop(packets: u64) -> String {
    format!("{OUTAGE}queue = {{ limit = \"{packets} packets\", aqm = \"head-drop\" }}")
}

/// S10: the extra delay of a probe is uniform between nothing and the outage.
#[test]
fn a_probe_in_an_outage_waits_for_half_of_it_on_average() {
    let mut random = stream(10, 0, "probes");
    let mut sum = 0.0;
    for _ in 0..500 {
        let at = Time::from_secs(1) + Span::from_nanos(random.below(82_500_000));
        let probe = Arrival { at, port: 0, bytes: 100, ecn: Ecn::NotEct };
        let outcome = run(&mut link(&direction(&head_drop(1500)), 1, 1), &[probe], |_| ())[0];
        let wait = outcome.at.since(at).as_millis_f64() - 10.0;
        assert!((0.0..=82.51).contains(&wait), "{wait}");
        sum += wait / 500.0;
    }
    // Three standard errors of a uniform distribution.
    assert!((sum - 41.25).abs() < 3.0 * 82.5 / 12f64.sqrt() / 500f64.sqrt(), "{sum}");
}

/// S11: of what arrives in an outage the oldest is lost, and the queue is full at its end.
#[test]
fn an_outage_loses_the_oldest_packets_that_find_no_room() {
    // 500 Mbps from the beginning of the outage to its end.
    let gap = Span::from_micros(24);
    let arrivals: Vec<Arrival> = steady(3_437, gap, Ecn::NotEct)
        .into_iter()
        .map(|arrival| Arrival { at: arrival.at + Span::from_secs(1), ..arrival })
        .collect();
    let outcomes = run(&mut link(&direction(&head_drop(1500)), 1, 1), &arrivals, |_| ());
    let lost: Vec<usize> =
        outcomes.iter().filter(|outcome| outcome.lost.is_some()).map(|one| one.packet).collect();
    assert_eq!(lost, (0..1_937).collect::<Vec<_>>());
    // S13: 1,500 packets of 1,500 bytes at 340 Mbps after the outage.
    let last =
        outcomes.iter().filter(|outcome| outcome.lost.is_none()).map(|one: &PacketOutcome| one.at);
    let drained = last.max().unwrap().since(Time::from_nanos(1_082_500_000)).as_millis_f64();
    assert!((drained - 10.0 - 1500.0 * 12_000.0 / 340e3).abs() < 0.1, "{drained}");
}

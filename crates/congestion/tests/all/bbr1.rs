//! BBRv1 over a single bottleneck.

use crate::bottleneck;

use bentpipe_congestion::algorithms::bbr::v1::{Bbr1, Parameters};
use bentpipe_units::{Bytes, Rate, Span};
use bottleneck::bbr::{bandwidth_mbps, plain, secs};
use bottleneck::{Path, Run};

fn run(path: Path, seed: u64) -> Run {
    bottleneck::bbr::run(path, seed, |config| Bbr1::new(config, &Parameters::default()))
}

#[test]
fn startup_reaches_the_link_rate_and_drain_empties_the_queue() {
    let mut run = run(plain(), 1);
    // 5.7 doublings from 12 kB to 625 kB, one more round for the first sample, and two until the
    // last one arrives.
    run.until(secs(0.9));
    assert!(bandwidth_mbps(&mut run) > 49.0);
    while !run.controller.send_control().phase.starts_with("probe") {
        run.until(run.now + Span::from_millis(10));
    }
    assert!(run.now < secs(1.8), "{}", run.now);
    assert!(run.queue() < Bytes::new(62_500), "{}", run.queue());
}

#[test]
fn one_of_eight_phases_probes() {
    let mut run = run(plain(), 1);
    run.until(secs(9.0));
    let ups = run.visits("probe bw up");
    assert!(ups.len() >= 7, "{ups:?}");
    for pair in ups.windows(2) {
        let cycle = pair[1].0.since(pair[0].0).as_secs_f64();
        assert!((0.75..0.9).contains(&cycle), "{cycle}");
    }
    assert!(run.utilisation(secs(2.0), secs(9.0)) > 0.97);
}

#[test]
fn a_minimum_rtt_not_seen_for_ten_seconds_is_probed_with_four_packets() {
    let mut run = run(plain(), 1);
    run.until(secs(5.0));
    run.path.rtt = Span::from_millis(150);
    let mut narrowest = Bytes::MAX;
    while run.now < secs(16.5) {
        run.until(run.now + Span::from_millis(5));
        if run.controller.send_control().phase == "probe rtt" {
            narrowest = narrowest.min(run.controller.send_control().cwnd);
        }
    }
    let visits = run.visits("probe rtt");
    assert_eq!(visits.len(), 1, "{visits:?}");
    assert_eq!(narrowest, Bytes::new(4 * 1200));
    assert!((0.35..0.7).contains(&visits[0].1.since(visits[0].0).as_secs_f64()), "{visits:?}");
}

#[test]
fn capacity_is_followed_up_and_down() {
    let mut run = run(plain(), 1);
    run.until(secs(6.0));
    run.path.rate = Rate::from_mbps(100);
    run.path.buffer = Bytes::new(1_250_000);
    run.until(secs(11.0));
    assert!(bandwidth_mbps(&mut run) > 95.0);
    run.path.rate = Rate::from_mbps(20);
    run.until(secs(20.0));
    let bandwidth = bandwidth_mbps(&mut run);
    assert!((19.0..22.0).contains(&bandwidth), "{bandwidth}");
}

#[test]
fn random_loss_costs_little_more_than_the_lost_packets() {
    for (loss, at_least) in [(0.015, 0.94), (0.1, 0.75)] {
        let mut path = plain();
        path.loss = loss;
        let mut run = run(path, 1);
        run.until(secs(20.0));
        let utilisation = run.utilisation(secs(3.0), secs(20.0));
        assert!(utilisation > at_least, "{loss}: {utilisation}");
    }
}

#[test]
fn an_application_that_writes_little_does_not_lower_the_bandwidth() {
    let mut run = run(plain(), 1);
    run.until(secs(4.0));
    run.write_at(Some(Rate::from_mbps(5)));
    run.until(secs(4.5));
    let before = bandwidth_mbps(&mut run);
    run.until(secs(30.0));
    assert_eq!(bandwidth_mbps(&mut run), before);
}

#[test]
fn on_a_long_path_the_minimum_rtt_is_probed_every_hundred_rtts() {
    let mut run = run(Path::new(Rate::from_mbps(10), Span::from_millis(600)), 1);
    run.until(secs(20.0));
    // Samples as short as the minimum did not put it off, and longer ones do not.
    run.path.rtt = Span::from_millis(650);
    run.until(secs(100.0));
    let visits = run.visits("probe rtt");
    assert_eq!(visits.len(), 1, "{visits:?}");
    let begin = visits[0].0.since_start().as_secs_f64();
    assert!((60.0..63.0).contains(&begin), "{begin}");
}

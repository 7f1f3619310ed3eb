//! BBRv3 over a single bottleneck.

use crate::bottleneck;

use bentpipe_congestion::algorithms::bbr::v3::{Bbr3, Parameters};
use bentpipe_units::{Bytes, Rate, Span, Time};
use bottleneck::bbr::{bandwidth_mbps, plain, secs};
use bottleneck::{MTU, Path, Run};

/// Runs with the parameters of the draft.
fn draft(path: Path) -> Run {
    let parameters =
        Parameters { loss_significance: 0.0, probe_rtt_rounds: 0.0, ..Parameters::default() };
    run_with(path, 1, &parameters)
}

fn run(path: Path, seed: u64) -> Run {
    run_with(path, seed, &Parameters::default())
}

fn run_with(path: Path, seed: u64, parameters: &Parameters) -> Run {
    bottleneck::bbr::run(path, seed, |config| Bbr3::new(config, parameters))
}

fn geo() -> Path {
    Path::new(Rate::from_mbps(250), Span::from_millis(600))
}

fn until_phase_ends(run: &mut Run, phase: &str) {
    while run.controller.send_control().phase == phase {
        run.until(run.now + Span::from_millis(10));
    }
}

#[test]
fn startup_reaches_the_link_rate_in_about_as_many_rounds_as_doublings() {
    let mut run = run(plain(), 1);
    // 5.7 doublings from 12 kB to 625 kB, one more round for the first sample, and two until the
    // last one arrives.
    run.until(secs(0.9));
    assert!(bandwidth_mbps(&mut run) > 49.0);
}

#[test]
fn startup_ends_after_three_rounds_without_growth_and_drain_empties_the_queue() {
    let mut run = run(plain(), 1);
    until_phase_ends(&mut run, "startup");
    assert_eq!(run.controller.send_control().phase, "drain");
    let left = run.now;
    assert!(left > secs(0.9) && left < secs(1.5), "{left}");
    assert!(run.queue() > Bytes::new(100_000));
    until_phase_ends(&mut run, "drain");
    // A tenth of the bandwidth-delay product.
    assert!(run.queue() < Bytes::new(62_500), "{}", run.queue());
    assert!(run.now.since(left) < Span::from_millis(400));
}

#[test]
fn probing_cycles_through_its_four_states_every_two_to_three_seconds() {
    let mut run = run(plain(), 1);
    run.until(secs(30.0));
    let ups = run.visits("probe bw up");
    assert!((6..=12).contains(&ups.len()), "{ups:?}");
    for pair in run.phases.windows(2) {
        let allowed: &[&str] = match pair[0].1 {
            "startup" => &["drain"],
            "drain" => &["probe bw down", "probe bw cruise"],
            "probe bw down" => &["probe bw cruise", "probe bw refill", "probe rtt"],
            "probe bw cruise" => &["probe bw refill", "probe rtt"],
            "probe bw refill" => &["probe bw up", "probe rtt"],
            "probe bw up" => &["probe bw down", "probe rtt"],
            _ => &["probe bw cruise"],
        };
        assert!(allowed.contains(&pair[1].1), "{pair:?}");
    }
    assert!(run.utilisation(secs(5.0), secs(30.0)) > 0.94);
}

#[test]
fn the_rtt_is_probed_every_five_seconds_with_half_a_bdp() {
    let mut run = run(plain(), 1);
    let mut narrowest = Bytes::MAX;
    while run.now < secs(20.0) {
        run.until(run.now + Span::from_millis(5));
        if run.controller.send_control().phase == "probe rtt" {
            narrowest = narrowest.min(run.controller.send_control().cwnd);
        }
    }
    let visits = run.visits("probe rtt");
    assert!(visits.len() >= 3, "{visits:?}");
    for pair in visits.windows(2) {
        let gap = pair[1].0.since(pair[0].1).as_secs_f64();
        assert!((5.0..5.2).contains(&gap), "{gap}");
    }
    for (from, to) in visits {
        // One round until the flight is small, then at least 200 ms and a round.
        let length = to.since(from).as_secs_f64();
        assert!((0.2..0.45).contains(&length), "{length}");
    }
    let half = 312_500.0;
    assert!((narrowest.get() as f64 / half - 1.0).abs() < 0.06, "{narrowest}");
}

#[test]
fn on_a_long_path_the_rtt_is_probed_every_fifty_rtts() {
    let long = || Path::new(Rate::from_mbps(10), Span::from_millis(600));
    let mut rarely = run(long(), 1);
    rarely.until(secs(95.0));
    let visits = rarely.visits("probe rtt");
    assert!((2..=3).contains(&visits.len()), "{visits:?}");
    for pair in visits.windows(2) {
        let gap = pair[1].0.since(pair[0].1).as_secs_f64();
        assert!((30.0..31.0).contains(&gap), "{gap}");
    }
    // As in the draft, every five seconds.
    let draft = Parameters { probe_rtt_rounds: 0.0, ..Parameters::default() };
    let mut often = run_with(long(), 1, &draft);
    often.until(secs(95.0));
    assert!(often.visits("probe rtt").len() >= 12);
    let used = |run: &Run| run.utilisation(secs(15.0), secs(95.0));
    assert!(used(&rarely) > 0.94 && used(&rarely) > used(&often) + 0.04);
}

#[test]
fn ten_times_the_capacity_is_found_within_a_few_probes() {
    let mut run = run(Path::new(Rate::from_mbps(10), Span::from_millis(100)), 1);
    run.until(secs(10.0));
    run.path.rate = Rate::from_mbps(100);
    run.path.buffer = Bytes::new(1_250_000);
    run.until(secs(25.0));
    assert!(bandwidth_mbps(&mut run) > 95.0, "{}", bandwidth_mbps(&mut run));
}

#[test]
fn a_reduction_to_a_fifth_of_the_capacity_is_adopted_after_two_cycles() {
    let mut run = run(Path::new(Rate::from_mbps(100), Span::from_millis(100)), 1);
    run.until(secs(10.0));
    run.path.rate = Rate::from_mbps(20);
    run.until(secs(25.0));
    let bandwidth = bandwidth_mbps(&mut run);
    assert!((19.0..22.0).contains(&bandwidth), "{bandwidth}");
    assert!(run.utilisation(secs(17.0), secs(25.0)) > 0.85);
}

#[test]
fn a_probe_without_growth_ends_at_40_ms_and_probe_rtt_cuts_it_at_a_second() {
    let after_probes = |rtt: u64| {
        let mut run = draft(Path::new(Rate::from_mbps(10), Span::from_millis(rtt)));
        run.until(secs(60.0));
        let followers = run.phases.windows(2).filter(|pair| pair[0].1 == "probe bw up");
        followers.map(|pair| pair[1].1).collect::<Vec<_>>()
    };
    let short = after_probes(40);
    assert!(short.iter().filter(|phase| **phase == "probe bw down").count() >= 10, "{short:?}");
    // ProbeBW_REFILL and three rounds of ProbeBW_UP after 2 to 3 s are more than 5 s.
    let long = after_probes(1000);
    assert!(!long.is_empty() && long.iter().all(|phase| *phase == "probe rtt"), "{long:?}");
}

#[test]
fn a_bdp_below_a_packet_keeps_four_packets_in_flight() {
    let buffer = Bytes::new(20 * MTU.get());
    let path = Path { buffer, ..Path::new(Rate::from_bps(64_000), Span::from_millis(1)) };
    let mut run = draft(path);
    run.until(secs(20.0));
    let mut rates = Vec::new();
    while run.now < secs(60.0) {
        run.until(run.now + Span::from_millis(100));
        let control = run.controller.send_control();
        assert!(control.cwnd.get() >= 4 * MTU.get(), "{}", control.cwnd);
        rates.extend(control.pacing_rate.map(Rate::as_bps));
    }
    rates.sort_unstable();
    let median = rates[rates.len() / 2];
    assert!((57_600..=80_000).contains(&median), "{median}");
    assert!(run.utilisation(secs(20.0), secs(60.0)) > 0.98);
}

#[test]
fn a_fall_to_a_tenth_bounds_the_rate_at_once_and_is_adopted_after_two_cycles() {
    let mut run = draft(Path::new(Rate::from_mbps(100), Span::from_millis(40)));
    run.until(secs(10.0));
    run.path.rate = Rate::from_mbps(10);
    // The queue of 500 kB now holds 400 ms, so a round takes 440 ms. Each one with losses lowers
    // the short-term bound by at most 30 %.
    let mut paced = Rate::from_mbps(100);
    while run.now < secs(13.0) {
        run.until(run.now + Span::from_millis(10));
        paced = paced.min(run.controller.send_control().pacing_rate.unwrap());
    }
    assert!(paced < Rate::from_mbps(35), "{paced}");
    // The filter of the maximum keeps the old rate for two cycles (MaxBwFilterLen), and
    // ProbeBW_REFILL takes the bound away: until then each probe paces by it.
    let probes = |run: &Run| {
        let visits = run.visits("probe bw up");
        visits.iter().filter(|(from, to)| *from > secs(10.0) && *to < run.now).count()
    };
    while probes(&run) < 2 {
        assert!(bandwidth_mbps(&mut run) > 99.0, "{:?}", run.phases);
        run.until(run.now + Span::from_millis(100));
        assert!(run.now < secs(30.0), "{:?}", run.phases);
    }
    // The maximum is renewed a round after the second probe.
    run.until(run.now + Span::from_secs(1));
    let bandwidth = bandwidth_mbps(&mut run);
    assert!((9.0..11.0).contains(&bandwidth), "{bandwidth} at {}", run.now);
}

#[test]
fn a_policer_is_found_by_the_short_term_bounds() {
    let path = Path {
        policed: true,
        buffer: Bytes::new(256_000),
        ..Path::new(Rate::from_mbps(10), Span::from_millis(40))
    };
    let mut run = draft(path);
    run.until(secs(10.0));
    let (dropped, passed) = (run.dropped, run.passed.0);
    run.until(secs(70.0));
    let dropped = (run.dropped - dropped) as f64;
    let lost = dropped / (dropped + (run.passed.0 - passed) as f64);
    // Each probe spends the bucket, finds more than the policer passes, and loses.
    assert!((0.005..0.04).contains(&lost), "{lost}");
    assert!(run.utilisation(secs(10.0), secs(70.0)) > 0.9);
}

#[test]
fn an_application_that_writes_little_does_not_lower_the_bandwidth() {
    let mut run = run(plain(), 1);
    run.until(secs(8.0));
    let before = bandwidth_mbps(&mut run);
    run.write_at(Some(Rate::from_mbps(5)));
    run.until(secs(38.0));
    assert_eq!(bandwidth_mbps(&mut run), before);
}

#[test]
fn bunched_and_infrequent_acks_keep_the_link_full() {
    let mut path = plain();
    path.ack_every = 10;
    path.frame = Span::from_micros(26_500);
    let mut run = run(path, 1);
    run.until(secs(30.0));
    assert!(run.utilisation(secs(5.0), secs(30.0)) > 0.92);
    let bandwidth = bandwidth_mbps(&mut run);
    assert!((49.0..53.0).contains(&bandwidth), "{bandwidth}");
}

/// Random loss just below the threshold: the losses in the small rounds of Startup scatter around
/// it.
fn random_loss(significance: f64) -> impl Fn(u64) -> Run {
    move |seed| {
        // ProbeRTT, which this test excludes, costs a tenth of the rate on a path of 600 ms.
        let probe_rtt_interval = 60.0;
        let parameters = Parameters {
            loss_significance: significance,
            probe_rtt_interval,
            ..Parameters::default()
        };
        let mut path = geo();
        path.loss = 0.0156;
        run_with(path, seed, &parameters)
    }
}

#[test]
fn loss_below_the_threshold_keeps_nine_tenths_of_a_geostationary_link() {
    let mut run = random_loss(3.0)(1);
    run.until(secs(30.0));
    assert!(
        run.utilisation(secs(12.0), secs(30.0)) > 0.9,
        "{}",
        run.utilisation(secs(12.0), secs(30.0))
    );
}

#[test]
fn chance_ends_startup_early_without_a_significance_only() {
    let early = |significance: f64| {
        (0..10)
            .filter(|&seed| {
                let mut run = random_loss(significance)(seed);
                while run.controller.send_control().in_slow_start && run.now < secs(9.0) {
                    run.until(run.now + Span::from_millis(200));
                }
                bandwidth_mbps(&mut run) < 100.0
            })
            .count()
    };
    // Rounds between about 300 and 3000 packets together have a chance of about one in two to
    // exceed 2 %.
    assert!((2..=9).contains(&early(0.0)));
    assert_eq!(early(3.0), 0);
}

#[test]
fn loss_far_above_the_threshold_ends_startup() {
    let mut path = geo();
    path.loss = 0.1;
    let parameters = Parameters { loss_significance: 3.0, ..Parameters::default() };
    let mut run = run_with(path, 1, &parameters);
    run.until(secs(5.0));
    assert!(!run.controller.send_control().in_slow_start);
}

/// Runs a flow that probes at the rate `probe` for two rounds from the first ACK on.
fn resumed(path: Path, probe: Rate) -> Run {
    let rtt = path.rtt;
    let mut run = run(path, 1);
    run.until(Time::ZERO + rtt + Span::from_millis(30));
    run.controller.rate_based().expect("a rate-based controller").set_probing_rate(Some(probe));
    run.until(run.now + rtt * 2);
    run
}

#[test]
fn a_probe_at_half_the_rate_is_proven_in_two_rounds_and_startup_continues_from_there() {
    let mut run = resumed(geo(), Rate::from_mbps(125));
    run.controller.rate_based().expect("a rate-based controller").set_probing_rate(None);
    let bandwidth = bandwidth_mbps(&mut run);
    assert!((118.0..=251.0).contains(&bandwidth), "{bandwidth}");
    assert!(run.controller.send_control().in_slow_start);
    run.until(secs(4.0));
    let bandwidth = bandwidth_mbps(&mut run);
    assert!((240.0..=251.0).contains(&bandwidth), "{bandwidth}");
}

#[test]
fn a_probe_above_the_rate_estimates_no_more_than_the_path_delivers() {
    let mut run =
        resumed(Path::new(Rate::from_mbps(20), Span::from_millis(600)), Rate::from_mbps(80));
    assert!(run.dropped > 100);
    let now = run.now;
    run.controller.rate_based().expect("a rate-based controller").retreat(now);
    run.until(secs(6.0));
    assert!(run.controller.send_control().phase != "startup");
    let bandwidth = bandwidth_mbps(&mut run);
    assert!((15.0..=20.5).contains(&bandwidth), "{bandwidth}");
}

/// Returns a variable of the controller by its name in the draft.
fn variable(run: &Run, name: &str) -> f64 {
    let mut found = None;
    run.controller.report_state(&mut |field| {
        if field.name == name {
            found = Some(field.value);
        }
    });
    found.unwrap_or_else(|| panic!("no variable {name}"))
}

fn until_phase_begins(run: &mut Run, phase: &str) {
    let end = run.now + Span::from_secs(60);
    while run.controller.send_control().phase != phase {
        assert!(run.now < end, "no {phase} by {end}: {:?}", run.phases);
        run.until(run.now + Span::from_millis(1));
    }
}

#[test]
fn losses_end_startup_although_the_application_limits() {
    let mut run = draft(Path { application: Some(Rate::from_mbps(10)), ..plain() });
    run.until(secs(2.0));
    assert_eq!(run.controller.send_control().phase, "startup");
    assert_eq!(variable(&run, "full_bw_reached"), 0.0);
    run.path.loss = 0.1;
    until_phase_ends(&mut run, "startup");
    assert!(run.now < secs(3.0), "{}", run.now);
    assert_eq!(variable(&run, "full_bw_reached"), 1.0);
}

#[test]
fn without_losses_an_application_that_limits_ends_neither_startup_nor_a_probe() {
    let mut run = draft(Path { application: Some(Rate::from_mbps(10)), ..plain() });
    run.until(secs(30.0));
    assert!(run.phases.iter().all(|(_, phase)| ["startup", "probe rtt"].contains(phase)));

    let mut run = draft(plain());
    run.until(secs(8.0));
    run.write_at(Some(Rate::from_mbps(10)));
    let limited = run.now + Span::from_secs(1);
    run.until(secs(68.0));
    let probes = run.phases.windows(2).filter(|pair| pair[0].1 == "probe bw up");
    let after: Vec<_> = probes.filter(|pair| pair[0].0 > limited).map(|pair| pair[1].1).collect();
    assert!(!after.is_empty() && after.iter().all(|phase| *phase == "probe rtt"), "{after:?}");
}

#[test]
fn losses_end_a_probe_although_the_application_limits() {
    let mut run = draft(plain());
    run.until(secs(8.0));
    run.write_at(Some(Rate::from_mbps(10)));
    run.until(secs(9.0));
    until_phase_begins(&mut run, "probe bw up");
    // What Startup left, by its loss at a full queue.
    let before = variable(&run, "inflight_longterm");
    run.path.loss = 0.1;
    until_phase_ends(&mut run, "probe bw up");
    // A flight that leaves headroom already ends ProbeBW_DOWN with the same ACK.
    let phase = run.controller.send_control().phase;
    assert!(["probe bw down", "probe bw cruise"].contains(&phase), "{phase}");
    // The flight of an application that limits says nothing about the path.
    assert_eq!(variable(&run, "inflight_longterm"), before);
}

#[test]
fn a_fall_by_a_tenth_at_the_start_of_a_drain_of_a_probe_leads_straight_to_the_next() {
    let mut run = draft(Path::new(Rate::from_mbps(50), Span::from_millis(40)));
    run.until(secs(6.0));
    until_phase_begins(&mut run, "probe bw down");
    let (began, wait) = (run.now, variable(&run, "bw_probe_wait"));
    run.path.rate = Rate::from_mbps(45);
    until_phase_ends(&mut run, "probe bw down");
    assert_eq!(run.controller.send_control().phase, "probe bw refill");
    let took = run.now.since(began).as_millis_f64();
    assert!((took - wait).abs() < 100.0, "{took} ms, bw_probe_wait is {wait} ms");
}

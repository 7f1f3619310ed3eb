//! The example test cases of BBR's draft (draft-ietf-ccwg-bbr @4ce5e87, appendix), with its
//! parameters, at RTTs of 40, 600 and 1,000 ms.

use crate::bottleneck;

use bentpipe_congestion::algorithms::bbr::v3::{Bbr3, Parameters};
use bentpipe_units::{Bytes, Rate, Span, Time};
use bottleneck::bbr::secs;
use bottleneck::{MTU, Path, Run};

/// The RTTs of the draft's grid, but for 1 ms, in ms.
const RTTS: [u64; 3] = [40, 600, 1000];

/// 10 Mbps with a queue of one BDP.
fn path(rtt: u64) -> Path {
    Path::new(Rate::from_mbps(10), Span::from_millis(rtt))
}

/// Starts a flow with the parameters of the draft.
fn start(path: Path) -> Run {
    let parameters =
        Parameters { loss_significance: 0.0, probe_rtt_rounds: 0.0, ..Parameters::default() };
    bottleneck::bbr::run(path, 1, |config| Bbr3::new(config, &parameters))
}

/// Rate at which an application writes `packets` in each RTT.
fn packets_per_rtt(packets: u64, rtt: u64) -> Rate {
    Rate::from_bps(packets * MTU.get() * 8 * 1000 / rtt)
}

fn phase(run: &Run) -> &'static str {
    run.controller.send_control().phase
}

/// Returns a variable of the controller by its name in the draft. Rates are in Mbps.
fn variable(run: &Run, name: &str) -> f64 {
    let mut found = None;
    run.controller.report_state(&mut |field| {
        if field.name == name {
            found = Some(field.value);
        }
    });
    found.unwrap_or_else(|| panic!("no variable {name}"))
}

/// Runs in steps of a millisecond until `reached`, for at most two minutes.
fn run_until(run: &mut Run, what: &str, reached: impl Fn(&Run) -> bool) {
    let end = run.now + Span::from_secs(120);
    while !reached(run) {
        assert!(run.now < end, "no {what} by {end}: {:?}", run.phases);
        run.until(run.now + Span::from_millis(1));
    }
}

fn until_begins(run: &mut Run, name: &str) {
    run_until(run, name, |run| phase(run) == name);
}

fn until_ends(run: &mut Run, name: &str) {
    run_until(run, &format!("end of {name}"), |run| phase(run) != name);
}

fn in_probe_bw(run: &Run) -> bool {
    phase(run).starts_with("probe bw")
}

#[test]
fn bbr_02_losses_end_startup_although_the_application_limits() {
    for rtt in RTTS {
        let mut run = start(path(rtt));
        run.write_at(Some(packets_per_rtt(40, rtt)));
        // Three rounds from 10 packets to 40.
        run.until(Time::from_millis(3 * rtt + rtt / 2));
        assert_eq!((phase(&run), variable(&run, "full_bw_reached")), ("startup", 0.0), "{rtt} ms");
        run.path.loss = 0.3;
        until_ends(&mut run, "startup");
        assert_eq!(variable(&run, "full_bw_reached"), 1.0, "{rtt} ms: {:?}", run.phases);
    }
}

#[test]
fn bbr_03_drain_paces_at_half_the_rate_until_the_flight_is_a_bdp() {
    for rtt in RTTS {
        let mut run = start(path(rtt));
        until_begins(&mut run, "drain");
        assert_eq!(variable(&run, "pacing_gain"), 0.5, "{rtt} ms");
        let mut before = run.sent_packets.bytes_in_flight();
        let bdp = |run: &Run| Bytes::new(variable(run, "bdp") as u64);
        while phase(&run) == "drain" {
            before = run.sent_packets.bytes_in_flight();
            assert!(before > bdp(&run), "{rtt} ms: {before} of {}", bdp(&run));
            run.until(run.now + Span::from_micros(100));
        }
        let after = run.sent_packets.bytes_in_flight();
        // At a second, the probe of the RTT every 5 s ends Drain, too.
        if phase(&run) == "probe rtt" {
            assert!(rtt > 40, "{:?}", run.phases);
            continue;
        }
        // What follows Drain sends at once.
        let most = bdp(&run) + Bytes::new(4 * MTU.get());
        assert!(after <= most, "{rtt} ms: {after}, before {before}");
    }
}

#[test]
fn bbr_05_a_probe_without_growth_ends_after_three_rounds() {
    let after_probes = |rtt: u64| {
        let mut run = start(path(rtt));
        run.until(secs(60.0));
        let followers = run.phases.windows(2).filter(|pair| pair[0].1 == "probe bw up");
        followers.map(|pair| pair[1].1).collect::<Vec<_>>()
    };
    let short = after_probes(40);
    assert!(short.iter().filter(|phase| **phase == "probe bw down").count() >= 10, "{short:?}");
    // ProbeBW_REFILL and three rounds of ProbeBW_UP, after 2 to 3 s, are about the 5 s after which
    // the draft probes the RTT at 600 ms, and more at a second.
    for (rtt, least) in [(600, 0.8), (1000, 1.0)] {
        let long = after_probes(rtt);
        let cut = long.iter().filter(|phase| **phase == "probe rtt").count() as f64;
        assert!(!long.is_empty() && cut >= least * long.len() as f64, "{rtt} ms: {long:?}");
    }
}

#[test]
fn bbr_06_losses_end_a_probe_although_the_application_limits() {
    for rtt in RTTS {
        let mut run = start(path(rtt));
        run_until(&mut run, "ProbeBW", in_probe_bw);
        run.write_at(Some(packets_per_rtt(40, rtt).min(Rate::from_mbps(5))));
        run.until(run.now + Span::from_millis(4 * rtt));
        until_begins(&mut run, "probe bw up");
        let before = variable(&run, "inflight_longterm");
        run.path.loss = 0.3;
        until_ends(&mut run, "probe bw up");
        let next = phase(&run);
        if rtt == 1000 {
            // The probe of the RTT comes before the round with the losses has ended.
            assert_eq!(next, "probe rtt", "{:?}", run.phases);
            continue;
        }
        // A flight that leaves headroom already ends ProbeBW_DOWN with the same ACK.
        assert!(["probe bw down", "probe bw cruise"].contains(&next), "{rtt} ms: {next}");
        // The draft's pseudocode leaves the bound alone; its case asks for an update.
        assert_eq!(variable(&run, "inflight_longterm"), before, "{rtt} ms");
    }
}

#[test]
fn bbr_07_without_losses_an_application_that_limits_ends_neither_startup_nor_a_probe() {
    for rtt in RTTS {
        let limit = packets_per_rtt(20, rtt);
        let mut run = start(path(rtt));
        run.write_at(Some(limit));
        run.until(secs(30.0));
        let known = ["startup", "probe rtt"];
        assert!(run.phases.iter().all(|(_, phase)| known.contains(phase)), "{:?}", run.phases);

        let mut run = start(path(rtt));
        run_until(&mut run, "ProbeBW", in_probe_bw);
        run.write_at(Some(limit));
        let limited = run.now + Span::from_millis(4 * rtt);
        run.until(limited + Span::from_secs(60));
        let probes = run.phases.windows(2).filter(|pair| pair[0].1 == "probe bw up");
        let after: Vec<_> =
            probes.filter(|pair| pair[0].0 > limited).map(|pair| pair[1].1).collect();
        let right = !after.is_empty() && after.iter().all(|phase| *phase == "probe rtt");
        assert!(right, "{rtt} ms: {after:?}");
    }
}

#[test]
fn bbr_08_probe_down_paces_at_nine_tenths_until_the_flight_leaves_headroom() {
    for rtt in RTTS {
        let mut run = start(path(rtt));
        let (mut before, mut seen) = ("startup", 0);
        while run.now < secs(120.0) {
            run.until(run.now + Span::from_millis(1));
            let now = phase(&run);
            if (before, now) == ("probe bw down", "probe bw cruise") {
                let flight = run.sent_packets.bytes_in_flight();
                let most = variable(&run, "inflight_with_headroom").min(variable(&run, "bdp"));
                // Those that ProbeBW_CRUISE has sent since.
                let most = Bytes::new(most as u64 + 4 * MTU.get());
                assert!(flight <= most, "{rtt} ms: {flight} of {most}");
                seen += 1;
            } else if now == "probe bw down" {
                assert_eq!(variable(&run, "pacing_gain"), 0.9, "{rtt} ms");
            }
            before = now;
        }
        // The probe of the RTT takes the place of ProbeBW_DOWN on long paths (BBR-05).
        assert!(if rtt == 40 { seen > 20 } else { seen < 5 }, "{rtt} ms: {seen}");
    }
}

#[test]
fn bbr_09_a_fall_by_a_tenth_in_probe_down_leads_straight_to_the_next_probe() {
    // On long paths ProbeBW_DOWN is rare, and the probe of the RTT ends it (BBR-05).
    for (rtt, follows) in [(40, "probe bw refill"), (600, "probe rtt")] {
        let mut run = start(path(rtt));
        until_begins(&mut run, "probe rtt");
        run_until(&mut run, "ProbeBW", in_probe_bw);
        until_begins(&mut run, "probe bw down");
        let (began, wait) = (run.now, variable(&run, "bw_probe_wait"));
        run.path.rate = Rate::from_mbps(9);
        until_ends(&mut run, "probe bw down");
        assert_eq!(phase(&run), follows, "{rtt} ms: {:?}", run.phases);
        let took = run.now.since(began).as_millis_f64();
        assert!(took < wait + 100.0, "{rtt} ms: {took} ms, {wait} ms");
    }
    let mut run = start(path(1000));
    run.until(secs(120.0));
    assert_eq!(run.visits("probe bw down").len(), 0, "{:?}", run.phases);
}

#[test]
fn bbr_10_the_rtt_is_probed_every_five_seconds_with_half_a_bdp() {
    for rtt in RTTS {
        let mut run = start(path(rtt));
        run_until(&mut run, "ProbeBW", in_probe_bw);
        let begun = run.now;
        let mut visits = 0;
        while run.now < begun + Span::from_secs(40) {
            until_begins(&mut run, "probe rtt");
            let from = run.now;
            assert_eq!(variable(&run, "cwnd_gain"), 0.5, "{rtt} ms");
            let (mut least, bdp) = (Bytes::MAX, variable(&run, "bdp"));
            while phase(&run) == "probe rtt" {
                least = least.min(run.controller.send_control().cwnd);
                run.until(run.now + Span::from_millis(1));
            }
            let took = run.now.since(from);
            assert!(took >= Span::from_millis(200.max(rtt)), "{rtt} ms: {took}");
            assert!((least.get() as f64 / (bdp / 2.0) - 1.0).abs() < 0.1, "{rtt} ms: {least}");
            assert!(in_probe_bw(&run), "{rtt} ms: {}", phase(&run));
            visits += 1;
        }
        assert!(visits >= 5, "{rtt} ms: {visits}");
    }
}

#[test]
fn bbr_11_an_idle_period_replaces_probe_rtt() {
    for rtt in RTTS {
        let mut run = start(path(rtt));
        run_until(&mut run, "ProbeBW", in_probe_bw);
        run.write_at(Some(Rate::from_bps(0)));
        run.until(run.now + Span::from_secs(7));
        let idle_until = run.now;
        run.write_at(None);
        run.until(run.now + Span::from_millis(1));
        assert_eq!(variable(&run, "idle_restart"), 1.0, "{rtt} ms");
        // The round in which the first packets are acknowledged.
        run.until(idle_until + Span::from_millis(2 * rtt));
        let probed = run.visits("probe rtt").into_iter().filter(|(_, to)| *to > idle_until);
        assert_eq!(probed.count(), 0, "{rtt} ms: {:?}", run.phases);
    }
}

#[test]
fn bbr_12_and_13_bunched_acknowledgements_keep_the_link_full() {
    for rtt in RTTS {
        let mut path = path(rtt);
        path.ack_every = 10;
        path.frame = Span::from_millis(40);
        let mut run = start(path);
        run.until(secs(60.0));
        assert!(variable(&run, "extra_acked") > 0.0, "{rtt} ms");
        // An RTT of 40 ms ends with the frame or a frame later, which scatters the samples.
        let bandwidth = bottleneck::bbr::bandwidth_mbps(&mut run);
        assert!((9.5..13.0).contains(&bandwidth), "{rtt} ms: {bandwidth}");
        // At 600 ms and 1 s the draft probes the RTT for a fifth to a third of the time.
        let least = if rtt == 40 { 0.9 } else { 0.65 };
        let used = run.utilisation(secs(20.0), secs(60.0));
        assert!(used > least, "{rtt} ms: {used}");
    }
}

#[test]
fn bbr_14_a_bdp_below_a_packet_keeps_four_packets_in_flight() {
    // The case needs 64 kbps and 1 ms; at longer RTTs the BDP has one to seven packets.
    for rtt in [1, 40, 600, 1000] {
        let buffer = Bytes::new(20 * MTU.get());
        let path = Path { buffer, ..Path::new(Rate::from_bps(64_000), Span::from_millis(rtt)) };
        let mut run = start(path);
        run.until(secs(30.0));
        while run.now < secs(60.0) {
            run.until(run.now + Span::from_millis(100));
            let cwnd = run.controller.send_control().cwnd;
            assert!(cwnd >= Bytes::new(4 * MTU.get()), "{rtt} ms: {cwnd}");
        }
        // Four packets are more than half of the BDP that ProbeRTT allows.
        let used = run.utilisation(secs(30.0), secs(60.0));
        assert!(used > if rtt <= 40 { 0.98 } else { 0.7 }, "{rtt} ms: {used}");
    }
}

#[test]
fn bbr_16_a_tenth_of_the_rate_bounds_at_once_and_is_adopted_after_two_cycles() {
    for rtt in RTTS {
        let mut run = start(path(rtt));
        run_until(&mut run, "ProbeBW", in_probe_bw);
        run.until(run.now + Span::from_secs(5));
        run.path.rate = Rate::from_mbps(1);
        let changed = run.now;
        run_until(&mut run, "a short-term bound", |run| {
            variable(run, "bw_shortterm") < variable(run, "max_bw")
        });
        let bound = run.now.since(changed).as_secs_f64();
        // The loss at the full queue of a BDP of the old rate, which now takes ten RTTs.
        assert!(bound < 11.0 * rtt as f64 / 1e3 + 3.0, "{rtt} ms: {bound} s");
        let ups = run.visits("probe bw up").len();
        let cycles = |run: &Run| run.visits("probe bw up").len() - ups;
        if rtt == 40 {
            run_until(&mut run, "the new rate", |run| variable(run, "max_bw") < 1.15);
            assert!(cycles(&run) <= 3, "{} cycles, {}", cycles(&run), run.now.since(changed));
            continue;
        }
        // The old flight is now a queue of several seconds, so that the probe of the RTT every 5 s
        // ends each ProbeBW_REFILL, and no cycle ever ends: the maximum stays.
        run.until(run.now + Span::from_secs(60));
        let (max_bw, phases) = (variable(&run, "max_bw"), &run.phases);
        // One probe may have been on its way.
        assert!(cycles(&run) <= 1 && max_bw > 8.0, "{rtt} ms: {max_bw} Mbps, {phases:?}");
    }
}

#[test]
fn bbr_17_a_policer_is_found_by_the_short_term_bounds() {
    for rtt in RTTS {
        let bucket = Path { policed: true, buffer: Bytes::new(256_000), ..path(rtt) };
        let mut run = start(bucket);
        run.until(secs(20.0));
        let (dropped, passed) = (run.dropped, run.passed.0);
        run.until(secs(80.0));
        let dropped = (run.dropped - dropped) as f64;
        let lost = dropped / (dropped + (run.passed.0 - passed) as f64);
        assert!(lost < 0.04, "{rtt} ms: {lost}");
        let used = run.utilisation(secs(20.0), secs(80.0));
        assert!(used > if rtt == 40 { 0.9 } else { 0.6 }, "{rtt} ms: {used}");
    }
}

/// The bounds that an undo restores: the short-term rate, and both of the data in flight.
fn bounds(run: &Run) -> [f64; 3] {
    ["bw_shortterm", "inflight_shortterm", "inflight_longterm"].map(|name| variable(run, name))
}

/// Delays up to `most` packets of `during`, and runs until their loss has ended the phase `name`.
/// Returns the bounds before the losses, and how many were declared by then.
fn until_ended(run: &mut Run, name: &str, during: Span, most: u64) -> ([f64; 3], u64) {
    let (before, lost) = (bounds(run), run.declared_lost);
    run.delay_packets(during, run.path.rtt * 2, most);
    until_ends(run, name);
    (before, run.declared_lost - lost)
}

fn until_undone(run: &mut Run) {
    let dropped = run.dropped;
    run_until(run, "proof of spurious losses", |run| !run.spurious.is_empty());
    assert_eq!(run.dropped, dropped, "{:?}", run.phases);
}

/// A path whose queue loses nothing.
fn deep(rtt: u64) -> Path {
    Path { buffer: path(rtt).buffer.mul_f64(8.0), ..path(rtt) }
}

#[test]
fn bbr_18_a_startup_that_spurious_losses_have_ended_goes_on() {
    for rtt in RTTS {
        let mut run = start(deep(rtt));
        run.until(Time::from_millis(3 * rtt + rtt / 2));
        assert_eq!(phase(&run), "startup", "{rtt} ms");
        let (before, _) = until_ended(&mut run, "startup", Span::from_millis(rtt) / 2, u64::MAX);
        assert_eq!(variable(&run, "full_bw_reached"), 1.0, "{rtt} ms: {:?}", run.phases);
        until_undone(&mut run);
        assert_eq!(phase(&run), "startup", "{rtt} ms: {:?}", run.phases);
        assert_eq!(variable(&run, "full_bw_reached"), 0.0, "{rtt} ms");
        assert_eq!(bounds(&run), before, "{rtt} ms");
    }
}

#[test]
fn bbr_18_a_probe_that_spurious_losses_have_ended_is_repeated() {
    for rtt in RTTS {
        let during = Span::from_millis(rtt) / 2;
        let probe = || {
            let mut run = start(deep(rtt));
            until_begins(&mut run, "probe bw up");
            run
        };
        // StartProbeBW_DOWN resets the signals of congestion, so that the draft takes the next loss
        // for the first of another episode and forgets what it has saved. No more packets are late
        // than end the probe.
        let (_, enough) = until_ended(&mut probe(), "probe bw up", during, u64::MAX);
        let mut run = probe();
        let (before, lost) = until_ended(&mut run, "probe bw up", during, enough);
        assert_eq!((lost, phase(&run)), (enough, "probe bw down"), "{rtt} ms: {:?}", run.phases);
        assert_ne!(bounds(&run), before, "{rtt} ms");
        until_undone(&mut run);
        assert_eq!(bounds(&run), before, "{rtt} ms: {:?}", run.phases);
        // An undo leaves the probe of the RTT alone, which at 600 ms and 1 s can come between.
        let undone = phase(&run);
        assert!(
            undone == "probe bw refill" || rtt > 40 && undone == "probe rtt",
            "{rtt} ms: {undone}, {:?}",
            run.phases
        );
    }
}

#[test]
fn bbr_20_probe_rtt_during_startup_returns_to_startup() {
    for rtt in RTTS {
        let mut run = start(path(rtt));
        run.write_at(Some(packets_per_rtt(20, rtt)));
        until_begins(&mut run, "probe rtt");
        assert!(run.now > secs(5.0) && variable(&run, "full_bw_reached") == 0.0, "{rtt} ms");
        until_ends(&mut run, "probe rtt");
        assert_eq!(phase(&run), "startup", "{rtt} ms");
    }
}

#[test]
fn bbr_22_a_pause_in_refill_does_not_lower_the_maximum() {
    for rtt in RTTS {
        let mut run = start(path(rtt));
        run_until(&mut run, "ProbeBW", in_probe_bw);
        until_begins(&mut run, "probe bw refill");
        let before = variable(&run, "max_bw");
        run.write_at(Some(packets_per_rtt(20, rtt)));
        until_ends(&mut run, "probe bw refill");
        assert_eq!(phase(&run), "probe bw up", "{rtt} ms");
        assert_eq!(variable(&run, "max_bw"), before, "{rtt} ms");
    }
}

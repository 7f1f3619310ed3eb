//! State transitions and Careful Resume, packet by packet.

use super::model::UNBOUNDED;
use super::state::State;
use super::*;
use crate::controller::{Controller, EcnCe, PathChange, RateBased};
use crate::testing::MTU;
use crate::testing::flow::{Flow, RTT, events};
use bentpipe_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;

fn flow() -> Flow<Bbr3> {
    // As in the draft.
    let parameters =
        Parameters { loss_significance: 0.0, probe_rtt_rounds: 0.0, ..Parameters::default() };
    Flow::new(|config| Bbr3::new(config, &parameters))
}

/// Sends rounds of the same size until the pipe counts as full and has drained.
fn reach_probe_bw(flow: &mut Flow<Bbr3>) {
    for _ in 0..12 {
        flow.round(20, |_| false);
    }
    assert!(flow.bbr.state.is_probe_bw(), "{:?}", flow.bbr.state);
}

#[test]
fn startup_without_growth_leads_to_drain_and_then_probe_bw() {
    let mut flow = flow();
    let mut seen = vec![flow.bbr.send_control().phase];
    for _ in 0..12 {
        flow.round(20, |_| false);
        if seen.last() != Some(&flow.bbr.send_control().phase) {
            seen.push(flow.bbr.send_control().phase);
        }
    }
    // Nothing is in flight between rounds, so that Drain ends within its first round.
    assert_eq!(seen[0], "startup");
    assert!(seen[1].starts_with("probe bw"), "{seen:?}");
}

#[test]
fn the_sender_chooses_the_pacing_rate_before_the_first_rtt_sample() {
    let mut flow = flow();
    assert_eq!(
        (flow.bbr.send_control().pacing_rate, flow.bbr.send_control().cwnd),
        (None, Bytes::new(10_000))
    );
    flow.round(1, |_| false);
    // 2.77 initial windows per RTT.
    assert_eq!(flow.bbr.send_control().pacing_rate, Some(Rate::from_bps(2_216_000)));
}

#[test]
fn six_ranges_above_two_per_cent_end_startup_after_a_round() {
    let mut flow = flow();
    // The first loss is detected when the eighth packet arrives; the round that starts then has not
    // ended when the eightieth arrives.
    flow.stream(80, 100, |index| index % 10 == 5);
    assert_eq!(flow.bbr.state, State::Startup);
    flow.stream(400, 100, |index| index % 10 == 5);
    assert_ne!(flow.bbr.state, State::Startup);
    assert_ne!(flow.bbr.inflight_longterm, UNBOUNDED);
}

#[test]
fn few_ranges_above_two_per_cent_do_not_end_startup() {
    let mut flow = flow();
    // Half of a round is lost, but each time in one range.
    flow.stream(250, 100, |index| index % 100 < 50);
    assert_eq!(flow.bbr.state, State::Startup);
}

#[test]
fn losses_before_recovery_start_are_ignored() {
    let mut flow = flow();
    flow.round(20, |_| false);
    let first = flow.sent_packets.next_number();
    flow.send(40);
    flow.restart(60_000, None, None);
    flow.now += RTT;
    flow.ack(first + 39);
    flow.lose(&(0..20).map(|index| first + 2 * index).collect::<Vec<_>>());
    assert!(!flow.bbr.short_term.loss_in_round && !flow.bbr.recovery.is_active());
    flow.round(60, |_| false);
    assert_eq!(flow.bbr.state, State::Startup);
}

#[test]
fn a_spurious_loss_resumes_startup() {
    let mut flow = flow();
    flow.send(10);
    flow.now += RTT;
    flow.ack(9);
    flow.lose(&[0]);
    flow.bbr.leave_startup_at(Bytes::new(50_000));
    assert_eq!((flow.bbr.state, flow.bbr.inflight_longterm), (State::Drain, Bytes::new(50_000)));
    flow.bbr.on_spurious_loss(flow.now);
    assert_eq!((flow.bbr.state, flow.bbr.inflight_longterm), (State::Startup, UNBOUNDED));
}

#[test]
fn persistent_congestion_leaves_one_packet_and_the_next_ack_restores_the_window() {
    let mut flow = flow();
    flow.round(20, |_| false);
    let before = flow.bbr.send_control().cwnd;
    let first = flow.sent_packets.next_number();
    flow.send(2);
    flow.now += Span::from_secs(2);
    flow.sent_packets.on_lost(first);
    flow.sent_packets.on_lost(first + 1);
    flow.sent_packets.report_loss(flow.now, true, |loss| flow.bbr.on_loss(loss));
    assert_eq!(flow.bbr.send_control().cwnd, MTU);
    flow.send(1);
    flow.now += RTT;
    flow.ack(first + 2);
    assert!(flow.bbr.send_control().cwnd >= before);
}

#[test]
fn ecn_ce_ends_startup() {
    let mut flow = flow();
    flow.round(20, |_| false);
    let newest = flow.sent_packets.next_number();
    flow.send(10);
    let next_number = flow.sent_packets.next_number();
    flow.bbr.on_ecn_ce(&EcnCe {
        now: flow.now,
        newest,
        bytes_in_flight: Bytes::new(10_000),
        next_number,
        marked: None,
    });
    assert_eq!(flow.bbr.state, State::Drain);
    // Reports of packets sent earlier belong to the same congestion event.
    let bound = flow.bbr.inflight_longterm;
    flow.bbr.on_ecn_ce(&EcnCe {
        now: flow.now,
        newest,
        bytes_in_flight: Bytes::new(1000),
        next_number,
        marked: None,
    });
    assert_eq!(flow.bbr.inflight_longterm, bound);
}

#[test]
fn a_loss_outside_a_probe_lowers_the_short_term_bounds_until_the_next() {
    let mut flow = flow();
    reach_probe_bw(&mut flow);
    flow.bbr.start_down(flow.now);
    flow.bbr.start_cruise();
    flow.round(20, |index| index == 5);
    flow.round(20, |_| false);
    assert!(
        flow.bbr.short_term.rate < model::UNBOUNDED_RATE
            && flow.bbr.short_term.inflight < UNBOUNDED
    );
    flow.bbr.start_refill();
    assert_eq!(
        (flow.bbr.short_term.rate, flow.bbr.short_term.inflight),
        (model::UNBOUNDED_RATE, UNBOUNDED)
    );
}

#[test]
fn a_probe_that_loses_too_much_bounds_the_flight_at_the_first_loss() {
    let mut flow = flow();
    reach_probe_bw(&mut flow);
    flow.bbr.state = State::Up;
    flow.bbr.cycle.is_probe_sample = true;
    let first = flow.sent_packets.next_number();
    flow.send(50);
    flow.now += RTT;
    flow.ack(first + 49);
    // 41 kB were in flight when the 41st packet was sent. 2 % of the 40 kB before it may be lost,
    // so 0.8 of its 1000 bytes, over 0.98.
    flow.lose(&[first + 40]);
    assert_eq!(flow.bbr.inflight_longterm, Bytes::new(40_816));
    assert_eq!(flow.bbr.state, State::Down);
    assert!(flow.bbr.cycle.prev_probe_too_high);
}

#[test]
fn an_idle_period_replaces_probe_rtt() {
    let mut flow = flow();
    reach_probe_bw(&mut flow);
    flow.sent_packets.set_app_limited();
    flow.now += Span::from_secs(20);
    let first = flow.sent_packets.next_number();
    flow.send(1);
    flow.now += RTT;
    flow.ack(first);
    assert!(flow.bbr.state.is_probe_bw());
}

#[test]
fn probe_rtt_in_startup_returns_to_startup() {
    let mut flow = flow();
    // Nothing grows because the application limits the sender: Startup continues.
    flow.sent_packets.set_app_limited();
    for number in 0.. {
        // Two packets in flight, one acknowledged: the flow is never idle.
        flow.send(if number == 0 { 2 } else { 1 });
        flow.now += RTT;
        flow.ack(number);
        flow.sent_packets.set_app_limited();
        if flow.bbr.state == State::ProbeRtt {
            break;
        }
        assert!(flow.now < Time::from_secs(10));
    }
    assert!(flow.now > Time::from_secs(5));
    let first = flow.sent_packets.next_number();
    for number in first.. {
        flow.send(1);
        flow.now += RTT;
        flow.ack(number);
        if flow.bbr.state != State::ProbeRtt {
            break;
        }
    }
    assert_eq!(flow.bbr.state, State::Startup);
}

#[test]
fn a_probing_rate_sets_pacing_and_window_until_it_ends() {
    let mut flow = flow();
    flow.round(10, |_| false);
    let before = flow.limits();
    flow.bbr.set_probing_rate(Some(Rate::from_mbps(100)));
    assert_eq!(flow.bbr.send_control().pacing_rate, Some(Rate::from_mbps(100)));
    // Twice 1.25 MB.
    assert_eq!(flow.bbr.send_control().cwnd, Bytes::new(2_500_000));
    assert_eq!(flow.bbr.bandwidth(), before.2, "a probing rate must not change the estimate");
    flow.bbr.set_probing_rate(None);
    assert_eq!(flow.limits(), before);
}

#[test]
fn a_probe_waits_for_the_first_rtt_sample() {
    let mut flow = flow();
    flow.bbr.set_probing_rate(Some(Rate::from_mbps(100)));
    assert_eq!(flow.bbr.send_control().cwnd, Bytes::new(10_000));
    flow.round(1, |_| false);
    assert_eq!(flow.bbr.send_control().cwnd, Bytes::new(2_500_000));
    assert!(flow.bbr.in_startup());
}

#[test]
fn a_retreat_drains_and_discards_samples_meanwhile() {
    let mut flow = flow();
    flow.round(10, |_| false);
    let first = flow.fail_probe();
    assert_eq!(flow.bbr.state, State::Drain);
    assert!(!flow.bbr.in_startup() && flow.bbr.send_control().cwnd < Bytes::new(2_500_000));
    flow.drain_failed_probe(first);
    assert!(flow.bbr.state.is_probe_bw() && !flow.bbr.resumption.discards());
}

#[test]
fn a_capacity_estimate_ends_startup_and_sets_the_bandwidth() {
    let mut flow = flow();
    flow.round(10, |_| false);
    flow.restart(500_000, Some(500_000), Some(Rate::from_mbps(30)));
    assert_eq!(flow.bbr.bandwidth(), Some(Rate::from_mbps(30)));
    assert_eq!((flow.bbr.state, flow.bbr.send_control().cwnd), (State::Down, Bytes::new(500_000)));
    assert_eq!(flow.bbr.send_control().pacing_rate, Some(Rate::from_mbps(30).mul_f64(0.9 * 0.99)));
}

#[test]
fn a_capacity_estimate_below_the_flight_drains_first() {
    let mut flow = flow();
    flow.send(900);
    flow.restart(500_000, Some(500_000), None);
    // Half a megabyte per tenth of a second.
    assert_eq!(flow.bbr.bandwidth(), Some(Rate::from_mbps(40)));
    assert_eq!(flow.bbr.state, State::Drain);
}

#[test]
fn a_restart_without_a_threshold_stays_in_startup() {
    let mut flow = flow();
    flow.round(10, |_| false);
    flow.restart(500_000, None, None);
    assert_eq!(
        (flow.bbr.state, flow.bbr.send_control().cwnd),
        (State::Startup, Bytes::new(500_000))
    );
    assert!(flow.bbr.send_control().pacing_rate > Some(Rate::from_mbps(100)));
}

#[test]
fn a_path_change_resets_the_minimum_rtt() {
    let mut flow = flow();
    reach_probe_bw(&mut flow);
    flow.bbr.on_path_change(&PathChange::unknown(flow.now));
    let first = flow.sent_packets.next_number();
    flow.send(1);
    flow.now += RTT * 4;
    flow.ack(first);
    assert_eq!(flow.bbr.min_rtt.get(), Some(RTT * 4));
}

#[test]
fn filters_stay_bounded_however_long_the_flow() {
    let mut flow = flow();
    for round in 0..500u64 {
        flow.round(3 + round * 7919 % 30, |_| false);
        assert!(flow.bbr.aggregation.kept() <= 10);
    }
}

proptest! {
    /// Window and rate stay above zero after any sequence of events.
    #[test]
    fn window_and_rate_stay_valid(events in events()) {
        flow().check_events(events)?;
    }
}

//! Recovery and the handover, packet by packet.

use super::*;
use crate::testing::flow::{Flow, MTU, RTT};
use proptest::prelude::*;

fn flow() -> Flow<Bbr1> {
    Flow::new(|config| Bbr1::new(config, &Parameters::default()))
}

#[test]
fn the_first_round_of_recovery_conserves_and_its_end_restores_the_window() {
    let mut flow = flow();
    flow.round(20, |_| false);
    let before = flow.bbr.send_control().cwnd;
    let first = flow.sent_packets.next_number();
    flow.send(10);
    flow.now += RTT;
    flow.ack(first + 3);
    flow.lose(&[first]);
    // Eight left, and one packet to repair with.
    assert_eq!(flow.bbr.send_control().cwnd, Bytes::new(9_000));
    flow.send(1);
    flow.ack(first + 4);
    assert_eq!(flow.bbr.send_control().cwnd, Bytes::new(9_000));
    flow.now += RTT;
    flow.ack(first + 10);
    assert!(flow.bbr.send_control().cwnd >= before);
}

#[test]
fn the_handshake_is_the_first_round_trip_and_ten_seconds_after_it_a_smaller_one_is_looked_for() {
    // Packets of data take longer than the handshake's, by what it takes to send them.
    let mut flow = Flow::new(|config| {
        let config = ControllerConfig { rtt: Some(RTT - Span::from_millis(1)), ..*config };
        Bbr1::new(&config, &Parameters::default())
    });
    // 2.885 windows of 10 kB in 99 ms.
    assert_eq!(flow.bbr.send_control().pacing_rate.map(|rate| rate.as_bps() / 1000), Some(2331));
    while flow.now + RTT < Time::from_secs(10) {
        flow.round(10, |_| false);
        assert_ne!(flow.bbr.state, State::ProbeRtt, "at {}", flow.now);
    }
    (0..2).for_each(|_| flow.round(10, |_| false));
    assert_eq!(flow.bbr.state, State::ProbeRtt);
}

#[test]
fn persistent_congestion_leaves_one_packet() {
    let mut flow = flow();
    flow.send(2);
    flow.sent_packets.on_lost(0);
    flow.sent_packets.on_lost(1);
    flow.sent_packets.report_loss(flow.now, true, |loss| flow.bbr.on_loss(loss));
    assert_eq!(flow.bbr.send_control().cwnd, MTU);
}

#[test]
fn losses_answered_before_do_not_count() {
    let mut flow = flow();
    flow.round(20, |_| false);
    let first = flow.sent_packets.next_number();
    flow.send(10);
    flow.restart(60_000, None, None);
    flow.lose(&[first]);
    assert_eq!(
        (flow.bbr.recovery, flow.bbr.send_control().cwnd),
        (Recovery::None, Bytes::new(60_000))
    );
}

#[test]
fn a_found_capacity_ends_startup_with_its_rate_as_the_bandwidth() {
    let mut flow = flow();
    flow.round(10, |_| false);
    flow.restart(500_000, Some(500_000), Some(Rate::from_mbps(30)));
    assert_eq!(flow.bbr.bandwidth(), Some(Rate::from_mbps(30)));
    assert!(matches!(flow.bbr.state, State::ProbeBw(phase) if phase != DRAINING));
    flow.send(500);
    flow.restart(500_000, Some(500_000), Some(Rate::from_mbps(30)));
    assert_eq!(flow.bbr.state, State::Drain);
}

#[test]
fn a_probing_rate_sets_pacing_and_window_and_leaves_nothing_behind() {
    let mut flow = flow();
    flow.round(10, |_| false);
    let before =
        (flow.bbr.send_control().cwnd, flow.bbr.send_control().pacing_rate, flow.bbr.bandwidth());
    flow.bbr.set_probing_rate(Some(Rate::from_mbps(100)));
    assert_eq!(flow.bbr.send_control().pacing_rate, Some(Rate::from_mbps(100)));
    // 2.885 times 1.25 MB.
    assert_eq!(flow.bbr.send_control().cwnd, Bytes::new(3_606_250));
    flow.bbr.set_probing_rate(None);
    assert_eq!(
        (flow.bbr.send_control().cwnd, flow.bbr.send_control().pacing_rate, flow.bbr.bandwidth()),
        before
    );
}

#[test]
fn a_retreat_drains_and_discards_what_it_measures_meanwhile() {
    let mut flow = flow();
    flow.round(10, |_| false);
    let first = flow.sent_packets.next_number();
    flow.bbr.set_probing_rate(Some(Rate::from_mbps(100)));
    flow.send(200);
    flow.now += RTT;
    flow.ack(first);
    flow.bbr.retreat(flow.now);
    let bandwidth = flow.bbr.bandwidth();
    for number in first + 1..first + 150 {
        flow.now += Span::from_micros(10);
        flow.ack(number);
    }
    assert_eq!((flow.bbr.in_drain(), flow.bbr.bandwidth()), (true, bandwidth));
    for number in first + 150..first + 200 {
        flow.ack(number);
    }
    assert!(
        matches!(flow.bbr.state, State::ProbeBw(_))
            && !flow.bbr.in_drain()
            && !flow.bbr.resumption.discards()
    );
}

#[test]
fn filters_stay_bounded_however_long_the_flow() {
    let mut flow = flow();
    for round in 0..500u64 {
        flow.round(3 + round * 7919 % 30, |_| false);
        assert!(flow.bbr.bandwidth.kept() <= 10);
    }
}

proptest! {
    #[test]
    fn nothing_leaves_it_without_a_window(steps in proptest::collection::vec((0u8..12, 0u64..u64::MAX), 1..200)) {
        let mut flow = flow();
        for (kind, value) in steps {
            flow.anything(kind, value);
            prop_assert!(!flow.bbr.send_control().cwnd.is_zero());
            prop_assert!(flow.bbr.send_control().pacing_rate.is_none_or(|rate| !rate.is_zero()));
        }
    }
}

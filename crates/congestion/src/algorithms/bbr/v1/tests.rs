//! Recovery and Careful Resume, packet by packet.

use super::*;
use crate::testing::MTU;
use crate::testing::flow::{Flow, RTT, events};
use proptest::prelude::*;

fn flow() -> Flow<Bbr1> {
    Flow::new(|config| Bbr1::new(config, &Parameters::default()))
}

#[test]
fn recovery_conserves_packets_for_a_round_and_restores_the_window_at_its_end() {
    let mut flow = flow();
    flow.round(20, |_| false);
    let before = flow.bbr.send_control().cwnd;
    let first = flow.sent_packets.next_number();
    flow.send(10);
    flow.now += RTT;
    flow.ack(first + 3);
    flow.lose(&[first]);
    // Eight packets remain in flight, and one may be sent for the repair.
    assert_eq!(flow.bbr.send_control().cwnd, Bytes::new(9_000));
    flow.send(1);
    flow.ack(first + 4);
    assert_eq!(flow.bbr.send_control().cwnd, Bytes::new(9_000));
    flow.now += RTT;
    flow.ack(first + 10);
    assert!(flow.bbr.send_control().cwnd >= before);
}

#[test]
fn packets_are_conserved_for_a_round_trip_from_the_loss() {
    let mut flow = flow();
    flow.round(20, |_| false);
    let first = flow.sent_packets.next_number();
    flow.send(10);
    flow.now += RTT;
    flow.ack(first);
    // Sent before the loss: their round ends the one in progress, not the first of recovery.
    let second = flow.sent_packets.next_number();
    flow.send(4);
    (1..6).for_each(|index| flow.ack(first + index));
    flow.lose(&[first + 6]);
    let third = flow.sent_packets.next_number();
    flow.send(4);
    flow.now += RTT;
    flow.ack(second);
    assert_eq!(flow.bbr.recovery, Recovery::Conserving);
    flow.ack(third);
    assert_ne!(flow.bbr.recovery, Recovery::Conserving);
}

#[test]
fn equal_samples_do_not_put_probe_rtt_off() {
    let mut flow = flow();
    let (mut probes, mut before) = (0, State::Startup);
    while flow.now < Time::from_secs(61) {
        flow.round(10, |_| false);
        probes += u32::from(flow.bbr.state == State::ProbeRtt && before != State::ProbeRtt);
        before = flow.bbr.state;
    }
    // Linux 6.18 at 10.1, 20.6, 31.1, 41.4 and 51.7 s.
    assert_eq!(probes, 5);
}

#[test]
fn aggregated_acks_raise_the_window_by_what_exceeds_the_bandwidth() {
    let windows = [0.0, 1.0].map(|extra_acked_gain| {
        let parameters = Parameters { extra_acked_gain, ..Parameters::default() };
        let mut flow = Flow::new(|config| Bbr1::new(config, &parameters));
        flow.restart(250_000, Some(250_000), Some(Rate::from_mbps(10)));
        for _ in 0..40 {
            // 125 packets a round trip, whose ACKs arrive together.
            let first = flow.sent_packets.next_number();
            flow.send(125);
            flow.now += RTT;
            for number in first..first + 125 {
                flow.sent_packets.on_acked(flow.now, number);
            }
            flow.sent_packets.report_ack(flow.now, false, |ack| flow.bbr.on_ack(ack));
        }
        flow.bbr.send_control().cwnd
    });
    // Two BDP and three quanta; what 100 ms deliver, at most, is allowed more.
    assert!(windows[1] >= windows[0] + Bytes::new(100_000), "{windows:?}");
    assert!(windows[1] <= windows[0] + Bytes::new(126_000), "{windows:?}");
}

#[test]
fn the_handshake_gives_the_first_rtt_sample_and_probe_rtt_follows_ten_seconds_later() {
    // Data packets have a larger RTT than those of the handshake, by their transmission time.
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
fn a_change_makes_it_probe_the_minimum_rtt_or_start_again() {
    for probe in [ChangeProbe::MinRtt, ChangeProbe::Model] {
        let mut flow = flow();
        flow.round(20, |_| false);
        flow.restart(250_000, Some(250_000), Some(Rate::from_mbps(10)));
        let (window, _, bandwidth) = flow.limits();
        flow.bbr.on_upcoming_path_change(probe);
        assert_eq!(flow.bbr.state, State::ProbeRtt);
        // Half of 125 kB, or four packets.
        let least = if probe == ChangeProbe::Model { 62_500 } else { 4_000 };
        assert_eq!(flow.bbr.probe_rtt_window(), Bytes::new(least));
        let begun = flow.now;
        while flow.bbr.state == State::ProbeRtt {
            flow.round(4, |_| false);
        }
        let took = flow.now - begun;
        match probe {
            ChangeProbe::Model => {
                assert_eq!(flow.bbr.state, State::Startup);
                // Of four packets a round trip, not the rate of before.
                assert!(flow.bbr.bandwidth() < Some(Rate::from_mbps(1)));
                assert!(took < Span::from_millis(420), "{took}");
            }
            _ => {
                assert!(matches!(flow.bbr.state, State::ProbeBw(_)));
                assert_eq!(flow.bbr.bandwidth(), bandwidth);
                assert!(took > Span::from_millis(400), "{took}");
            }
        }
        // The window is that from before the probe.
        assert!(flow.bbr.send_control().cwnd >= window, "{:?}", flow.bbr.send_control());
    }
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
fn losses_before_recovery_start_are_ignored() {
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
fn a_capacity_estimate_ends_startup_and_sets_the_bandwidth() {
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
fn a_probing_rate_sets_pacing_and_window_until_it_ends() {
    let mut flow = flow();
    flow.round(10, |_| false);
    let before = flow.limits();
    flow.bbr.set_probing_rate(Some(Rate::from_mbps(100)));
    assert_eq!(flow.bbr.send_control().pacing_rate, Some(Rate::from_mbps(100)));
    // 2.885 times 1.25 MB.
    assert_eq!(flow.bbr.send_control().cwnd, Bytes::new(3_606_250));
    flow.bbr.set_probing_rate(None);
    assert_eq!(flow.limits(), before);
}

#[test]
fn a_retreat_drains_and_discards_samples_meanwhile() {
    let mut flow = flow();
    flow.round(10, |_| false);
    let first = flow.fail_probe();
    flow.drain_failed_probe(first);
    assert!(matches!(flow.bbr.state, State::ProbeBw(_)) && !flow.bbr.resumption.discards());
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
    /// Window and rate stay above zero after any sequence of events.
    #[test]
    fn window_and_rate_stay_valid(events in events()) {
        flow().check_events(events)?;
    }
}

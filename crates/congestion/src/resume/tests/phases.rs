//! Tests of every transition of a window-based controller, and of the invariants of each phase.

use super::*;

#[test]
fn a_connection_starts_in_reconnaissance_with_the_controllers_own_window() {
    let rig = Rig::new(ResumeMode::Careful, Some(saved(300)));
    assert_eq!(rig.steps(), [("reconnaissance", "")]);
    assert_eq!(rig.resume.send_control().cwnd, packets(10));
    assert!(rig.handle.in_use());
}

#[test]
fn reconnaissance_becomes_unvalidated_once_the_initial_data_is_acknowledged() {
    let mut rig = Rig::new(ResumeMode::Careful, Some(saved(300)));
    rig.send(10);
    rig.at(100).ack(0, 8);
    assert_eq!(rig.resume.resume_phase(), Phase::Reconnaissance);
    rig.ack(9, 9);
    assert_eq!(rig.last_step(), ("unvalidated", "congestion_window_limited"));
    assert_eq!(rig.resume.send_control().cwnd, packets(150));
    // Exactly 150 packets of 1000 bytes in 100 ms.
    assert_eq!(rig.resume.send_control().pacing_rate, Some(Rate::from_mbps(12)));
    assert_eq!(rig.resume.send_control().send_quantum, Some(packets(10)));
}

#[test]
fn reconnaissance_waits_for_a_sender_that_fills_its_window() {
    let mut rig = Rig::new(ResumeMode::Careful, Some(saved(300)));
    rig.send(5);
    rig.at(100).ack_as(0, 4, true);
    assert_eq!(rig.resume.resume_phase(), Phase::Reconnaissance);
    rig.send(9);
    assert_eq!(rig.resume.resume_phase(), Phase::Reconnaissance);
    rig.send(1);
    assert_eq!(rig.last_step(), ("unvalidated", "congestion_window_limited"));
    assert_eq!(rig.resume.pipesize(), packets(10));
}

#[test]
fn reconnaissance_does_not_wait_for_a_packet_removed_without_a_report() {
    let mut rig = Rig::new(ResumeMode::Careful, Some(saved(300)));
    rig.send(3);
    rig.at(100).ack_as(0, 0, true);
    rig.ack_as(2, 2, true);
    rig.send(5);
    rig.at(200).ack_as(3, 3, true);
    rig.send(5);
    assert_eq!(rig.resume.resume_phase(), Phase::Unvalidated);
}

#[test]
fn parameters_may_arrive_late() {
    let mut rig = Rig::new(ResumeMode::Careful, None);
    rig.send(10);
    rig.at(100).ack(0, 9);
    rig.fill();
    assert!(rig.handle.offer(saved(300)));
    rig.at(200).ack(10, 10);
    assert_eq!(rig.resume.resume_phase(), Phase::Unvalidated);
}

#[test]
fn the_jump_is_no_larger_than_its_cap() {
    let rig = Rig::jumped(40_000);
    assert_eq!(rig.resume.send_control().cwnd, packets(16_000));
}

#[test]
fn reconnaissance_becomes_normal_when_the_jump_gains_nothing() {
    let mut rig = Rig::new(ResumeMode::Careful, Some(saved(30)));
    rig.send(10);
    rig.at(100).ack(0, 9);
    assert_eq!(rig.last_step(), ("normal", ""));
    assert_eq!(rig.resume.send_control().cwnd, packets(20));
    assert!(!rig.handle.in_use());
}

#[test]
fn a_jump_must_more_than_double_the_window() {
    for (window, phase) in [(80, Phase::Normal), (82, Phase::Unvalidated)] {
        let mut rig = Rig::new(ResumeMode::Careful, Some(saved(window)));
        rig.send(10);
        rig.at(100).ack(0, 9);
        // Half of `window`, from 20 packets.
        assert_eq!(rig.resume.resume_phase(), phase, "{window}");
    }
}

#[test]
fn what_precedes_a_jump_is_no_faster_than_the_saved_path() {
    let rate = |offer| {
        let burst = Grower { window: packets(10), pacing_rate: Some(Rate::from_mbps(100)) };
        Rig::around(Box::new(burst), ResumeMode::Careful, offer).resume.send_control().pacing_rate
    };
    // 300 packets of 1000 bytes per 75 ms.
    assert_eq!(rate(Some(saved(300))), Some(Rate::from_mbps(32)));
    // A path that is no reason to jump may have been saved by a sender that had little to send.
    assert_eq!(rate(Some(saved(20))), Some(Rate::from_mbps(100)));
    assert_eq!(rate(None), Some(Rate::from_mbps(100)));
}

#[test]
fn reconnaissance_becomes_normal_on_loss() {
    let mut rig = Rig::new(ResumeMode::Careful, Some(saved(300)));
    rig.send(10);
    rig.at(100).ack(1, 9);
    rig.lose(0, 0);
    assert_eq!(rig.last_step(), ("normal", "packet_loss"));
    assert_eq!(rig.resume.send_control().cwnd, Bytes::new(9_500));
    assert!(!rig.handle.retreated() && !rig.handle.in_use());
}

#[test]
fn a_loss_among_the_first_two_packets_prevents_the_jump() {
    // A case of quicly (t/jumpstart.c): the first of two packets is lost, the window is halved.
    let mut rig = Rig::new(ResumeMode::Careful, Some(saved(40)));
    rig.send(2);
    rig.at(100).lose(0, 0);
    rig.ack(1, 1);
    assert_eq!(rig.last_step(), ("normal", "packet_loss"));
    assert_eq!(rig.resume.send_control().cwnd, packets(5));
}

#[test]
fn reconnaissance_becomes_normal_on_ecn_ce() {
    let mut rig = Rig::new(ResumeMode::Careful, Some(saved(300)));
    rig.send(10);
    rig.at(100).ack(0, 4);
    rig.mark(4);
    assert_eq!(rig.last_step(), ("normal", "ECN_CE"));
    assert_eq!(rig.resume.send_control().cwnd, Bytes::new(7_500));
}

#[test]
fn reconnaissance_becomes_normal_when_the_rtt_is_half_of_the_saved_one() {
    let mut rig = Rig::new(ResumeMode::Careful, Some(saved(300)));
    rig.send(10);
    rig.at(37).ack(0, 0);
    assert_eq!(rig.last_step(), ("normal", "rtt_not_validated"));
    let mut rig = Rig::new(ResumeMode::Careful, Some(saved(300)));
    rig.send(10);
    rig.at(38).ack(0, 9);
    assert_eq!(rig.resume.resume_phase(), Phase::Unvalidated);
}

#[test]
fn reconnaissance_becomes_normal_when_the_rtt_is_over_ten_times_the_saved_one() {
    let mut rig = Rig::new(ResumeMode::Careful, Some(saved(300)));
    rig.send(10);
    rig.at(751).ack(0, 9);
    assert_eq!(rig.last_step(), ("normal", "rtt_not_validated"));
    let mut rig = Rig::new(ResumeMode::Careful, Some(saved(300)));
    rig.send(10);
    rig.at(750).ack(0, 9);
    assert_eq!(rig.resume.resume_phase(), Phase::Unvalidated);
}

#[test]
fn reconnaissance_becomes_normal_when_the_parameters_are_refused() {
    for (refusal, trigger) in
        [(Refusal::InUse, ""), (Refusal::Expired, ""), (Refusal::EndpointMismatch, "path_changed")]
    {
        let mut rig = Rig::new(ResumeMode::Careful, Some(saved(300)));
        rig.handle.refuse(refusal);
        rig.send(1);
        assert_eq!(rig.last_step(), ("normal", trigger));
        assert!(!rig.handle.in_use());
    }
}

#[test]
fn reconnaissance_becomes_normal_when_the_lifetime_has_expired() {
    let set = SavedParameters { valid_until: Some(Time::from_millis(99)), ..saved(300) };
    let mut rig = Rig::new(ResumeMode::Careful, Some(set));
    rig.send(10);
    assert_eq!(rig.resume.resume_phase(), Phase::Reconnaissance);
    rig.at(100).ack(0, 9);
    assert_eq!(rig.last_step(), ("normal", ""));
    assert_eq!(rig.handle.refusal(), Some(Refusal::Expired));
}

#[test]
fn reconnaissance_becomes_normal_when_the_path_changes() {
    let mut rig = Rig::new(ResumeMode::Careful, Some(saved(300)));
    rig.resume.on_path_change(&PathChange::unknown(rig.now));
    assert_eq!(rig.last_step(), ("normal", "path_changed"));
    assert!(!rig.handle.in_use() && !rig.handle.retreated());
}

#[test]
fn a_timeout_does_not_end_reconnaissance() {
    let mut rig = Rig::new(ResumeMode::Careful, Some(saved(300)));
    rig.send(10);
    rig.resume.on_timeout(Time::from_millis(90));
    rig.at(100).ack(0, 9);
    assert_eq!(rig.resume.resume_phase(), Phase::Unvalidated);
}

#[test]
fn the_window_is_constant_in_the_unvalidated_phase() {
    let mut rig = Rig::new(ResumeMode::Careful, Some(saved(300)));
    rig.send(10);
    rig.at(100).ack_as(0, 9, true);
    rig.send(10);
    // All these packets were sent before the jump.
    rig.at(190).ack(10, 19);
    assert_eq!(rig.resume.resume_phase(), Phase::Unvalidated);
    assert_eq!(
        (rig.resume.send_control().cwnd, rig.resume.pipesize()),
        (packets(150), packets(10))
    );
}

/// A controller that grows by a packet per ACK unless the sender is application-limited, and
/// ignores restarts.
#[derive(Debug, Clone)]
struct Grower {
    window: Bytes,
    pacing_rate: Option<Rate>,
}

impl Controller for Grower {
    fn on_ack(&mut self, ack: &crate::Ack<'_>) {
        if !ack.app_limited {
            self.window += MTU;
        }
    }
    fn on_loss(&mut self, _: &crate::Loss<'_>) {}
    fn on_ecn_ce(&mut self, _: &EcnCe) {}
    fn restart(&mut self, _: &crate::Restart) {}
    fn send_control(&self) -> crate::SendControl {
        let control = crate::SendControl::window(self.window, true, "growing");
        crate::SendControl { pacing_rate: self.pacing_rate, ..control }
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[test]
fn the_controller_grows_by_what_was_sent_before_the_jump_and_not_by_the_jump() {
    let grower = Grower { window: packets(10), pacing_rate: None };
    let mut rig = Rig::around(Box::new(grower), ResumeMode::Careful, Some(saved(300)));
    rig.send(10);
    rig.at(100).ack_as(0, 9, true);
    rig.send(60);
    // In the Unvalidated Phase; the packets were sent before the jump.
    rig.at(190).ack(10, 14);
    assert_eq!(rig.resume.controller.send_control().cwnd, packets(11));
    rig.lose(15, 15);
    // In Safe Retreat.
    rig.ack(16, 30);
    assert_eq!(rig.resume.resume_phase(), Phase::SafeRetreat);
    assert_eq!(rig.resume.controller.send_control().cwnd, packets(11));
    rig.ack(31, 69);
    rig.send(1);
    rig.at(300).ack(70, 70);
    assert_eq!(rig.resume.controller.send_control().cwnd, packets(12));
}

#[test]
fn unvalidated_becomes_validating_when_the_window_of_the_jump_is_in_flight() {
    let rig = Rig::validating();
    assert_eq!(rig.last_step(), ("validating", "last_unvalidated_packet_sent"));
    assert_eq!(rig.resume.send_control().cwnd, packets(150));
}

#[test]
fn unvalidated_becomes_validating_with_the_flight_when_its_first_packet_is_acknowledged() {
    let mut rig = Rig::jumped(300);
    rig.send(60);
    rig.at(180).ack(10, 10);
    assert_eq!(rig.last_step(), ("validating", "first_unvalidated_packet_acknowledged"));
    assert_eq!((rig.resume.send_control().cwnd, rig.resume.pipesize()), (packets(59), packets(1)));
}

#[test]
fn unvalidated_becomes_validating_after_an_rtt() {
    let mut rig = Rig::jumped(300);
    rig.send(60);
    rig.at(200).send(1);
    assert_eq!(rig.resume.resume_phase(), Phase::Unvalidated);
    rig.at(201).send(1);
    assert_eq!(rig.last_step(), ("validating", "rtt_exceeded"));
    assert_eq!(rig.resume.send_control().cwnd, packets(62));
}

#[test]
fn the_rtt_is_counted_from_the_first_unvalidated_packet() {
    let mut rig = Rig::jumped(300);
    rig.at(5000).send(60);
    rig.at(5100).send(1);
    assert_eq!(rig.resume.resume_phase(), Phase::Unvalidated);
    rig.at(5101).send(1);
    assert_eq!(rig.last_step(), ("validating", "rtt_exceeded"));
}

#[test]
fn unvalidated_becomes_validating_on_timeout() {
    let mut rig = Rig::jumped(300);
    rig.send(60);
    rig.resume.on_timeout(Time::from_millis(400));
    assert_eq!(rig.last_step(), ("validating", "rtt_exceeded"));
    assert_eq!(rig.resume.send_control().cwnd, packets(60));
}

#[test]
fn unvalidated_becomes_normal_when_the_sender_is_rate_limited() {
    let mut rig = Rig::jumped(300);
    rig.send(9);
    rig.at(200).ack(10, 10);
    assert_eq!(rig.last_step(), ("normal", "rate_limited"));
    // PipeSize is one packet. The window is that of slow start after ten acknowledged packets.
    assert_eq!(rig.resume.send_control().cwnd, packets(20));
    assert!(!rig.handle.retreated());
}

#[test]
fn unvalidated_becomes_safe_retreat_on_loss() {
    let mut rig = Rig::new(ResumeMode::Careful, Some(saved(300)));
    rig.send(10);
    rig.at(100).ack_as(0, 9, true);
    rig.send(40);
    rig.at(190).ack(11, 13);
    rig.lose(10, 10);
    assert_eq!(rig.last_step(), ("safe_retreat", "packet_loss"));
    assert_eq!(rig.resume.send_control().cwnd, packets(5));
    assert!(rig.handle.retreated());
}

#[test]
fn unvalidated_becomes_safe_retreat_on_ecn_ce() {
    let mut rig = Rig::jumped(300);
    rig.send(30);
    rig.mark(9);
    assert_eq!(rig.last_step(), ("safe_retreat", "ECN_CE"));
    // PipeSize is zero: the window is two packets.
    assert_eq!(rig.resume.send_control().cwnd, packets(2));
}

#[test]
fn unvalidated_becomes_safe_retreat_when_the_path_changes() {
    let mut rig = Rig::jumped(300);
    rig.send(30);
    rig.resume.on_path_change(&PathChange::unknown(rig.now));
    assert_eq!(rig.last_step(), ("safe_retreat", "path_changed"));
    assert!(rig.handle.retreated());
}

#[test]
fn unvalidated_becomes_safe_retreat_when_the_rtt_becomes_too_short() {
    let mut rig = Rig::jumped(300);
    rig.send(30);
    rig.at(137).ack(10, 10);
    assert_eq!(rig.last_step(), ("safe_retreat", "path_changed"));
}

#[test]
fn the_window_grows_by_the_controllers_rules_while_validating() {
    let mut rig = Rig::validating();
    rig.at(200).ack(10, 19);
    assert_eq!(
        (rig.resume.send_control().cwnd, rig.resume.pipesize()),
        (packets(160), packets(10))
    );
}

#[test]
fn validating_becomes_normal_when_the_last_unvalidated_packet_is_acknowledged() {
    let mut rig = Rig::validating();
    rig.at(200).ack(10, 158);
    assert_eq!(rig.resume.resume_phase(), Phase::Validating);
    rig.ack(159, 159);
    assert_eq!(rig.last_step(), ("normal", "last_unvalidated_packet_acknowledged"));
    assert_eq!(rig.resume.send_control().cwnd, packets(300));
    assert!(rig.handle.in_use() && !rig.handle.retreated());
}

#[test]
fn validating_does_not_end_over_a_gap_that_may_be_a_loss() {
    let mut rig = Rig::validating();
    rig.at(200).ack(10, 155);
    rig.ack(158, 159);
    assert_eq!(rig.resume.resume_phase(), Phase::Validating);
    rig.lose(156, 157);
    assert_eq!(
        rig.steps().iter().map(|step| step.0).collect::<Vec<_>>()[3..],
        ["safe_retreat", "normal"]
    );
    assert!(rig.handle.retreated());
}

#[test]
fn validating_becomes_safe_retreat_on_loss_ecn_ce_or_a_path_change() {
    let strikes: [(Strike, &str); 3] = [
        (|rig| rig.lose(40, 40), "packet_loss"),
        (|rig| rig.mark(39), "ECN_CE"),
        (|rig| rig.resume.on_path_change(&PathChange::unknown(rig.now)), "path_changed"),
    ];
    for (strike, trigger) in strikes {
        let mut rig = Rig::validating();
        rig.at(200).ack(10, 39);
        strike(&mut rig);
        assert_eq!(rig.last_step(), ("safe_retreat", trigger));
        assert_eq!(rig.resume.send_control().cwnd, packets(15));
        assert!(rig.handle.retreated());
    }
}

#[test]
fn the_window_is_constant_in_safe_retreat_despite_further_losses_of_the_flight() {
    let mut rig = Rig::validating();
    rig.at(200).ack(10, 39);
    rig.lose(40, 40);
    rig.ack(41, 60);
    rig.lose(61, 90);
    rig.mark(91);
    rig.resume.on_spurious_loss(rig.now);
    rig.resume.on_timeout(rig.now);
    assert_eq!(rig.resume.resume_phase(), Phase::SafeRetreat);
    assert_eq!((rig.resume.send_control().cwnd, rig.resume.pipesize()), (packets(15), packets(50)));
}

#[test]
fn congestion_of_packets_sent_in_safe_retreat_halves_its_window() {
    let mut rig = Rig::validating();
    rig.at(200).ack(10, 39);
    rig.lose(40, 150);
    rig.at(201).send(3);
    rig.lose(160, 160);
    assert_eq!(rig.resume.send_control().cwnd, Bytes::new(7_500));
    rig.lose(161, 161);
    assert_eq!(rig.resume.send_control().cwnd, Bytes::new(7_500));
}

#[test]
fn safe_retreat_becomes_normal_when_the_last_unvalidated_packet_is_acknowledged() {
    let mut rig = Rig::validating();
    rig.at(200).ack(10, 39);
    rig.lose(40, 40);
    rig.ack(41, 158);
    assert_eq!(rig.resume.resume_phase(), Phase::SafeRetreat);
    rig.ack(159, 159);
    assert_eq!(rig.last_step(), ("normal", "exit_recovery"));
    assert_eq!(rig.resume.send_control().ssthresh, Some(Bytes::new(74_500)));
    assert_eq!(rig.resume.send_control().cwnd, packets(15));
    assert!(rig.resume.send_control().in_slow_start);
}

#[test]
fn safe_retreat_becomes_normal_when_a_later_packet_is_acknowledged() {
    let mut rig = Rig::validating();
    rig.at(200).ack(10, 39);
    rig.lose(40, 150);
    rig.send(3);
    rig.at(300).ack(160, 160);
    assert_eq!(rig.last_step(), ("normal", "exit_recovery"));
    // The retreat covers losses of packets sent before it.
    let window = rig.resume.send_control().cwnd;
    rig.lose(151, 159);
    assert_eq!(rig.resume.send_control().cwnd, window);
}

#[test]
fn safe_retreat_becomes_normal_when_the_last_unvalidated_packet_is_lost_itself() {
    let mut rig = Rig::validating();
    rig.at(200).ack(10, 39);
    rig.lose(40, 158);
    assert_eq!(rig.resume.resume_phase(), Phase::SafeRetreat);
    rig.lose(159, 159);
    assert_eq!(rig.last_step(), ("normal", "exit_recovery"));
}

#[test]
fn persistent_congestion_ends_careful_resume_with_the_minimum_window() {
    let mut rig = Rig::validating();
    rig.at(200).ack(10, 39);
    rig.lose_as(40, 100, true);
    let steps = rig.steps();
    assert_eq!(
        steps[steps.len() - 2..],
        [("safe_retreat", "packet_loss"), ("normal", "exit_recovery")]
    );
    assert_eq!(rig.resume.send_control().cwnd, packets(2));
    assert!(rig.handle.retreated());
}

#[test]
fn another_layer_that_sets_the_window_ends_careful_resume() {
    let mut rig = Rig::jumped(300);
    let to = crate::Restart {
        now: rig.now,
        window: packets(40),
        ssthresh: None,
        rate: None,
        min_rtt: None,
        recovery_start: 0,
    };
    rig.resume.restart(&to);
    assert_eq!(rig.last_step(), ("normal", ""));
    assert_eq!(rig.resume.send_control().cwnd, packets(40));
}

#[test]
fn a_slow_start_interrupted_by_a_retreat_does_not_exceed_the_threshold() {
    let start = crate::catalogue::find(crate::catalogue::SLOW_STARTS, "hystart++").unwrap();
    let reno = NewReno::new(&config(), &newreno::Parameters::default());
    let started = crate::WithSlowStart::new(
        Box::new(reno),
        (start.make)(&config(), &crate::ParameterValues::defaults(start.parameters)),
        None,
    );
    let mut rig = Rig::around(Box::new(started), ResumeMode::Careful, Some(saved(300)));
    rig.send(10);
    rig.at(100).ack(0, 9);
    rig.send(150);
    rig.at(200).ack(10, 39);
    rig.lose(40, 40);
    rig.ack(41, 159);
    assert_eq!(rig.resume.resume_phase(), Phase::Normal);
    assert_eq!(
        (rig.resume.send_control().cwnd, rig.resume.send_control().ssthresh),
        (packets(15), Some(Bytes::new(74_500)))
    );
}

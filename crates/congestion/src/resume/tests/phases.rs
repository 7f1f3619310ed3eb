//! Every transition of a controller with a window, and what holds in each phase.

use super::*;

#[test]
fn a_connection_begins_in_reconnaissance_with_the_controllers_own_window() {
    let rig = Rig::new(ResumeMode::Careful, Some(saved(300)));
    assert_eq!(rig.steps(), [("reconnaissance", "")]);
    assert_eq!(rig.resume.send_control().cwnd, packets(10));
    assert!(rig.notes.in_use());
}

#[test]
fn reconnaissance_becomes_unvalidated_once_the_initial_data_are_acknowledged() {
    let mut rig = Rig::new(ResumeMode::Careful, Some(saved(300)));
    rig.send(10);
    rig.at(100).ack(0, 8);
    assert_eq!(rig.resume.resume_phase(), Phase::Reconnaissance);
    rig.ack(9, 9);
    assert_eq!(rig.last_step(), ("unvalidated", "congestion_window_limited"));
    assert_eq!(rig.resume.send_control().cwnd, packets(150));
    // 150 packets of 1000 bytes in 100 ms, exactly.
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
fn reconnaissance_is_not_held_up_by_a_packet_that_leaves_without_word() {
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
fn a_set_may_come_late() {
    let mut rig = Rig::new(ResumeMode::Careful, None);
    rig.send(10);
    rig.at(100).ack(0, 9);
    rig.fill();
    assert!(rig.notes.offer(saved(300)));
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
    assert!(!rig.notes.in_use());
}

#[test]
fn reconnaissance_becomes_normal_at_a_loss() {
    let mut rig = Rig::new(ResumeMode::Careful, Some(saved(300)));
    rig.send(10);
    rig.at(100).ack(1, 9);
    rig.lose(0, 0);
    assert_eq!(rig.last_step(), ("normal", "packet_loss"));
    assert_eq!(rig.resume.send_control().cwnd, Bytes::new(9_500));
    assert!(!rig.notes.retreated() && !rig.notes.in_use());
}

#[test]
fn reconnaissance_becomes_normal_at_a_mark() {
    let mut rig = Rig::new(ResumeMode::Careful, Some(saved(300)));
    rig.send(10);
    rig.at(100).ack(0, 4);
    rig.mark(4);
    assert_eq!(rig.last_step(), ("normal", "ECN_CE"));
    assert_eq!(rig.resume.send_control().cwnd, Bytes::new(7_500));
}

#[test]
fn reconnaissance_becomes_normal_when_the_round_trip_is_half_of_the_saved_one() {
    let mut rig = Rig::new(ResumeMode::Careful, Some(saved(300)));
    rig.send(10);
    rig.at(50).ack(0, 0);
    assert_eq!(rig.last_step(), ("normal", "rtt_not_validated"));
    let mut rig = Rig::new(ResumeMode::Careful, Some(saved(300)));
    rig.send(10);
    rig.at(51).ack(0, 9);
    assert_eq!(rig.resume.resume_phase(), Phase::Unvalidated);
}

#[test]
fn reconnaissance_becomes_normal_when_the_round_trip_is_over_ten_times_the_saved_one() {
    let mut rig = Rig::new(ResumeMode::Careful, Some(saved(300)));
    rig.send(10);
    rig.at(1001).ack(0, 9);
    assert_eq!(rig.last_step(), ("normal", "rtt_not_validated"));
    let mut rig = Rig::new(ResumeMode::Careful, Some(saved(300)));
    rig.send(10);
    rig.at(1000).ack(0, 9);
    assert_eq!(rig.resume.resume_phase(), Phase::Unvalidated);
}

#[test]
fn reconnaissance_becomes_normal_when_the_set_is_refused() {
    for (refusal, trigger) in
        [(Refusal::InUse, ""), (Refusal::Expired, ""), (Refusal::EndpointMismatch, "path_changed")]
    {
        let mut rig = Rig::new(ResumeMode::Careful, Some(saved(300)));
        rig.notes.refuse(refusal);
        rig.send(1);
        assert_eq!(rig.last_step(), ("normal", trigger));
        assert!(!rig.notes.in_use());
    }
}

#[test]
fn reconnaissance_becomes_normal_when_the_lifetime_is_over() {
    let set = SavedParameters { valid_until: Some(Time::from_millis(99)), ..saved(300) };
    let mut rig = Rig::new(ResumeMode::Careful, Some(set));
    rig.send(10);
    assert_eq!(rig.resume.resume_phase(), Phase::Reconnaissance);
    rig.at(100).ack(0, 9);
    assert_eq!(rig.last_step(), ("normal", ""));
    assert_eq!(rig.notes.refusal(), Some(Refusal::Expired));
}

#[test]
fn reconnaissance_becomes_normal_when_the_path_changes() {
    let mut rig = Rig::new(ResumeMode::Careful, Some(saved(300)));
    rig.resume.on_path_change(&PathChange::unknown(rig.now));
    assert_eq!(rig.last_step(), ("normal", "path_changed"));
    assert!(!rig.notes.in_use() && !rig.notes.retreated());
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
fn the_window_stands_still_in_the_unvalidated_phase() {
    let mut rig = Rig::new(ResumeMode::Careful, Some(saved(300)));
    rig.send(10);
    rig.at(100).ack_as(0, 9, true);
    rig.send(10);
    // All these were sent before the jump.
    rig.at(190).ack(10, 19);
    assert_eq!(rig.resume.resume_phase(), Phase::Unvalidated);
    assert_eq!(
        (rig.resume.send_control().cwnd, rig.resume.pipesize()),
        (packets(150), packets(10))
    );
}

/// A controller that grows by a packet with each acknowledgement that nothing limits, and cannot be
/// moved.
#[derive(Debug, Clone)]
struct Grower(Bytes);

impl Controller for Grower {
    fn on_ack(&mut self, ack: &crate::Ack<'_>) {
        if !ack.app_limited {
            self.0 += MTU;
        }
    }
    fn on_loss(&mut self, _: &crate::Loss<'_>) {}
    fn on_ecn_ce(&mut self, _: &EcnCe) {}
    fn restart(&mut self, _: &crate::Restart) {}
    fn send_control(&self) -> crate::SendControl {
        crate::SendControl::window(self.0, true, "growing")
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[test]
fn the_controller_does_not_grow_while_the_layer_has_its_window() {
    let mut rig = Rig::around(Box::new(Grower(packets(10))), ResumeMode::Careful, Some(saved(300)));
    rig.send(10);
    rig.at(100).ack_as(0, 9, true);
    rig.send(60);
    // Unvalidated, and sent before the jump.
    rig.at(190).ack(10, 14);
    assert_eq!(rig.resume.controller.send_control().cwnd, packets(10));
    rig.lose(15, 15);
    // Safe Retreat.
    rig.ack(16, 30);
    assert_eq!(rig.resume.resume_phase(), Phase::SafeRetreat);
    assert_eq!(rig.resume.controller.send_control().cwnd, packets(10));
    rig.ack(31, 69);
    rig.send(1);
    rig.at(300).ack(70, 70);
    assert_eq!(rig.resume.controller.send_control().cwnd, packets(11));
}

#[test]
fn unvalidated_becomes_validating_when_the_jump_is_full() {
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
fn unvalidated_becomes_validating_after_a_round_trip() {
    let mut rig = Rig::jumped(300);
    rig.send(60);
    rig.at(200).send(1);
    assert_eq!(rig.resume.resume_phase(), Phase::Unvalidated);
    rig.at(201).send(1);
    assert_eq!(rig.last_step(), ("validating", "rtt_exceeded"));
    assert_eq!(rig.resume.send_control().cwnd, packets(62));
}

#[test]
fn the_round_trip_is_counted_from_the_first_unvalidated_packet() {
    let mut rig = Rig::jumped(300);
    rig.at(5000).send(60);
    rig.at(5100).send(1);
    assert_eq!(rig.resume.resume_phase(), Phase::Unvalidated);
    rig.at(5101).send(1);
    assert_eq!(rig.last_step(), ("validating", "rtt_exceeded"));
}

#[test]
fn unvalidated_becomes_validating_at_a_timeout() {
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
    // PipeSize is one packet: not below the initial window without congestion.
    assert_eq!(rig.resume.send_control().cwnd, packets(10));
    assert!(!rig.notes.retreated());
}

#[test]
fn unvalidated_becomes_safe_retreat_at_a_loss() {
    let mut rig = Rig::new(ResumeMode::Careful, Some(saved(300)));
    rig.send(10);
    rig.at(100).ack_as(0, 9, true);
    rig.send(40);
    rig.at(190).ack(11, 13);
    rig.lose(10, 10);
    assert_eq!(rig.last_step(), ("safe_retreat", "packet_loss"));
    assert_eq!(rig.resume.send_control().cwnd, packets(5));
    assert!(rig.notes.retreated());
}

#[test]
fn unvalidated_becomes_safe_retreat_at_a_mark() {
    let mut rig = Rig::jumped(300);
    rig.send(30);
    rig.mark(9);
    assert_eq!(rig.last_step(), ("safe_retreat", "ECN_CE"));
    // PipeSize is zero: two packets.
    assert_eq!(rig.resume.send_control().cwnd, packets(2));
}

#[test]
fn unvalidated_becomes_safe_retreat_when_the_path_changes() {
    let mut rig = Rig::jumped(300);
    rig.send(30);
    rig.resume.on_path_change(&PathChange::unknown(rig.now));
    assert_eq!(rig.last_step(), ("safe_retreat", "path_changed"));
    assert!(rig.notes.retreated());
}

#[test]
fn unvalidated_becomes_safe_retreat_when_the_round_trip_becomes_too_short() {
    let mut rig = Rig::jumped(300);
    rig.send(30);
    rig.at(150).ack(10, 10);
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
    assert!(rig.notes.in_use() && !rig.notes.retreated());
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
    assert!(rig.notes.retreated());
}

#[test]
fn validating_becomes_safe_retreat_at_a_loss_a_mark_or_a_change_of_path() {
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
        assert!(rig.notes.retreated());
    }
}

#[test]
fn the_window_stands_still_in_safe_retreat_and_further_losses_of_the_flight_are_absorbed() {
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
    // Losses from before are answered.
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
fn persistent_congestion_ends_careful_resume_with_the_smallest_window() {
    let mut rig = Rig::validating();
    rig.at(200).ack(10, 39);
    rig.lose_as(40, 100, true);
    let steps = rig.steps();
    assert_eq!(
        steps[steps.len() - 2..],
        [("safe_retreat", "packet_loss"), ("normal", "exit_recovery")]
    );
    assert_eq!(rig.resume.send_control().cwnd, packets(2));
    assert!(rig.notes.retreated());
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
fn a_start_that_was_interrupted_by_a_retreat_does_not_pass_the_threshold() {
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

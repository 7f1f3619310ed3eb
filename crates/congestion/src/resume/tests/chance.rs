//! Losses of a jump while no packet queues.

use super::*;
use crate::slow_start::long_path::LongPath;
use crate::slow_start::{WithSlowStart, long_path};

/// Returns a sender that validates a jump over the path as it was saved, with an RTT of 100 ms:
/// packets 10 to 159 are in flight.
fn validating() -> Rig {
    let free = SavedParameters { rtt: Span::from_millis(100), ..saved(300) };
    let mut rig = Rig::new(ResumeMode::Careful, Some(free));
    rig.send(10);
    rig.at(100).ack(0, 9);
    rig.send(150);
    assert_eq!(rig.resume.resume_phase(), Phase::Validating);
    rig
}

#[test]
fn a_loss_without_a_queue_is_answered_by_the_controller_alone() {
    let mut rig = validating();
    rig.at(200).ack(10, 40);
    let before = rig.resume.send_control().cwnd;
    rig.lose(41, 41);
    assert_eq!(rig.resume.resume_phase(), Phase::Validating);
    assert_eq!(rig.resume.send_control().cwnd, before.mul_f64(0.5));
    rig.ack(42, 159);
    assert_eq!(rig.last_step(), ("normal", "last_unvalidated_packet_acknowledged"));
    assert!(!rig.handle.retreated());
}

#[test]
fn more_losses_than_chance_explains_are_congestion_without_a_queue() {
    let mut rig = validating();
    rig.at(200).ack(10, 40);
    rig.lose(41, 50);
    assert_eq!(rig.last_step(), ("safe_retreat", "packet_loss"));
    assert!(rig.handle.retreated());
}

#[test]
fn a_loss_is_congestion_once_the_rtt_has_stayed_above_the_saved_one() {
    let mut rig = validating();
    // One late ACK is no queue: those of the last 30 ms count.
    rig.at(200).ack(10, 40);
    rig.at(215).ack(41, 60);
    rig.lose(61, 61);
    assert_eq!(rig.resume.resume_phase(), Phase::Validating);
    rig.at(246).ack(62, 80);
    rig.lose(81, 81);
    assert_eq!(rig.last_step(), ("safe_retreat", "packet_loss"));
}

/// Returns a retreat for which ten packets are declared lost, with all others acknowledged but the
/// last one.
fn retreating() -> Rig {
    let mut rig = validating();
    rig.at(200).ack(10, 40);
    rig.lose(41, 50);
    rig.at(201).ack(51, 158);
    assert_eq!(rig.resume.resume_phase(), Phase::SafeRetreat);
    rig
}

#[test]
fn a_retreat_whose_losses_were_only_late_ends_with_the_window_of_the_jump() {
    // The report comes before the retreat has ended, or soon after.
    for early in [true, false] {
        let mut rig = retreating();
        let low = rig.resume.send_control().cwnd;
        if early {
            rig.resume.on_spurious_loss(rig.now);
            assert_eq!(rig.resume.send_control().cwnd, low);
        }
        rig.ack(159, 159);
        assert_eq!(rig.last_step(), ("normal", "exit_recovery"));
        if !early {
            assert_eq!(rig.resume.send_control().cwnd, low);
            rig.resume.on_spurious_loss(rig.now);
        }
        assert_eq!(rig.resume.send_control().cwnd, packets(150), "early: {early}");
        assert!(rig.resume.send_control().in_slow_start);
    }
}

#[test]
fn a_retreat_stays_after_ecn_ce_more_losses_or_an_rtt() {
    let strikes: [Strike; 3] = [
        |rig| {
            rig.mark(60);
            rig.resume.on_spurious_loss(rig.now);
            rig.ack(159, 159);
        },
        |rig| {
            rig.resume.on_spurious_loss(rig.now);
            rig.lose(159, 159);
        },
        |rig| {
            rig.ack(159, 159);
            rig.send(1);
            rig.at(301).ack(160, 160);
            rig.resume.on_spurious_loss(rig.now);
        },
    ];
    for (number, strike) in strikes.into_iter().enumerate() {
        let mut rig = retreating();
        strike(&mut rig);
        assert_eq!(rig.resume.resume_phase(), Phase::Normal);
        assert!(rig.resume.send_control().cwnd < packets(100), "strike {number}");
    }
}

#[test]
fn ecn_ce_and_persistent_congestion_are_never_chance() {
    let mut rig = validating();
    rig.at(200).ack(10, 40);
    rig.mark(40);
    assert_eq!(rig.last_step(), ("safe_retreat", "ECN_CE"));
    let mut rig = validating();
    rig.at(200).ack(10, 40);
    rig.lose_as(41, 42, true);
    assert!(rig.handle.retreated());
}

/// Returns a sender with long-path slow start and these saved parameters.
fn long_path(saved: SavedParameters) -> Rig {
    let reno = NewReno::new(&config(), &newreno::Parameters::default());
    let start = LongPath::new(&config(), &long_path::Parameters::default());
    let controller = WithSlowStart::new(Box::new(reno), Box::new(start), None);
    Rig::around(Box::new(controller), ResumeMode::Careful, Some(saved))
}

/// Returns a sender with long-path slow start before its jump, over an RTT of 100 ms: of ten
/// packets, all after the first `lost` are acknowledged, and those are lost.
fn before_the_jump(saved_rtt: u64, lost: u64) -> Rig {
    let mut rig = long_path(SavedParameters { rtt: Span::from_millis(saved_rtt), ..saved(300) });
    rig.send(10);
    rig.at(100).ack(lost, 9);
    rig.lose(0, lost - 1);
    rig
}

#[test]
fn a_jump_follows_a_loss_of_the_initial_data_that_no_queue_explains() {
    let mut rig = before_the_jump(100, 1);
    assert_eq!(rig.resume.resume_phase(), Phase::Reconnaissance);
    rig.fill();
    assert_eq!(rig.last_step(), ("validating", "last_unvalidated_packet_sent"));
    assert!(rig.resume.send_control().cwnd >= packets(150));
}

#[test]
fn losses_of_the_initial_data_end_reconnaissance_if_packets_queue_or_many_are_lost() {
    for (saved_rtt, lost) in [(75, 1), (100, 4)] {
        let rig = before_the_jump(saved_rtt, lost);
        assert_eq!(rig.last_step(), ("normal", "packet_loss"), "{saved_rtt} ms, {lost} lost");
    }
}

#[test]
fn a_loss_of_the_initial_data_ends_reconnaissance_if_the_controller_reduces_its_window() {
    let free = SavedParameters { rtt: Span::from_millis(100), ..saved(300) };
    let mut rig = Rig::new(ResumeMode::Careful, Some(free));
    rig.send(10);
    rig.at(100).ack_as(1, 9, true);
    rig.lose(0, 0);
    assert_eq!(rig.last_step(), ("normal", "packet_loss"));
}

#[test]
fn first_packets_that_wait_for_capacity_as_on_the_visit_before_are_no_queue() {
    let path = SavedParameters::new(packets(3000), Span::from_millis(500));
    let waited = SavedParameters { first_rtt: Some(Span::from_millis(580)), ..path };
    for (saved, rtt, jumps) in [
        (path, 610, false),
        (waited, 610, true),
        (waited, 640, true),
        // An eighth of the path's RTT above the known wait.
        (waited, 643, false),
    ] {
        let mut rig = long_path(saved);
        rig.send(10);
        rig.at(rtt).ack(0, 9);
        rig.fill();
        assert_eq!(rig.handle.jumped(), jumps, "{saved:?}, {rtt} ms");
    }
}

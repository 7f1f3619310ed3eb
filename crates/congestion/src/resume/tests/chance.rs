//! Losses of a jump while no packet queues.

use super::*;

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

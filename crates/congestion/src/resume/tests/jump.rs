//! The unsafe jump.

use super::*;

#[test]
fn a_jump_takes_the_whole_saved_window_before_the_first_packet() {
    let mut rig = Rig::new(ResumeMode::Jump, Some(saved(300)));
    assert_eq!(rig.resume.send_control().cwnd, packets(300));
    // 300 packets of 1000 bytes per saved RTT of 75 ms.
    assert_eq!(rig.resume.send_control().pacing_rate, Some(Rate::from_mbps(32)));
    rig.send(300);
    rig.at(100).ack(0, 0);
    assert_eq!(rig.resume.send_control().pacing_rate, None);
    assert!(rig.handle.in_use() && rig.steps().is_empty());
}

#[test]
fn a_jump_follows_a_late_offer() {
    let mut rig = Rig::new(ResumeMode::Jump, None);
    rig.send(2);
    assert!(rig.handle.offer(saved(300)));
    rig.send(1);
    assert_eq!(rig.resume.send_control().cwnd, packets(300));
}

#[test]
fn after_a_jump_losses_have_their_usual_effect() {
    let mut rig = Rig::new(ResumeMode::Jump, Some(saved(300)));
    rig.send(300);
    rig.at(100).lose(0, 9);
    assert_eq!(rig.resume.send_control().cwnd, packets(150));
    assert!(!rig.handle.retreated());
}

#[test]
fn there_is_no_jump_after_congestion_or_beyond_the_lifetime() {
    let mut rig = Rig::new(ResumeMode::Jump, None);
    rig.send(10);
    rig.at(100).lose(0, 0);
    assert!(!rig.handle.offer(saved(300)));
    rig.send(1);
    assert_eq!(rig.resume.send_control().cwnd, packets(5));

    let mut rig = Rig::new(ResumeMode::Jump, None);
    rig.at(10);
    assert!(
        rig.handle.offer(SavedParameters { valid_until: Some(Time::from_millis(9)), ..saved(300) })
    );
    rig.send(1);
    assert_eq!(rig.resume.send_control().cwnd, packets(10));
    assert!(!rig.handle.in_use());
}

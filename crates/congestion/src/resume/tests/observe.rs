//! Tests of the observations worth saving.

use super::*;

/// Runs rounds of 100 ms. In each, as many packets as `counts` says are sent at once and
/// acknowledged together.
fn rounds(rig: &mut Rig, counts: impl IntoIterator<Item = u64>, rtt: u64, app_limited: bool) {
    for count in counts {
        let first = rig.sent_packets.next_number();
        rig.send(count);
        rig.now += Span::from_millis(rtt);
        rig.ack_as(first, first + count - 1, app_limited);
    }
}

fn window(rig: &Rig) -> Option<Bytes> {
    rig.handle.observed().map(|saved| saved.window)
}

/// Reports a loss, so that the controller is in congestion avoidance from now on.
fn settle(rig: &mut Rig) {
    rig.send(1);
    let last = rig.sent_packets.next_number() - 1;
    rig.lose(last, last);
}

#[test]
fn the_volume_of_a_round_is_saved_with_the_minimum_rtt() {
    let mut rig = Rig::new(ResumeMode::Observe, None);
    rounds(&mut rig, [10, 20, 40, 80], 100, false);
    let observed = SavedParameters::new(packets(80), Span::from_millis(100));
    assert_eq!(rig.handle.observed(), Some(observed));
}

#[test]
fn less_than_four_initial_windows_is_not_worth_saving() {
    let mut rig = Rig::new(ResumeMode::Observe, None);
    rounds(&mut rig, [10, 20, 39], 100, false);
    assert_eq!(rig.handle.observed(), None);
    rounds(&mut rig, [40], 100, false);
    assert_eq!(window(&rig), Some(packets(40)));
}

#[test]
fn application_limited_rounds_have_no_effect() {
    let mut rig = Rig::new(ResumeMode::Observe, None);
    rounds(&mut rig, [100, 100], 100, true);
    assert_eq!(rig.handle.observed(), None);
    rig.sent_packets.set_app_limited();
    rounds(&mut rig, [100], 100, false);
    assert_eq!(rig.handle.observed(), None);
    rounds(&mut rig, [50], 100, false);
    assert_eq!(window(&rig), Some(packets(50)));
}

#[test]
fn a_standing_queue_does_not_count() {
    let mut rig = Rig::new(ResumeMode::Observe, None);
    rounds(&mut rig, [50], 100, false);
    // Slow start overshoots: twice the window takes twice the time.
    rounds(&mut rig, [100], 200, false);
    assert_eq!(window(&rig), Some(packets(50)));
    assert_eq!(rig.handle.observed().map(|saved| saved.rtt), Some(Span::from_millis(100)));
}

#[test]
fn a_wait_of_the_first_round_alone_is_saved() {
    for (first, second, wait) in [(160, 100, Some(160)), (160, 150, None), (120, 100, None)] {
        let mut rig = Rig::new(ResumeMode::Observe, None);
        rounds(&mut rig, [20], first, false);
        rounds(&mut rig, [40], second, false);
        rounds(&mut rig, [80], 100, false);
        let saved = rig.handle.observed().unwrap();
        assert_eq!(saved.first_rtt, wait.map(Span::from_millis), "{first}, {second} ms");
    }
}

#[test]
fn a_delayed_round_after_a_change_of_the_path_is_no_wait_of_the_first_one() {
    let mut rig = Rig::new(ResumeMode::Observe, None);
    rounds(&mut rig, [20], 100, false);
    rig.resume.on_path_change(&PathChange::unknown(rig.now));
    rounds(&mut rig, [40], 160, false);
    rounds(&mut rig, [60, 80], 100, false);
    assert_eq!(rig.handle.observed().unwrap().first_rtt, None);
}

#[test]
fn a_smaller_observation_replaces_larger_parameters_only_after_steady_use() {
    let mut rig = Rig::new(ResumeMode::Observe, None);
    assert!(!rig.handle.offer(saved(300)));
    rounds(&mut rig, [50; 20], 100, false);
    assert_eq!(rig.handle.observed(), None, "slow start does not show the capacity");
    settle(&mut rig);
    rounds(&mut rig, [50; 7], 100, false);
    assert_eq!(rig.handle.observed(), None);
    rounds(&mut rig, [50], 100, false);
    assert_eq!(window(&rig), Some(packets(50)));
}

#[test]
fn a_larger_observation_replaces_parameters_at_once() {
    let mut rig = Rig::new(ResumeMode::Observe, None);
    rig.handle.offer(saved(300));
    rounds(&mut rig, [100, 301], 100, false);
    assert_eq!(window(&rig), Some(packets(301)));
}

#[test]
fn an_observation_expires_after_the_period() {
    let mut rig = Rig::new(ResumeMode::Observe, None);
    rounds(&mut rig, [100], 100, false);
    settle(&mut rig);
    rounds(&mut rig, [50; 2900], 100, false);
    assert_eq!(window(&rig), Some(packets(100)));
    rounds(&mut rig, [50; 120], 100, false);
    assert_eq!(window(&rig), Some(packets(50)));
}

#[test]
fn the_minimum_rtt_is_that_of_the_period() {
    let mut rig = Rig::new(ResumeMode::Observe, None);
    rounds(&mut rig, [50], 100, false);
    settle(&mut rig);
    rounds(&mut rig, [50; 1600], 200, false);
    assert_eq!(
        rig.handle.observed(),
        Some(SavedParameters { rtt: Span::from_millis(200), ..saved(50) })
    );
}

#[test]
fn observation_continues_after_a_retreat_regardless_of_the_deleted_parameters() {
    let mut rig = Rig::validating();
    rig.at(200).ack(10, 39);
    rig.lose(40, 159);
    assert_eq!(rig.resume.resume_phase(), Phase::Normal);
    assert_eq!(rig.handle.observed(), None);
    rounds(&mut rig, [45, 45], 100, false);
    assert_eq!(window(&rig), Some(packets(45)));
}

#[test]
fn packets_sent_before_the_end_of_careful_resume_are_not_measured() {
    let mut rig = Rig::validating();
    rig.at(200).ack(10, 39);
    rig.send(60);
    rig.lose(40, 159);
    assert_eq!(rig.resume.resume_phase(), Phase::Normal);
    rig.at(300).ack(160, 219);
    assert_eq!(rig.handle.observed(), None);
    rounds(&mut rig, [60], 100, false);
    assert_eq!(window(&rig), Some(packets(60)));
}

#[test]
fn observations_of_the_old_path_end_with_it() {
    let mut rig = Rig::new(ResumeMode::Observe, None);
    rounds(&mut rig, [100], 100, false);
    rig.send(100);
    rig.resume.on_path_change(&PathChange::unknown(rig.now));
    assert_eq!(rig.handle.observed(), None);
    rig.at(200).ack(100, 199);
    assert_eq!(rig.handle.observed(), None);
    rounds(&mut rig, [50], 100, false);
    assert_eq!(window(&rig), Some(packets(50)));
}

#[test]
fn a_limited_round_counts_if_it_delivers_more_than_the_current_value() {
    let mut rig = Rig::new(ResumeMode::Observe, None);
    rounds(&mut rig, [60], 600, false);
    let stands = window(&rig);
    assert!(stands.is_some());
    rounds(&mut rig, [50], 600, true);
    assert_eq!(window(&rig), stands);
    rounds(&mut rig, [90], 600, true);
    assert!(window(&rig) > stands, "{:?}", window(&rig));
}

#[test]
fn the_last_round_of_what_the_application_had_counts_once_it_is_delivered() {
    let mut rig = Rig::new(ResumeMode::Observe, None);
    rounds(&mut rig, [20], 100, false);
    rig.send(300);
    rig.now += Span::from_millis(100);
    // ACKs at the pace of the packets; nothing is sent after them.
    for part in 0..30 {
        let first = 20 + 10 * part;
        rig.ack_as(first, first + 9, true);
        rig.now += Span::from_millis(1);
        assert!(part > 20 || window(&rig).is_none(), "{part}: {:?}", window(&rig));
    }
    // 300 packets in 129 ms, of which 29 are not the path's.
    let least = packets(300).mul_f64(100.0 / 130.0);
    assert!(window(&rig) > Some(least) && window(&rig) < Some(packets(300)), "{:?}", window(&rig));
}

#[test]
fn a_limited_round_is_a_first_value_only_at_a_rate_that_a_start_does_not_soon_reach() {
    for (packets_per_round, saved) in [(150, false), (250, true)] {
        let mut rig = Rig::new(ResumeMode::Observe, None);
        rounds(&mut rig, [packets_per_round], 100, true);
        assert_eq!(window(&rig).is_some(), saved, "{packets_per_round} in 100 ms");
    }
}

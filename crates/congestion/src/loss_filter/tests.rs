use super::*;
use crate::algorithms::cubic::{self, Cubic};
use crate::algorithms::newreno::{self, NewReno};
use crate::testing::{MTU, Path, config};
use bentpipe_units::{Span, Time};

const RTT: Span = Span::from_millis(600);

fn cubic() -> Box<dyn Controller> {
    Box::new(Cubic::new(&config(), &cubic::Parameters::default()))
}

fn filtered(controller: Box<dyn Controller>) -> ChanceFilter {
    ChanceFilter::new(controller, &Parameters::default())
}

fn set_window(controller: &mut dyn Controller, packets: u64) {
    let window = Bytes::new(packets * MTU.get());
    controller.restart(&Restart {
        now: Time::ZERO,
        window,
        ssthresh: Some(window),
        rate: None,
        min_rtt: None,
        recovery_start: 0,
    });
}

fn packets(controller: &dyn Controller) -> u64 {
    controller.send_control().cwnd.get() / MTU.get()
}

/// Windows over 40 round trips from 1,000 packets, if `lost` selects packets by round trip,
/// window and position.
fn windows(controller: &mut dyn Controller, lost: impl Fn(u64, u64, u64) -> bool) -> Vec<u64> {
    let mut path = Path::new(RTT);
    set_window(controller, 1000);
    let mut windows = Vec::new();
    for round in 0..40 {
        let window = packets(controller);
        windows.push(window);
        path.round(controller, |index| lost(round, window, index));
    }
    windows
}

#[test]
fn losses_that_stay_when_the_window_falls_reduce_nothing_and_reductions_are_undone() {
    let lost = |_, _, index| index % 100 == 50;
    let plain = windows(&mut *cubic(), lost);
    let spared = windows(&mut filtered(cubic()), lost);
    assert!(plain[39] < 100, "{plain:?}");
    assert!(spared[1] < 1000 && spared[39] >= 1000, "{spared:?}");
    assert!(spared[6..].iter().all(|window| *window >= 1000), "{spared:?}");
}

#[test]
fn the_rate_may_be_a_loss_in_several_thousand_packets() {
    // Half a loss per round trip.
    let lost = |round, _, index| round % 2 == 0 && index == 300;
    let plain = windows(&mut *cubic(), lost);
    let spared = windows(&mut filtered(cubic()), lost);
    assert!(spared[39] > 2 * plain[39], "{} for {}", spared[39], plain[39]);
}

#[test]
fn a_limit_that_the_sender_exceeds_itself_is_answered_as_without_the_filter() {
    let lost = |_, window: u64, index| window > 800 && index % window.div_ceil(window - 800) == 0;
    assert_eq!(windows(&mut filtered(cubic()), lost), windows(&mut *cubic(), lost));
}

#[test]
fn losses_that_come_in_clumps_teach_nothing() {
    // Every tenth round trip others fill the queue.
    let lost = |round, _, index| round % 10 == 0 && index % 12 == 0;
    let spared = windows(&mut filtered(cubic()), lost);
    assert_eq!(spared, windows(&mut *cubic(), lost));
}

#[test]
fn losses_at_higher_rtts_are_congestion() {
    let run = |controller: &mut dyn Controller| {
        let mut path = Path::new(RTT);
        set_window(controller, 1000);
        for round in 0..40 {
            // Every other round trip a queue stands and loses.
            let queued = round % 2 == 1;
            path.rtt = if queued { RTT + Span::from_millis(60) } else { RTT };
            path.round(controller, |index| queued && index % 100 == 50);
        }
        packets(controller)
    };
    assert_eq!(run(&mut filtered(cubic())), run(&mut *cubic()));
}

#[test]
fn a_slow_start_that_chance_has_ended_goes_on() {
    let newreno = Box::new(NewReno::new(&config(), &newreno::Parameters::default()));
    let mut controller = filtered(newreno);
    let mut path = Path::new(RTT);
    for round in 0..24 {
        path.round(&mut controller, |index| round > 3 && index % 50 == 20);
        if packets(&controller) > 1000 {
            break;
        }
    }
    assert!(packets(&controller) > 1000 && controller.send_control().in_slow_start);
}

/// Restarts the controller as a slow start in front does that gives way to it.
fn give_way(controller: &mut ChanceFilter, now: Time) {
    let window = controller.send_control().cwnd;
    controller.restart(&Restart {
        now,
        window,
        ssthresh: None,
        rate: None,
        min_rtt: None,
        recovery_start: 0,
    });
}

/// A start that goes on in the controller because the path is short, after four round trips.
fn short_start() -> (ChanceFilter, Path) {
    let mut controller = filtered(cubic());
    let mut path = Path::new(Span::from_millis(30));
    path.round(&mut controller, |_| false);
    give_way(&mut controller, path.now);
    for _ in 0..3 {
        path.round(&mut controller, |_| false);
    }
    (controller, path)
}

/// Windows of the four round trips after one in which `lost` selects packets.
fn after_losses(
    (mut controller, mut path): (ChanceFilter, Path),
    lost: impl Fn(u64) -> bool,
) -> Vec<u64> {
    path.round(&mut controller, lost);
    let mut windows = Vec::new();
    for _ in 0..4 {
        windows.push(packets(&controller));
        path.round(&mut controller, |_| false);
    }
    windows
}

#[test]
fn a_start_over_a_short_path_goes_on_after_few_losses() {
    for lost in [|index| index == 40, |index| [40, 41, 60].contains(&index)] {
        let windows = after_losses(short_start(), lost);
        assert!(windows[3] > 3 * windows[0], "{windows:?}");
    }
}

#[test]
fn a_start_is_over_after_many_losses_or_before_a_queue_or_where_a_layer_ends_it() {
    let ended = |windows: Vec<u64>| assert!(windows[3] < 2 * windows[0], "{windows:?}");
    ended(after_losses(short_start(), |index| index % 8 == 0));
    let (controller, mut path) = short_start();
    path.rtt += Span::from_millis(20);
    ended(after_losses((controller, path), |index| index == 40));
    let (mut controller, path) = short_start();
    let window = packets(&controller);
    set_window(&mut controller, window);
    ended(after_losses((controller, path), |index| index == 40));
    // None was allowed in front: others start.
    let mut controller = filtered(cubic());
    let mut path = Path::new(Span::from_millis(30));
    for _ in 0..4 {
        path.round(&mut controller, |_| false);
    }
    ended(after_losses((controller, path), |index| index == 40));
}

#[test]
fn losses_that_end_a_start_in_front_do_not_let_another_go_on() {
    let (mut controller, mut path) = short_start();
    // As `WithSlowStart` does when its slow start has found congestion.
    give_way(&mut controller, path.now);
    let mut sent = crate::sent_packets::SentPackets::new();
    sent.on_sent(path.now, MTU);
    sent.on_lost(0);
    sent.report_loss(path.now, false, |loss| controller.on_loss(loss));
    assert!(matches!(controller.start, OwnStart::Over));
    path.round(&mut controller, |_| false);
    assert!(!controller.send_control().in_slow_start);
}

#[test]
fn a_path_that_marks_packets_is_not_filtered() {
    let mut controller = filtered(cubic());
    controller.on_ecn_ce(&EcnCe {
        now: Time::ZERO,
        newest: 0,
        bytes_in_flight: Bytes::ZERO,
        next_number: 0,
        marked: Some(1),
    });
    let lost = |_, _, index| index % 100 == 50;
    assert!(windows(&mut controller, lost)[39] < 100);
}

#[test]
fn a_path_change_forgets_the_rate() {
    let mut controller = filtered(cubic());
    windows(&mut controller, |_, _, index| index % 100 == 50);
    assert_eq!(controller.send_control().phase, PHASE);
    controller.on_path_change(&PathChange::unknown(Time::from_secs(24)));
    assert_ne!(controller.send_control().phase, PHASE);
    assert_eq!(controller.chance(), None);
}

#[test]
fn persistent_congestion_is_never_spared() {
    let mut controller = filtered(cubic());
    windows(&mut controller, |_, _, index| index % 100 == 50);
    let mut sent = crate::sent_packets::SentPackets::new();
    let now = Time::from_secs(25);
    sent.on_sent(now, MTU);
    sent.on_lost(0);
    sent.report_loss(now, true, |loss| controller.on_loss(loss));
    assert_eq!(packets(&controller), 2);
    assert_eq!(controller.chance(), None);
}

//! Tests of the layer around a controller that records its events.

use super::*;
use crate::controller::ControllerConfig;
use crate::controller::{
    Ack, ChangeProbe, Controller, EcnCe, Loss, PathChange, Restart, SendControl,
};
use crate::sent_packets::SentPackets;
use crate::testing::{MTU, config};
use crate::{CongestionConfig, FastStart};
use bentpipe_units::{Bytes, Span, Time};
use std::sync::{Arc, Mutex};

/// A controller that records its events.
#[derive(Debug, Clone)]
struct Recorder {
    log: Arc<Mutex<Vec<String>>>,
    window: Bytes,
}

impl Recorder {
    fn note(&self, line: String) {
        self.log.lock().unwrap().push(line);
    }
}

impl Controller for Recorder {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        let limited = if ack.app_limited { " limited" } else { "" };
        let (min, lost) = (ack.min_rtt.as_millis_f64(), ack.sample.lost.get());
        self.note(format!("ack min {min} lost {lost}{limited}"));
    }
    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.note(format!("loss {} of {}", loss.bytes.get(), loss.lost.get()));
    }
    fn on_ecn_ce(&mut self, ecn_ce: &EcnCe) {
        self.note(format!("mark {}", ecn_ce.newest));
    }
    fn on_timeout(&mut self, _: Time) {
        self.note("timeout".to_owned());
    }
    fn on_path_change(&mut self, change: &PathChange) {
        let longer = change.rtt_increase.map(Span::as_millis_f64);
        self.note(format!(
            "change since {} ms longer by {longer:?}",
            change.since.since_start().as_millis_f64()
        ));
    }
    fn on_upcoming_path_change(&mut self, probe: ChangeProbe) {
        self.note(format!("probe {probe:?}"));
    }
    fn restart(&mut self, _: &Restart) {}
    fn send_control(&self) -> SendControl {
        SendControl::window(self.window, false, "recorder")
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

/// A sender with the layer, and the events of its controller.
struct Rig {
    layer: PathChangeLayer,
    feed: PathChangeFeed,
    sent_packets: SentPackets,
    now: Time,
    log: Arc<Mutex<Vec<String>>>,
}

const NONE: PathChangeResponse = PathChangeResponse {
    shift_rtt: false,
    suppress_loss: false,
    pre_drain: false,
    probe: ChangeProbe::None,
};
const SHIFT_RTT: PathChangeResponse = PathChangeResponse { shift_rtt: true, ..NONE };
const SUPPRESS_LOSS: PathChangeResponse = PathChangeResponse { suppress_loss: true, ..NONE };
const PRE_DRAIN: PathChangeResponse = PathChangeResponse { pre_drain: true, ..NONE };

fn at(ms: u64) -> Time {
    Time::from_millis(ms)
}

fn notice(at_ms: u64, before: Option<u64>, after: Option<u64>) -> PathChangeNotice {
    PathChangeNotice {
        at: at(at_ms),
        rtt_before: before.map(Span::from_millis),
        rtt_after: after.map(Span::from_millis),
        rate_after: None,
        outage: Span::ZERO,
    }
}

impl Rig {
    fn new(response: PathChangeResponse) -> Self {
        let (feed, log) = (PathChangeFeed::new(), Arc::default());
        let recorder = Recorder { log: Arc::clone(&log), window: Bytes::new(100_000) };
        let layer = PathChangeLayer::new(Box::new(recorder), feed.clone(), response, &config());
        Self { layer, feed, sent_packets: SentPackets::new(), now: Time::ZERO, log }
    }

    /// Sends packets at a time and returns their numbers.
    fn send(&mut self, at_ms: u64, packets: u64) -> Vec<u64> {
        self.now = at(at_ms);
        (0..packets)
            .map(|_| {
                let packet = self.sent_packets.on_sent(self.now, MTU);
                self.layer.on_packet_sent(&packet);
                packet.number
            })
            .collect()
    }

    fn ack(&mut self, at_ms: u64, numbers: &[u64]) {
        self.now = at(at_ms);
        for number in numbers {
            self.sent_packets.on_acked(self.now, *number);
        }
        self.sent_packets.report_ack(self.now, false, |ack| self.layer.on_ack(ack));
    }

    fn lose(&mut self, at_ms: u64, numbers: &[u64], persistent: bool) {
        self.now = at(at_ms);
        for number in numbers {
            self.sent_packets.on_lost(*number);
        }
        self.sent_packets.report_loss(self.now, persistent, |loss| self.layer.on_loss(loss));
    }

    fn mark(&mut self, at_ms: u64, newest: u64) {
        self.now = at(at_ms);
        let (bytes_in_flight, next_number) =
            (self.sent_packets.bytes_in_flight(), self.sent_packets.next_number());
        self.layer.on_ecn_ce(&EcnCe {
            now: self.now,
            newest,
            bytes_in_flight,
            next_number,
            marked: None,
        });
    }

    /// Returns the events since the last call.
    fn events(&self) -> Vec<String> {
        std::mem::take(&mut *self.log.lock().unwrap())
    }
}

#[test]
fn a_longer_path_is_reported_with_its_first_ack_and_shifts_the_minimum_rtt() {
    let mut rig = Rig::new(SHIFT_RTT);
    rig.feed.announce(notice(100, Some(40), Some(70)));
    let first = rig.send(0, 1);
    rig.ack(41, &first);
    let old = rig.send(99, 1);
    let new = rig.send(100, 2);
    rig.ack(140, &old);
    assert_eq!(rig.events(), ["ack min 41 lost 0", "ack min 41 lost 0"]);
    // 5 ms in a queue: the minimum RTT grows by the path's increase, not to the first sample.
    rig.ack(176, &new[..1]);
    assert_eq!(rig.events(), ["change since 100 ms longer by Some(30.0)", "ack min 71 lost 0"]);
    // The announcement was too large: the measured value counts.
    rig.ack(168, &new[1..]);
    assert_eq!(rig.events(), ["ack min 68 lost 0"]);
}

#[test]
fn a_shorter_path_is_measured_and_not_reported() {
    let mut rig = Rig::new(SHIFT_RTT);
    rig.feed.announce(notice(100, Some(70), Some(40)));
    let packets = rig.send(100, 1);
    rig.ack(142, &packets);
    assert_eq!(rig.events(), ["ack min 42 lost 0"]);
}

#[test]
fn a_path_after_an_outage_is_compared_with_the_one_before_it_if_known() {
    let mut rig = Rig::new(SHIFT_RTT);
    let first = rig.send(0, 1);
    rig.ack(40, &first);
    rig.feed.announce(notice(100, Some(40), None));
    rig.feed.announce(notice(900, None, Some(70)));
    // Packets of the old path still arrive: no report yet.
    let packets = rig.send(105, 1);
    rig.ack(150, &packets);
    assert_eq!(rig.events(), ["ack min 40 lost 0", "ack min 40 lost 0"]);
    let packets = rig.send(950, 1);
    rig.ack(1025, &packets);
    assert_eq!(rig.events(), ["change since 900 ms longer by Some(30.0)", "ack min 70 lost 0"]);
    // Without an earlier RTT to compare with, the minimum is measured anew.
    rig.feed.announce(notice(1_900, None, Some(90)));
    let packets = rig.send(1_950, 1);
    rig.ack(2_045, &packets);
    assert_eq!(rig.events(), ["change since 1900 ms longer by None", "ack min 95 lost 0"]);
}

#[test]
fn changes_without_an_ack_in_between_count_as_one() {
    let mut rig = Rig::new(SHIFT_RTT);
    rig.feed.announce(notice(100, Some(40), Some(70)));
    rig.feed.announce(notice(110, Some(70), Some(50)));
    let packets = rig.send(100, 1);
    let newer = rig.send(111, 1);
    rig.ack(170, &packets);
    rig.ack(175, &newer);
    assert_eq!(rig.events()[1], "change since 110 ms longer by Some(10.0)");
}

#[test]
fn changes_before_the_start_of_the_connection_are_ignored() {
    let mut rig = Rig::new(SHIFT_RTT);
    rig.feed.announce(notice(0, Some(40), Some(70)));
    let packets = rig.send(5, 1);
    rig.ack(80, &packets);
    assert_eq!(rig.events(), ["ack min 75 lost 0"]);
}

#[test]
fn a_probe_is_asked_for_once_shortly_before_each_change() {
    for (probe, lead) in [(ChangeProbe::MinRtt, 50), (ChangeProbe::Model, 100)] {
        let mut rig = Rig::new(PathChangeResponse { probe, ..NONE });
        // A clock knows the times alone.
        rig.feed.announce(notice(1_000, None, None));
        rig.feed.announce(notice(2_000, None, None));
        rig.send(1_000 - lead - 1, 1);
        assert!(rig.events().is_empty());
        rig.send(1_000 - lead, 1);
        rig.send(999, 1);
        assert_eq!(rig.events(), [format!("probe {probe:?}")]);
        // A sender that was idle at that time does not probe after the change.
        rig.send(2_001, 1);
        assert!(rig.events().is_empty());
    }
}

#[test]
fn losses_of_a_change_are_hidden_below_half_of_its_packets_and_reported_above() {
    let mut rig = Rig::new(SUPPRESS_LOSS);
    rig.feed.announce(notice(100, Some(70), Some(40)));
    let old = rig.send(90, 10);
    let new = rig.send(120, 10);
    rig.lose(130, &old[..9], false);
    assert!(rig.events().is_empty());
    // The tenth of twenty losses. The other nine were hidden, and the sample of a packet sent
    // earlier does not count them.
    rig.ack(160, &new[..1]);
    assert_eq!(rig.events(), ["ack min 40 lost 0"]);
    rig.lose(161, &old[9..], false);
    assert_eq!(rig.events(), ["loss 1000 of 1000"]);
}

#[test]
fn losses_before_a_change_or_of_packets_sent_an_rtt_after_it_are_reported() {
    let mut rig = Rig::new(SUPPRESS_LOSS);
    rig.feed.announce(notice(100, Some(40), Some(50)));
    let old = rig.send(50, 20);
    rig.lose(95, &old[..1], false);
    assert_eq!(rig.events(), ["loss 1000 of 1000"]);
    let within = rig.send(150, 1);
    let beyond = rig.send(151, 1);
    rig.lose(205, &within, false);
    assert!(rig.events().is_empty());
    rig.lose(206, &beyond, false);
    // The totals that the controller gets do not include the hidden loss.
    assert_eq!(rig.events(), ["loss 1000 of 2000"]);
    // Long after the change, no loss is attributed to it.
    rig.lose(400, &old[1..2], false);
    assert_eq!(rig.events().len(), 1);
}

#[test]
fn endless_announcements_do_not_hide_congestion_endlessly() {
    let mut rig = Rig::new(SUPPRESS_LOSS);
    for change in 1..60 {
        rig.feed.announce(notice(50 * change, Some(40), Some(40)));
    }
    let mut reported = 0;
    for step in 2..100 {
        let packets = rig.send(30 * step, 10);
        rig.lose(30 * step + 15, &packets[..1], false);
        rig.ack(30 * step + 25, &packets[1..]);
        reported += rig.events().iter().filter(|line| line.starts_with("loss")).count();
    }
    assert!((49..98).contains(&reported), "{reported} of 98");
}

#[test]
fn few_ecn_ce_marks_near_a_change_are_hidden() {
    let mut rig = Rig::new(SUPPRESS_LOSS);
    rig.feed.announce(notice(100, Some(40), Some(40)));
    let packets = rig.send(90, 10);
    for (index, number) in packets.iter().enumerate().take(6) {
        rig.ack(131 + index as u64, &[*number]);
        rig.events();
        rig.mark(131 + index as u64, *number);
        // The fifth of ten makes half.
        assert_eq!(rig.events().is_empty(), index < 4, "{index}");
    }
    let beyond = rig.send(145, 1);
    rig.mark(186, beyond[0]);
    assert_eq!(rig.events(), [format!("mark {}", beyond[0])]);
}

#[test]
fn a_timeout_in_an_announced_outage_leaves_two_packets_until_the_next_ack() {
    let mut rig = Rig::new(SUPPRESS_LOSS);
    rig.feed.announce(PathChangeNotice {
        outage: Span::from_millis(500),
        ..notice(100, Some(40), Some(40))
    });
    let packets = rig.send(90, 10);
    rig.layer.on_timeout(at(400));
    rig.lose(400, &packets[..9], true);
    assert!(rig.events().is_empty());
    assert_eq!(rig.layer.send_control().cwnd, MTU + MTU);
    rig.ack(641, &packets[9..]);
    assert_eq!((rig.events().len(), rig.layer.send_control().cwnd), (1, Bytes::new(100_000)));
    // Once an ACK from the new path could have arrived, a timeout is passed on.
    let packets = rig.send(650, 2);
    rig.layer.on_timeout(at(900));
    rig.lose(901, &packets, true);
    assert_eq!(rig.events(), ["timeout", "loss 2000 of 11000"]);
}

#[test]
fn the_window_shrinks_an_rtt_before_a_shorter_path_and_returns_an_rtt_after() {
    let mut rig = Rig::new(PRE_DRAIN);
    rig.feed.announce(notice(1_000, Some(40), Some(30)));
    let mut windows = Vec::new();
    for time in [910, 919, 920, 980, 989, 990] {
        let packets = rig.send(time, 1);
        rig.ack(time + 40, &packets);
        windows.push(rig.layer.send_control().cwnd.get() / 1_000);
    }
    assert_eq!(windows, [100, 100, 75, 75, 75, 100]);
    let limited: Vec<bool> = rig.events().iter().map(|line| line.ends_with("limited")).collect();
    assert_eq!(limited, [false, false, true, true, true, false]);
}

#[test]
fn without_a_response_the_controller_has_no_layer() {
    let make = |response| {
        let congestion = CongestionConfig {
            path_change: response,
            slow_start: crate::SlowStartName::STANDARD,
            ..CongestionConfig::default()
        };
        let config = ControllerConfig { now: Time::ZERO, ..config() };
        let factory = congestion.factory().unwrap();
        let debug = |factory: &crate::ControllerFactory| {
            format!("{:?}", factory.make(&config, FastStart::Refused, None))
        };
        (debug(&factory), debug(&factory.with_path_changes(PathChangeFeed::new())))
    };
    let (without, with) = make(PathChangeResponse::default());
    assert_eq!(without, with);
    let (without, with) = make(SUPPRESS_LOSS);
    assert!(
        !without.starts_with("PathChangeLayer") && with.starts_with("PathChangeLayer"),
        "{with}"
    );
}

#[test]
fn a_copy_continues_where_the_original_was() {
    let mut rig = Rig::new(PRE_DRAIN);
    rig.feed.announce(notice(1_000, Some(40), Some(20)));
    let packets = rig.send(930, 1);
    rig.ack(970, &packets);
    let copy = rig.layer.clone_box();
    assert_eq!(
        (rig.layer.send_control().cwnd, copy.send_control().cwnd),
        (Bytes::new(50_000), Bytes::new(50_000))
    );
}

//! Tests with rate-based controllers.

use super::*;
use crate::controller::{Ack, Loss, RateBased, Restart, SendControl};

/// A controller in Startup that keeps a window of 40 packets and records the calls that it gets.
#[derive(Debug, Clone)]
struct Model {
    startup: bool,
    drain: bool,
    bandwidth: Option<Rate>,
    probing: Option<Rate>,
}

impl Controller for Model {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        // A queue of five times the path's RTT ends Startup, a drained one ends Drain.
        if ack.rtt >= Span::from_millis(500) {
            self.startup = false;
            self.drain = true;
        } else if ack.bytes_in_flight < packets(5) {
            self.drain = false;
        }
    }
    fn on_loss(&mut self, _: &Loss<'_>) {}
    fn on_ecn_ce(&mut self, _: &EcnCe) {}
    fn restart(&mut self, _: &Restart) {}
    fn send_control(&self) -> SendControl {
        let cwnd = if self.probing.is_some() { packets(100) } else { packets(40) };
        let phase = if self.drain { "drain" } else { "startup" };
        SendControl {
            pacing_rate: self.probing,
            loss_tolerance: 0.02,
            ..SendControl::window(cwnd, self.startup, phase)
        }
    }
    fn is_rate_based(&self) -> bool {
        true
    }

    fn rate_based(&mut self) -> Option<&mut dyn RateBased> {
        Some(self)
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

impl RateBased for Model {
    fn bandwidth(&self) -> Option<Rate> {
        self.bandwidth
    }
    fn in_startup(&self) -> bool {
        self.startup
    }
    fn in_drain(&self) -> bool {
        self.drain
    }
    fn set_probing_rate(&mut self, rate: Option<Rate>) {
        self.probing = rate;
    }
    fn retreat(&mut self, _: Time) {
        self.startup = false;
        self.drain = true;
    }
}

fn rig(bandwidth: Option<Rate>, startup: bool, mode: ResumeMode) -> Rig {
    let model = Model { startup, drain: false, bandwidth, probing: None };
    Rig::around(Box::new(model), mode, Some(saved(300)))
}

/// Returns a probing sender: ten packets were acknowledged in round 1, and packets 10 to 69 sent at
/// the probing rate.
fn probing() -> Rig {
    let mut rig = rig(Some(Rate::from_mbps(1)), true, ResumeMode::Careful);
    rig.send(10);
    rig.at(100).ack(0, 9);
    rig.send(60);
    rig
}

#[test]
fn a_probe_runs_at_half_the_saved_rate() {
    let rig = probing();
    assert_eq!(rig.last_step(), ("unvalidated", "congestion_window_limited"));
    assert_eq!(rig.resume.send_control().pacing_rate, Some(Rate::from_mbps(16)));
    assert_eq!(rig.resume.send_control().cwnd, packets(100));
}

#[test]
fn there_is_no_probe_outside_startup_or_below_the_known_rate() {
    for (bandwidth, startup) in [(None, false), (Some(Rate::from_mbps(16)), true)] {
        let mut rig = rig(bandwidth, startup, ResumeMode::Careful);
        rig.send(10);
        rig.at(100).ack(0, 9);
        assert_eq!(rig.last_step(), ("normal", ""));
        assert_eq!(rig.resume.send_control().pacing_rate, None);
        assert!(!rig.handle.in_use());
    }
}

#[test]
fn a_probe_validates_in_its_second_round_and_ends_after_it() {
    let mut rig = probing();
    rig.at(200).ack(10, 20);
    assert_eq!(rig.last_step(), ("validating", "first_unvalidated_packet_acknowledged"));
    rig.send(20);
    rig.at(290).ack(21, 69);
    assert_eq!(rig.resume.resume_phase(), Phase::Validating);
    assert!(rig.resume.send_control().pacing_rate.is_some());
    rig.at(300).ack(70, 70);
    assert_eq!(rig.last_step(), ("normal", "last_unvalidated_packet_acknowledged"));
    assert_eq!(rig.resume.send_control().pacing_rate, None);
}

#[test]
fn a_probe_unused_by_the_application_ends_after_a_round() {
    let mut rig = rig(None, true, ResumeMode::Careful);
    rig.send(10);
    rig.at(100).ack(0, 9);
    rig.send(5);
    rig.at(200).ack(10, 10);
    assert_eq!(rig.last_step(), ("normal", "rate_limited"));
    assert_eq!(rig.resume.send_control().pacing_rate, None);
}

#[test]
fn congestion_while_probing_drains() {
    let strikes: [(Strike, &str); 3] = [
        (|rig| rig.lose(21, 23), "packet_loss"),
        (|rig| rig.mark(20), "ECN_CE"),
        (|rig| rig.resume.on_path_change(&PathChange::unknown(rig.now)), "path_changed"),
    ];
    for (strike, trigger) in strikes {
        let mut rig = probing();
        rig.at(200).ack(10, 20);
        strike(&mut rig);
        assert_eq!(rig.last_step(), ("safe_retreat", trigger));
        assert_eq!(
            (rig.resume.send_control().pacing_rate, rig.resume.send_control().phase),
            (None, "safe retreat")
        );
        assert!(rig.handle.retreated());
    }
}

#[test]
fn a_tolerated_loss_does_not_end_the_probe() {
    let mut rig = probing();
    rig.at(200).ack(10, 20);
    rig.lose(21, 21);
    assert_eq!(rig.resume.resume_phase(), Phase::Validating);
    assert!(!rig.handle.retreated());
}

#[test]
fn a_model_that_leaves_startup_while_probing_retreats() {
    let mut rig = probing();
    rig.at(600).ack(10, 20);
    assert_eq!(rig.last_step(), ("safe_retreat", ""));
    assert_eq!(rig.resume.send_control().pacing_rate, None);
}

#[test]
fn a_retreat_lasts_as_long_as_the_drain() {
    let mut rig = probing();
    rig.at(200).ack(10, 20);
    rig.lose(21, 23);
    rig.send(10);
    rig.ack(24, 69);
    // All unvalidated packets are accounted for. Ten packets are in flight, and the model drains to
    // below five.
    assert_eq!(rig.resume.resume_phase(), Phase::SafeRetreat);
    rig.at(300).ack(70, 76);
    assert_eq!(rig.last_step(), ("normal", "exit_recovery"));
}

#[test]
fn an_unsafe_jump_sets_the_whole_saved_rate_for_two_rounds() {
    let mut rig = rig(None, true, ResumeMode::Jump);
    assert_eq!(rig.resume.send_control().cwnd, packets(300));
    assert_eq!(rig.resume.send_control().pacing_rate, Some(Rate::from_mbps(32)));
    rig.send(10);
    rig.at(100).ack(0, 9);
    rig.send(10);
    assert!(rig.resume.send_control().pacing_rate.is_some());
    rig.at(200).ack(10, 19);
    assert_eq!(
        (rig.resume.send_control().pacing_rate, rig.resume.send_control().cwnd),
        (None, packets(40))
    );
}

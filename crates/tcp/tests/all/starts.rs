//! Slow starts and Careful Resume with the controllers of TCP.

use crate::support;

use bentpipe_congestion::catalogue::{CONTROLLERS, SLOW_STARTS};
use bentpipe_congestion::{
    CongestionConfig, Controller, ControllerConfig, FastStart, ResumeHandle, SavedParameters,
};
use bentpipe_link::{LossConfig, QueueConfig, QueueLimit};
use bentpipe_tcp::{MakeController, TcpSettings};
use bentpipe_units::{Bytes, Ratio, Span, Time};
use std::sync::Arc;
use support::{Pair, SERVER};

/// 50 Mbps over a satellite, with a queue of half a bandwidth-delay product.
fn geo() -> [bentpipe_link::DirectionConfig; 2] {
    let mut path = Pair::path(50, Span::from_millis(300));
    path[SERVER].queue = QueueConfig::drop_tail(QueueLimit::Bytes(Bytes::new(1_875_000)));
    path
}

fn settings() -> [TcpSettings; 2] {
    let large = Bytes::new(64 << 20);
    // A receive window that grows as in Linux is smaller than any jump.
    let settings = TcpSettings {
        receive_buffer: large,
        send_buffer: large,
        autotune: false,
        ..TcpSettings::default()
    };
    [settings.clone(), settings]
}

fn make(congestion: CongestionConfig, handle: Option<ResumeHandle>) -> MakeController {
    let factory = congestion.factory().unwrap_or_else(|error| panic!("{error}"));
    Arc::new(move |setup: &ControllerConfig| -> Box<dyn Controller> {
        factory.make(setup, FastStart::Allowed(None), handle.clone())
    })
}

#[test]
fn every_slow_start_with_every_controller_completes_with_and_without_losses() {
    for start in SLOW_STARTS.iter().map(|part| part.name) {
        for controller in CONTROLLERS.iter().map(|part| part.name) {
            for loss in [0.0, 0.005] {
                let congestion = CongestionConfig {
                    controller: controller.parse().unwrap(),
                    slow_start: start.parse().unwrap(),
                    ..CongestionConfig::default()
                };
                let mut path = geo();
                path[SERVER].loss = LossConfig::bernoulli(Ratio::new(loss).unwrap());
                let mut pair = Pair::made(settings(), make(congestion, None), &path, 1, None);
                pair.logs = false;
                pair.download(10_000_000);
                assert!(
                    pair.finish(Time::from_secs(300)),
                    "{start} {controller} {loss}: {:?}",
                    pair.ends[SERVER]
                );
            }
        }
    }
}

#[test]
fn a_saved_path_is_resumed_and_validated() {
    let run = |resume: &str, saved: Option<SavedParameters>| {
        let handle = ResumeHandle::new();
        if let Some(saved) = saved {
            assert!(handle.offer(saved));
        }
        let congestion = CongestionConfig {
            controller: "cubic".parse().unwrap(),
            slow_start: "standard".parse().unwrap(),
            resume: resume.parse().unwrap(),
            ..CongestionConfig::default()
        };
        let mut pair =
            Pair::made(settings(), make(congestion, Some(handle.clone())), &geo(), 1, None);
        pair.download(5_000_000);
        assert!(pair.finish(Time::from_secs(300)));
        let phases: Vec<&str> =
            handle.take_transitions().iter().map(|step| step.new.name()).collect();
        (pair.now, phases, pair.ends[SERVER].record())
    };
    let saved = SavedParameters::new(Bytes::new(3_750_000), Span::from_millis(600));
    let (plain, _, _) = run("none", None);
    let (resumed, phases, record) = run("careful", Some(saved));
    assert_eq!(phases, ["reconnaissance", "unvalidated", "validating", "normal"]);
    assert_eq!((record.retransmitted, record.timeouts), (0, 0));
    // Slow start takes seven RTTs to half of the capacity: the jump saves most of them.
    assert!(plain.since(resumed) > Span::from_millis(1500), "{plain} {resumed}");
}

#[test]
fn a_jump_that_loses_retreats_and_recovers_without_a_timeout() {
    let handle = ResumeHandle::new();
    // The path carries a fifth of the saved rate.
    assert!(handle.offer(SavedParameters::new(Bytes::new(3_750_000), Span::from_millis(600))));
    let congestion = CongestionConfig {
        controller: "cubic".parse().unwrap(),
        slow_start: "standard".parse().unwrap(),
        resume: "careful".parse().unwrap(),
        ..CongestionConfig::default()
    };
    let mut path = Pair::path(10, Span::from_millis(300));
    path[SERVER].queue = QueueConfig::drop_tail(QueueLimit::Bytes(Bytes::new(100_000)));
    let mut pair = Pair::made(settings(), make(congestion, Some(handle.clone())), &path, 1, None);
    pair.download(5_000_000);
    assert!(pair.finish(Time::from_secs(300)));
    assert!(handle.retreated());
    assert_eq!(pair.ends[SERVER].record().timeouts, 0);
}

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
use support::{Pair, SERVER, Treatment};

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

#[test]
fn a_controller_that_models_the_path_is_known_behind_a_start_and_a_resumption() {
    let rate_based = |controller: &str, start: &str, resume: &str| {
        let congestion = CongestionConfig {
            controller: controller.parse().unwrap(),
            slow_start: start.parse().unwrap(),
            resume: resume.parse().unwrap(),
            ..CongestionConfig::default()
        };
        let setup = ControllerConfig {
            now: Time::ZERO,
            mtu: Bytes::new(1448),
            initial_window: Bytes::new(14_480),
            distance_m: None,
            rtt: Some(Span::from_millis(600)),
        };
        make(congestion, Some(ResumeHandle::new()))(&setup).is_rate_based()
    };
    for start in SLOW_STARTS.iter().map(|part| part.name) {
        for resume in ["none", "careful", "jump"] {
            assert!(rate_based("bbr1", start, resume), "bbr1 {start} {resume:?}");
            assert!(rate_based("bbr3", start, resume), "bbr3 {start} {resume:?}");
            assert!(!rate_based("cubic", start, resume), "cubic {start} {resume:?}");
        }
    }
}

#[test]
fn after_a_pause_a_controller_that_models_the_path_keeps_its_window_whatever_started_it() {
    let windows = ["auto", "standard"].map(|start| {
        let congestion = CongestionConfig {
            controller: "bbr3".parse().unwrap(),
            slow_start: start.parse().unwrap(),
            ..CongestionConfig::default()
        };
        let mut pair = Pair::made(settings(), make(congestion, None), &geo(), 1, None);
        pair.logs = false;
        pair.applications[SERVER].to_write = 40_000_000;
        pair.run(Time::from_secs(30));
        pair.applications[SERVER].to_write += 10_000_000;
        pair.logs = true;
        pair.run(Time::from_secs(31));
        pair.data().count()
    });
    // More than an initial window within the first second, in which no acknowledgement comes.
    assert!(windows.iter().all(|sent| *sent > 100), "{windows:?}");
}

#[test]
fn after_more_than_one_lost_syn_the_first_flight_is_the_smallest_window() {
    // One segment for TCP, two for the controllers, which are QUIC's.
    for (lost, flight) in [(0, 10), (1, 10), (2, 2), (3, 2)] {
        let mut pair = Pair::new(settings(), "newreno", &geo(), 1);
        let mut left = lost;
        pair.set_treatment(move |sent| {
            let hit = sent.from == SERVER && sent.segment.flags.syn && left > 0;
            left -= u32::from(hit);
            if hit { Treatment::Drop } else { Treatment::Pass }
        });
        pair.download(1448 * 100);
        pair.run(Time::from_secs(30));
        let first = pair.data().next().map(|sent| sent.at).unwrap();
        let sent = pair.data().filter(|sent| sent.at < first + Span::from_millis(300)).count();
        assert_eq!(sent, flight, "{lost} lost");
    }
}

#[test]
fn a_syn_that_was_only_late_costs_no_window() {
    let mut path = geo();
    path[SERVER].delay = bentpipe_link::DelayConfig::Constant(Span::from_secs(4));
    let mut pair = Pair::new(settings(), "newreno", &path, 1);
    pair.download(1448 * 100);
    pair.run(Time::from_secs(30));
    let syns = pair.log.iter().filter(|sent| sent.from == SERVER && sent.segment.flags.syn);
    assert!(syns.count() > 2);
    let first = pair.data().next().map(|sent| sent.at).unwrap();
    let sent = pair.data().filter(|sent| sent.at < first + Span::from_millis(300)).count();
    assert_eq!(sent, 10);
}

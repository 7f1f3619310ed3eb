//! Downloads whose acknowledgements have little room.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use bentpipe_link::{DirectionConfig, DirectionModel, DirectionPatch};
use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_quic::{AckRule, Handshake, Settings, StockController};
use bentpipe_sim::{Direction, FlowOutcome, FlowSpec, HopSpec, Object, RunSpec, Stack, Visit};
use bentpipe_units::{Bytes, Rate, Span};
use std::path::Path;
use std::sync::atomic::AtomicBool;

const DELAY: Span = Span::from_millis(300);

fn direction(kbps: u64, patch: &str) -> DirectionModel {
    let mut config = DirectionConfig::new(Rate::from_bps(kbps * 1000), DELAY);
    let patch: DirectionPatch = toml::from_str(patch).unwrap();
    patch.apply_to(&mut config);
    config.load(Path::new(".")).unwrap()
}

/// 10 MB at 50 Mbps and 600 ms, with `forward` and `reverse` as patches of the links.
fn download(
    rule: &str,
    forward: &str,
    (kbps, reverse): (u64, &str),
    change: impl Fn(&mut Settings),
) -> FlowOutcome {
    let window = Bytes::from_mb(16);
    let ack: AckRule = rule.parse().unwrap();
    let mut settings = Settings {
        congestion: CongestionConfig::default(),
        ack,
        ack_by: ack.by(),
        stream_window: window,
        connection_window: window,
        send_buffer: window,
        ..Settings::default()
    };
    change(&mut settings);
    let spec = RunSpec {
        seed: 1,
        run: 0,
        base_rtt: DELAY * 2,
        mesh: None,
        hops: vec![HopSpec {
            name: "satellite".into(),
            forward: direction(50_000, &format!("queue = \"1 BDP\"\n{forward}")),
            reverse: direction(kbps, &format!("queue = \"30 packets\"\n{reverse}")),
            shared: true,
        }],
        terminals: 1,
        flows: vec![FlowSpec {
            ends: None,
            name: "download".into(),
            terminal: 0,
            server: "server".into(),
            start: Span::ZERO,
            stack: Stack::quic(settings),
            visits: vec![Visit {
                duration: None,
                handshake: Handshake::OneRtt,
                idle_before: Span::ZERO,
                start_jitter: Span::ZERO,
                direction: Direction::Download,
                objects: vec![Object::new("object", Bytes::from_mb(10))],
                measured: true,
            }],
        }],
        time_limit: Span::from_secs(300),
        trace: false,
        qlog: false,
        capture: None,
    };
    let flow = bentpipe_sim::run(&spec, &AtomicBool::new(false)).unwrap().flows.remove(0);
    assert!(flow.completed, "{rule}: {:?}", flow.error);
    flow
}

fn seconds(flow: &FlowOutcome) -> f64 {
    flow.completion.unwrap().as_secs_f64()
}

#[test]
fn auto_needs_no_wide_return_link() {
    let wide = download("auto", "", (10_000, ""), |_| {});
    let thin = download("auto", "", (100, ""), |_| {});
    let stack = download("stack", "", (100, ""), |_| {});
    assert!(seconds(&thin) < seconds(&wide) * 1.1, "{} s and {} s", seconds(&thin), seconds(&wide));
    assert!(
        seconds(&stack) > seconds(&thin) * 1.5,
        "{} s and {} s",
        seconds(&stack),
        seconds(&thin)
    );
    assert!(thin.return_packets * 10 < stack.return_packets);
}

#[test]
fn a_return_link_that_falls_to_a_tenth_does_not_stop_auto() {
    let falls = r#"rate = { schedule = [{ at = "0 s", rate = "300 kbps" }, { at = "2.5 s", rate = "30 kbps" }] }"#;
    let (steady, fallen) =
        (download("auto", "", (300, ""), |_| {}), download("auto", "", (300, falls), |_| {}));
    let stack = download("stack", "", (300, falls), |_| {});
    // What was on its way when the link fell takes ten times as long: neither is free of that.
    assert!(
        seconds(&fallen) < seconds(&steady) * 1.4,
        "{} s and {} s",
        seconds(&fallen),
        seconds(&steady)
    );
    assert!(
        seconds(&fallen) < seconds(&stack) * 1.05,
        "{} s and {} s",
        seconds(&fallen),
        seconds(&stack)
    );
}

#[test]
fn losses_are_repaired_no_later_than_by_the_stack() {
    let loss = "loss = 0.002";
    let (auto, stack) = (
        download("auto", loss, (10_000, ""), |_| {}),
        download("stack", loss, (10_000, ""), |_| {}),
    );
    assert!(auto.packets_lost_random > 5);
    assert!(
        seconds(&auto) < seconds(&stack) * 1.1,
        "{} s and {} s",
        seconds(&auto),
        seconds(&stack)
    );
}

#[test]
fn a_sender_that_is_not_ours_understands_a_receiver_that_holds() {
    for stock in [StockController::NewReno, StockController::Cubic, StockController::Bbr] {
        let foreign = |settings: &mut Settings| settings.stock = Some(stock);
        let (auto, stack) =
            (download("auto", "", (100, ""), foreign), download("stack", "", (100, ""), foreign));
        assert!(
            seconds(&auto) < seconds(&stack) * 1.02,
            "{stock:?}: {} s and {} s",
            seconds(&auto),
            seconds(&stack)
        );
    }
}

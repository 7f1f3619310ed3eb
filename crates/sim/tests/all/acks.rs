//! Downloads whose acknowledgements cross a narrow return link.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use bentpipe_link::DirectionModel;
use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_quic::{AckRule, Handshake, QuicSettings, StockController};
use bentpipe_sim::{FlowOutcome, RunSpec, Stack};
use bentpipe_units::{Bytes, Rate, Span};
use common::{flow, hop, link, run_complete, run_spec};

const DELAY: Span = Span::from_millis(300);

fn direction(kbps: u64, patch: &str) -> DirectionModel {
    link(Rate::from_bps(kbps * 1000), DELAY, patch)
}

/// Downloads 10 MB at 50 Mbps and 600 ms, with `forward` and `reverse` as patches of the links.
fn download(
    rule: &str,
    forward: &str,
    (kbps, reverse): (u64, &str),
    change: impl Fn(&mut QuicSettings),
) -> FlowOutcome {
    let window = Bytes::from_mb(16);
    let ack: AckRule = rule.parse().unwrap();
    let mut settings = QuicSettings {
        congestion: CongestionConfig::default(),
        ack,
        ack_by: ack.by(),
        stream_window: window,
        connection_window: window,
        send_buffer: window,
        ..QuicSettings::default()
    };
    change(&mut settings);
    let satellite = hop(
        "satellite",
        direction(50_000, &format!("queue = \"1 BDP\"\n{forward}")),
        direction(kbps, &format!("queue = \"30 packets\"\n{reverse}")),
    );
    let visit = common::download(10_000_000, Handshake::OneRtt);
    let flows = vec![flow("download", Stack::quic(settings), vec![visit])];
    let spec =
        RunSpec { time_limit: Span::from_secs(300), ..run_spec(DELAY * 2, vec![satellite], flows) };
    run_complete(&spec).flows.remove(0)
}

fn seconds(flow: &FlowOutcome) -> f64 {
    flow.completion.unwrap().as_secs_f64()
}

#[test]
fn auto_needs_little_return_capacity() {
    let wide = download("auto", "", (10_000, ""), |_| {});
    let narrow = download("auto", "", (100, ""), |_| {});
    let stack = download("stack", "", (100, ""), |_| {});
    assert!(
        seconds(&narrow) < seconds(&wide) * 1.1,
        "{} s and {} s",
        seconds(&narrow),
        seconds(&wide)
    );
    assert!(
        seconds(&stack) > seconds(&narrow) * 1.5,
        "{} s and {} s",
        seconds(&stack),
        seconds(&narrow)
    );
    assert!(narrow.reverse_packets * 10 < stack.reverse_packets);
}

#[test]
fn auto_survives_a_return_link_that_falls_to_a_tenth() {
    let falls = "rate = { schedule = [{ at = \"0 s\", rate = \"300 kbps\" }, \
                 { at = \"2.5 s\", rate = \"30 kbps\" }] }";
    let (steady, fallen) =
        (download("auto", "", (300, ""), |_| {}), download("auto", "", (300, falls), |_| {}));
    let stack = download("stack", "", (300, falls), |_| {});
    // Packets queued when the rate falls take ten times as long under any policy.
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
fn losses_are_repaired_as_fast_as_by_the_stack() {
    let loss = "loss = 0.002";
    let (auto, stack) = (
        download("auto", loss, (10_000, ""), |_| {}),
        download("stack", loss, (10_000, ""), |_| {}),
    );
    assert!(auto.packets_lost_channel > 5);
    assert!(
        seconds(&auto) < seconds(&stack) * 1.1,
        "{} s and {} s",
        seconds(&auto),
        seconds(&stack)
    );
}

#[test]
fn other_senders_cope_with_delayed_acknowledgements() {
    for stock in [StockController::NewReno, StockController::Cubic, StockController::Bbr] {
        let foreign = |settings: &mut QuicSettings| settings.stock = Some(stock);
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

//! Figures of flows that proxies split, and of what blocks a TCP sender.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use bentpipe_link::DirectionModel;
use bentpipe_quic::Handshake;
use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_sim::{FlowOutcome, HopSpec, PepSpec, RunOutcome, Stack, TcpStack};
use bentpipe_tcp::TcpSettings;
use bentpipe_tcp::http::Version;
use bentpipe_timeseries::{LossPlace, TimePart};
use bentpipe_units::{Bytes, Rate, Span};
use common::{download, flow, hop, link, run_complete, run_spec, tcp_stack};

/// A queue that drops nothing here.
const LONG: &str = r#"queue = "8 MB""#;

fn direction(mbps: u64, delay_ms: u64, patch: &str) -> DirectionModel {
    link(Rate::from_mbps(mbps), Span::from_millis(delay_ms), patch)
}

/// Downloads 4 MB over TCP through proxies at both ends of the second of three hops.
fn split(lan: DirectionModel, satellite: DirectionModel) -> RunOutcome {
    let congestion = CongestionConfig::default();
    let stack = Stack::Tcp(Box::new(TcpStack {
        pep: Some(PepSpec {
            hop: 1,
            terminal: true,
            gateway: true,
            to_client: congestion.clone(),
            to_server: congestion.clone(),
            initial_window: 10,
            ack: Default::default(),
            buffer: Bytes::from_mb(2),
            ack_filter: None,
            failure: None,
        }),
        ..tcp_stack(Version::Raw, congestion, Bytes::from_mb(16))
    }));
    let hops: Vec<HopSpec> = vec![
        hop("lan", lan, direction(100, 5, "")),
        hop("satellite", satellite, direction(5, 20, "")),
        hop("net", direction(100, 5, LONG), direction(100, 5, "")),
    ];
    let visits = vec![download(4_000_000, Handshake::OneRtt)];
    run_complete(&run_spec(Span::from_millis(60), hops, vec![flow("main", stack, visits)]))
}

fn lost(flow: &FlowOutcome) -> u64 {
    flow.packets_lost_policer + flow.packets_lost_queue + flow.packets_lost_channel
}

#[test]
fn losses_behind_a_proxy_cost_the_proxies_hop_no_time() {
    let lan = direction(5, 5, r#"queue = "100 packets""#);
    let outcome = split(lan, direction(50, 20, LONG));
    let flow = &outcome.flows[0];
    // All of them in the LAN, which the account does not cover.
    assert!(outcome.links[0].counters.dropped_queue.packets > 20, "{:?}", outcome.links[0]);
    assert_eq!(lost(flow), outcome.links[0].counters.dropped_queue.packets);
    let budget = flow.time_budget.unwrap();
    assert_eq!(budget.get(TimePart::Outage), Span::ZERO, "{budget:?}");
    assert_eq!(budget.get(TimePart::LostPackets), Span::ZERO, "{budget:?}");
    assert_eq!(flow.loss_times.get(LossPlace::Queue), Span::ZERO);
}

#[test]
fn packets_that_proxies_send_are_counted_apart() {
    let satellite = direction(50, 20, "loss = 0.3");
    let outcome = split(direction(50, 5, ""), satellite);
    let flow = &outcome.flows[0];
    let hops = outcome.links.iter().filter(|link| link.name.ends_with("/forward"));
    let entered: u64 = hops.map(|link| link.counters.packets_in).sum();
    assert_eq!(flow.packets_sent + flow.packets_forwarded, entered);
    assert!(lost(flow) > flow.packets_sent / 4, "{flow:?}");
    assert!(lost(flow) < flow.packets_forwarded, "{flow:?}");
}

#[test]
fn windows_of_tcp_and_http_that_block_together_count_once() {
    let window = Bytes::new(64_000);
    let base = tcp_stack(Version::H2, CongestionConfig::default(), window);
    // Half of the buffer is for overhead.
    let buffer = Bytes::new(120_000);
    let tcp = TcpSettings { receive_buffer: buffer, receive_buffer_start: buffer, ..base.tcp };
    let stack = Stack::Tcp(Box::new(TcpStack { tcp, ..base }));
    let hops = vec![hop("link", direction(20, 300, ""), direction(20, 300, ""))];
    let visits = vec![download(1_000_000, Handshake::OneRtt)];
    let spec = run_spec(Span::from_millis(600), hops, vec![flow("main", stack, visits)]);
    let flow = &run_complete(&spec).flows[0];
    let (blocked, took) = (flow.flow_control_blocked.unwrap(), flow.completion.unwrap());
    assert!(blocked < took && blocked * 2 > took, "{blocked} of {took}");
}

//! Helpers of the simulator's tests: links, visits, flows and runs.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use bentpipe_link::{DirectionConfig, DirectionModel, DirectionPatch};
use bentpipe_quic::Handshake;
use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_sim::{FlowSpec, HopSpec, Object, RunOutcome, RunSpec, Stack, TcpStack, Visit};
use bentpipe_tcp::http::{self, Version};
use bentpipe_units::{Bytes, Rate, Span};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Returns one direction of a link, with `patch` (TOML) applied.
pub fn link(rate: Rate, delay: Span, patch: &str) -> DirectionModel {
    let mut config = DirectionConfig::new(rate, delay);
    let patch: DirectionPatch = toml::from_str(patch).unwrap();
    patch.apply_to(&mut config);
    config.load(Path::new(".")).unwrap()
}

/// Returns a hop that all terminals share.
pub fn hop(name: &str, forward: DirectionModel, reverse: DirectionModel) -> HopSpec {
    HopSpec { name: name.to_owned(), forward, reverse, shared: true }
}

/// Returns a visit that downloads `bytes`.
pub fn download(bytes: u64, handshake: Handshake) -> Visit {
    Visit { handshake, objects: vec![Object::new("object", Bytes::new(bytes))], ..Visit::default() }
}

/// Returns a flow between the ends of the path.
pub fn flow(name: &str, stack: Stack, visits: Vec<Visit>) -> FlowSpec {
    FlowSpec::new(name, stack, visits)
}

/// Returns a run of `flows` over `hops`, without recordings.
pub fn run_spec(base_rtt: Span, hops: Vec<HopSpec>, flows: Vec<FlowSpec>) -> RunSpec {
    RunSpec {
        seed: 1,
        run: 0,
        base_rtt,
        mesh: None,
        hops,
        terminals: 1,
        flows,
        time_limit: Span::from_secs(600),
        trace: None,
        qlog: Default::default(),
        capture: None,
        controller_state: false,
        reconfigurations: Vec::new(),
        path_changes: Vec::new(),
        encrypt: false,
    }
}

/// Returns a TCP stack with one connection and HTTP windows of `window`.
pub fn tcp_stack(version: Version, congestion: CongestionConfig, window: Bytes) -> TcpStack {
    TcpStack {
        tcp: Default::default(),
        congestion,
        http: http::HttpSettings {
            version,
            connections: 1,
            stream_window: window,
            connection_window: window,
            priorities: false,
        },
        pep: None,
    }
}

pub fn run(spec: &RunSpec) -> RunOutcome {
    bentpipe_sim::run(spec, &AtomicBool::new(false)).unwrap()
}

/// Runs `spec` and asserts that all its visits complete.
pub fn run_complete(spec: &RunSpec) -> RunOutcome {
    let outcome = run(spec);
    for flow in &outcome.flows {
        assert!(flow.completed, "{}: {:?}", flow.name, flow.error);
    }
    outcome
}

/// Returns the error of a run.
pub fn run_error(spec: &RunSpec) -> String {
    bentpipe_sim::run(spec, &AtomicBool::new(false)).unwrap_err().to_string()
}

//! Path tokens in whole transfers: what the client brings is worth what the server would have remembered.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use bentpipe_link::{DirectionConfig, DirectionModel, DirectionPatch};
use bentpipe_quic::congestion::{Recipe, ResumeName};
use bentpipe_quic::{Handshake, Http, ResumeVia, Settings};
use bentpipe_sim::{Direction, FlowOutcome, FlowSpec, HopSpec, Object, RunSpec, Visit};
use bentpipe_units::{Bytes, Rate, Span};
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn direction(rate_mbps: u64) -> DirectionModel {
    let mut config = DirectionConfig::new(Rate::from_mbps(rate_mbps), Span::from_millis(300));
    let patch: DirectionPatch = toml::from_str(r#"queue = "1 BDP""#).unwrap();
    patch.apply_to(&mut config);
    config.load(Path::new(".")).unwrap()
}

fn visit(bytes: u64, handshake: Handshake) -> Visit {
    Visit {
        handshake,
        wait: Span::from_secs(10),
        think: Span::ZERO,
        direction: Direction::Download,
        objects: vec![Object { name: "object".into(), bytes: Bytes::new(bytes) }],
        reported: true,
    }
}

/// 50/10 Mbps, 600 ms: a BDP of 3.75 MB.
fn geo(via: ResumeVia, http: Http, visits: Vec<Visit>) -> RunSpec {
    let window = Bytes::from_mb(16);
    let resume: ResumeName = "careful".parse().unwrap();
    RunSpec {
        seed: 1,
        run: 0,
        base_rtt: Span::from_millis(600),
        hops: vec![HopSpec {
            name: "satellite".into(),
            forward: direction(50),
            reverse: direction(10),
            shared: true,
        }],
        terminals: 1,
        flows: vec![FlowSpec {
            name: "download".into(),
            terminal: 0,
            server: "server".into(),
            start: Span::ZERO,
            settings: Settings {
                congestion: Recipe { resume, ..Recipe::default() },
                resume_via: via,
                http,
                stream_window: window,
                connection_window: window,
                send_window: window,
                ..Settings::default()
            },
            visits,
        }],
        time_limit: Span::from_secs(600),
        trace: false,
        qlog: false,
        capture: None,
    }
}

fn run(spec: &RunSpec) -> Vec<FlowOutcome> {
    let flows = bentpipe_sim::run(spec, &AtomicBool::new(false)).unwrap().flows;
    assert!(flows.iter().all(|flow| flow.completed), "{flows:?}");
    flows
}

fn seconds(flow: &FlowOutcome) -> f64 {
    flow.completion.unwrap().as_secs_f64()
}

#[test]
fn a_token_is_worth_what_a_store_is() {
    for http in [Http::H3, Http::Raw] {
        for handshake in [Handshake::OneRtt, Handshake::ZeroRtt] {
            let visits = || vec![visit(22_500_000, Handshake::OneRtt), visit(10_000_000, handshake)];
            let (store, token) =
                (run(&geo(ResumeVia::Store, http, visits())), run(&geo(ResumeVia::Token, http, visits())));
            eprintln!("{http:?} {handshake:?} first {} {} second {} {}\n{:?}\n{:?}\n{:?}\n{:?}", seconds(&store[0]), seconds(&token[0]), seconds(&store[1]), seconds(&token[1]),
            store[0].path, token[0].path, store[1].path, token[1].path);
        }
    }
}

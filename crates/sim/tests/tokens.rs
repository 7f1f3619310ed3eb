//! Path tokens in whole transfers: what the client brings is worth what the server would have
//! remembered.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use bentpipe_link::{DirectionConfig, DirectionModel, DirectionPatch};
use bentpipe_quic::congestion::{CongestionConfig, ResumeName};
use bentpipe_quic::{Handshake, Http, ResumeVia, Settings};
use bentpipe_sim::{Direction, FlowOutcome, FlowSpec, HopSpec, Object, RunSpec, Stack, Visit};
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
        duration: None,
        handshake,
        idle_before: Span::from_secs(10),
        start_jitter: Span::ZERO,
        direction: Direction::Download,
        objects: vec![Object::new("object", Bytes::new(bytes))],
        measured: true,
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
        mesh: None,
        hops: vec![HopSpec {
            name: "satellite".into(),
            forward: direction(50),
            reverse: direction(10),
            shared: true,
        }],
        terminals: 1,
        flows: vec![FlowSpec {
            ends: None,
            name: "download".into(),
            terminal: 0,
            server: "server".into(),
            start: Span::ZERO,
            stack: Stack::quic(Settings {
                congestion: CongestionConfig { resume, ..CongestionConfig::default() },
                resume_via: via,
                http,
                stream_window: window,
                connection_window: window,
                send_buffer: window,
                ..Settings::default()
            }),
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

/// How far `a` is from `b`, as a share of `b`.
fn apart(a: f64, b: f64) -> f64 {
    (a - b).abs() / b
}

#[test]
fn a_token_is_worth_what_a_store_is() {
    for http in [Http::H3, Http::Raw] {
        for handshake in [Handshake::OneRtt, Handshake::ZeroRtt] {
            let visits =
                || vec![visit(22_500_000, Handshake::OneRtt), visit(10_000_000, handshake)];
            let store = run(&geo(ResumeVia::Store, http, visits()));
            let token = run(&geo(ResumeVia::Token, http, visits()));
            for (store, token) in store.iter().zip(&token) {
                let (store, token) = (seconds(store), seconds(token));
                assert!(
                    apart(token, store) < 0.01,
                    "{http:?}, {handshake:?}: {token} s, with a store {store} s"
                );
            }
            assert_eq!(
                (token[0].path.token, token[1].path.token),
                (Some("none"), Some("accepted"))
            );
            assert_eq!((store[0].path.token, store[1].path.token), (None, None));
            assert_eq!((token[0].path.retreated, token[1].path.retreated), (None, Some(false)));
        }
    }
}

#[test]
fn a_token_saves_the_round_trips_of_slow_start() {
    let visits =
        |handshake| vec![visit(22_500_000, Handshake::OneRtt), visit(10_000_000, handshake)];
    let mut spec = geo(ResumeVia::Token, Http::H3, visits(Handshake::OneRtt));
    // The default start finds most of a path by itself.
    let standard =
        CongestionConfig { slow_start: "standard".parse().unwrap(), ..CongestionConfig::default() };
    let settings = spec.flows[0].stack.quic_mut().unwrap();
    settings.congestion =
        CongestionConfig { resume: settings.congestion.resume, ..standard.clone() };
    let resumed = seconds(&run(&spec)[1]);
    spec.flows[0].stack.quic_mut().unwrap().congestion = standard;
    let fresh = seconds(&run(&spec)[1]);
    assert!(
        fresh - resumed > 0.6,
        "{resumed} s with a token, {fresh} s without: less than a round trip"
    );
}

#[test]
fn both_ends_see_the_same_path() {
    let spec = geo(ResumeVia::Token, Http::H3, vec![visit(22_500_000, Handshake::OneRtt)]);
    let path = run(&spec)[0].path;
    let (sender, receiver) = (path.observed.unwrap(), path.receiver.unwrap());
    // The path holds 3.75 MB with IP headers and what the link's own times cost.
    for view in [sender, receiver] {
        assert!(apart(view.window.get() as f64, 3.75e6) < 0.04, "{view:?}");
        assert!(apart(view.rtt.as_secs_f64(), 0.6) < 0.01, "{view:?}");
    }
    assert!(
        apart(receiver.window.get() as f64, sender.window.get() as f64) < 0.02,
        "{receiver:?}, {sender:?}"
    );
}

#[test]
fn a_short_visit_does_not_cost_the_client_its_token() {
    let visits = vec![
        visit(22_500_000, Handshake::OneRtt),
        visit(100_000, Handshake::ZeroRtt),
        visit(10_000_000, Handshake::ZeroRtt),
    ];
    let flows = run(&geo(ResumeVia::Token, Http::H3, visits));
    assert_eq!(
        flows.iter().map(|flow| flow.path.token.unwrap()).collect::<Vec<_>>(),
        ["none", "accepted", "accepted"]
    );
    let windows: Vec<_> = flows[1..].iter().map(|flow| flow.path.saved.unwrap().window).collect();
    assert_eq!(windows[0], windows[1]);
}

#[test]
fn a_client_that_sends_remembers_by_itself() {
    let mut visits = vec![visit(8_000_000, Handshake::OneRtt), visit(2_000_000, Handshake::OneRtt)];
    visits.iter_mut().for_each(|visit| visit.direction = Direction::Upload);
    let flows = run(&geo(ResumeVia::Token, Http::H3, visits));
    assert_eq!(
        flows[1].path.saved.map(|saved| saved.window),
        flows[0].path.observed.map(|seen| seen.window)
    );
    assert!(flows[1].path.saved.is_some());
    assert!(flows[0].path.receiver.is_some(), "the server is the receiver");
}

#[test]
fn tokens_make_no_run_differ() {
    let visits =
        || vec![visit(22_500_000, Handshake::OneRtt), visit(3_000_000, Handshake::ZeroRtt)];
    let [one, two] = [(); 2].map(|()| run(&geo(ResumeVia::Token, Http::H3, visits())));
    assert_eq!(format!("{one:?}"), format!("{two:?}"));
}

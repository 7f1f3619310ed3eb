//! Path tokens in whole transfers, which have the same effect as a store at the server.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use bentpipe_link::DirectionModel;
use bentpipe_quic::congestion::{CongestionConfig, ResumeName};
use bentpipe_quic::{Handshake, Http, QuicSettings, ResumeVia};
use bentpipe_sim::{Direction, FlowOutcome, RunSpec, Stack, Visit};
use bentpipe_units::{Bytes, Rate, Span};
use common::{download, flow, hop, link, run_complete, run_spec};

fn direction(rate_mbps: u64) -> DirectionModel {
    link(Rate::from_mbps(rate_mbps), Span::from_millis(300), r#"queue = "1 BDP""#)
}

fn visit(bytes: u64, handshake: Handshake) -> Visit {
    Visit { idle_before: Span::from_secs(10), ..download(bytes, handshake) }
}

/// 50/10 Mbps and 600 ms: a BDP of 3.75 MB.
fn geo(via: ResumeVia, http: Http, visits: Vec<Visit>) -> RunSpec {
    let window = Bytes::from_mb(16);
    let resume: ResumeName = "careful".parse().unwrap();
    let stack = Stack::quic(QuicSettings {
        congestion: CongestionConfig { resume, ..CongestionConfig::default() },
        resume_via: via,
        http,
        stream_window: window,
        connection_window: window,
        send_buffer: window,
        ..QuicSettings::default()
    });
    let hops = vec![hop("satellite", direction(50), direction(10))];
    run_spec(Span::from_millis(600), hops, vec![flow("download", stack, visits)])
}

fn run(spec: &RunSpec) -> Vec<FlowOutcome> {
    run_complete(spec).flows
}

fn seconds(flow: &FlowOutcome) -> f64 {
    flow.completion.unwrap().as_secs_f64()
}

/// Relative difference of `a` from `b`.
fn difference(a: f64, b: f64) -> f64 {
    (a - b).abs() / b
}

#[test]
fn a_token_has_the_same_effect_as_a_store() {
    for http in [Http::H3, Http::Raw] {
        for handshake in [Handshake::OneRtt, Handshake::ZeroRtt] {
            let visits =
                || vec![visit(22_500_000, Handshake::OneRtt), visit(10_000_000, handshake)];
            let store = run(&geo(ResumeVia::Store, http, visits()));
            let token = run(&geo(ResumeVia::Token, http, visits()));
            for (store, token) in store.iter().zip(&token) {
                let (store, token) = (seconds(store), seconds(token));
                assert!(
                    difference(token, store) < 0.01,
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
fn a_token_saves_round_trips_of_slow_start() {
    let visits =
        |handshake| vec![visit(22_500_000, Handshake::OneRtt), visit(10_000_000, handshake)];
    let mut spec = geo(ResumeVia::Token, Http::H3, visits(Handshake::OneRtt));
    // The default algorithm finds most of the path's capacity by itself.
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
        "{resumed} s with a token, {fresh} s without: less than one RTT saved"
    );
}

#[test]
fn both_ends_observe_the_same_path() {
    let spec = geo(ResumeVia::Token, Http::H3, vec![visit(22_500_000, Handshake::OneRtt)]);
    let path = run(&spec)[0].path;
    let (sender, receiver) = (path.observed.unwrap(), path.receiver.unwrap());
    // The path holds 3.75 MB including IP headers and the link's own delays.
    for view in [sender, receiver] {
        assert!(difference(view.window.get() as f64, 3.75e6) < 0.04, "{view:?}");
        assert!(difference(view.rtt.as_secs_f64(), 0.6) < 0.01, "{view:?}");
    }
    assert!(
        difference(receiver.window.get() as f64, sender.window.get() as f64) < 0.02,
        "{receiver:?}, {sender:?}"
    );
}

#[test]
fn a_short_visit_keeps_the_token() {
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
fn a_client_at_a_new_address_is_not_known() {
    for via in [ResumeVia::Store, ResumeVia::Token] {
        let mut visits = vec![
            visit(22_500_000, Handshake::OneRtt),
            visit(2_000_000, Handshake::ZeroRtt),
            visit(2_000_000, Handshake::ZeroRtt),
        ];
        visits[2].new_address = true;
        let flows = run(&geo(via, Http::H3, visits));
        let known: Vec<_> = flows.iter().map(|flow| flow.path.saved.is_some()).collect();
        assert_eq!(known, [false, true, false], "{via:?}");
        // Early data needs the ticket only.
        let first_bytes = [1, 2].map(|visit: usize| flows[visit].first_byte.unwrap());
        let [known, unknown] = first_bytes.map(Span::as_secs_f64);
        assert!(difference(unknown, known) < 0.05, "{via:?}: {first_bytes:?}");
    }
}

#[test]
fn a_sending_client_remembers_the_path_itself() {
    let mut visits = vec![visit(8_000_000, Handshake::OneRtt), visit(2_000_000, Handshake::OneRtt)];
    visits.iter_mut().for_each(|visit| visit.direction = Direction::Upload);
    let flows = run(&geo(ResumeVia::Token, Http::H3, visits));
    assert_eq!(
        flows[1].path.saved.map(|saved| saved.window),
        flows[0].path.observed.map(|seen| seen.window)
    );
    assert!(flows[1].path.saved.is_some());
    assert!(flows[0].path.receiver.is_some(), "the server receives");
}

#[test]
fn runs_with_tokens_are_deterministic() {
    let visits =
        || vec![visit(22_500_000, Handshake::OneRtt), visit(3_000_000, Handshake::ZeroRtt)];
    let [one, two] = [(); 2].map(|()| run(&geo(ResumeVia::Token, Http::H3, visits())));
    assert_eq!(format!("{one:?}"), format!("{two:?}"));
}

//! Early data that the server refuses, as it does above an RTT of 60 s unless it expects one.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use bentpipe_quic::{Handshake, Http, QuicSettings};
use bentpipe_sim::{Direction, Object, RunSpec, Stack, Visit};
use bentpipe_units::{Bytes, Rate, Span};
use common::{download, flow, hop, link, run_complete, run_spec};

/// Returns a first visit and one with early data over a path with this RTT, by endpoints that
/// expect `initial_rtt`.
fn visits(rtt: Span, initial_rtt: Span, http: Http, second: Visit) -> RunSpec {
    let idle_timeout = Span::MAX;
    let settings = QuicSettings { http, initial_rtt, idle_timeout, ..QuicSettings::default() };
    let first = download(1_000, Handshake::OneRtt);
    let direction = || link(Rate::from_mbps(50), rtt / 2, "");
    let hops = vec![hop("space", direction(), direction())];
    let flows = vec![flow("main", Stack::quic(settings), vec![first, second])];
    RunSpec { time_limit: Span::from_secs(86_400), ..run_spec(rtt, hops, flows) }
}

fn second(direction: Direction) -> Visit {
    let object = |name: &str, after: Vec<usize>, delay| Object {
        after,
        delay,
        ..Object::new(name, Bytes::new(2_000))
    };
    let objects = vec![
        object("page", Vec::new(), Span::ZERO),
        object("image", Vec::new(), Span::ZERO),
        object("late", Vec::new(), Span::from_secs(200)),
        object("last", vec![0, 1], Span::from_secs(1)),
    ];
    Visit { objects, direction, idle_before: Span::from_secs(5), ..download(1, Handshake::ZeroRtt) }
}

#[test]
fn refused_requests_are_made_again_after_the_handshake() {
    for http in [Http::H3, Http::Raw] {
        for direction in [Direction::Download, Direction::Upload] {
            let outcome = run_complete(&visits(
                Span::from_secs(80),
                Span::from_millis(333),
                http,
                second(direction),
            ));
            let times: Vec<f64> = outcome.flows[1]
                .objects
                .iter()
                .map(|object| object.completion.unwrap().as_secs_f64())
                .collect();
            // An RTT for the handshake and one for each exchange; `late` after 200 s.
            for (time, expected) in times.iter().zip([160.0, 160.0, 280.0, 241.0]) {
                assert!((time - expected).abs() < 1.0, "{http:?} {direction:?}: {times:?}");
            }
        }
    }
}

#[test]
fn accepted_requests_are_not_made_again() {
    // Without an expectation up to 60 s, with one at any RTT.
    for (rtt, expected) in [(50, 0), (50, 50), (80, 30), (2_400, 800)] {
        let initial_rtt = Span::from_secs(expected).max(Span::from_millis(333));
        let visit = second(Direction::Download);
        let outcome = run_complete(&visits(Span::from_secs(rtt), initial_rtt, Http::H3, visit));
        let first = outcome.flows[1].objects[0].completion.unwrap().as_secs_f64();
        assert!((first - rtt as f64).abs() < 1.0, "{first} s, RTT {rtt} s");
    }
}

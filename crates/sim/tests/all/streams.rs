//! How the streams of one QUIC connection share it, in both directions.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_quic::{Handshake, Http, QuicSettings};
use bentpipe_sim::{Direction, Object, RunSpec, Stack, Visit};
use bentpipe_units::{Bytes, Rate, Span};
use common::{download, flow, hop, link, run_complete, run_spec};

/// A send buffer of twice what the path and its queue hold, as scenarios set it.
const SEND_BUFFER: Bytes = Bytes::from_mb(1);

fn quic(http: Http) -> Stack {
    Stack::quic(QuicSettings {
        http,
        congestion: CongestionConfig {
            slow_start: "standard".parse().unwrap(),
            ..CongestionConfig::default()
        },
        stream_window: Bytes::from_mb(64),
        connection_window: Bytes::from_mb(64),
        send_buffer: SEND_BUFFER,
        ..QuicSettings::default()
    })
}

/// 10 Mbps in both directions, RTT 100 ms, queues of ten BDP: no packet is lost.
fn spec(stack: Stack, direction: Direction, objects: Vec<Object>) -> RunSpec {
    let way = || link(Rate::from_mbps(10), Span::from_millis(50), r#"queue = "1250 kB""#);
    let visit = Visit { direction, objects, ..download(0, Handshake::OneRtt) };
    let hops = vec![hop("access", way(), way())];
    run_spec(Span::from_millis(100), hops, vec![flow("page", stack, vec![visit])])
}

/// Seconds from the start of the visit to the end of each object.
fn ends(spec: &RunSpec) -> Vec<f64> {
    let objects = &run_complete(spec).flows[0].objects;
    objects.iter().map(|object| object.completion.unwrap().as_secs_f64()).collect()
}

fn equal_objects(count: usize, bytes: u64) -> Vec<Object> {
    (0..count).map(|at| Object::new(format!("o{at}"), Bytes::new(bytes))).collect()
}

#[test]
fn equal_objects_requested_at_once_end_together() {
    for direction in [Direction::Download, Direction::Upload] {
        for http in [Http::H3, Http::Raw] {
            let ends = ends(&spec(quic(http), direction, equal_objects(8, 1_000_000)));
            // All eight take 6.4 s on the link.
            let first = ends.iter().copied().fold(f64::MAX, f64::min);
            let last = ends.iter().copied().fold(0.0, f64::max);
            assert!(last - first < 0.2, "{direction:?} {http:?}: {ends:?}");
        }
    }
}

#[test]
fn a_small_object_does_not_wait_for_large_ones() {
    for http in [Http::H3, Http::Raw] {
        let mut objects = equal_objects(3, 3_000_000);
        objects.push(Object::new("small", Bytes::new(20_000)));
        let ends = ends(&spec(quic(http), Direction::Download, objects));
        // Handshake and request take 0.2 s. Four times 20 kB are 80 kB, two more round trips of
        // slow start.
        assert!(ends[3] < 0.5, "{http:?}: {ends:?}");
    }
}

#[test]
fn segments_of_a_video_that_is_late_end_in_their_order() {
    // 2.4 s of the link, one each 2 s.
    let segments: Vec<Object> = (0..10)
        .map(|at| Object {
            delay: Span::from_secs(2 * at),
            ..Object::new(format!("s{at}"), Bytes::from_mb(3))
        })
        .collect();
    let ends = ends(&spec(quic(Http::H3), Direction::Download, segments));
    assert!(ends.is_sorted(), "{ends:?}");
}

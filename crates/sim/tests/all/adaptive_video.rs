//! Adaptive video over QUIC and TCP with known answers.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use bentpipe_media::abr::{AdaptiveVideo, Algorithm, PlayerOutcome};
use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_quic::{Handshake, QuicSettings};
use bentpipe_sim::{FlowOutcome, Object, RunSpec, Stack, Visit};
use bentpipe_tcp::http::Version;
use bentpipe_timeseries::SeriesLimit;
use bentpipe_units::{Bytes, Rate, Ratio, Span};
use common::{download, flow, hop, link, run_complete, run_spec, tcp_stack};
use std::sync::Arc;

const SEGMENT: Span = Span::from_secs(4);
const SEGMENTS: usize = 30;

fn video(algorithm: Algorithm, kbps: &[u64]) -> AdaptiveVideo {
    let ladder: Vec<Rate> = kbps.iter().map(|kbps| Rate::from_bps(kbps * 1_000)).collect();
    AdaptiveVideo {
        sizes: AdaptiveVideo::draw_sizes(&ladder, SEGMENT, SEGMENTS, Ratio::ZERO, 1),
        ladder,
        segment: SEGMENT,
        algorithm,
        start_buffer: SEGMENT,
        max_buffer: Span::from_secs(60),
    }
}

fn stacks() -> [Stack; 4] {
    let tcp = |version| {
        let stack = tcp_stack(version, CongestionConfig::default(), Bytes::from_mb(16));
        Stack::Tcp(Box::new(stack))
    };
    [Stack::quic(QuicSettings::default()), tcp(Version::H2), tcp(Version::H1), tcp(Version::Raw)]
}

fn spec(stack: Stack, video: AdaptiveVideo, kbps: u64, delay_ms: u64) -> RunSpec {
    let direction =
        link(Rate::from_bps(kbps * 1_000), Span::from_millis(delay_ms), "queue = \"2 BDP\"");
    let objects = (0..SEGMENTS).map(|index| Object {
        after: index.checked_sub(1).into_iter().collect(),
        ..Object::new(format!("segment-{index}"), Bytes::new(1))
    });
    let visit = Visit {
        objects: objects.collect(),
        player: Some(Arc::new(video)),
        ..download(1, Handshake::OneRtt)
    };
    RunSpec {
        time_limit: Span::from_secs(3_000),
        trace: Some(SeriesLimit::DEFAULT),
        ..run_spec(
            Span::from_millis(2 * delay_ms),
            vec![hop("link", direction.clone(), direction)],
            vec![flow("video", stack, vec![visit])],
        )
    }
}

fn play(spec: &RunSpec) -> (FlowOutcome, PlayerOutcome) {
    let flow = run_complete(spec).flows.remove(0);
    let played = flow.player.clone().unwrap();
    (flow, played)
}

#[test]
fn every_algorithm_reaches_the_top_of_a_fast_path_over_any_transport() {
    const LADDER: [u64; 6] = [300, 750, 1_200, 1_850, 2_850, 4_300];
    let all = [
        Algorithm::Throughput,
        Algorithm::Buffer,
        Algorithm::Bola,
        Algorithm::Dynamic,
        Algorithm::RobustMpc,
    ];
    for stack in stacks() {
        for algorithm in all {
            let spec = spec(stack.clone(), video(algorithm, &LADDER), 50_000, 10);
            let (flow, played) = play(&spec);
            let what = format!("{algorithm:?} over {}: {played:?}", flow.transport);
            assert_eq!((played.stalls, played.stalled), (0, Span::ZERO), "{what}");
            // A buffer of 4 s more with each segment passes the range of `buffer` in four steps.
            let most = if algorithm == Algorithm::Buffer { 4 } else { 2 };
            assert!(played.switches <= most, "{what}");
            let last = flow.objects.last().unwrap();
            assert_eq!(last.bytes, 4_300_000 / 8 * 4, "{what}");
            let asked: u64 = flow.objects.iter().map(|object| object.bytes).sum();
            assert_eq!((flow.bytes, flow.received), (asked, asked), "{what}");
        }
    }
}

#[test]
fn a_path_slower_than_the_lowest_bitrate_stalls_for_the_difference() {
    for stack in stacks() {
        let spec = spec(stack, video(Algorithm::Throughput, &[304, 755]), 210, 20);
        let (flow, played) = play(&spec);
        // Each segment but the first takes longer than it plays.
        let goodput = flow.bytes as f64 * 8.0 / flow.completion.unwrap().as_secs_f64();
        let expected = (304_000.0 / goodput - 1.0) * 4.0 * (SEGMENTS as f64 - 1.0);
        let stalled = played.stalled.as_secs_f64();
        assert!((stalled / expected - 1.0).abs() < 0.05, "{stalled} of {expected}: {played:?}");
        let share = stalled / (SEGMENT.as_secs_f64() * SEGMENTS as f64 + stalled) * 100.0;
        assert!((played.stall_percent - share).abs() < 1e-6, "{played:?}");
        assert_eq!((played.switches, played.mean_bitrate), (0, Rate::from_bps(304_000)));
    }
}

#[test]
fn serial_requests_over_a_long_path_make_throughput_leave_a_level() {
    // At 5 Mbps 4,300 kbps fit, but a segment of that also takes an RTT of 600 ms, and throughput
    // counts nine tenths of what is left.
    for stack in stacks() {
        let video = video(Algorithm::Throughput, &[2_850, 4_300]);
        let (flow, played) = play(&spec(stack, video, 5_000, 300));
        assert_eq!(played.switches, 0, "{} {played:?}", flow.transport);
        assert_eq!(played.mean_bitrate, Rate::from_bps(2_850_000), "{}", flow.transport);
    }
}

#[test]
fn a_full_buffer_makes_the_player_wait() {
    for stack in stacks() {
        let short = AdaptiveVideo {
            max_buffer: Span::from_secs(10),
            ..video(Algorithm::Throughput, &[300])
        };
        let spec = spec(stack, short, 50_000, 10);
        let outcome = run_complete(&spec);
        let flow = &outcome.flows[0];
        // 30 segments of 4 s, of which 14 s are in the buffer when the last has arrived.
        let completion = flow.completion.unwrap().as_secs_f64();
        assert!((completion - 106.0).abs() < 1.0, "{} {completion}", flow.transport);
        let series = &outcome.trace.unwrap().flows[0].series;
        let largest = |name: &str| {
            let points = &series.iter().find(|one| one.name == name).unwrap().points;
            points.iter().map(|point| point.1).fold(0.0, f64::max)
        };
        // A segment arrives a round trip and its transmission after the request at 10 s.
        assert!((13.9..=14.0).contains(&largest("player_buffer")));
        assert!((largest("player_bitrate") - 0.3).abs() < 1e-9);
    }
}

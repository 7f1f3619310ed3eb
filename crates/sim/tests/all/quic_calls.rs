//! Calls over QUIC: datagrams, and streams for frames and for groups.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use bentpipe_media::e_model::Codec;
use bentpipe_media::{Audio, Call, MediaKind, Playout, Video};
use bentpipe_quic::{Handshake, Http, QuicSettings};
use bentpipe_sim::node::{Action, Node, NodeContext, NodePacket, PathDirection, PlacedNode};
use bentpipe_sim::{
    CallCarrier, CallDirections, CallTraffic, Direction, FlowOutcome, FlowSpec, Framing, HopEnd,
    RunOutcome, RunSpec, Stack, Visit,
};
use bentpipe_timeseries::SeriesLimit;
use bentpipe_units::{Rate, Ratio, Span, Time};
use common::{download, flow, hop, link, run, run_spec};
use std::sync::atomic::AtomicBool;

const GROUPS: Framing = Framing::StreamPerGroup { cancel_after: None };

/// Video of frames of 3,750 bytes alone, four packets each, in groups of 10 s.
const EQUAL: Video = Video {
    rate: Rate::from_bps(900_000),
    fps: 30,
    group: 300,
    keyframe_size: 1,
    size_variation: Ratio::ZERO,
    pacing: Span::ZERO,
    keyframe_request: false,
};

fn call(video: Option<Video>) -> Call {
    Call {
        audio: Some(Audio { rate: Rate::from_bps(32_000) }),
        video,
        playout: Playout::Fixed(Span::from_millis(60)),
        codec: Codec::CONCEALING,
        delays_from: Span::ZERO,
        adaptation: None,
    }
}

/// Returns a call from the server to the client over QUIC with a large window.
fn over_quic(media: Call, framing: Framing, seconds: u64) -> FlowSpec {
    let settings = QuicSettings { http: Http::Raw, initial_window: 400, ..QuicSettings::default() };
    let stack = Stack::Call(Box::new(CallTraffic {
        media,
        directions: CallDirections::One(Direction::Download),
        carrier: CallCarrier::Quic(Box::new(settings), framing),
    }));
    let duration = Some(Span::from_secs(seconds));
    let objects = Vec::new();
    flow("call", stack, vec![Visit { duration, objects, ..download(0, Handshake::OneRtt) }])
}

fn spec(rate: Rate, delay_ms: u64, flows: Vec<FlowSpec>) -> RunSpec {
    let direction = link(rate, Span::from_millis(delay_ms), "");
    let hops = vec![hop("link", direction.clone(), direction)];
    let trace = Some(SeriesLimit::DEFAULT);
    RunSpec { trace, ..run_spec(Span::from_millis(2 * delay_ms), hops, flows) }
}

/// Drops the second large packet towards the client after a time: the second of a frame, which no
/// audio shares.
struct DropsOne {
    after: Time,
    left: u32,
}

impl Node for DropsOne {
    fn on_packet(&mut self, packet: &mut NodePacket<'_>, context: &mut NodeContext<'_>) -> Action {
        let is_video = packet.toward() == PathDirection::ToClient && packet.bytes() > 1_000;
        if !is_video || context.now() < self.after || self.left == 0 {
            return Action::Pass;
        }
        self.left -= 1;
        if self.left == 0 { Action::Drop } else { Action::Pass }
    }
}

/// Runs a call of 20 s over 100 Mbps and 600 ms that loses one packet of video after 10 s.
fn one_loss(framing: Framing) -> RunOutcome {
    let spec = spec(Rate::from_mbps(100), 300, vec![over_quic(call(Some(EQUAL)), framing, 20)]);
    let node = DropsOne { after: Time::from_secs(10), left: 2 };
    let place = PlacedNode::new("node", "link", HopEnd::Server, node);
    bentpipe_sim::run_with_nodes(&spec, vec![place], &AtomicBool::new(false)).unwrap().0
}

/// Returns the delays of the frames of a kind above the smallest, in ms.
fn excess(outcome: &RunOutcome, name: &str) -> Vec<f64> {
    let series = &outcome.trace.as_ref().unwrap().flows[0].series;
    let delays = series.iter().find(|one| one.name == name).unwrap();
    let delays: Vec<f64> = delays.points.iter().map(|point| point.1).collect();
    let smallest = delays.iter().copied().fold(f64::INFINITY, f64::min);
    delays.into_iter().map(|delay| delay - smallest).collect()
}

fn measured(flow: &FlowOutcome, kind: MediaKind) -> &bentpipe_media::StreamOutcome {
    &flow.call.iter().find(|one| one.measured.kind == kind).unwrap().measured
}

#[test]
fn a_packet_lost_from_a_stream_of_its_frame_delays_this_frame_alone() {
    let outcome = one_loss(Framing::StreamPerFrame);
    let late: Vec<f64> =
        excess(&outcome, "video_download_delay").into_iter().filter(|&late| late > 60.0).collect();
    // Three packets behind it show the loss (RFC 9002 §6.1.1), those of the next frame among them,
    // 33 ms later. Then an RTT passes.
    assert_eq!(late.len(), 1, "{late:?}");
    assert!((600.0..675.0).contains(&late[0]), "{late:?}");
    let video = measured(&outcome.flows[0], MediaKind::Video);
    assert_eq!((video.late, video.lost), (1, 0));
}

#[test]
fn a_packet_lost_from_a_stream_of_its_group_delays_all_frames_of_an_rtt() {
    let outcome = one_loss(GROUPS);
    let late: Vec<f64> =
        excess(&outcome, "video_download_delay").into_iter().filter(|&late| late > 60.0).collect();
    // They wait for it and arrive with it: 600 ms and more have 18 to 20 frames; the last two are
    // less than 60 ms late.
    assert!((16..=20).contains(&late.len()), "{}: {late:?}", late.len());
    assert!(late.is_sorted_by(|before, after| before > after), "{late:?}");
    let video = measured(&outcome.flows[0], MediaKind::Video);
    assert_eq!((video.late as usize, video.lost), (late.len(), 0));
}

#[test]
fn delays_count_from_the_time_that_a_call_says() {
    let counted = |delays_from| {
        let media = Call { delays_from, ..call(None) };
        let flow = over_quic(media, Framing::Datagrams, 2);
        let outcome = run(&spec(Rate::from_mbps(10), 20, vec![flow]));
        let audio = measured(&outcome.flows[0], MediaKind::Audio).clone();
        (audio.delays.len(), audio.frames)
    };
    let ((all, played), (late, played_late)) =
        (counted(Span::ZERO), counted(Span::from_millis(1_500)));
    // 50 frames a second; only their delays are left out.
    assert_eq!((all - late, played), (75, played_late));
}

#[test]
fn a_packet_lost_from_datagrams_loses_its_frame() {
    let outcome = one_loss(Framing::Datagrams);
    assert!(excess(&outcome, "video_download_delay").into_iter().all(|late| late < 60.0));
    let video = measured(&outcome.flows[0], MediaKind::Video);
    assert_eq!((video.late, video.lost), (0, 1));
}

#[test]
fn audio_is_in_datagrams_whatever_carries_video() {
    for framing in [Framing::StreamPerFrame, GROUPS] {
        let outcome = one_loss(framing);
        let audio = measured(&outcome.flows[0], MediaKind::Audio);
        assert_eq!((audio.late, audio.lost), (0, 0), "{framing:?}");
        assert_eq!(outcome.flows[0].transport, "quic");
    }
}

#[test]
fn media_begins_with_the_end_of_the_handshake() {
    let outcome = run(&spec(Rate::from_mbps(100), 300, vec![over_quic(call(None), GROUPS, 10)]));
    let audio = measured(&outcome.flows[0], MediaKind::Audio);
    // The server has completed the handshake after one and a half RTTs.
    let silent = Span::from_secs(10) - audio.duration;
    assert!((Span::from_millis(900)..Span::from_millis(905)).contains(&silent), "{silent}");
    // 80 B and the headers of the call, of QUIC, UDP and IP.
    let delay = audio.delays.mean().unwrap() - Span::from_millis(300);
    let bytes = Rate::from_mbps(100).as_bps() as f64 / 8.0 * delay.as_secs_f64();
    assert!((130.0..160.0).contains(&bytes), "{bytes} B");
}

#[test]
fn a_stream_that_is_late_is_stopped_and_the_next_group_is_in_time() {
    // Video of 1.2 Mbps over 1 Mbps falls behind in each group; with keyframes each 2 s.
    let video = Video { rate: Rate::from_bps(1_200_000), group: 60, ..EQUAL };
    let late = |framing| {
        let flow = over_quic(call(Some(video)), framing, 30);
        let outcome = run(&spec(Rate::from_mbps(1), 20, vec![flow]));
        let video = measured(&outcome.flows[0], MediaKind::Video);
        let largest = excess(&outcome, "video_download_delay").into_iter().fold(0.0, f64::max);
        (video.shown, largest)
    };
    let (without, largest) = late(GROUPS);
    assert!(largest > 4_000.0, "{largest}");
    let cancel_after = Some(Span::from_millis(250));
    let (stopped, largest) = late(Framing::StreamPerGroup { cancel_after });
    assert!(largest < 1_500.0, "{largest}");
    assert!(stopped > without, "{stopped}, {without}");
}

#[test]
fn frames_without_room_among_the_datagrams_that_wait_are_not_sent() {
    // 3 Mbps over 1 Mbps, after a burst of which most is lost, so that packets have 1,200 bytes at
    // most. 250 ms of media and two frames wait, 119 kB, for about a second.
    let video = Video { rate: Rate::from_mbps(3), ..EQUAL };
    let flow = over_quic(call(Some(video)), Framing::Datagrams, 20);
    let outcome = run(&spec(Rate::from_mbps(1), 20, vec![flow]));
    let video = measured(&outcome.flows[0], MediaKind::Video);
    let largest = video.largest_delay.unwrap();
    assert!(largest < Span::from_millis(1_500), "{largest}");
    assert!(video.lost * 10 > video.frames * 5, "{} of {}", video.lost, video.frames);
    let bytes = outcome.flows[0].received;
    assert!(bytes > 1_000_000, "{bytes} B");
    assert_eq!(outcome.flows[0].error, None);
}

//! Calls over UDP with known answers.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use bentpipe_link::DirectionModel;
use bentpipe_media::e_model::{Codec, mean_opinion_score, rating};
use bentpipe_media::{Audio, Call, MediaKind, Playout, StreamOutcome, Video};
use bentpipe_quic::Handshake;
use bentpipe_sim::node::{Action, Node, NodeContext, NodePacket, PathDirection, PlacedNode};
use bentpipe_sim::{
    CallCarrier, CallDirections, CallTraffic, DatagramTraffic, Direction, FlowOutcome, FlowSpec,
    HopEnd, RunSpec, Stack, Visit,
};
use bentpipe_timeseries::SeriesLimit;
use bentpipe_units::{Bytes, Rate, Ratio, Span};
use common::{download, flow, hop, link, run, run_error, run_spec};
use std::sync::atomic::AtomicBool;

/// A frame of audio on the wire: 80 bytes of 20 ms at 32 kbps, and 40 of headers.
const AUDIO_PACKET: u64 = 120;

/// Video whose keyframes have 37,500 and other frames 3,750 bytes: 32 and 4 packets.
const VIDEO: Video = Video {
    rate: Rate::from_bps(1_170_000),
    fps: 30,
    group: 30,
    keyframe_size: 10,
    size_variation: Ratio::ZERO,
    pacing: Span::ZERO,
    keyframe_request: false,
};

fn audio() -> Call {
    Call {
        audio: Some(Audio { rate: Rate::from_bps(32_000) }),
        video: None,
        playout: Playout::Fixed(Span::from_millis(60)),
        codec: Codec::CONCEALING,
        delays_from: Span::ZERO,
        adaptation: None,
    }
}

fn video(video: Video) -> Call {
    Call { audio: None, video: Some(video), ..audio() }
}

fn timed(direction: Direction, seconds: u64) -> Visit {
    let duration = Some(Span::from_secs(seconds));
    Visit { duration, direction, objects: Vec::new(), ..download(0, Handshake::OneRtt) }
}

fn call_flow(media: Call, directions: CallDirections, seconds: u64) -> FlowSpec {
    let first = directions.each()[0];
    let stack = Stack::Call(Box::new(CallTraffic { media, directions, carrier: CallCarrier::Udp }));
    flow("call", stack, vec![timed(first, seconds)])
}

fn direction(delay_ms: u64, patch: &str) -> DirectionModel {
    link(Rate::from_mbps(10), Span::from_millis(delay_ms), patch)
}

/// Flows over 10 Mbps in both directions.
fn spec(delay_ms: u64, patch: &str, flows: Vec<FlowSpec>) -> RunSpec {
    let direction = direction(delay_ms, patch);
    let hops = vec![hop("link", direction.clone(), direction)];
    run_spec(Span::from_millis(2 * delay_ms), hops, flows)
}

/// Runs a call in one direction, and returns what its stream measured.
fn alone(media: Call, seconds: u64, delay_ms: u64, patch: &str) -> StreamOutcome {
    let call = call_flow(media, CallDirections::One(Direction::Download), seconds);
    stream(&run(&spec(delay_ms, patch, vec![call])).flows[0])
}

fn stream(flow: &FlowOutcome) -> StreamOutcome {
    flow.call[0].measured.clone()
}

fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{found}, expected {expected}");
}

/// Calls a function for each packet.
struct Calls<F>(F);

impl<F: FnMut(&NodePacket<'_>) -> Action> Node for Calls<F> {
    fn on_packet(&mut self, packet: &mut NodePacket<'_>, _: &mut NodeContext<'_>) -> Action {
        (self.0)(packet)
    }
}

/// Runs a call through a node at the client's end.
fn through(
    media: Call,
    seconds: u64,
    node: impl FnMut(&NodePacket<'_>) -> Action + Send + 'static,
) -> FlowOutcome {
    let call = call_flow(media, CallDirections::One(Direction::Download), seconds);
    let spec = spec(20, "", vec![call]);
    let place = PlacedNode::new("node", "link", HopEnd::Client, Calls(node));
    let stop = AtomicBool::new(false);
    bentpipe_sim::run_with_nodes(&spec, vec![place], &stop).unwrap().0.flows.remove(0)
}

#[test]
fn audio_alone_takes_its_transmission_and_the_delay_of_the_link() {
    let audio = alone(audio(), 20, 20, "");
    let delay = Span::from_millis(20) + Rate::from_mbps(10).time_for(Bytes::new(AUDIO_PACKET));
    assert_eq!(delay, Span::from_micros(20_096));
    assert_eq!((audio.delays.mean(), audio.largest_delay), (Some(delay), Some(delay)));
    assert_eq!(audio.delays.quantile(0.5), audio.delays.quantile(0.99));
    assert_eq!(audio.jitter, Some((Span::ZERO, Span::ZERO)));
    assert_eq!((audio.late, audio.lost), (0, 0));
    near(audio.mos.unwrap(), 4.41, 0.005);
    assert_eq!(audio.sent, Rate::from_bps(32_000));
}

#[test]
fn a_frame_takes_the_transmission_of_all_its_packets() {
    let video = alone(video(VIDEO), 10, 20, "");
    let time = |frame: u64| {
        let wire = Bytes::new(frame + 40 * frame.div_ceil(1_200));
        Span::from_millis(20) + Rate::from_mbps(10).time_for(wire)
    };
    assert_eq!(time(37_500), Span::from_micros(51_024));
    assert_eq!(video.largest_delay, Some(time(37_500)));
    assert_eq!(video.delays.min(), Some(time(3_750)));
    assert_eq!(video.delays.mean(), Some((time(37_500) + time(3_750) * 29) / 30));
    assert_eq!((video.late, video.lost, video.freezes), (0, 0, Some((0, Span::ZERO))));
}

#[test]
fn jitter_of_alternating_delays_is_their_difference() {
    let mut odd = false;
    let outcome = through(audio(), 20, move |_| {
        odd = !odd;
        if odd { Action::Pass } else { Action::Delay(Span::from_millis(10)) }
    });
    let (mean, last) = stream(&outcome).jitter.unwrap();
    near(last.as_millis_f64(), 10.0, 1e-3);
    // It begins at 0 and comes closer by a sixteenth with each packet.
    near(mean.as_millis_f64(), 10.0, 0.2);
}

#[test]
fn independent_loss_of_audio_costs_what_the_e_model_says() {
    let audio = alone(audio(), 590, 20, "loss = 0.01");
    let share = audio.lost as f64 / audio.frames as f64;
    // Five standard errors.
    near(share, 0.01, 5.0 * (0.01_f64 * 0.99 / audio.frames as f64).sqrt());
    near(audio.mos.unwrap(), 4.33, 0.03);
    let delay = audio.playout.unwrap() + Span::from_millis(20);
    let independent = rating(delay, Codec::CONCEALING, share * 100.0, 1.0);
    near(audio.mos.unwrap(), mean_opinion_score(independent), 0.01);
}

#[test]
fn a_frame_is_lost_with_any_of_its_packets() {
    // All frames have four packets.
    let equal = Video { rate: Rate::from_bps(900_000), keyframe_size: 1, ..VIDEO };
    let video = alone(video(equal), 590, 20, "loss = 0.01");
    let expected = 1.0 - 0.99_f64.powi(4);
    let share = video.lost as f64 / video.frames as f64;
    near(share, expected, 5.0 * (expected * (1.0 - expected) / video.frames as f64).sqrt());
}

/// Returns the freezes and keyframe requests of a video of which the first packet of frame 10 is
/// lost.
fn one_loss(keyframe_request: bool) -> (StreamOutcome, u64) {
    let mut left = 32 + 9 * 4;
    let outcome = through(video(Video { keyframe_request, ..VIDEO }), 3, move |packet| {
        if packet.toward() != PathDirection::ToClient {
            return Action::Pass;
        }
        left -= 1;
        if left == -1 { Action::Drop } else { Action::Pass }
    });
    (stream(&outcome), outcome.reverse_packets)
}

#[test]
fn a_lost_packet_freezes_a_group_until_a_keyframe() {
    let (video, requests) = one_loss(false);
    // From frame 9 to the keyframe 30.
    assert_eq!(video.freezes, Some((1, Span::from_millis(700))));
    assert_eq!((video.lost, requests), (1, 0));

    // Frame 11 shows the loss. The request arrives after frame 12, and frame 13 is a keyframe: an
    // interval of 133 ms, which is no freeze.
    let (video, requests) = one_loss(true);
    assert_eq!(video.freezes, Some((0, Span::ZERO)));
    assert_eq!((video.lost, video.keyframe_requests, requests), (1, 1, 1));
}

#[test]
fn delay_alone_limits_a_call_over_a_geostationary_satellite() {
    let audio = alone(audio(), 20, 300, "");
    // 300 ms, 60 ms of playout and 20 ms of the frame.
    assert_eq!(audio.playout, Some(Span::from_micros(360_096)));
    near(audio.mos.unwrap(), 3.63, 0.005);
}

#[test]
fn frames_that_would_be_played_after_the_end_do_not_count() {
    let audio = alone(audio(), 1, 300, "");
    // The last one is captured 360.096 ms before the end: number 31 of 50, at 620 ms.
    assert_eq!((audio.frames, audio.late, audio.lost), (32, 0, 0));
    let nothing = alone(self::audio(), 1, 300, "loss = 1.0");
    assert_eq!((nothing.frames, nothing.lost, nothing.mos), (50, 50, Some(1.0)));
    assert!(nothing.delays.is_empty() && nothing.jitter.is_none());
}

/// Returns the audio of a call beside datagrams that take more than the link has, over this queue.
fn beside_overload(queue: &str) -> StreamOutcome {
    let load = Stack::DatagramTraffic(DatagramTraffic::Constant {
        rate: Rate::from_mbps(12),
        packet: Bytes::new(1500),
        bursts: None,
    });
    let load = flow("load", load, vec![timed(Direction::Download, 20)]);
    let call = call_flow(audio(), CallDirections::One(Direction::Download), 20);
    stream(&run(&spec(50, queue, vec![load, call])).flows[1])
}

#[test]
fn a_queue_longer_than_the_playout_makes_all_frames_late() {
    // One BDP is 100 ms, more than the 60 ms of playout. It fills at a fifth of real time.
    let audio = beside_overload("queue = \"1 BDP\"");
    let in_time = audio.frames - audio.late - audio.lost;
    assert!((14..=17).contains(&in_time), "{in_time} of {} frames", audio.frames);
    assert!(audio.mos.unwrap() < 1.3, "{audio:?}");
    // A queue of 40 ms, within the playout, makes none late. Where 1500 bytes have no room, 120
    // still have.
    let audio = beside_overload("queue = \"50 kB\"");
    assert_eq!((audio.late, audio.lost), (0, 0));
    assert!(audio.largest_delay > Some(Span::from_millis(85)), "{audio:?}");
}

#[test]
fn a_queue_for_each_flow_keeps_a_call_as_it_is_alone() {
    let audio = beside_overload("queue = { limit = \"1 BDP\", aqm = \"fq-codel\" }");
    assert_eq!((audio.late, audio.lost), (0, 0));
    // Alone 50.096 ms; here at most one packet of the load more, which is being sent.
    let alone = Span::from_millis(50) + Rate::from_mbps(10).time_for(Bytes::new(AUDIO_PACKET));
    let packet = Rate::from_mbps(10).time_for(Bytes::new(1_500));
    let largest = audio.largest_delay.unwrap();
    assert!((alone..=alone + packet).contains(&largest), "{largest}");
    near(audio.mos.unwrap(), 4.41, 0.02);
}

#[test]
fn both_directions_have_media_of_their_own() {
    let media = Call { video: Some(VIDEO), ..audio() };
    let mut spec = spec(20, "", vec![call_flow(media, CallDirections::Both, 5)]);
    spec.trace = Some(SeriesLimit::DEFAULT);
    let outcome = run(&spec);
    let flow = &outcome.flows[0];
    let streams: Vec<_> = flow.call.iter().map(|one| (one.direction, one.measured.kind)).collect();
    let (down, up) = (Direction::Download, Direction::Upload);
    let (audio, video) = (MediaKind::Audio, MediaKind::Video);
    assert_eq!(streams, [(down, audio), (down, video), (up, audio), (up, video)]);
    let packets = 5 * (50 + 32 + 29 * 4);
    assert_eq!((flow.packets_sent, flow.reverse_packets), (packets, packets));
    let series = &outcome.trace.unwrap().flows[0].series;
    let delays = series.iter().filter(|one| one.name.ends_with("_delay"));
    assert_eq!(delays.count(), 4);
    // An audio frame waits behind the keyframe that was captured before it.
    assert!(flow.call[0].measured.largest_delay > Some(Span::from_millis(30)));
}

#[test]
fn pacing_keeps_the_queue_short_for_audio() {
    let largest = |pacing| {
        let media = Call { video: Some(Video { pacing, ..VIDEO }), ..audio() };
        let call = call_flow(media, CallDirections::One(Direction::Download), 5);
        stream(&run(&spec(20, "", vec![call])).flows[0]).largest_delay.unwrap()
    };
    let (burst, paced) = (largest(Span::ZERO), largest(Span::from_millis(33)));
    assert!(burst > Span::from_millis(30) && paced < Span::from_millis(23), "{burst}, {paced}");
}

#[test]
fn a_call_needs_a_duration() {
    let mut call = call_flow(audio(), CallDirections::Both, 1);
    call.visits[0].duration = None;
    assert!(run_error(&spec(20, "", vec![call])).contains("no duration"));
}

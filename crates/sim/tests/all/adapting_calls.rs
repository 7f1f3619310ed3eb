//! Calls whose video adapts its rate: SCReAM over UDP, and `queue` over QUIC.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use bentpipe_link::Ecn;
use bentpipe_media::e_model::Codec;
use bentpipe_media::{Adaptation, Algorithm, Audio, Call, MediaKind, Playout, Video};
use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_quic::{Handshake, Http, QuicSettings};
use bentpipe_sim::{
    CallCarrier, CallDirections, CallTraffic, Direction, FlowOutcome, FlowSpec, Framing, Marking,
    RunOutcome, RunSpec, Stack, Visit,
};
use bentpipe_tcp::http::Version;
use bentpipe_timeseries::SeriesLimit;
use bentpipe_units::{Bytes, Rate, Ratio, Span, Time};
use common::{download, flow, hop, link, run, run_spec, tcp_stack};

/// Video of equal frames of up to 5 Mbps.
const VIDEO: Video = Video {
    rate: Rate::from_mbps(5),
    fps: 30,
    group: 60,
    keyframe_size: 1,
    size_variation: Ratio::ZERO,
    pacing: Span::ZERO,
    keyframe_request: true,
};
const MIN_RATE: Rate = Rate::from_bps(200_000);

fn media(algorithm: Algorithm) -> Call {
    let start_rate = Rate::from_bps(500_000);
    let l4s = algorithm == Algorithm::Scream;
    Call {
        audio: Some(Audio { rate: Rate::from_bps(32_000) }),
        video: Some(VIDEO),
        playout: Playout::Fixed(Span::from_millis(150)),
        codec: Codec::CONCEALING,
        delays_from: Span::ZERO,
        adaptation: Some(Adaptation { algorithm, min_rate: MIN_RATE, start_rate, l4s }),
    }
}

fn timed(direction: Direction, seconds: u64) -> Visit {
    let duration = Some(Span::from_secs(seconds));
    Visit { duration, direction, objects: Vec::new(), ..download(0, Handshake::OneRtt) }
}

fn call(media: Call, carrier: CallCarrier, seconds: u64) -> FlowSpec {
    let directions = CallDirections::One(Direction::Download);
    let stack = Stack::Call(Box::new(CallTraffic { media, directions, carrier }));
    let marking = Marking { ecn: Ecn::Ect1, ..Marking::default() };
    FlowSpec { marking, ..flow("call", stack, vec![timed(Direction::Download, seconds)]) }
}

fn scream(seconds: u64) -> FlowSpec {
    call(media(Algorithm::Scream), CallCarrier::Udp, seconds)
}

/// Flows over a link of a rate and 20 ms, with keys of its directions.
fn spec(rate: Rate, [forward, reverse]: [&str; 2], flows: Vec<FlowSpec>) -> RunSpec {
    let direction = |keys| link(rate, Span::from_millis(20), keys);
    let hops = vec![hop("link", direction(forward), direction(reverse))];
    let trace = Some(SeriesLimit::DEFAULT);
    RunSpec { trace, ..run_spec(Span::from_millis(40), hops, flows) }
}

fn video(flow: &FlowOutcome) -> &bentpipe_media::StreamOutcome {
    &flow.call.iter().find(|one| one.measured.kind == MediaKind::Video).unwrap().measured
}

/// Returns the rates of the video of flow number `flow` in Mbps, from a second on.
fn rates(outcome: &RunOutcome, flow: usize, from: u64) -> Vec<f64> {
    let series = &outcome.trace.as_ref().unwrap().flows[flow].series;
    let rates = series.iter().find(|one| one.name == "video_download_rate").unwrap();
    let late = rates.points.iter().filter(|(at, _)| *at >= Time::from_secs(from));
    late.map(|(_, rate)| *rate).collect()
}

#[track_caller]
fn within(rates: &[f64], low: f64, high: f64) {
    let (least, most) = rates
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(least, most), &rate| (least.min(rate), most.max(rate)));
    assert!(least >= low && most <= high, "{least} to {most} Mbps");
}

#[test]
fn alone_scream_comes_near_the_rate_of_the_link() {
    let outcome = run(&spec(Rate::from_mbps(2), ["", ""], vec![scream(60)]));
    let (flow, video) = (&outcome.flows[0], video(&outcome.flows[0]));
    assert_eq!(flow.congestion, "scream");
    // By the text three windows may be in flight, and its own growth overflows a queue of one BDP.
    assert!(video.lost * 8 < video.frames, "{} lost", video.lost);
    // Of 2 Mbps, headers and audio leave 1.9, and the window gives at most 1 / 1.2 of what it has.
    near(video.sent, 1.2, 1.9);
    assert!(video.late * 50 < video.frames, "{} of {} late", video.late, video.frames);
    // A report for each frame at least.
    assert!(flow.reverse_packets > 59 * 30, "{}", flow.reverse_packets);
}

#[track_caller]
fn near(rate: Rate, low: f64, high: f64) {
    assert!((low..=high).contains(&rate.as_mbps_f64()), "{rate}");
}

#[test]
fn lost_reports_cost_little_and_without_any_it_does_not_run_away() {
    let most = Rate::from_mbps(2);
    let outcome = run(&spec(most, ["", "loss = 0.3"], vec![scream(60)]));
    near(video(&outcome.flows[0]).sent, 1.1, 1.9);
    let outcome = run(&spec(most, ["", "loss = 1.0"], vec![scream(30)]));
    let audio = 30 * 50 * 120;
    let sent = outcome.flows[0].bytes_sent - audio;
    // What starts in a second, then at most three windows of three packets a second.
    assert!(sent < 70_000 + 29 * 11_160, "{sent}");
}

/// Runs a call beside a download by CUBIC over this queue, and returns the outcome.
fn beside(queue: &str) -> RunOutcome {
    let stack = tcp_stack(Version::Raw, CongestionConfig::default(), Bytes::from_mb(4));
    let duration = Some(Span::from_secs(60));
    let endless = Visit { duration, ..download(1 << 60, Handshake::OneRtt) };
    let bulk = flow("bulk", Stack::Tcp(Box::new(stack)), vec![endless]);
    let queue = format!("queue = {queue}");
    run(&spec(Rate::from_mbps(10), [&queue, ""], vec![bulk, scream(60)]))
}

#[test]
fn beside_cubic_its_queue_decides_what_it_gets() {
    // A common queue: CUBIC keeps 80 ms full, more than SCReAM aims at, which falls to its smallest
    // rate now and then.
    let fifo = beside("\"100 kB\"");
    let least = rates(&fifo, 1, 30).into_iter().fold(f64::INFINITY, f64::min);
    assert!(least < 0.5, "{least} Mbps");
    // One of its own: it reaches its limit of half of the link, and no frame is late.
    let fair = beside("{ limit = \"100 kB\", aqm = \"fq-codel\" }");
    within(&rates(&fair, 1, 30), 2.0, 5.0);
    assert_eq!((video(&fair.flows[1]).late, video(&fair.flows[1]).lost), (0, 0));
    // L4S: a part of the link, and a short queue.
    let coupled = beside("{ limit = \"100 kB\", aqm = \"dualpi2\" }");
    within(&rates(&coupled, 1, 30), 0.4, 3.5);
    let p99 = |outcome: &RunOutcome| video(&outcome.flows[1]).delays.quantile(0.99);
    assert!(p99(&coupled) < Span::from_millis(60), "{}", p99(&coupled));
    assert!(p99(&fifo) > Span::from_millis(90), "{}", p99(&fifo));
}

#[test]
fn queue_follows_the_congestion_control_of_quic() {
    let settings = QuicSettings { http: Http::Raw, ..QuicSettings::default() };
    let carrier = CallCarrier::Quic(Box::new(settings), Framing::Datagrams);
    let start_rate = VIDEO.rate;
    let mut media = media(Algorithm::Queue);
    media.adaptation = media.adaptation.map(|one| Adaptation { start_rate, ..one });
    let call = call(media, carrier, 60);
    let outcome = run(&spec(Rate::from_mbps(2), ["queue = \"30 kB\"", ""], vec![call]));
    within(&rates(&outcome, 0, 10), 0.9, 2.3);
    let video = video(&outcome.flows[0]);
    assert!(video.skipped > Some(0) && video.lost * 50 < video.frames, "{video:?}");
}

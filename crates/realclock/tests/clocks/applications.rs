//! Calls, requests and adaptive video on both clocks.

use super::{close, compare, plan};
use bentpipe_realclock::RealClock;
use bentpipe_sim::{FlowOutcome, RunOutcome};

/// A path whose forward link takes 12 ms for a keyframe.
const PATH: &str = r#"
name = "applications"
time_limit = "20 s"
[path]
forward = { rate = "8 Mbps", delay = "40 ms", queue = "100 packets" }
return = { rate = "4 Mbps", delay = "60 ms" }
[workload]
"#;

/// Returns the only flow of each clock.
fn flows<'a>(simulated: &'a RunOutcome, real: &'a RunOutcome) -> [&'a FlowOutcome; 2] {
    let [one, other] = [simulated, real].map(|outcome| &outcome.flows[0]);
    assert!(one.completed && other.completed, "{:?}", other.error);
    assert_eq!(one.transport, other.transport);
    [one, other]
}

#[test]
fn a_call_is_as_good_on_both_clocks() {
    let call =
        "call = { duration = \"2 s\", audio = \"64 kbps\", video = { rate = \"1 Mbps\" } }\n";
    compare(&format!("{PATH}{call}"), |simulated, real| {
        let [one, other] = flows(simulated, real);
        assert_eq!(one.packets_sent, other.packets_sent);
        assert!(other.delays.mean().unwrap().as_millis_f64() > 40.0);
        calls_agree(one, other);
        for (one, other) in one.call.iter().zip(&other.call) {
            let (one, other) = (&one.measured, &other.measured);
            assert_eq!((one.late, one.lost, one.sent), (other.late, other.lost, other.sent));
            assert_eq!(one.mos.is_some(), other.mos.is_some());
            let mos = one.mos.unwrap_or_default() - other.mos.unwrap_or_default();
            assert!(mos.abs() < 0.02, "{one:?}\n{other:?}");
        }
    });
}

#[test]
fn a_call_over_losses_asks_for_keyframes_on_both_clocks() {
    let call =
        "call = { duration = \"2 s\", direction = \"download\", video = { rate = \"1 Mbps\" } }\n";
    let text =
        format!("{PATH}{call}").replace("\"100 packets\"", "\"100 packets\", loss = \"5 %\"");
    compare(&text, |simulated, real| {
        let [one, other] = flows(simulated, real);
        let asked = |flow: &FlowOutcome| flow.call[0].measured.keyframe_requests;
        assert!(asked(one) > 1 && asked(one).abs_diff(asked(other)) <= 1, "{one:?}\n{other:?}");
        let lost = |flow: &FlowOutcome| flow.packets_lost_channel;
        assert!(lost(one) > 5 && lost(one).abs_diff(lost(other)) <= 2, "{one:?}\n{other:?}");
        calls_agree(one, other);
    });
}

fn calls_agree(one: &FlowOutcome, other: &FlowOutcome) {
    assert_eq!(one.call.len(), other.call.len());
    for (one, other) in one.call.iter().zip(&other.call) {
        let name = format!("{:?} {:?}", one.direction, one.measured.kind);
        assert_eq!(
            (one.direction, one.measured.kind),
            (other.direction, other.measured.kind),
            "{name}"
        );
        let (one, other) = (&one.measured, &other.measured);
        assert!(one.frames.abs_diff(other.frames) <= 1, "{name}: {one:?}\n{other:?}");
        close(&name, one.delays.mean(), other.delays.mean(), 1.0);
        close(&name, one.playout, other.playout, 1.0);
        let jitter = |stream: &bentpipe_media::StreamOutcome| stream.jitter.map(|jitter| jitter.0);
        close(&name, jitter(one), jitter(other), 0.5);
    }
}

#[test]
fn requests_take_as_long_on_both_clocks() {
    let probe = "probe = { interval = \"100 ms\", duration = \"1500 ms\" }\n[defaults]\n\
        transport = \"tcp\"\nhttp = \"h1\"\ncongestion = \"newreno\"\ntcp.buffers = \"linux\"\n";
    compare(&format!("{PATH}{probe}"), |simulated, real| {
        let [one, other] = flows(simulated, real);
        assert_eq!((one.objects.len(), other.objects.len()), (16, 16));
        let median = |flow: &FlowOutcome| {
            let mut times: Vec<_> =
                flow.objects.iter().map(|one| one.completion.unwrap() - one.start).collect();
            times.sort_unstable();
            times[times.len() / 2]
        };
        close("median", Some(median(one)), Some(median(other)), 2.0);
    });
}

/// A player that fills its buffer and then waits, over HTTP/1.1 and the kernel's TCP. The segments
/// that it requests fit into the initial window.
const VIDEO: &str = r#"
[workload.abr]
duration = "4 s"
segment = "500 ms"
max_buffer = "2 s"
algorithm = "throughput"
ladder = ["50 kbps", "100 kbps", "180 kbps", "2 Mbps"]
[defaults]
transport = "tcp"
http = "h1"
congestion = "newreno"
slow_start = "standard"
tcp.buffers = "linux"
[output]
time_series = "all"
"#;

#[test]
fn a_video_is_played_alike_on_both_clocks() {
    compare(&format!("{PATH}{VIDEO}"), |simulated, real| {
        let [one, other] = flows(simulated, real);
        let sizes = |flow: &FlowOutcome| {
            flow.objects.iter().map(|object| (object.bytes, object.received)).collect::<Vec<_>>()
        };
        assert_eq!(sizes(one), sizes(other), "the player chooses the same bitrates");
        assert_eq!(one.bytes, other.bytes);
        assert!(sizes(one).windows(2).any(|pair| pair[0] != pair[1]), "{:?}", sizes(one));
        let (one, other) = (one.player.as_ref().unwrap(), other.player.as_ref().unwrap());
        assert_eq!((one.stalls, one.switches), (other.stalls, other.switches));
        close("startup", one.startup, other.startup, 15.0);
        let series = &real.trace.as_ref().unwrap().flows[0].series;
        for name in ["player_buffer", "player_bitrate"] {
            assert!(series.iter().any(|series| series.name == name), "no {name}");
        }
    });
}

#[test]
fn applications_that_have_no_real_endpoint_are_refused() {
    let over_quic = "call = { duration = \"1 s\", framing = \"datagrams\" }\n";
    let bare = VIDEO.replace("\"h1\"", "\"raw\"");
    let video_over_quic = "abr = { duration = \"2 s\" }\n";
    for (workload, allowed) in [
        (over_quic, "a `call` without `framing`"),
        (bare.as_str(), "http = \"h1\" or \"h2\""),
        (video_over_quic, "transport = \"tcp\""),
    ] {
        let real = plan(&format!("{PATH}{workload}")).on_real_clock(&RealClock::default());
        let error = real.unwrap_err().to_string();
        assert!(error.contains(allowed), "{error}");
    }
}

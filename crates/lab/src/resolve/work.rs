//! Roughly how long a run takes to simulate, as bytes transferred over TCP, for estimates before
//! anything has run. The constants are from runs of the examples: of sixteen, fourteen take between
//! half and twice of their estimate. Too low are those of a path that a probe alone is measured on
//! in its slow direction, and of many requests on a busy connection.

use bentpipe_media::abr::AdaptiveVideo;
use bentpipe_results::PathSummary;
use bentpipe_sim::{CallCarrier, CallDirections, CallTraffic, DatagramTraffic};
use bentpipe_sim::{FlowSpec, Object, Stack, Visit};
use bentpipe_units::{Rate, Span};
use std::collections::BTreeMap;

/// Time that simulating a byte of QUIC takes, compared with a byte of TCP.
const QUIC: f64 = 4.0;
/// What a visit takes besides its data, in bytes: handshake, endpoints, the end.
const VISIT: f64 = 600e3;
/// What a request and its answer take besides their data, in bytes: about four packets.
const REQUEST: f64 = 6e3;
/// What a packet of a ping and its answer take, in bytes.
const PING: f64 = 3e3;
/// Bytes per second of a path whose rate is not known.
const USUAL_RATE: f64 = 1e6;
/// Share of the path's rate that the bitrate of an adaptive video can have.
const VIDEO_SHARE: f64 = 0.9;

/// Returns the work of a run of `flows` on `path`; `users` tells how many users each flow stands
/// for.
pub(super) fn of(path: &PathSummary, flows: &[FlowSpec], users: impl Fn(usize) -> usize) -> u64 {
    let rate = path.bdp_bytes as f64 / (path.rtt_ms / 1e3);
    let rate = if rate.is_finite() && rate > 0.0 { rate } else { USUAL_RATE };
    // Users whose flows take what they get share the path of these ends for as long as they last.
    let mut rivals: BTreeMap<Option<(usize, usize)>, usize> = BTreeMap::new();
    for (index, flow) in flows.iter().enumerate() {
        if flow.visits.iter().any(|visit| takes_all(flow, visit, rate)) {
            *rivals.entry(flow.ends).or_default() += users(index);
        }
    }
    let work = flows.iter().enumerate().map(|(index, flow)| {
        let share = rate / rivals.get(&flow.ends).map_or(1, |count| (*count).max(1)) as f64;
        let visits: f64 = flow.visits.iter().map(|visit| of_visit(flow, visit, share)).sum();
        visits * users(index) as f64
    });
    // Saturates at the largest number.
    work.sum::<f64>() as u64
}

/// Returns true if a visit sends as fast as it can for a time: it asks for more than the path
/// carries in that time, at `rate` bytes per second.
fn takes_all(flow: &FlowSpec, visit: &Visit, rate: f64) -> bool {
    let transport = matches!(flow.stack, Stack::Quic(_) | Stack::Tcp(_) | Stack::Program(_));
    let more =
        |time: Span| visit.objects.is_empty() || asked(&visit.objects) > rate * time.as_secs_f64();
    transport && visit.player.is_none() && visit.duration.is_some_and(more)
}

/// Returns the bytes of objects, with what their requests take.
fn asked(objects: &[Object]) -> f64 {
    objects.iter().map(|object| object.bytes.get() as f64 + REQUEST).sum()
}

/// Returns the work of a visit that gets `rate` bytes per second.
fn of_visit(flow: &FlowSpec, visit: &Visit, rate: f64) -> f64 {
    let seconds = visit.duration.map_or(0.0, Span::as_secs_f64);
    let probes: f64 = visit.probes.iter().map(|probe| asked(&probe.objects)).sum();
    let bytes = match (&visit.player, &flow.stack) {
        (_, Stack::DatagramTraffic(traffic)) => return datagrams(traffic, seconds),
        (_, Stack::Call(call)) => return of_call(call, seconds),
        (Some(video), _) => of_video(video, rate),
        _ if takes_all(flow, visit, rate) => seconds * rate,
        _ => asked(&visit.objects),
    };
    let factor = if matches!(flow.stack, Stack::Quic(_)) { QUIC } else { 1.0 };
    (bytes + probes + VISIT) * factor
}

fn bytes_of(rate: Rate, seconds: f64) -> f64 {
    rate.as_bps() as f64 / 8.0 * seconds
}

fn datagrams(traffic: &DatagramTraffic, seconds: f64) -> f64 {
    match traffic {
        DatagramTraffic::Constant { rate, bursts, .. } => {
            let share = bursts.map_or(1.0, |(on, off)| {
                let (on, off) = (on.as_secs_f64(), off.as_secs_f64());
                if on + off > 0.0 { on / (on + off) } else { 1.0 }
            });
            bytes_of(*rate, seconds) * share
        }
        DatagramTraffic::Ping { interval, .. } => seconds / interval.as_secs_f64().max(1e-6) * PING,
    }
}

fn of_call(call: &CallTraffic, seconds: f64) -> f64 {
    let media = &call.media;
    let audio = media.audio.map_or(0.0, |audio| bytes_of(audio.rate, seconds));
    let video = media.video.map_or(0.0, |video| bytes_of(video.rate, seconds));
    let directions = if matches!(call.directions, CallDirections::Both) { 2.0 } else { 1.0 };
    let factor = if matches!(call.carrier, CallCarrier::Udp) { 1.0 } else { QUIC };
    // Packets of media are small, and each is looked at when it is played.
    (audio + video) * directions * factor.max(2.0) + VISIT
}

/// Returns the bytes of all segments at the highest level that the path carries.
fn of_video(video: &AdaptiveVideo, rate: f64) -> f64 {
    let fits = |level: &&Rate| bytes_of(**level, 1.0) <= VIDEO_SHARE * rate;
    let level = video.ladder.iter().take_while(fits).count().saturating_sub(1);
    let sizes = video.sizes.iter().filter_map(|segment| segment.get(level));
    sizes.map(|size| *size as f64 + REQUEST).sum()
}

//! The flows of a case, with `BDP` and `auto` converted to bytes.

use super::bottleneck::bottleneck;
use super::path::ResolvedPath;
use super::quic::quic;
use super::tcp::{pep, receive_buffer, tcp};
use super::visits::visits;
use crate::outcome;
use bentpipe_link::Ecn;
use bentpipe_media::e_model::Codec;
use bentpipe_media::{Adaptation, Algorithm, Audio, Call, Playout, Video};
use bentpipe_results::Direction;
use bentpipe_scenario::workload as scenario;
use bentpipe_scenario::{Flow, Placement, Problem, Protocol, Scenario, Workload};
use bentpipe_sim::{self as sim, CallCarrier, CallDirections, CallTraffic, Framing};
use bentpipe_sim::{DatagramTraffic, FlowSpec, Marking, ProgramStack, Stack};
use bentpipe_units::Span;
use serde_spanned::Spanned;

/// Returns the specification of `flow`, which both clocks run.
pub(super) fn flow(
    flow: &Flow,
    path: &ResolvedPath,
    scenario: &Scenario,
) -> Result<FlowSpec, Problem> {
    let mtu = *scenario.path.get_ref().mtu.get_ref();
    let visits = visits(flow, path, scenario);
    let direction =
        visits.first().map_or(Direction::Download, |visit| outcome::direction(visit.direction));
    let bottleneck = bottleneck(path, direction, mtu);
    let objects = visits.iter().map(|visit| visit.objects.len()).max().unwrap_or_default();
    let mut stack = match (flow.work.first(), flow.protocol) {
        (Workload::Cbr(cbr), _) => Stack::DatagramTraffic(DatagramTraffic::Constant {
            rate: *cbr.rate.get_ref(),
            packet: cbr.packet.as_ref().map_or(mtu, |packet| *packet.get_ref()),
            bursts: cbr.bursts(),
        }),
        (Workload::Ping(ping), _) => Stack::DatagramTraffic(DatagramTraffic::Ping {
            interval: *ping.interval.get_ref(),
            packet: ping.packet(),
        }),
        (Workload::Call(call), Protocol::Quic(http)) => {
            let settings = quic(flow, http, bottleneck, path.extremes, mtu)?;
            let framing = framing(call);
            let carrier = CallCarrier::Quic(Box::new(settings), framing);
            Stack::Call(Box::new(call_traffic(call, carrier)))
        }
        (Workload::Call(call), _) => Stack::Call(Box::new(call_traffic(call, CallCarrier::Udp))),
        (Workload::External(external), _) => Stack::Program(Box::new(ProgramStack {
            server: external.server.clone().unwrap_or_default(),
            client: external.client.clone().unwrap_or_default(),
            mtu,
            congestion: flow.transport.congestion,
            receive_buffer: (flow.transport.tcp.receive_buffer)
                .map(|_| receive_buffer(&flow.transport, bottleneck, mtu)),
            pep: pep(&flow.transport, path, scenario, bottleneck, 1)?,
        })),
        (_, Protocol::Tcp(version)) => {
            let keys = &flow.transport;
            Stack::Tcp(Box::new(tcp(keys, version, bottleneck, path, scenario, objects)?))
        }
        (_, Protocol::Quic(http)) => Stack::quic(quic(flow, http, bottleneck, path.extremes, mtu)?),
        // The workload arms above cover these.
        (_, Protocol::Datagrams | Protocol::External) => {
            return Err(Problem::new(flow.span.clone(), "this workload has no transport"));
        }
    };
    let ends = path.orbit.as_ref().and_then(|orbit| orbit.ends(flow.name()));
    if let Some(congestion) = stack.congestion_mut() {
        congestion.distance_m = ends.map(|ends| ends.distance_m as u64);
    }
    let placement = &flow.placement;
    Ok(FlowSpec {
        in_population: false,
        ends: hop_ends(placement, path).or(ends.map(|ends| ends.stations)),
        name: flow.name().to_owned(),
        terminal: placement.terminal.as_ref().map_or(0, |terminal| *terminal.get_ref()),
        server: placement.server.clone().unwrap_or_else(|| "server".to_owned()),
        start: placement.start_time.unwrap_or_default(),
        stack,
        marking: Marking {
            dscp: flow.transport.dscp.unwrap_or_default(),
            ecn: match flow.work.first() {
                Workload::Cbr(cbr) => cbr.ecn.into(),
                Workload::Call(call) => call.ecn().into(),
                _ => Ecn::NotEct,
            },
        },
        visits,
    })
}

/// Returns what a call sends.
fn call_traffic(call: &scenario::Call, carrier: CallCarrier) -> CallTraffic {
    let audio = call.audio_rate().map(|rate| Audio { rate });
    let video = call.video.as_ref().map(|video| Video {
        rate: *video.rate.get_ref(),
        fps: video.fps(),
        group: video.group(),
        keyframe_size: video.keyframe_size(),
        size_variation: video.size_variation(),
        pacing: video.pacing(),
        keyframe_request: video.keyframe_request,
    });
    let directions = match call.direction {
        scenario::CallDirection::Both => CallDirections::Both,
        scenario::CallDirection::Download => CallDirections::One(sim::Direction::Download),
        scenario::CallDirection::Upload => CallDirections::One(sim::Direction::Upload),
    };
    let playout = match call.playout() {
        scenario::Playout::Adaptive => Playout::Adaptive,
        scenario::Playout::Fixed(after) => Playout::Fixed(after),
    };
    let codec = if call.concealment { Codec::CONCEALING } else { Codec::PLAIN };
    let delays_from = call.delays_from.as_ref().map_or(Span::ZERO, |from| *from.get_ref());
    let adaptation = adaptation(call);
    let media = Call { audio, video, playout, codec, delays_from, adaptation };
    CallTraffic { media, directions, carrier }
}

/// Returns how the rate of the video of a call adapts.
fn adaptation(call: &scenario::Call) -> Option<Adaptation> {
    let (video, key) = (call.video.as_ref()?, call.adaptation());
    let algorithm = match key {
        scenario::CallAdaptation::None => return None,
        scenario::CallAdaptation::Queue => Algorithm::Queue,
        scenario::CallAdaptation::Scream => Algorithm::Scream,
    };
    let l4s = Ecn::from(call.ecn()) == Ecn::Ect1;
    let (min_rate, start_rate) = (video.min_rate(), video.start_rate(key));
    Some(Adaptation { algorithm, min_rate, start_rate, l4s })
}

/// Returns how QUIC carries a call.
fn framing(call: &scenario::Call) -> Framing {
    match call.framing() {
        None | Some(scenario::Framing::Datagrams) => Framing::Datagrams,
        Some(scenario::Framing::StreamPerFrame) => Framing::StreamPerFrame,
        Some(scenario::Framing::StreamPerGroup) => Framing::StreamPerGroup {
            cancel_after: call.cancel_after.as_ref().map(|after| *after.get_ref()),
        },
    }
}

/// Returns the nodes at the ends of a flow that crosses part of the path, `None` for other flows.
fn hop_ends(placement: &Placement, path: &ResolvedPath) -> Option<(usize, usize)> {
    let Placement { from_hop, to_hop, .. } = placement;
    from_hop.as_ref().or(to_hop.as_ref())?;
    let index =
        |name: &Spanned<String>| path.hops.iter().position(|hop| hop.name == *name.get_ref());
    let first = from_hop.as_ref().and_then(index).unwrap_or(0);
    let last = to_hop.as_ref().and_then(index).unwrap_or(path.hops.len() - 1);
    Some((first, last + 1))
}

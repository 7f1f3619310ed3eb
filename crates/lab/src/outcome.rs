//! Converts the outcome of a run to the types of the results.

use bentpipe_media::MediaKind;
use bentpipe_media::abr::PlayerOutcome;
use bentpipe_media::responsiveness::{self, Latencies};
use bentpipe_quic::congestion::SavedParameters;
use bentpipe_quic::observer::Sizes;
use bentpipe_results::fairness::{Contender, Fairness, LinkUse};
use bentpipe_results::{
    CallMetrics, CallStream, Direction, DirectionEmulation, Distribution, Emulation, Episode, Flow,
    FlowMetrics, Link, LinkMetrics, LossTime, Media, Object, Page, PageMetrics, PageOrigin,
    PathKnowledge, Player, PlayerMetrics, Point, ProxyEmulation, Reconfiguration,
    ResponsivenessMetrics, ReverseBytes, Run, contends,
};
use bentpipe_sim as sim;
use bentpipe_timeseries::{LossPlace, LossTimes};
use bentpipe_units::{Bytes, Span};

/// Returns the result of run number `run` of `variant` at `point`, without its populations, whose
/// users are not among `flows`. Fairness ignores the time until `warmup` after the start of the
/// last flow. `workload` returns that of a visit of a flow.
pub(crate) fn run(
    (variant, point, run): (&str, &Point, u64),
    spec: &sim::RunSpec,
    flows: &[&sim::FlowOutcome],
    outcome: &sim::RunOutcome,
    warmup: Option<Span>,
    workload: impl Fn(&str, usize) -> &'static str,
) -> Run {
    let contends = |flow: &str| contends(workload(flow, 1));
    let fairness = fairness(spec, flows, outcome, warmup, contends);
    let shares = fairness.iter().flat_map(|fairness| &fairness.flows);
    let share = |name: &str| shares.clone().find(|share| share.flow == name);
    let flows = flows.iter().map(|outcome| {
        let mut flow = flow(outcome);
        flow.workload = workload(&flow.name, flow.visit).to_owned();
        flow.metrics.share_percent = share(&flow.name).map(|share| share.share * 100.0);
        flow
    });
    Run {
        variant: variant.to_owned(),
        point: point.clone(),
        run,
        flows: flows.collect(),
        links: outcome.links.iter().map(link).collect(),
        fairness,
        populations: Vec::new(),
        reconfigurations: spec.reconfigurations.iter().map(reconfiguration).collect(),
        emulation: outcome.emulation.as_ref().map(emulation),
    }
}

/// Converts the regular changes of a hop to the type of the results.
fn reconfiguration(hop: &sim::Reconfigured) -> Reconfiguration {
    Reconfiguration {
        hop: hop.hop.clone(),
        first_s: hop.first.as_secs_f64(),
        period_s: hop.period.as_secs_f64(),
    }
}

/// Converts the report of the emulator to the type of the results.
fn emulation(report: &sim::EmulationOutcome) -> Emulation {
    let us = |span: Span| span.as_nanos() as f64 / 1e3;
    let direction = |direction: &sim::EmulatedDirection| DirectionEmulation {
        name: direction.name.to_owned(),
        packets: direction.packets,
        dropped: direction.dropped,
        unaccounted: direction.unaccounted,
        late_p50_us: us(direction.late_p50),
        late_p99_us: us(direction.late_p99),
        late_max_us: us(direction.late_max),
        realtime: direction.realtime,
        cpu_s: direction.cpu_time.as_secs_f64(),
    };
    let proxy = |proxy: &sim::EmulatedProxy| ProxyEmulation {
        name: proxy.name.clone(),
        connections: proxy.connections,
        incomplete: proxy.incomplete,
        bytes_to_server: proxy.bytes_to_server,
        bytes_to_client: proxy.bytes_to_client,
    };
    Emulation {
        warnings: report.warnings.clone(),
        directions: report.directions.iter().map(direction).collect(),
        proxies: report.proxies.iter().map(proxy).collect(),
    }
}

fn loss_time(times: &LossTimes) -> LossTime {
    let seconds = |place| times.get(place).as_secs_f64();
    LossTime {
        channel_s: seconds(LossPlace::Channel),
        queue_s: seconds(LossPlace::Queue),
        policer_s: seconds(LossPlace::Policer),
        routing_s: seconds(LossPlace::Routing),
        reverse_s: times.reverse().as_secs_f64(),
    }
}

/// Converts a direction to the type of the results.
pub(crate) fn direction(direction: sim::Direction) -> Direction {
    match direction {
        sim::Direction::Download => Direction::Download,
        sim::Direction::Upload => Direction::Upload,
    }
}

fn flow(flow: &sim::FlowOutcome) -> Flow {
    let acks = flow.acknowledgements.as_ref();
    let sizes = |transport| {
        let reported = acks.filter(|_| flow.transport == transport)?;
        distribution(&reported.sizes)
    };
    Flow {
        name: flow.name.clone(),
        visit: flow.visit,
        workload: String::new(),
        transport: flow.transport.to_owned(),
        congestion: flow.congestion.clone(),
        connections: flow.connections as u64,
        direction: direction(flow.direction),
        bytes: flow.bytes,
        completed: flow.completed,
        start_s: flow.start.as_secs_f64(),
        metrics: metrics(flow),
        reverse_bytes: reverse_bytes(&flow.reverse_bytes),
        time_budget: flow.time_budget.map(|budget| budget.seconds()),
        loss_time: loss_time(&flow.loss_times),
        episodes: flow.episodes.iter().map(episode).collect(),
        ack_frame_bytes: sizes("quic"),
        ack_option_bytes: sizes("tcp"),
        path: path(&flow.path),
        player: flow.player.as_ref().map(player),
        page: flow.page.as_ref().map(page),
        responsiveness: flow.test.as_ref().map(responsiveness),
        call: flow.call.iter().map(call_stream).collect(),
        objects: objects(flow),
        error: flow.error.clone(),
    }
}

fn metrics(flow: &sim::FlowOutcome) -> FlowMetrics {
    let acks = flow.acknowledgements.as_ref();
    let arrivals = flow.arrivals.as_ref();
    let delays = &flow.delays;
    let delay = |quantile| millis((!delays.is_empty()).then(|| delays.quantile(quantile)));
    let completion = flow.completion.filter(|span| flow.completed && !span.is_zero());
    let reverse = flow.reverse_bytes.total;
    FlowMetrics {
        completion_s: seconds(completion),
        goodput_mbps: completion.map(|span| goodput_mbps(Bytes::new(flow.bytes), span)),
        first_byte_s: seconds(flow.first_byte),
        handshake_s: seconds(flow.handshake),
        packets_sent: flow.packets_sent,
        bytes_sent: flow.bytes_sent,
        packets_lost_policer: flow.packets_lost_policer,
        packets_lost_queue: flow.packets_lost_queue,
        packets_lost_channel: flow.packets_lost_channel,
        packets_lost_routing: flow.packets_lost_routing,
        packets_marked_ce: arrivals.map(|arrivals| arrivals.marked_ce),
        packets_declared_lost: flow.packets_declared_lost,
        flow_control_blocked_s: seconds(flow.flow_control_blocked),
        flow_control_blocked_longest_s: seconds(flow.flow_control_blocked_longest),
        receive_buffer_max_bytes: flow.flow_control.map(|stats| stats.max_held.get()),
        receive_window_max_bytes: flow.flow_control.map(|stats| stats.max_window.get()),
        reverse_packets: flow.reverse_packets,
        reverse_packets_lost: flow.reverse_packets_lost,
        reverse_overhead_percent: (flow.bytes_sent > 0)
            .then(|| reverse as f64 / flow.bytes_sent as f64 * 100.0),
        reverse_acks: acks.map(|acks| acks.packets),
        reverse_acks_only: acks.map(|acks| acks.only),
        data_per_ack: acks
            .filter(|acks| acks.packets > 0)
            .map(|acks| acks.data as f64 / acks.packets as f64),
        rtt_min_ms: millis(flow.rtt_min),
        rtt_mean_ms: millis(flow.rtt_mean),
        rtt_p99_ms: millis(flow.rtt_p99),
        rtt_max_ms: millis(flow.rtt_max),
        cwnd_max_bytes: flow.cwnd_max.map(Bytes::get),
        queue_delay_mean_ms: millis(arrivals.and_then(sim::Arrivals::queue_mean)),
        delay_mean_ms: millis(flow.delays.mean()),
        delay_p50_ms: delay(0.5),
        delay_p95_ms: delay(0.95),
        delay_p99_ms: delay(0.99),
        share_percent: None,
        pep_buffer_max_bytes: flow.pep.map(|pep| pep.max_buffered),
        pep_acks_dropped: flow.pep.and_then(|pep| pep.acks_dropped),
    }
}

/// Converts what a player has played.
pub(crate) fn player(played: &PlayerOutcome) -> Player {
    Player {
        stall_s: played.stalled.as_secs_f64(),
        metrics: PlayerMetrics {
            startup_s: seconds(played.startup),
            stalls: Some(played.stalls),
            stall_percent: Some(played.stall_percent),
            mean_bitrate_kbps: Some(played.mean_bitrate.as_bps() as f64 / 1e3),
            switches: Some(played.switches),
            switch_sum_mbps: Some(played.switch_sum_mbps),
            qoe_linear: Some(played.quality),
        },
    }
}

fn responsiveness(test: &responsiveness::Outcome) -> ResponsivenessMetrics {
    let quantile = |of: Option<Latencies>, place: usize| millis(of.map(|of| of.quantiles[place]));
    let mean = |of: Option<Latencies>| millis(of.map(|of| of.mean));
    let responsiveness::Outcome { idle, loaded, connections, .. } = test;
    ResponsivenessMetrics {
        responsiveness_rpm: loaded.rpm(),
        idle_rpm: idle.rpm(),
        foreign_rpm: loaded.foreign_rpm(),
        self_rpm: loaded.own_rpm(),
        idle_p50_ms: quantile(idle.foreign, 0),
        idle_p95_ms: quantile(idle.foreign, 1),
        idle_p99_ms: quantile(idle.foreign, 2),
        loaded_p50_ms: quantile(loaded.foreign, 0),
        loaded_p95_ms: quantile(loaded.foreign, 1),
        loaded_p99_ms: quantile(loaded.foreign, 2),
        self_p50_ms: quantile(loaded.own, 0),
        self_p95_ms: quantile(loaded.own, 1),
        self_p99_ms: quantile(loaded.own, 2),
        handshake_loaded_ms: mean(loaded.handshake),
        foreign_loaded_ms: mean(loaded.foreign),
        self_loaded_ms: mean(loaded.own),
        load_connections: Some(u64::from(*connections)),
    }
}

/// Converts a stream of a call.
pub(crate) fn call_stream(stream: &sim::CallStream) -> CallStream {
    let measured = &stream.measured;
    // The bounds of a histogram's buckets may exceed the largest delay.
    let delay = |quantile| {
        millis(measured.largest_delay.map(|max| max.min(measured.delays.quantile(quantile))))
    };
    let percent =
        |frames: u64| (measured.frames > 0).then(|| frames as f64 / measured.frames as f64 * 100.0);
    let freezes = measured.freezes;
    let frozen = freezes.map(|(_, time)| time.as_secs_f64());
    let is_video = measured.kind == MediaKind::Video;
    CallStream {
        media: if is_video { Media::Video } else { Media::Audio },
        direction: direction(stream.direction),
        metrics: CallMetrics {
            mos: measured.mos,
            frame_delay_mean_ms: millis(measured.delays.mean()),
            frame_delay_p50_ms: delay(0.5),
            frame_delay_p95_ms: delay(0.95),
            frame_delay_p99_ms: delay(0.99),
            frame_delay_max_ms: millis(measured.largest_delay),
            jitter_ms: millis(measured.jitter.map(|(mean, _)| mean)),
            jitter_final_ms: millis(measured.jitter.map(|(_, last)| last)),
            frames: Some(measured.frames),
            frames_skipped_percent: measured.skipped.and_then(|skipped| {
                let all = measured.frames + skipped;
                (all > 0).then(|| skipped as f64 / all as f64 * 100.0)
            }),
            frames_late_percent: percent(measured.late),
            frames_lost_percent: percent(measured.lost),
            playout_delay_ms: millis(measured.playout),
            freezes: freezes.map(|(count, _)| count),
            freeze_s: frozen,
            freeze_percent: frozen.map(|time| time / measured.duration.as_secs_f64() * 100.0),
            keyframe_requests: is_video.then_some(measured.keyframe_requests),
            media_rate_kbps: Some(measured.sent.as_bps() as f64 / 1e3),
            shown_rate_kbps: Some(measured.shown.as_bps() as f64 / 1e3),
        },
    }
}

/// Converts what a page was to its user.
fn page(page: &sim::PageOutcome) -> Page {
    let origins = || page.origins.iter();
    let resolved: Vec<Span> = origins().filter_map(|origin| origin.resolved).collect();
    Page {
        metrics: PageMetrics {
            onload_s: seconds(page.onload),
            first_render_s: seconds(page.first_render),
            byte_index_s: seconds(page.byte_index),
            object_index_s: seconds(page.object_index),
            page_origins: Some(page.origins.len() as u64),
            dns_time_s: (!resolved.is_empty())
                .then(|| resolved.iter().copied().map(Span::as_secs_f64).sum()),
            handshakes_time_s: Some(origins().map(|origin| origin.connecting.as_secs_f64()).sum()),
        },
        origins: origins()
            .map(|origin| PageOrigin {
                name: origin.name.clone(),
                objects: origin.objects as u64,
                bytes: origin.bytes,
                connections: origin.connections as u64,
                dns_s: seconds(origin.resolved),
                handshakes_s: origin.connecting.as_secs_f64(),
            })
            .collect(),
    }
}

/// Converts the objects of a flow.
fn objects(flow: &sim::FlowOutcome) -> Vec<Object> {
    let page = flow.page.as_ref();
    let part = |index: usize| page.and_then(|page| page.page.objects.get(index));
    let object = |(index, object): (usize, &sim::ObjectOutcome)| Object {
        name: object.name.clone(),
        bytes: object.bytes,
        start_s: object.start.as_secs_f64(),
        completion_s: seconds(object.completion),
        kind: part(index).map(|part| part.kind.name().to_owned()),
        origin: part(index).map(|part| part.object.source.origin as u64),
    };
    flow.objects.iter().enumerate().map(object).collect()
}

fn reverse_bytes(bytes: &sim::ReverseBytes) -> ReverseBytes {
    ReverseBytes {
        ip: bytes.ip,
        udp: bytes.udp,
        quic: bytes.quic,
        quic_header: bytes.quic_header,
        ack: bytes.ack,
        flow_control: bytes.flow_control,
        other: bytes.other + bytes.unseen,
        padding: bytes.padding,
        tag: bytes.tag,
        tcp: bytes.tcp,
        tcp_options: bytes.options,
        tcp_payload: bytes.payload,
        total: bytes.total,
    }
}

fn episode(episode: &sim::Episode) -> Episode {
    Episode {
        part: episode.part.name().to_owned(),
        from_s: episode.from.as_secs_f64(),
        to_s: episode.to.as_secs_f64(),
        time_s: episode.time.as_secs_f64(),
    }
}

fn distribution(sizes: &Sizes) -> Option<Distribution> {
    Some(Distribution {
        n: sizes.count(),
        min: sizes.min()?,
        median: sizes.percentile(50)?,
        p99: sizes.percentile(99)?,
        max: sizes.max()?,
        counts: sizes.counts().clone(),
    })
}

fn path(path: &sim::PathOutcome) -> PathKnowledge {
    let window = |saved: Option<SavedParameters>| saved.map(|saved| saved.window.get());
    let rtt = |saved: Option<SavedParameters>| saved.map(|saved| saved.rtt.as_millis_f64());
    PathKnowledge {
        saved_window_bytes: window(path.saved),
        saved_rtt_ms: rtt(path.saved),
        observed_window_bytes: window(path.observed),
        observed_rtt_ms: rtt(path.observed),
        receiver_window_bytes: window(path.receiver),
        receiver_rtt_ms: rtt(path.receiver),
        retreated: path.retreated,
        token: path.token.map(str::to_owned),
    }
}

fn link(link: &sim::LinkOutcome) -> Link {
    let counters = &link.counters;
    Link {
        name: link.name.clone(),
        metrics: LinkMetrics {
            packets: counters.packets_out,
            bytes: counters.bytes_out,
            dropped_policer: counters.dropped_policer.packets,
            dropped_queue: counters.dropped_queue.packets + counters.dropped_aqm.packets,
            dropped_channel: counters.dropped_loss.packets,
            marked_ce: counters.marked_ce,
            queue_max_bytes: counters.queue_max_bytes,
            queue_mean_ms: link.queue_mean.as_millis_f64(),
            utilisation: link.utilisation,
        },
    }
}

/// Returns how the flows under congestion control shared the path, except users of populations and
/// flows that only measure it.
/// `None` with fewer than two such flows, or if one has several measured visits or did not
/// complete.
fn fairness(
    spec: &sim::RunSpec,
    flows: &[&sim::FlowOutcome],
    outcome: &sim::RunOutcome,
    warmup: Option<Span>,
    contends: impl Fn(&str) -> bool,
) -> Option<Fairness> {
    let mut contenders = Vec::new();
    let controlled = |flow: &sim::FlowSpec| {
        !flow.in_population && flow.stack.congestion().is_some() && contends(&flow.name)
    };
    for (index, flow) in spec.flows.iter().enumerate().filter(|(_, flow)| controlled(flow)) {
        let mut visits = flows.iter().filter(|visit| visit.name == flow.name);
        let (Some(visit), None) = (visits.next(), visits.next()) else { return None };
        if !visit.is_counted() {
            return None;
        }
        contenders.push(Contender {
            name: &visit.name,
            index,
            start: visit.start,
            end: visit.start + visit.completion.filter(|_| visit.completed)?,
            received: visit.received,
            received_by_tenth: &visit.received_by_tenth,
        });
    }
    Fairness::of(&contenders, &link_uses(outcome), warmup)
}

/// Returns how the flows of a run used each link.
pub(crate) fn link_uses(outcome: &sim::RunOutcome) -> Vec<LinkUse<'_>> {
    let links = outcome.links.iter().map(|link| LinkUse {
        name: &link.name,
        carried: &link.carried,
        utilisation: link.utilisation,
        queue_mean: link.queue_mean,
    });
    links.collect()
}

fn seconds(span: Option<Span>) -> Option<f64> {
    span.map(Span::as_secs_f64)
}

fn millis(span: Option<Span>) -> Option<f64> {
    span.map(Span::as_millis_f64)
}

fn goodput_mbps(bytes: Bytes, span: Span) -> f64 {
    bytes.get() as f64 * 8.0 / span.as_secs_f64() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{flow_outcome, plan};
    use bentpipe_units::Time;

    const TWO: &str = r#"
name = "two"
[path]
profile = "geo-50-10"
[[flow]]
name = "a"
bulk.duration = "20 s"
[[flow]]
name = "b"
bulk.duration = "20 s"
[[flow]]
name = "cross"
cbr.rate = "1 Mbps"
cbr.duration = "20 s"
"#;

    fn shared(change: fn(&mut sim::RunOutcome)) -> Option<Fairness> {
        let plan = plan(TWO);
        let spec = plan.spec(plan.tasks[0]).unwrap();
        let flows = ["a", "b", "cross"].map(|name| {
            let span = Span::from_secs(20);
            let mut flow = flow_outcome(name, 1, sim::Direction::Download, 0, span);
            flow.received_by_tenth = [1_000; 200].as_slice().into();
            flow.received = 200_000;
            flow
        });
        let mut outcome = sim::RunOutcome {
            flows: flows.into(),
            links: Vec::new(),
            trace: None,
            qlog: Vec::new(),
            capture: None,
            events: 0,
            end: Time::from_secs(30),
            emulation: None,
        };
        change(&mut outcome);
        fairness(&spec, &outcome.flows.iter().collect::<Vec<_>>(), &outcome, None, |_| true)
    }

    #[test]
    fn fairness_covers_controlled_flows_with_one_complete_visit_each() {
        let fairness = shared(|_| ()).unwrap();
        assert_eq!(fairness.flows.iter().map(|flow| &*flow.flow).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(shared(|outcome| drop(outcome.flows.remove(0))), None, "a flow is missing");
        assert_eq!(shared(|outcome| outcome.flows[1].completed = false), None, "incomplete");
        let two_visits = |outcome: &mut sim::RunOutcome| outcome.flows[2].name = "a".to_owned();
        assert_eq!(shared(two_visits), None, "two visits");
    }
}

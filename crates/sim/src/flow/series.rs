//! Time series of a visit that ends.

use super::counters::CounterSeries;
use super::current_visit::CurrentVisit;
use super::report::VisitReport;
use bentpipe_quic::FlowControlReport;
use bentpipe_timeseries::{BoundedSeries, Series, VisitSeries};
use bentpipe_units::{Span, Time};

/// How long each request took, at the time of its answer.
const RESPONSE_TIME: &str = "response_time";

/// Takes the time series of a visit of flow `name` that ends `now`.
pub fn flow_trace(
    name: &str,
    visit: &CurrentVisit,
    counted: CounterSeries,
    now: Time,
    report: &mut VisitReport,
) -> VisitSeries {
    let mut series = Vec::new();
    let mut add = |name, unit, points: BoundedSeries| {
        if !points.is_empty() {
            series.push(Series::new(name, unit, points.into_points()));
        }
    };
    let mut phases = Vec::new();
    let sender = report.metrics.stats().series.take();
    if let Some(sender) = sender {
        phases = sender.phases;
        add("sent", "bytes", sender.sent);
        add("acked", "bytes", sender.acked);
        add("lost", "bytes", sender.lost);
        add("cwnd", "bytes", sender.cwnd);
        add("ssthresh", "bytes", sender.ssthresh);
        add("bytes_in_flight", "bytes", sender.bytes_in_flight);
        add("pacing_rate", "Mbps", sender.pacing_rate);
        add("rtt", "ms", sender.rtt);
        add("smoothed_rtt", "ms", sender.smoothed_rtt);
        for (name, unit, points) in sender.state.into_series() {
            add(name, unit, points);
        }
    }
    add("dropped_policer", "bytes", counted.dropped_policer);
    add("dropped_queue", "bytes", counted.dropped_queue);
    add("dropped_channel", "bytes", counted.dropped_loss);
    add("dropped_routing", "bytes", counted.dropped_route);
    if let Some(received) = visit.progress.state().series.take() {
        add("received", "bytes", received);
    }
    if let Some(player) = visit.progress.take_player_series() {
        for (name, unit, points) in player.into_series() {
            add(name, unit, points);
        }
    }
    add(RESPONSE_TIME, "ms", visit.progress.response_times());
    let flow_control = report.flow_control.as_ref().and_then(FlowControlReport::take_series);
    if let Some(flow_control) = flow_control {
        add("flow_control_limit", "bytes", flow_control.announced);
        add("flow_control_limit_at_sender", "bytes", flow_control.received);
        add("consumed", "bytes", flow_control.consumed);
    }
    series.push(Series::new("reverse_rate", "kbps", counted.reverse_rate.into_points()));
    series.append(&mut report.reverse.series);
    series.retain(|series| !series.points.is_empty());
    VisitSeries {
        name: name.to_owned(),
        visit: visit.number,
        start: visit.start,
        series,
        marks: marks(visit, now, report.handshake),
        phases,
    }
}

/// Returns the time series of probe `name` on the connection of a visit.
pub fn probe_trace(name: &str, visit: &CurrentVisit, times: BoundedSeries) -> VisitSeries {
    let series = match times.is_empty() {
        true => Vec::new(),
        false => vec![Series::new(RESPONSE_TIME, "ms", times.into_points())],
    };
    VisitSeries {
        name: name.to_owned(),
        visit: visit.number,
        start: visit.start,
        series,
        marks: Vec::new(),
        phases: Vec::new(),
    }
}

/// Returns the moments of a visit that its plots mark.
fn marks(visit: &CurrentVisit, now: Time, handshake: Option<Time>) -> Vec<(Time, String)> {
    let complete = visit.completion(now);
    let state = visit.progress.state();
    let page = state.page.as_ref().map(|page| page.outcome(&state.objects, visit.start));
    let since = |time: Option<Span>| time.map(|time| visit.start + time);
    let render = page.as_ref().and_then(|page| since(page.first_render));
    let loaded = page.as_ref().and_then(|page| since(page.onload));
    [
        (handshake, "handshake complete"),
        (state.first_byte, "first byte"),
        (render, "first render"),
        (loaded.filter(|_| loaded != complete), "page loaded"),
        (complete, "complete"),
    ]
    .into_iter()
    .filter_map(|(at, name)| Some((at?, name.to_owned())))
    .collect()
}

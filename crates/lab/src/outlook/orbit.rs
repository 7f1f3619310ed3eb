//! Satellites, routes, their RTT and their capacity over time.

use super::rates::{MAX_POINTS, rates};
use crate::error::LabError;
use crate::orbit::{FlowRoutes, survey};
use crate::resolve::OrbitPath;
use bentpipe_orbit::{Node, OrbitError, RouteUpdates};
use bentpipe_report::Recording;
use bentpipe_sim::MeshSpec;
use bentpipe_timeseries::LinkSeries;
use bentpipe_units::{Rate, Span, Time};
use std::sync::Arc;

/// Longest time that is shown.
const MAX_LENGTH: Span = Span::from_secs(60);
/// Largest number of satellites times steps, which takes a few tenths of a second.
const MAX_POSITIONS: u64 = 60_000;
/// Interval between steps. Changes between two are located to the millisecond.
const STEP: Span = Span::from_secs(1);
/// Largest number of flows with routes.
const MAX_FLOWS: usize = 8;

/// Returns satellites, routes, RTT and capacity of the network of a run.
pub(super) fn recording(path: &OrbitPath, mesh: &MeshSpec) -> Result<Recording, LabError> {
    let invalid = |error: OrbitError| LabError::write("the outlook", error);
    // A run may draw its start, and with it its network.
    let mut path = path.clone();
    path.network = Arc::clone(&mesh.network);
    path.flows.truncate(MAX_FLOWS);
    let step = match mesh.step {
        RouteUpdates::Static => RouteUpdates::Static,
        RouteUpdates::Stepped(_) | RouteUpdates::EventDriven(_) => RouteUpdates::EventDriven(STEP),
    };
    let steps = (MAX_POSITIONS / path.network.satellites().max(1) as u64).max(5);
    let length = MAX_LENGTH.min(STEP * steps);
    let survey = survey(&path, step, length, 0).map_err(invalid)?;
    let end = Time::ZERO + length;
    let links = survey.flows.iter().map(|flow| LinkSeries {
        name: format!("route of {}", flow.flow),
        rate: None,
        queue_limit: None,
        series: vec![rates(capacity(flow, mesh, end))],
    });
    survey.recording(&path, step, links.collect())
}

/// Returns the lowest rate on the route of a flow at each change; zero without a route.
fn capacity(flow: &FlowRoutes, mesh: &MeshSpec, end: Time) -> Vec<(Time, Rate)> {
    let at = |t_s: f64| Time::ZERO + Span::from_secs_f64(t_s);
    let mut times: Vec<Time> = flow.samples.iter().map(|sample| at(sample.t_s)).collect();
    for model in mesh.models() {
        times.extend(model.rate_changes(end).take(MAX_POINTS).map(|(at, _)| at));
    }
    times.push(end);
    times.sort_unstable();
    times.dedup();
    let mut steps: Vec<(Time, Rate)> = Vec::new();
    for time in times {
        let latest = flow.samples.partition_point(|sample| at(sample.t_s) <= time);
        let connected = latest.checked_sub(1).is_some_and(|i| flow.samples[i].rtt_ms.is_some());
        let route = flow.routes.partition_point(|route| at(route.t_s) <= time);
        let nodes = route.checked_sub(1).map_or(&[][..], |i| &flow.routes[i].ids);
        let rate = if connected { lowest(nodes, mesh, time) } else { Rate::ZERO };
        if time == end || steps.last().is_none_or(|(_, last)| *last != rate) {
            steps.push((time, rate));
        }
    }
    steps
}

/// Returns the lowest rate of the links between `nodes` in both directions, which have links of the
/// same kinds.
fn lowest(nodes: &[Node], mesh: &MeshSpec, time: Time) -> Rate {
    let links = nodes.windows(2).flat_map(|ends| [(ends[0], ends[1]), (ends[1], ends[0])]);
    links.map(|(from, to)| mesh.model(from, to).rate_at(time)).min().unwrap_or_default()
}

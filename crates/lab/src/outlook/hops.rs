//! Rates and delays of hops over time.

use super::rates::{MAX_POINTS, rates};
use bentpipe_link::{Dama, DirectionModel};
use bentpipe_report::{Recording, Trace};
use bentpipe_sim::RunSpec;
use bentpipe_timeseries::{LinkSeries, RunSeries, Series, VisitSeries, rate_series};
use bentpipe_units::{Rate, Span, Time};

/// Longest time that is shown.
const MAX_LENGTH: Span = Span::from_secs(600);
/// Time that is shown if nothing but the allocation of capacity changes.
const STILL: Span = Span::from_secs(10);
/// Largest number of times of loss that are shown.
const MAX_OUTAGES: usize = 400;
/// Part of the pattern that is shown again after it, so that its end is not that of the picture.
const MORE: f64 = 1.15;

/// Returns rates and RTT of a path of hops; `None` if nothing changes.
pub(super) fn recording(spec: &RunSpec) -> Option<Recording> {
    let directions = || spec.hops.iter().flat_map(|hop| [&hop.forward, &hop.reverse]);
    let pattern = directions().map(DirectionModel::pattern).fold(Span::ZERO, Span::max);
    let allocated = directions().any(|direction| direction.allocation().is_some());
    let length = match pattern {
        Span::ZERO if !allocated => return None,
        Span::ZERO => STILL,
        pattern => pattern.min(MAX_LENGTH).mul_f64(MORE).min(MAX_LENGTH),
    };
    let end = Time::ZERO + length.min(spec.time_limit);
    let links = spec.hops.iter().flat_map(|hop| {
        let of = |name: &str, direction| links(format!("{}/{name}", hop.name), direction, end);
        [of("forward", &hop.forward), of("return", &hop.reverse)].into_iter().flatten()
    });
    let flow = VisitSeries {
        name: "path".to_owned(),
        visit: 1,
        start: Time::ZERO,
        series: vec![rtt(spec, end)],
        marks: marks(spec, end),
        phases: Vec::new(),
    };
    let trace = RunSeries { links: links.collect(), flows: vec![flow], paths: Vec::new() };
    let mut blob = Vec::new();
    let trace = Trace::encode("path", &Default::default(), 0, &trace, &[], &mut blob);
    Some(Recording { traces: vec![trace], constellations: Vec::new(), blob, first_end: Some(end) })
}

/// Returns the capacity of a direction as links: its own, and what a terminal is allocated.
fn links(name: String, direction: &DirectionModel, end: Time) -> Vec<LinkSeries> {
    let link =
        |name, series| LinkSeries { name, rate: None, queue_limit: None, series: vec![series] };
    let flat = |rate: Rate| rates([(Time::ZERO, rate), (end, rate)]);
    let mut all = Vec::new();
    if let Some(Dama { cra, rbdc, vbdc, fca, .. }) = direction.allocation() {
        all.push(link(format!("{name}, assured to each terminal"), flat(*cra)));
        let carrier = direction.nominal_rate();
        if vbdc.is_zero() && !fca {
            let most = Rate::from_bps(cra.as_bps().saturating_add(rbdc.as_bps())).min(carrier);
            all.push(link(format!("{name}, most for a terminal"), flat(most)));
        }
    }
    let changing = capacity(direction, end);
    all.insert(0, link(name, changing.unwrap_or_else(|| flat(direction.nominal_rate()))));
    all
}

/// Returns the rate of a direction at each change and at the end, zero while everything is lost;
/// `None` if it never changes.
fn capacity(direction: &DirectionModel, end: Time) -> Option<Series> {
    let outages = direction.total_losses(end).take(MAX_OUTAGES);
    let shown = |(from, to): (Time, Time)| (from, if to > end { Time::MAX } else { to });
    let changes = direction.rate_changes(end).take(MAX_POINTS);
    let mut series =
        rate_series(changes, Some(direction.nominal_rate()), outages.map(shown).collect())?;
    series.points.extend(series.points.last().map(|(_, rate)| (end, *rate)));
    Some(series)
}

/// Returns the RTT without queues, frames included, at each change of a delay and just before.
fn rtt(spec: &RunSpec, end: Time) -> Series {
    let directions = || spec.hops.iter().flat_map(|hop| [&hop.forward, &hop.reverse]);
    let changes = directions().flat_map(|direction| direction.delay_changes(end).take(MAX_POINTS));
    let mut times: Vec<Time> = changes
        .flat_map(|at| [Time::from_nanos(at.as_nanos().saturating_sub(1)), at])
        .chain([Time::ZERO, end])
        .collect();
    times.sort_unstable();
    times.dedup();
    let sum = |at: Time| -> Span {
        directions().map(|direction| direction.delay_at(at)).fold(Span::ZERO, |a, b| a + b)
    };
    // Frames and jitter make the idle path slower than its delays.
    let more = spec.base_rtt.saturating_sub(sum(Time::ZERO));
    let point = |at: Time| (at, (sum(at) + more).as_millis_f64());
    let points = times.into_iter().take(MAX_POINTS).map(point);
    Series { name: "rtt", unit: "ms", points: points.collect(), downsampled: false }
}

/// Returns the MODCODs of all carriers from each change on.
fn marks(spec: &RunSpec, end: Time) -> Vec<(Time, String)> {
    let directions = spec.hops.iter().flat_map(|hop| [&hop.forward, &hop.reverse]);
    let steps = directions.flat_map(|direction| direction.modcods(end));
    let mut marks: Vec<(Time, String)> =
        steps.take(MAX_POINTS).map(|(at, _, name)| (at, name.to_owned())).collect();
    marks.sort_by_key(|(at, _)| *at);
    marks
}

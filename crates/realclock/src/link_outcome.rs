//! The outcome of the links for the results.

use super::visit_report::VisitReport;
use bentpipe_emu::{DirectionReport, LinkReport, Report};
use bentpipe_link::DirectionModel;
use bentpipe_sim::{Direction, LinkOutcome, RunSpec};
use bentpipe_timeseries::LinkSeries;
use bentpipe_units::{Span, Time};

/// Returns the outcome of `link`. Utilisation is averaged from `measured_from` to the last packet.
pub(super) fn link_outcome(
    spec: &RunSpec,
    direction: &DirectionReport,
    link: &LinkReport,
    visits: &[VisitReport<'_>],
    measured_from: Option<Time>,
) -> LinkOutcome {
    let forward = direction.name == "forward";
    let counters = visits.iter().map(|report| {
        let download = report.visit.direction == Direction::Download;
        (report.flow_index, if download == forward { &report.data } else { &report.reverse })
    });
    // A link of one terminal carried the flows of that terminal only.
    let of_terminal =
        link.name.rsplit_once('#').and_then(|(_, number)| number.parse::<usize>().ok());
    let mut carried: Vec<(usize, u64)> = Vec::new();
    for (report, (flow_index, counters)) in visits.iter().zip(counters.clone()) {
        if of_terminal.is_some_and(|terminal| terminal != report.flow.terminal)
            || counters.delivered_bytes == 0
        {
            continue;
        }
        match carried.iter_mut().find(|(index, _)| *index == flow_index) {
            Some((_, bytes)) => *bytes += counters.delivered_bytes,
            None => carried.push((flow_index, counters.delivered_bytes)),
        }
    }
    let last = counters.filter_map(|(_, counters)| counters.last).max();
    let active = measured_from.zip(last).map_or(Span::ZERO, |(from, last)| {
        let model = model(spec, &link.name);
        model.map_or(last.since(from), |model| model.sending_time(from, last))
    });
    let busy = link.counters.busy.as_secs_f64();
    LinkOutcome {
        name: link.name.clone(),
        counters: link.counters,
        queue_mean: link.queue_mean,
        carried,
        utilisation: if active.is_zero() { 0.0 } else { (busy / active.as_secs_f64()).min(1.0) },
    }
}

/// Returns the model of the link with this name.
fn model<'a>(spec: &'a RunSpec, name: &str) -> Option<&'a DirectionModel> {
    let (hop, direction) = name.split_once('/')?;
    let hop = spec.hops.iter().find(|candidate| candidate.name == hop)?;
    Some(if direction.starts_with("forward") { &hop.forward } else { &hop.reverse })
}

/// Returns the time series of all links.
pub(super) fn link_traces(spec: &RunSpec, report: &Report) -> Vec<LinkSeries> {
    let links = report.directions().into_iter().flat_map(|direction| &direction.links);
    links
        .filter_map(|link| {
            let model = model(spec, &link.name)?;
            let recorder = link.recorder.clone()?;
            let outages = |end| model.total_losses(end).collect();
            let series = recorder.series_with_rate(model, None, outages);
            Some(LinkSeries {
                name: link.name.clone(),
                rate: model.constant_rate(),
                queue_limit: model.queue_limit_bytes(spec.base_rtt),
                series,
            })
        })
        .collect()
}

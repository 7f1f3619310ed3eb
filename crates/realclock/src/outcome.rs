//! The outcome of a run on the real clock, in the types of the simulator.

use super::link_outcome::{link_outcome, link_traces};
use super::ports::ports;
use super::time_budget::account;
use super::visit_outcome::VisitOutcome;
use super::visit_report::VisitReport;
use bentpipe_emu::Report;
use bentpipe_sim::{Direction, LinkOutcome, RunOutcome, RunSpec};
use bentpipe_timeseries::RunSeries;
use bentpipe_units::Time;

/// Combines the outcomes of `visits` with the emulator's `report`.
///
/// `visits` is in the order of `spec`. If a flow was interrupted, its last visits are missing.
pub fn outcome(spec: &RunSpec, visits: Vec<VisitOutcome>, report: Report) -> RunOutcome {
    let (mut reports, mut qlog) = (Vec::new(), Vec::new());
    let mut visits = visits;
    let limits: Vec<_> = visits.iter_mut().map(|visit| std::mem::take(&mut visit.limits)).collect();
    let mut visits = visits.into_iter().peekable();
    let ports = ports(spec);
    let mut index = 0;
    for (flow_index, flow) in spec.flows.iter().enumerate() {
        for (number, visit) in flow.visits.iter().enumerate() {
            let port = ports[index];
            let (forward, reverse) = (&report.forward.ports[index], &report.reverse.ports[index]);
            index += 1;
            let Some(visit_outcome) = visits.next_if(|next| next.port == port) else { continue };
            qlog.extend(visit_outcome.qlog);
            let application = visit_outcome.application;
            let limits = limits.get(reports.len()).map_or(&[][..], Vec::as_slice);
            let (data, reverse) = match visit.direction {
                Direction::Download => (forward.clone(), reverse.clone()),
                Direction::Upload => (reverse.clone(), forward.clone()),
            };
            reports.push(VisitReport {
                flow,
                flow_index,
                visit,
                number: number + 1,
                ends: visit_outcome.outcome,
                client_times: visit_outcome.client_times,
                application,
                limits,
                data,
                reverse,
            });
        }
    }
    let end = Time::ZERO + report.length;
    let measured_from =
        reports.iter().filter(|report| report.visit.measured).map(VisitReport::start).min();
    let links: Vec<LinkOutcome> = report
        .directions()
        .into_iter()
        .flat_map(|direction| direction.links.iter().map(move |link| (direction, link)))
        .map(|(direction, link)| link_outcome(spec, direction, link, &reports, measured_from))
        .collect();
    let measured = || reports.iter().filter(|report| report.visit.measured);
    let accounts: Vec<_> =
        measured().map(|visit| account(visit, spec, spec.trace.is_some())).collect();
    let with_accounts = || measured().zip(accounts.iter().map(Option::as_ref));
    let trace = spec.trace.map(|limit| RunSeries {
        flows: with_accounts().map(|(visit, account)| visit.trace(limit, account)).collect(),
        links: link_traces(spec, &report),
        paths: Vec::new(),
    });
    RunOutcome {
        flows: with_accounts().map(|(visit, account)| visit.outcome(account)).collect(),
        links,
        trace,
        qlog,
        capture: None,
        events: report.directions().iter().map(|direction| direction.packets_read).sum(),
        end: reports.iter().map(|report| report.ends.end).max().unwrap_or(end),
        emulation: None,
    }
}

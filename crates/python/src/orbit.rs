//! Routes, RTTs and visibility through a satellite network as tables.

use crate::error::raise;
use crate::plan::Plan;
use crate::series::column;
use crate::table::TableData;
use bentpipe_lab::orbit::{FlowRoutes, Sample, Survey, TimedRoute};
use bentpipe_lab::{LabError, OrbitPath};
use bentpipe_orbit::{OrbitError, RouteUpdates};
use bentpipe_results::{Table, Values};
use bentpipe_units::Span;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

/// Returns a scenario (TOML) with the built-in constellation and a flow between two cities.
#[pyfunction]
pub fn constellation_scenario(constellation: &str, from: &str, to: &str) -> String {
    bentpipe_lab::orbit::constellation_scenario(constellation, from, to)
}

/// Samples the routes of the plan's flows for `duration`, every `step` [default: the scenario's].
/// Also finds up to `disjoint` disjoint routes at the start. With `ends`, one flow between two
/// places takes the place of the plan's flows.
#[pyfunction]
#[pyo3(signature = (plan, duration, step=None, disjoint=0, ends=None))]
pub fn survey(
    py: Python<'_>,
    plan: &Plan,
    duration: &str,
    step: Option<&str>,
    disjoint: usize,
    ends: Option<(String, String)>,
) -> PyResult<OrbitData> {
    let invalid = |error: &dyn std::fmt::Display| PyValueError::new_err(error.to_string());
    let span = |what: &str, text: &str| {
        text.parse::<Span>().map_err(|error| PyValueError::new_err(format!("{what}: {error}")))
    };
    let duration = span("duration", duration)?;
    let step = step.map(|step| span("step", step)).transpose()?;
    let path = plan.plan.cases.first().and_then(|case| case.orbit());
    let path = path.ok_or_else(|| {
        invalid(&"the path of this scenario has no orbit; allowed: a scenario with [path.orbit]")
    })?;
    let surveyed = py.detach(|| {
        let path = match &ends {
            Some((from, to)) => path.between(from, to)?,
            None => path.clone(),
        };
        let step = match (path.step, step) {
            (RouteUpdates::EventDriven(_), Some(step)) => RouteUpdates::EventDriven(step),
            (RouteUpdates::Stepped(_), Some(step)) => RouteUpdates::Stepped(step),
            (step, _) => step,
        };
        let survey = bentpipe_lab::orbit::survey(&path, step, duration, disjoint)?;
        Ok(OrbitData { survey, path, step, plan: Arc::clone(&plan.plan) })
    });
    surveyed.map_err(|error: OrbitError| invalid(&error))
}

/// Routes of flows over a period.
#[pyclass(frozen, module = "bentpipe._bentpipe")]
pub struct OrbitData {
    survey: Survey,
    path: OrbitPath,
    step: RouteUpdates,
    plan: Arc<bentpipe_lab::Plan>,
}

#[pymethods]
impl OrbitData {
    #[getter]
    fn constellation(&self) -> &str {
        &self.survey.constellation
    }

    #[getter]
    fn satellites(&self) -> usize {
        self.survey.satellites
    }

    /// Start of the period (RFC 3339).
    #[getter]
    fn begins(&self) -> &str {
        &self.survey.begins
    }

    /// Length of the period, in seconds.
    #[getter]
    fn length_s(&self) -> f64 {
        self.survey.length_s
    }

    /// Writes the page with a globe and the RTT over time to `file`, as all results are written:
    /// it replaces a link.
    fn save_report(&self, py: Python<'_>, file: PathBuf) -> PyResult<()> {
        let Self { survey, path, step, plan } = self;
        let written = py.detach(|| {
            let page = survey.page(path, *step, &plan.title, &plan.source)?;
            bentpipe_files::write(&file, page.as_bytes())
                .map_err(|error| LabError::write(&file, error))
        });
        written.map_err(|error| raise(py, &error))
    }

    /// Returns RTT and visibility over time.
    fn samples(&self, py: Python<'_>) -> PyResult<TableData> {
        py.detach(|| TableData::new(samples(&self.survey)))
    }

    /// Returns the routes; those that are disjoint at the start if `disjoint`.
    fn routes(&self, py: Python<'_>, disjoint: bool) -> PyResult<TableData> {
        py.detach(|| TableData::new(routes(&self.survey, disjoint)))
    }

    /// Returns the nodes of each route.
    fn nodes(&self, py: Python<'_>) -> PyResult<TableData> {
        py.detach(|| TableData::new(nodes(&self.survey)))
    }

    /// Returns the summary of each flow.
    fn summary(&self, py: Python<'_>) -> PyResult<TableData> {
        py.detach(|| TableData::new(summary(&self.survey)))
    }
}

/// Reads a column from rows.
fn float<R>(rows: &[R], read: impl Fn(&R) -> Option<f64>) -> Values<'static> {
    Values::Float(rows.iter().map(read).collect())
}

fn int<R>(rows: &[R], read: impl Fn(&R) -> Option<usize>) -> Values<'static> {
    Values::Int(rows.iter().map(|row| read(row).and_then(|n| i64::try_from(n).ok())).collect())
}

fn text<'a, R>(rows: &[R], read: impl Fn(&R) -> Cow<'a, str>) -> Values<'a> {
    Values::Text(rows.iter().map(|row| Some(read(row))).collect())
}

const FLOW: &str = "Name of the flow.";

fn samples(survey: &Survey) -> Table<'_> {
    let mut rows: Vec<(&str, &Sample)> = Vec::new();
    for flow in &survey.flows {
        rows.extend(flow.samples.iter().map(|sample| (flow.flow.as_str(), sample)));
    }
    Table {
        name: "samples",
        about: "One row for each flow and time.",
        metadata: Vec::new(),
        columns: vec![
            column("flow", "", FLOW, text(&rows, |row| Cow::Borrowed(row.0))),
            column("time_s", "s", "Time since the start.", float(&rows, |row| Some(row.1.t_s))),
            column(
                "rtt_ms",
                "ms",
                "Propagation RTT; null without a route or during a handover on it.",
                float(&rows, |row| row.1.rtt_ms),
            ),
            column("hops", "", "Number of links of the route.", int(&rows, |row| row.1.hops)),
            column(
                "visible_from",
                "",
                "Satellites visible to the client.",
                int(&rows, |row| Some(row.1.visible[0])),
            ),
            column(
                "visible_to",
                "",
                "Satellites visible to the server.",
                int(&rows, |row| Some(row.1.visible[1])),
            ),
            column(
                "attached_from",
                "",
                "Satellites that the client is attached to.",
                int(&rows, |row| Some(row.1.attached[0])),
            ),
            column(
                "attached_to",
                "",
                "Satellites that the server is attached to.",
                int(&rows, |row| Some(row.1.attached[1])),
            ),
        ],
    }
}

/// Returns all routes, each with its flow and its number; those that are disjoint at the start if
/// `disjoint`.
fn numbered(survey: &Survey, disjoint: bool) -> Vec<(&str, usize, &TimedRoute)> {
    let mut rows = Vec::new();
    for flow in &survey.flows {
        let routes = if disjoint { &flow.disjoint } else { &flow.routes }.iter().enumerate();
        rows.extend(routes.map(|(index, route)| (flow.flow.as_str(), index, route)));
    }
    rows
}

fn routes(survey: &Survey, disjoint: bool) -> Table<'_> {
    let rows = numbered(survey, disjoint);
    let hops = |route: &TimedRoute| route.nodes.len().checked_sub(1);
    Table {
        name: if disjoint { "disjoint_routes" } else { "routes" },
        about: if disjoint {
            "One row for each route at the start that shares no link with those before it."
        } else {
            "One row for each route of each flow, which is valid until the next."
        },
        metadata: Vec::new(),
        columns: vec![
            column("flow", "", FLOW, text(&rows, |row| Cow::Borrowed(row.0))),
            column("route", "", "Number of the route, from 0.", int(&rows, |row| Some(row.1))),
            column("time_s", "s", "Time since the start.", float(&rows, |row| Some(row.2.t_s))),
            column(
                "rtt_ms",
                "ms",
                "Propagation RTT at that time; null without a route.",
                float(&rows, |row| row.2.rtt_ms),
            ),
            column("hops", "", "Number of links.", int(&rows, |row| hops(row.2))),
            column(
                "nodes",
                "",
                "Names of the nodes from client to server, joined by \" – \".",
                text(&rows, |row| Cow::Owned(row.2.nodes.join(" – "))),
            ),
        ],
    }
}

fn nodes(survey: &Survey) -> Table<'_> {
    let rows: Vec<(&str, usize, usize, &str)> = numbered(survey, false)
        .into_iter()
        .flat_map(|(flow, route, timed)| {
            let nodes = timed.nodes.iter().enumerate();
            nodes.map(move |(hop, node)| (flow, route, hop, node.as_str()))
        })
        .collect();
    Table {
        name: "nodes",
        about: "One row for each node of each route.",
        metadata: Vec::new(),
        columns: vec![
            column("flow", "", FLOW, text(&rows, |row| Cow::Borrowed(row.0))),
            column("route", "", "Number of the route, from 0.", int(&rows, |row| Some(row.1))),
            column("hop", "", "Position in the route, from 0.", int(&rows, |row| Some(row.2))),
            column("node", "", "Name of the node.", text(&rows, |row| Cow::Borrowed(row.3))),
        ],
    }
}

#[expect(clippy::too_many_lines, reason = "a table of columns")]
fn summary(survey: &Survey) -> Table<'_> {
    let rows: Vec<&FlowRoutes> = survey.flows.iter().collect();
    let rows = &rows;
    Table {
        name: "summary",
        about: "One row for each flow.",
        metadata: Vec::new(),
        columns: vec![
            column("flow", "", FLOW, text(rows, |row| Cow::Borrowed(row.flow.as_str()))),
            column(
                "from",
                "",
                "Station of the client.",
                text(rows, |row| Cow::Borrowed(row.from.as_str())),
            ),
            column(
                "to",
                "",
                "Station of the server.",
                text(rows, |row| Cow::Borrowed(row.to.as_str())),
            ),
            column(
                "distance_km",
                "km",
                "Length of the geodesic between them.",
                float(rows, |row| Some(row.distance_km)),
            ),
            column("rtt_min_ms", "ms", "Smallest RTT.", float(rows, |row| row.summary.rtt_min_ms)),
            column(
                "rtt_median_ms",
                "ms",
                "Median RTT over time.",
                float(rows, |row| row.summary.rtt_median_ms),
            ),
            column("rtt_max_ms", "ms", "Largest RTT.", float(rows, |row| row.summary.rtt_max_ms)),
            column(
                "hops_min",
                "",
                "Smallest number of links of a route.",
                int(rows, |row| row.summary.hops_min),
            ),
            column(
                "hops_max",
                "",
                "Largest number of links of a route.",
                int(rows, |row| row.summary.hops_max),
            ),
            column(
                "changes",
                "",
                "Number of route changes, including the loss of the route.",
                int(rows, |row| Some(row.summary.changes)),
            ),
            column(
                "changes_per_minute",
                "",
                "Route changes per minute.",
                float(rows, |row| Some(row.summary.changes_per_minute)),
            ),
            column(
                "largest_step_ms",
                "ms",
                "Largest difference in RTT between consecutive routes.",
                float(rows, |row| row.summary.largest_step_ms),
            ),
            column(
                "drift_us_per_s",
                "us/s",
                "Fastest change of the RTT along one route.",
                float(rows, |row| row.summary.drift_us_per_s),
            ),
            column(
                "outages",
                "",
                "Number of periods without a route.",
                int(rows, |row| Some(row.summary.outages)),
            ),
            column(
                "longest_outage_s",
                "s",
                "Longest period without a route.",
                float(rows, |row| Some(row.summary.longest_outage_s)),
            ),
            column(
                "outage_share",
                "",
                "Share of the time without a route.",
                float(rows, |row| Some(row.summary.outage_share)),
            ),
        ],
    }
}

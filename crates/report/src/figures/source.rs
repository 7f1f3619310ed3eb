//! What a figure is of: the flow, its metric, and the runs of each variant at each point.

use super::request::{FigureData, FigureError, FigureRequest};
use crate::variants::Variants;
use bentpipe_results::fairness::ALL_FLOWS;
use bentpipe_results::metrics::Row;
use bentpipe_results::{
    Headlines, Interval, Point, Run, Stats, SweepAxis, find_population, find_row, find_shared,
    metric_names, populations, values,
};
use std::collections::BTreeSet;

/// The runs of one variant at one point.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case<'a> {
    /// Name of the variant.
    pub variant: &'a str,
    /// Index of the variant, which decides on its colour.
    pub index: usize,
    /// Value of each swept key.
    pub point: &'a Point,
    /// Its runs.
    pub runs: &'a [Run],
}

/// A metric of a visit of a flow.
#[derive(Debug, Clone)]
pub(super) struct Measure {
    /// Name, unit and meaning.
    pub row: Row,
    /// Name of the flow or population, or `all`.
    pub flow: String,
    /// Number of the visit, if the request names one.
    visit: Option<usize>,
}

/// Returns what a caption says of the intervals of a figure, which are drawn as `mark`; empty
/// without any.
pub(super) fn interval_words<'a>(mark: &str, stats: impl Iterator<Item = &'a Stats>) -> String {
    let all: Vec<Interval> = stats.filter_map(Stats::interval).collect();
    let mut kinds: Vec<String> = Vec::new();
    if all.iter().any(|one| one.extremes_of.is_none()) {
        kinds.push("95 % confidence intervals of the medians".to_owned());
    }
    let few = all.iter().filter_map(|one| one.extremes_of);
    if let (Some(least), Some(most)) = (few.clone().min(), few.max()) {
        let runs = if least == most { most.to_string() } else { format!("{least} to {most}") };
        kinds.push(format!("smallest to largest of {runs} runs"));
    }
    if kinds.is_empty() { String::new() } else { format!(". {mark}: {}", kinds.join("; ")) }
}

/// Checks that the points and variants of a request exist.
pub(super) fn check(data: FigureData<'_>, request: &FigureRequest) -> Result<(), FigureError> {
    let manifest = data.manifest;
    for (key, value) in &request.point {
        let Some(axis) = manifest.sweep.iter().find(|axis| axis.key == *key) else {
            let keys = listed(manifest.sweep.iter().map(|axis| axis.key.as_str()));
            let reason = format!("`{key}` is not swept; allowed: {keys}");
            return Err(FigureError::new("--point", reason));
        };
        if !axis.values.contains(value) {
            let values = listed(axis.values.iter().map(String::as_str));
            let reason = format!("`{key}` does not have the value `{value}`; allowed: {values}");
            return Err(FigureError::new("--point", reason));
        }
    }
    for variant in &request.variants {
        if !manifest.variants.contains(variant) {
            let names = listed(manifest.variants.iter().map(String::as_str));
            let reason = format!("no variant is named `{variant}`; allowed: {names}");
            return Err(FigureError::new("--variant", reason));
        }
    }
    Ok(())
}

/// Returns names for a message; `none` if there are none.
pub(super) fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Returns names in the order of their first, each once.
pub(super) fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    names.filter(|name| seen.insert(*name)).collect()
}

/// Checks that a figure has at most `most` lines.
pub(super) fn check_lines(count: usize, most: usize) -> Result<(), FigureError> {
    if count <= most {
        return Ok(());
    }
    let reason =
        format!("{count} lines are too many for a figure; allowed: {most}; name the variants");
    Err(FigureError::new("--variant", reason))
}

/// Returns the cases that the request selects, in the order of the results.
pub(super) fn cases<'a>(data: FigureData<'a>, request: &FigureRequest) -> Vec<Case<'a>> {
    let groups = data.results.runs.chunk_by(|a, b| a.variant == b.variant && a.point == b.point);
    let cases = groups.map(|runs| {
        let variant = runs[0].variant.as_str();
        let index = data.manifest.variants.iter().position(|name| name == variant);
        Case { variant, index: index.unwrap_or_default(), point: &runs[0].point, runs }
    });
    cases
        .filter(|case| {
            let wanted = |(key, value): (&String, &String)| case.point.get(key) == Some(value);
            let named = request.variants.iter().any(|name| name == case.variant);
            request.point.iter().all(wanted) && (named || request.variants.is_empty())
        })
        .collect()
}

/// Returns the swept keys of which the cases have several values.
pub(super) fn open_axes<'a>(data: FigureData<'a>, cases: &[Case<'_>]) -> Vec<&'a SweepAxis> {
    let several = |axis: &&SweepAxis| {
        let mut values = cases.iter().map(|case| case.point.get(&axis.key));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    data.manifest.sweep.iter().filter(several).collect()
}

/// Returns an error that asks for one value of each of some keys.
pub(super) fn choose_point(axes: &[&SweepAxis]) -> FigureError {
    let each = axes.iter().map(|axis| {
        let values = listed(axis.values.iter().map(String::as_str));
        format!("`{}` has {} values; choose one of {values}", axis.key, axis.values.len())
    });
    FigureError::new("--point", each.collect::<Vec<_>>().join("; "))
}

/// Returns the names of flows that a figure can be of: single ones, and populations.
pub(super) fn flow_names(data: FigureData<'_>) -> [Vec<String>; 2] {
    let headlines = Headlines::of(data.results);
    let single = distinct(headlines.iter().map(|one| one.flow.as_str()));
    let users = populations(&data.results.runs);
    let users = users.iter().map(|(name, _)| name.as_str());
    [single, users.collect()].map(|names| names.into_iter().map(str::to_owned).collect())
}

impl Measure {
    /// Returns the metric that a request is about.
    pub fn of(data: FigureData<'_>, request: &FigureRequest) -> Result<Self, FigureError> {
        let [flows, users] = flow_names(data);
        let known: Vec<&str> = flows.iter().chain(&users).map(String::as_str).collect();
        let visit = request.visit;
        if let Some(name) = &request.metric {
            let Some(row) = find_row(name) else {
                return Err(unknown_metric(data, name));
            };
            let of_users = find_population(name).is_some();
            let (single, populations) = known.split_at(flows.len());
            let owners = if of_users { populations } else { single };
            let flow = match &request.flow {
                _ if find_shared(name).is_some() => ALL_FLOWS,
                Some(flow) => named_flow(flow, &known)?,
                None => owners.first().copied().unwrap_or_default(),
            };
            return Ok(Self { row, flow: flow.to_owned(), visit });
        }
        let flow = match &request.flow {
            Some(flow) => named_flow(flow, &known)?,
            None => known.first().copied().unwrap_or_default(),
        };
        let headlines = Headlines::of(data.results);
        let headline = headlines.iter().find(|one| one.flow == flow).map(|one| one.row);
        // A population has no flow of its own.
        let mut users = data.results.runs.iter().flat_map(|run| &run.populations);
        let usual = users.find(|one| one.name == flow).map(|one| one.metrics.usual());
        let row = headline.or_else(|| find_row(usual?));
        let row = row.ok_or_else(|| unknown_metric(data, ""))?;
        Ok(Self { row, flow: flow.to_owned(), visit })
    }

    /// Returns the visit of a case: the one that the request names, or the first that it reports.
    pub fn visit(&self, case: Case<'_>) -> usize {
        let flows = case.runs.iter().flat_map(|run| &run.flows);
        let flows = flows.filter(|flow| flow.name == self.flow).map(|flow| flow.visit);
        let users = case.runs.iter().flat_map(|run| &run.populations);
        let users = users.filter(|users| users.name == self.flow).map(|users| users.visit);
        let reported = flows.chain(users);
        self.visit.or_else(|| reported.min()).unwrap_or(1)
    }

    /// Returns the values of a case, without runs that have none.
    pub fn values(&self, case: Case<'_>) -> Vec<f64> {
        values(case.runs, &self.flow, self.visit(case), self.row.name)
    }

    /// Returns the statistics of the runs of a case that have a value; `None` if none has.
    pub fn stats(&self, case: Case<'_>) -> Option<Stats> {
        Stats::of(&self.values(case))
    }

    /// Returns what the metric is of as an addition to a title: the flow, if there are several.
    pub fn of_flow(&self, data: FigureData<'_>) -> String {
        let flows = data.results.runs.iter().flat_map(|run| &run.flows);
        let others = flows.clone().any(|flow| flow.name != self.flow);
        if others && self.flow != ALL_FLOWS { format!(" of {}", self.flow) } else { String::new() }
    }

    /// Returns the error that no run has a value.
    pub fn missing(&self) -> FigureError {
        let reason = format!(
            "no run has a value of `{}` of `{}`; allowed: what the list of figures has",
            self.row.name, self.flow
        );
        FigureError::new("--metric", reason)
    }
}

fn unknown_metric(data: FigureData<'_>, name: &str) -> FigureError {
    let mut known: Vec<&str> = data.results.summary.iter().map(|row| row.metric.as_str()).collect();
    known.sort_unstable();
    known.dedup();
    let names = if known.is_empty() { metric_names().collect() } else { known };
    let reason = format!("no metric is named `{name}`; allowed: {}", names.join(", "));
    FigureError::new("--metric", reason)
}

fn named_flow<'a>(name: &str, known: &[&'a str]) -> Result<&'a str, FigureError> {
    known.iter().copied().find(|flow| *flow == name).ok_or_else(|| {
        let names = listed(known.iter().copied());
        FigureError::new("--flow", format!("no flow is named `{name}`; allowed: {names}"))
    })
}

/// Returns the name of the variant that others are compared with.
pub(super) fn baseline<'a>(data: FigureData<'a>) -> &'a str {
    let named = Variants::of(&data.manifest.source).baseline;
    let variants = &data.manifest.variants;
    let known = variants.iter().find(|name| named.as_ref() == Some(*name));
    known.or(variants.first()).map_or("", String::as_str)
}

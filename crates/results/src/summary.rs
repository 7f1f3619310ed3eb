//! Statistics of every metric over the runs of one variant at one point.

use crate::fairness::ALL_FLOWS;
use crate::flow_metrics::{FlowMetric, find_metric, find_population, find_shared, flow_metrics};
use crate::metrics::{POPULATION, PopulationMetrics, SHARED};
use crate::population::Population;
use crate::run::{Flow, Point, Run};
use crate::stats::Stats;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Statistics of one metric over the runs of one variant at one point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Name of the variant.
    pub variant: String,
    /// Value of each swept key.
    pub point: Point,
    /// Name of the flow, or `all` for a metric of all flows together.
    pub flow: String,
    /// Number of the visit, from 1.
    pub visit: usize,
    /// Name of the metric.
    pub metric: String,
    /// Number of runs in which the metric has a value.
    pub n: u64,
    /// Median.
    pub median: Option<f64>,
    /// 5th percentile; `null` for one run.
    pub p5: Option<f64>,
    /// 95th percentile; `null` for one run.
    pub p95: Option<f64>,
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Lower end of the 95 % confidence interval of the median; `null` if there is none.
    pub ci95_low: Option<f64>,
    /// Upper end of that interval.
    pub ci95_high: Option<f64>,
}

/// Computes statistics for each variant, point, flow and visit, in the order of `runs`.
///
/// They cover every metric that is not a detail, and the details named in `details`; metrics of
/// calls and of players only of flows that are one.
pub fn summarise(runs: &[Run], details: &[&str]) -> Vec<Summary> {
    let chosen: Vec<FlowMetric> = flow_metrics()
        .filter(|metric| !metric.row.detail || details.contains(&metric.row.name))
        .collect();
    let mut summary = Vec::new();
    for group in runs.chunk_by(|a, b| a.variant == b.variant && a.point == b.point) {
        for ((flow, visit), samples) in by_visit(group) {
            for metric in &chosen {
                if !samples.iter().any(|sample| metric.concerns(sample)) {
                    continue;
                }
                let values: Vec<f64> =
                    samples.iter().filter_map(|sample| metric.read(sample)).collect();
                summary.push(Summary::new(&group[0], flow, visit, metric.row.name, &values));
            }
        }
        if group.iter().any(|run| run.fairness.is_some()) {
            for metric in SHARED {
                let values = values(group, ALL_FLOWS, 1, metric.row.name);
                summary.push(Summary::new(&group[0], ALL_FLOWS, 1, metric.row.name, &values));
            }
        }
        for (name, visit) in groups_of_users(group) {
            let samples: Vec<&PopulationMetrics> =
                group.iter().filter_map(|run| users(run, &name, visit)).collect();
            for metric in POPULATION {
                let values: Vec<f64> =
                    samples.iter().filter_map(|sample| (metric.read)(sample)).collect();
                if metric.optional && values.is_empty() {
                    continue;
                }
                summary.push(Summary::new(&group[0], &name, visit, metric.row.name, &values));
            }
        }
    }
    summary
}

/// Returns the flows and visits that occur in `runs`, in order of first appearance.
pub fn visits(runs: &[Run]) -> Vec<(String, usize)> {
    by_visit(runs).into_iter().map(|((flow, visit), _)| (flow.to_owned(), visit)).collect()
}

/// Returns the populations, shares and visits that occur in `runs`, without size classes, in order
/// of first appearance.
pub fn populations(runs: &[Run]) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for population in runs.iter().flat_map(|run| &run.populations) {
        let visit = (population.name.clone(), population.visit);
        if !found.contains(&visit) {
            found.push(visit);
        }
    }
    found
}

/// Returns the groups of users and the visits that occur in `runs`: populations, each followed by
/// its size classes, in order of first appearance.
fn groups_of_users(runs: &[Run]) -> Vec<(String, usize)> {
    let of = |visit: &(String, usize)| {
        let all = runs.iter().flat_map(|run| &run.populations);
        let own: Vec<&Population> =
            all.filter(|own| own.name == visit.0 && own.visit == visit.1).collect();
        let names = crate::population::group_names(&visit.0).into_iter();
        let visit = visit.1;
        let occurring = names.filter(move |name| own.iter().any(|own| own.group(name).is_some()));
        occurring.map(move |name| (name, visit))
    };
    populations(runs).iter().flat_map(of).collect()
}

/// Returns the metrics of a group of users in a run.
fn users<'a>(run: &'a Run, name: &str, visit: usize) -> Option<&'a PopulationMetrics> {
    let mut visits = run.populations.iter().filter(|population| population.visit == visit);
    visits.find_map(|population| population.group(name))
}

/// A flow's name and the number of a visit.
type Visit<'a> = (&'a str, usize);

/// Groups the flows in `runs` by name and visit, in order of first appearance.
fn by_visit(runs: &[Run]) -> Vec<(Visit<'_>, Vec<&Flow>)> {
    let mut groups: Vec<(Visit<'_>, Vec<&Flow>)> = Vec::new();
    let mut places: HashMap<Visit<'_>, usize> = HashMap::new();
    for flow in runs.iter().flat_map(|run| &run.flows) {
        let visit = (flow.name.as_str(), flow.visit);
        let place = *places.entry(visit).or_insert_with(|| {
            groups.push((visit, Vec::new()));
            groups.len() - 1
        });
        groups[place].1.push(flow);
    }
    groups
}

/// Returns the values of the metric `name` in `runs`, without runs in which it has none.
pub fn values(runs: &[Run], flow: &str, visit: usize, name: &str) -> Vec<f64> {
    if let Some(shared) = find_shared(name) {
        return runs.iter().filter_map(|run| shared(&run.fairness.as_ref()?.metrics)).collect();
    }
    if let Some(read) = find_population(name) {
        return runs.iter().filter_map(|run| read(users(run, flow, visit)?)).collect();
    }
    let Some(metric) = find_metric(name) else { return Vec::new() };
    runs.iter()
        .flat_map(|run| &run.flows)
        .filter(|candidate| candidate.name == flow && candidate.visit == visit)
        .filter_map(|flow| metric.read(flow))
        .collect()
}

impl Summary {
    fn new(run: &Run, flow: &str, visit: usize, metric: &str, values: &[f64]) -> Self {
        let stats = Stats::of(values);
        let quantiles = stats.and_then(|stats| stats.p5_p95);
        let interval = stats.and_then(|stats| stats.ci95);
        Self {
            variant: run.variant.clone(),
            point: run.point.clone(),
            flow: flow.to_owned(),
            visit,
            metric: metric.to_owned(),
            n: values.len() as u64,
            median: stats.map(|stats| stats.median),
            p5: quantiles.map(|(p5, _)| p5),
            p95: quantiles.map(|(_, p95)| p95),
            mean: stats.map(|stats| stats.mean),
            ci95_low: interval.map(|(low, _)| low),
            ci95_high: interval.map(|(_, high)| high),
        }
    }
}

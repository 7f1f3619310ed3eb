//! The values that a comparison needs, also as a baseline file in a repository.

use crate::fairness::ALL_FLOWS;
use crate::flow_metrics::{FlowMetric, find_metric, find_population, find_shared};
use crate::headline::{Headline, Headlines};
use crate::metrics::{Better, SharedMetrics};
use crate::population::Population;
use crate::run::{Clock, Flow, Point, Run};
use crate::{Results, point_text};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::hash::Hash;

/// Version of the format of baseline files.
const FORMAT: u32 = 1;
/// Largest number of cases in a baseline file, as many as a scenario may have runs.
pub const MAX_CASES: usize = 1_000_000;

/// What is compared: a flow's visit in a variant at a sweep point.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Case {
    /// Name of the variant.
    pub variant: String,
    /// Value of each swept key.
    #[serde(default, skip_serializing_if = "Point::is_empty")]
    pub point: Point,
    /// Name of the flow, or `all` for a metric of all flows together.
    pub flow: String,
    /// Number of the visit, from 1.
    pub visit: usize,
}

impl fmt::Display for Case {
    /// Writes `cubic, flow main, visit 1 at path.rtt = 600 ms`, without what is usual.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.variant)?;
        if self.flow != "main" {
            write!(f, ", flow {}", self.flow)?;
        }
        if self.visit != 1 {
            write!(f, ", visit {}", self.visit)?;
        }
        if !self.point.is_empty() {
            write!(f, " at {}", point_text(&self.point))?;
        }
        Ok(())
    }
}

/// Values of one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseSamples {
    /// Name of the case.
    pub case: Case,
    /// True if nothing is random in the case, so that every run gives the same values.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deterministic: bool,
    /// Numbers of the runs, ascending.
    pub runs: Vec<u64>,
    /// Numbers of the runs that did not complete, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub incomplete: Vec<u64>,
    /// Values of each metric, one for each run; `null` if the run has none.
    pub values: BTreeMap<String, Vec<Option<f64>>>,
}

/// Values of all cases of a scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Samples {
    /// Version of the format: 1.
    pub format: u32,
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Clock of the runs.
    pub clock: Clock,
    /// Version of Bentpipe.
    pub version: String,
    /// Commit that this version was built from; `null` if unknown.
    #[serde(default)]
    pub commit: Option<String>,
    /// False if planned runs are missing.
    pub complete: bool,
    /// The cases, in the order of the plan.
    pub cases: Vec<CaseSamples>,
}

/// Why a baseline file is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SamplesError(String);

impl fmt::Display for SamplesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SamplesError {}

impl Samples {
    /// Returns the values of `metrics`, and those of the metric that each case is about if `usual`:
    /// see [`Headlines`].
    pub fn new(results: &Results, metrics: &[&str], usual: bool, complete: bool) -> Self {
        let headlines = Headlines::of(results);
        let mut cases = Vec::new();
        for ((variant, point), runs) in
            grouped(results.runs.iter(), |run| (run.variant.as_str(), &run.point))
        {
            let flows = runs.iter().flat_map(|run| run.flows.iter().map(|flow| (*run, flow)));
            for ((name, visit), visits) in
                grouped(flows, |(_, flow)| (flow.name.as_str(), flow.visit))
            {
                let case = Case {
                    variant: variant.to_owned(),
                    point: point.clone(),
                    flow: name.to_owned(),
                    visit,
                };
                let own = headlines.get(name, visit).filter(|_| usual).map(usual_metric);
                cases.push(of_flow(case, &visits, metrics, own));
            }
            cases.extend(of_all_flows(variant, point, &runs, metrics));
            for own in of_populations(variant, point, &runs, metrics, usual) {
                // All flows and all users have the same name, and metrics of their own.
                match cases.iter_mut().find(|other| other.case == own.case) {
                    Some(other) => other.values.extend(own.values),
                    None => cases.push(own),
                }
            }
        }
        let most = cases.iter().map(|case| case.runs.len()).max().unwrap_or_default();
        for case in &mut cases {
            // A plan runs a case once if nothing in it is random, and repeats the others.
            case.deterministic = complete && most > 1 && case.runs.len() == 1;
        }
        Self {
            format: FORMAT,
            scenario: results.scenario.clone(),
            seed: results.seed,
            clock: results.clock,
            version: results.version.clone(),
            commit: None,
            complete,
            cases,
        }
    }

    /// Reads a baseline file.
    ///
    /// # Errors
    /// The text is no baseline file of this format, or its parts contradict each other.
    pub fn parse(text: &str) -> Result<Self, SamplesError> {
        let samples: Self =
            serde_json::from_str(text).map_err(|error| SamplesError(error.to_string()))?;
        samples.check()?;
        Ok(samples)
    }

    fn check(&self) -> Result<(), SamplesError> {
        let error = |text: String| Err(SamplesError(text));
        if self.format != FORMAT {
            return error(format!("format {} is unknown; allowed: {FORMAT}", self.format));
        }
        if self.cases.len() > MAX_CASES {
            return error(format!("{} cases are too many; allowed: {MAX_CASES}", self.cases.len()));
        }
        let mut known = HashSet::new();
        for entry in &self.cases {
            let case = &entry.case;
            if !known.insert(case) {
                return error(format!("the case `{case}` occurs twice"));
            }
            let ascending = |runs: &[u64]| runs.is_sorted_by(|a, b| a < b);
            if !ascending(&entry.runs) || !ascending(&entry.incomplete) {
                return error(format!("`{case}`: run numbers must ascend"));
            }
            if let Some(run) =
                entry.incomplete.iter().find(|run| entry.runs.binary_search(run).is_err())
            {
                return error(format!("`{case}`: run {run} in `incomplete` is not in `runs`"));
            }
            for (metric, values) in &entry.values {
                let known = find_metric(metric).is_some()
                    || find_shared(metric).is_some()
                    || find_population(metric).is_some();
                if !known {
                    return error(format!("`{case}`: metric `{metric}` is unknown"));
                }
                if values.len() != entry.runs.len() {
                    return error(format!(
                        "`{case}`: {} values of `{metric}` for {} runs; allowed: one for each",
                        values.len(),
                        entry.runs.len()
                    ));
                }
            }
        }
        Ok(())
    }

    /// Formats the baseline file: JSON with one case on each line, so that a change of one case is
    /// a change of one line.
    ///
    /// # Errors
    /// Returns the error of `serde_json`, which does not occur for samples of results.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let head = Self { cases: Vec::new(), ..self.clone() };
        let cases: Result<Vec<String>, _> = self.cases.iter().map(serde_json::to_string).collect();
        let mut text = serde_json::to_string(&head)?;
        // The list of cases is last.
        text.truncate(text.len() - "]}".len());
        Ok(text + "\n" + &cases?.join(",\n") + "\n]}\n")
    }

    /// Returns the cases of `variant` under the variant name `name`. Visits are numbered by
    /// position, because variants differ in which visits they measure.
    pub fn only(&self, variant: &str, name: &str) -> Self {
        let of_variant = self.cases.iter().filter(|entry| entry.case.variant == variant);
        let mut cases: Vec<CaseSamples> = of_variant.cloned().collect();
        let mut seen: HashMap<(Point, String), usize> = HashMap::new();
        for entry in &mut cases {
            let visits =
                seen.entry((entry.case.point.clone(), entry.case.flow.clone())).or_default();
            *visits += 1;
            entry.case.visit = *visits;
            entry.case.variant = name.to_owned();
        }
        Self { cases, ..self.clone() }
    }

    /// Returns the names of the variants, in order.
    pub fn variants(&self) -> Vec<&str> {
        let mut seen = HashSet::new();
        let names = self.cases.iter().map(|entry| entry.case.variant.as_str());
        names.filter(|name| seen.insert(*name)).collect()
    }

    /// Returns the names of all metrics that a case has.
    pub fn metrics(&self) -> Vec<&str> {
        let names = self.cases.iter().flat_map(|entry| entry.values.keys().map(String::as_str));
        let mut names: Vec<&str> = names.collect::<HashSet<_>>().into_iter().collect();
        names.sort_unstable();
        names
    }
}

/// Groups `items` by `key`, in the order of first appearance.
fn grouped<T: Copy, K: Copy + Eq + Hash>(
    items: impl Iterator<Item = T>,
    key: impl Fn(T) -> K,
) -> Vec<(K, Vec<T>)> {
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    let mut places: HashMap<K, usize> = HashMap::new();
    for item in items {
        let place = *places.entry(key(item)).or_insert_with(|| {
            groups.push((key(item), Vec::new()));
            groups.len() - 1
        });
        groups[place].1.push(item);
    }
    groups
}

fn of_flow(
    case: Case,
    visits: &[(&Run, &Flow)],
    metrics: &[&str],
    usual: Option<&'static str>,
) -> CaseSamples {
    let mut visits = visits.to_vec();
    visits.sort_by_key(|(run, _)| run.run);
    let mut names: Vec<&str> =
        metrics.iter().copied().filter(|name| find_metric(name).is_some()).collect();
    if let Some(name) = usual {
        names.retain(|other| *other != name);
        names.push(name);
    }
    let read = |metric: FlowMetric| visits.iter().map(|(_, flow)| metric.read(flow)).collect();
    let values = names
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), read(find_metric(name)?))))
        .collect();
    CaseSamples {
        case,
        deterministic: false,
        runs: visits.iter().map(|(run, _)| run.run).collect(),
        incomplete: visits
            .iter()
            .filter(|(_, flow)| !flow.completed)
            .map(|(run, _)| run.run)
            .collect(),
        values,
    }
}

/// Returns the metric that is compared by default: what the flow is about, or the first beside it
/// for which one of two values is better.
fn usual_metric(headline: &Headline) -> &'static str {
    let all = std::iter::once(&headline.row).chain(&headline.beside);
    let judged = all.into_iter().find(|row| row.better != Better::Neither);
    judged.map_or(headline.row.name, |row| row.name)
}

type SharedReader = fn(&SharedMetrics) -> Option<f64>;

/// Returns the values of metrics of all competing flows; `None` if none is wanted.
fn of_all_flows(
    variant: &str,
    point: &Point,
    runs: &[&Run],
    metrics: &[&str],
) -> Option<CaseSamples> {
    let wanted: Vec<(&str, SharedReader)> =
        metrics.iter().filter_map(|name| Some((*name, find_shared(name)?))).collect();
    let mut runs = runs.to_vec();
    runs.sort_by_key(|run| run.run);
    if wanted.is_empty() || runs.iter().all(|run| run.fairness.is_none()) {
        return None;
    }
    let read = |metric: SharedReader| {
        runs.iter().map(|run| metric(&run.fairness.as_ref()?.metrics)).collect()
    };
    Some(CaseSamples {
        case: Case {
            variant: variant.to_owned(),
            point: point.clone(),
            flow: ALL_FLOWS.to_owned(),
            visit: 1,
        },
        deterministic: false,
        runs: runs.iter().map(|run| run.run).collect(),
        incomplete: Vec::new(),
        values: wanted.into_iter().map(|(name, metric)| (name.to_owned(), read(metric))).collect(),
    })
}

/// Returns the values of metrics of each population and share, without size classes.
fn of_populations(
    variant: &str,
    point: &Point,
    runs: &[&Run],
    metrics: &[&str],
    usual: bool,
) -> Vec<CaseSamples> {
    let asked: Vec<&str> =
        metrics.iter().copied().filter(|name| find_population(name).is_some()).collect();
    let visits = runs.iter().flat_map(|run| run.populations.iter().map(|own| (*run, own)));
    let groups = grouped(visits, |(_, own)| (own.name.as_str(), own.visit));
    let case = |((name, visit), mut visits): (_, Vec<(&Run, &Population)>)| {
        visits.sort_by_key(|(run, _)| run.run);
        let mut names = asked.clone();
        if let Some((_, first)) = visits.first().filter(|_| usual) {
            let usual = first.metrics.usual();
            names.retain(|other| *other != usual);
            names.push(usual);
        }
        let read = |name: &&str| {
            let metric = find_population(name)?;
            let values = visits.iter().map(|(_, own)| metric(&own.metrics)).collect();
            Some(((*name).to_owned(), values))
        };
        let incomplete = visits
            .iter()
            .filter(|(_, own)| own.metrics.completed_percent != Some(100.0))
            .map(|(run, _)| run.run);
        CaseSamples {
            case: Case {
                variant: variant.to_owned(),
                point: point.clone(),
                flow: str::to_owned(name),
                visit,
            },
            deterministic: false,
            runs: visits.iter().map(|(run, _)| run.run).collect(),
            incomplete: incomplete.collect(),
            values: names.iter().filter_map(read).collect(),
        }
    };
    groups.into_iter().map(case).collect()
}

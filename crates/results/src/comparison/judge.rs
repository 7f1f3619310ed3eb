//! Matches the cases of two sides and tests each.

use super::change::{
    COMPLETED, Change, ComparisonReport, Estimate, Finding, Method, MissingCase, Origin,
    SampleSummary, Side,
};
use super::counts::{CountTest, fisher, mcnemar};
use super::estimate::{
    deviations, mean, mean_paired, mean_unpaired, typical_paired, typical_unpaired,
};
use super::permutation::{Precision, least_paired, least_unpaired, paired, unpaired};
use super::samples::{Case, CaseSamples, Samples};
use super::{holm, permutation::Permutation};
use crate::flow_metrics::find_row;
use crate::metrics::Better;
use crate::run::Clock;
use crate::stats::Stats;
use std::collections::{HashMap, HashSet};

/// What a comparison counts as a change.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareOptions {
    /// Probability that a comparison of equal variants finds a change, over all cases together.
    pub level: f64,
    /// Relative change up to which a change is neither a regression nor an improvement.
    pub tolerance: f64,
    /// Metrics to compare; all that both sides have if empty.
    pub metrics: Vec<String>,
}

/// Compares the cases of `before` with those of the same name in `after`. `sources` say where both
/// are from.
pub fn compare_samples(
    before: &Samples,
    after: &Samples,
    sources: [&str; 2],
    options: &CompareOptions,
) -> ComparisonReport {
    let setting = Setting {
        paired: before.seed == after.seed && before.clock == after.clock,
        simulated: before.clock == Clock::Virtual && after.clock == Clock::Virtual,
    };
    let others: HashMap<&Case, &CaseSamples> =
        after.cases.iter().map(|entry| (&entry.case, entry)).collect();
    let mut pairs = Vec::new();
    for own in &before.cases {
        let Some(other) = others.get(&own.case) else { continue };
        pairs.extend(
            metrics(own, other, options).map(|metric| Pair::of_metric(own, other, metric, setting)),
        );
        if !(own.incomplete.is_empty() && other.incomplete.is_empty()) {
            pairs.push(Pair::of_completion(own, other, setting));
        }
    }
    // Tests that cannot reach the level whatever their values do not count (Tarone 1990).
    let family: Vec<usize> = (0..pairs.len())
        .filter(|&index| pairs[index].least().is_some_and(|least| least <= options.level))
        .collect();
    let precision =
        Precision { level: options.level, smallest: options.level / family.len().max(1) as f64 };
    let mut changes: Vec<Change> = pairs.iter().map(|pair| pair.change(precision)).collect();
    let p: Vec<f64> = family.iter().filter_map(|&index| changes[index].p).collect();
    for (&index, adjusted) in family.iter().zip(holm::adjusted(&p)) {
        changes[index].p_adjusted = Some(adjusted);
    }
    for change in &mut changes {
        let exact = change.method == Method::Exact;
        let significant = change.p_adjusted.is_some_and(|p| p <= options.level);
        if change.finding == Finding::Unchanged && (exact || significant) {
            change.finding = finding(change, options.tolerance);
        }
    }
    let weak =
        family.iter().filter(|&&index| pairs[index].least_by_size() > precision.smallest).count();
    ComparisonReport {
        before: Origin::new(before, sources[0]),
        after: Origin::new(after, sources[1]),
        level: options.level,
        tolerance: options.tolerance,
        paired: setting.paired,
        tests: family.len(),
        missing: missing(before, after),
        notes: notes(before, after, weak, precision, setting),
        changes,
    }
}

/// Properties of the comparison that decide how a case is tested.
#[derive(Debug, Clone, Copy)]
struct Setting {
    /// True if runs with the same number drew the same random numbers.
    paired: bool,
    /// True if both sides ran on the virtual clock.
    simulated: bool,
}

/// Returns the metrics of which both sides have values and that `options` names.
fn metrics<'a>(
    before: &'a CaseSamples,
    after: &'a CaseSamples,
    options: &'a CompareOptions,
) -> impl Iterator<Item = &'a str> {
    let wanted = |name: &&String| options.metrics.is_empty() || options.metrics.contains(name);
    let valued = |values: &[Option<f64>]| values.iter().any(Option::is_some);
    before.values.keys().filter(wanted).map(String::as_str).filter(move |name| {
        after.values.get(*name).is_some_and(|other| valued(other) || valued(&before.values[*name]))
    })
}

fn missing(before: &Samples, after: &Samples) -> Vec<MissingCase> {
    let lacks = |these: &Samples, others: &Samples, side: Side| -> Vec<MissingCase> {
        let known: HashSet<&Case> = others.cases.iter().map(|entry| &entry.case).collect();
        let unknown = these.cases.iter().filter(|entry| !known.contains(&entry.case));
        unknown.map(|entry| MissingCase { case: entry.case.clone(), missing: side }).collect()
    };
    let mut missing = lacks(before, after, Side::After);
    missing.extend(lacks(after, before, Side::Before));
    missing
}

fn notes(
    before: &Samples,
    after: &Samples,
    weak: usize,
    precision: Precision,
    setting: Setting,
) -> Vec<String> {
    let mut notes = Vec::new();
    if before.scenario != after.scenario {
        notes.push(format!(
            "the scenarios have different names: `{}` and `{}`",
            before.scenario, after.scenario
        ));
    }
    if before.clock != after.clock {
        notes.push("one side ran on the virtual clock and the other on the real clock".to_owned());
    }
    for (side, samples) in [("first", before), ("second", after)] {
        if !samples.complete {
            notes.push(format!("the {side} side lacks planned runs: it was interrupted"));
        }
    }
    if weak > 0 {
        notes.push(format!(
            "{weak} tests have so few runs that they find a change only beside other changes; {} \
             runs on each side suffice",
            enough_runs(precision.smallest, setting.paired)
        ));
    }
    notes
}

/// Returns the smallest number of runs on each side with which p can be `smallest`.
fn enough_runs(smallest: f64, paired: bool) -> usize {
    let least = |n: usize| if paired { least_paired(n) } else { least_unpaired(n, n) };
    (2..1000).find(|&n| least(n) <= smallest).unwrap_or(1000)
}

/// A metric of a case on both sides, ready to be tested.
struct Pair<'a> {
    case: &'a Case,
    metric: &'a str,
    better: Better,
    unit: &'static str,
    before: SampleSummary,
    after: SampleSummary,
    data: Data,
}

/// The values of a test.
enum Data {
    /// Nothing is random: the two values.
    Exact(f64, f64),
    /// Independent samples.
    Unpaired(Vec<f64>, Vec<f64>),
    /// Values of the runs that both sides have.
    Paired(Vec<f64>, Vec<f64>),
    /// Numbers of completed runs, and of all.
    Fisher((usize, usize), (usize, usize)),
    /// Numbers of runs that completed on the first side only, and on the second only.
    McNemar(usize, usize),
    /// There is nothing to test, for this reason.
    Nothing(&'static str),
}

impl<'a> Pair<'a> {
    fn of_metric(
        before: &'a CaseSamples,
        after: &'a CaseSamples,
        metric: &'a str,
        setting: Setting,
    ) -> Self {
        let values = |side: &CaseSamples| -> Vec<(u64, f64)> {
            let values = side.runs.iter().zip(&side.values[metric]);
            values.filter_map(|(run, value)| Some((*run, (*value)?))).collect()
        };
        let (own, other) = (values(before), values(after));
        let plain = |values: &[(u64, f64)]| -> Vec<f64> {
            values.iter().map(|(_, value)| *value).collect()
        };
        let data = match (own.as_slice(), other.as_slice()) {
            ([], _) => Data::Nothing("no run of the first side has a value"),
            (_, []) => Data::Nothing("no run of the second side has a value"),
            ([(_, own), ..], [(_, other), ..]) if is_exact(before, after, setting) => {
                Data::Exact(*own, *other)
            }
            ([_], [_]) if !setting.paired => Data::Nothing(
                "one run on each side, with different seeds: use one seed, or more runs",
            ),
            _ if setting.paired => {
                let known: HashMap<u64, f64> = other.into_iter().collect();
                let (own, other): (Vec<f64>, Vec<f64>) =
                    own.iter().filter_map(|(run, value)| Some((*value, *known.get(run)?))).unzip();
                if own.is_empty() {
                    Data::Nothing("the sides have no run number in common")
                } else {
                    Data::Paired(own, other)
                }
            }
            _ => Data::Unpaired(plain(&own), plain(&other)),
        };
        let summary = |side: &CaseSamples| {
            let values = plain(&values(side));
            SampleSummary {
                runs: side.runs.len(),
                n: values.len(),
                median: Stats::of(&values).map(|stats| stats.median),
                mean: (!values.is_empty()).then(|| mean(&values)),
                deviation: (values.len() > 1).then(|| deviations(&values, &values).sqrt()),
            }
        };
        let row = find_row(metric);
        Self {
            case: &before.case,
            metric,
            better: row.map_or(Better::Neither, |row| row.better),
            unit: row.map_or("", |row| row.unit),
            before: summary(before),
            after: summary(after),
            data,
        }
    }

    fn of_completion(before: &'a CaseSamples, after: &'a CaseSamples, setting: Setting) -> Self {
        let completed = |side: &CaseSamples| side.runs.len() - side.incomplete.len();
        let failed =
            |side: &CaseSamples| -> HashSet<u64> { side.incomplete.iter().copied().collect() };
        let data = if is_exact(before, after, setting) {
            Data::Exact(f64::from(completed(before) > 0), f64::from(completed(after) > 0))
        } else if setting.paired {
            let (own, other) = (failed(before), failed(after));
            let known: HashSet<&u64> = after.runs.iter().collect();
            let common: Vec<&u64> = before.runs.iter().filter(|run| known.contains(run)).collect();
            let only = |these: &HashSet<u64>, others: &HashSet<u64>| {
                common.iter().filter(|run| !these.contains(run) && others.contains(run)).count()
            };
            Data::McNemar(only(&own, &other), only(&other, &own))
        } else {
            let counts = |side: &CaseSamples| (completed(side), side.runs.len());
            Data::Fisher(counts(before), counts(after))
        };
        let summary = |side: &CaseSamples| SampleSummary {
            runs: side.runs.len(),
            n: completed(side),
            median: None,
            mean: Some(completed(side) as f64 / side.runs.len().max(1) as f64),
            deviation: None,
        };
        Self {
            case: &before.case,
            metric: COMPLETED,
            better: Better::Higher,
            unit: "",
            before: summary(before),
            after: summary(after),
            data,
        }
    }

    /// Returns the smallest p that the test can return; `None` without a test.
    fn least(&self) -> Option<f64> {
        match &self.data {
            Data::Exact(..) | Data::Nothing(_) => None,
            Data::Unpaired(before, after) => {
                let differ = before.iter().chain(after).any(|value| *value != before[0]);
                Some(if differ { least_unpaired(before.len(), after.len()) } else { 1.0 })
            }
            Data::Paired(before, after) => {
                Some(least_paired(before.iter().zip(after).filter(|(a, b)| a != b).count()))
            }
            Data::Fisher(before, after) => Some(fisher(*before, *after).least),
            Data::McNemar(lost, gained) => Some(mcnemar(*lost, *gained).least),
        }
    }

    /// Returns the smallest p that a test of so many runs can return.
    fn least_by_size(&self) -> f64 {
        match &self.data {
            Data::Exact(..) | Data::Nothing(_) => 0.0,
            Data::Unpaired(before, after) => least_unpaired(before.len(), after.len()),
            Data::Paired(before, _) => least_paired(before.len()),
            Data::Fisher(before, after) => least_unpaired(before.1, after.1),
            Data::McNemar(..) => least_paired(self.before.runs.min(self.after.runs)),
        }
    }

    fn is_identical(&self) -> bool {
        match &self.data {
            Data::Exact(before, after) => before == after,
            Data::Unpaired(before, after) => {
                before.iter().chain(after).all(|value| *value == before[0])
            }
            Data::Paired(before, after) => before == after,
            Data::McNemar(lost, gained) => lost + gained == 0,
            Data::Fisher(..) | Data::Nothing(_) => false,
        }
    }

    fn change(&self, precision: Precision) -> Change {
        let mut change = Change {
            case: self.case.clone(),
            metric: self.metric.to_owned(),
            unit: self.unit,
            better: self.better,
            before: self.before,
            after: self.after,
            mean: None,
            typical: None,
            method: Method::Exact,
            p: None,
            p_adjusted: None,
            finding: if self.is_identical() { Finding::Identical } else { Finding::Unchanged },
            change: None,
            direction: 0.0,
            note: None,
        };
        match &self.data {
            Data::Exact(before, after) => {
                change.direction = after - before;
                if *before > 0.0 && self.metric != COMPLETED {
                    change.mean = Some(Estimate::new(after / before - 1.0, None));
                    change.change = Some(after / before - 1.0);
                }
            }
            Data::Unpaired(before, after) => {
                let test = unpaired(before, after, precision);
                change.method = Method::Unpaired;
                change.mean = mean_unpaired(before, after, &test);
                change.typical = typical_unpaired(before, after, &test);
                change.apply(&test);
            }
            Data::Paired(before, after) => {
                let positive = before.iter().chain(after).all(|value| *value > 0.0);
                let pairs = || before.iter().zip(after);
                let differences: Vec<f64> = pairs().map(|(a, b)| b - a).collect();
                let ratios: Vec<f64> = pairs().map(|(a, b)| libm::log(b / a)).collect();
                let ranked = if positive { &ratios } else { &differences };
                let test = paired(&differences, ranked, precision);
                change.method = Method::Paired;
                change.mean = mean_paired(before, after, &test);
                change.typical = if positive { typical_paired(&ratios, &test) } else { None };
                change.apply(&test);
            }
            Data::Fisher(before, after) => change.count(Method::Fisher, fisher(*before, *after)),
            Data::McNemar(lost, gained) => change.count(Method::McNemar, mcnemar(*lost, *gained)),
            Data::Nothing(reason) => {
                change.finding = Finding::Untested;
                change.note = Some((*reason).to_owned());
            }
        }
        if change.finding == Finding::Unchanged && self.least_by_size() > precision.level {
            change.finding = Finding::Untested;
            change.note = Some(format!(
                "{} and {} runs are too few to find a change at this level",
                self.before.runs, self.after.runs
            ));
        }
        change
    }
}

/// Returns true if both sides give the same values in every run, so that any difference is a
/// change.
fn is_exact(before: &CaseSamples, after: &CaseSamples, setting: Setting) -> bool {
    let fixed = |side: &CaseSamples| side.deterministic || side.runs.len() == 1;
    setting.simulated
        && fixed(before)
        && fixed(after)
        && (setting.paired || before.deterministic || after.deterministic)
}

impl Change {
    /// Takes over the outcome of a permutation test.
    fn apply(&mut self, test: &Permutation) {
        self.p = Some(test.p);
        let by_rank = test.is_by_rank();
        self.direction = if by_rank { test.rank } else { test.mean };
        let estimate = if by_rank { self.typical.or(self.mean) } else { self.mean };
        self.change = estimate.map(|estimate| estimate.change);
    }

    /// Takes over the outcome of a test of counts.
    fn count(&mut self, method: Method, test: CountTest) {
        self.method = method;
        self.p = Some(test.p);
        self.direction = self.after.mean.unwrap_or_default() - self.before.mean.unwrap_or_default();
    }
}

/// Returns what a change is that did not happen by chance.
fn finding(change: &Change, tolerance: f64) -> Finding {
    if change.change.is_some_and(|change| change.abs() <= tolerance) {
        return Finding::WithinTolerance;
    }
    match (change.better, change.direction > 0.0) {
        (Better::Neither, _) => Finding::Changed,
        (Better::Lower, true) | (Better::Higher, false) => Finding::Regression,
        (Better::Lower, false) | (Better::Higher, true) => Finding::Improvement,
    }
}

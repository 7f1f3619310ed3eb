//! Cells of tables of results.

use bentpipe_lab::Plan;
use bentpipe_results::fairness::ALL_FLOWS;
use bentpipe_results::metrics::Row;
use bentpipe_results::{Point, Results, Summary};
use std::collections::HashMap;

/// Returns the labels and metrics of published figures, each pair once: of all competing flows if
/// `shared`, otherwise of single flows.
pub(crate) fn labels(results: &Results, shared: bool) -> Vec<(&str, &str)> {
    let mut labels: Vec<(&str, &str)> = Vec::new();
    for figure in results.published.iter().filter(|row| (row.flow == ALL_FLOWS) == shared) {
        let label = (figure.label.as_str(), figure.metric.as_str());
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    labels
}

/// Returns the value of each swept key for the case of `row`.
pub(crate) fn point(plan: &Plan, row: &Summary) -> Vec<String> {
    let value = |(key, _): &(String, _)| row.point.get(key).cloned().unwrap_or_default();
    plan.sweep.iter().map(value).collect()
}

/// Returns the published value of `metric` under `label` for the case of `row`, and the ratio of
/// our value to it; two empty cells if nothing was published.
pub(crate) fn published(
    results: &Results,
    row: &Summary,
    label: &str,
    metric: &str,
) -> [String; 2] {
    let figure = results.published.iter().find(|figure| {
        figure.label == label
            && figure.metric == metric
            && figure.variant == row.variant
            && figure.point == row.point
            && figure.flow == row.flow
            && figure.visit == row.visit
    });
    let ratio = figure.and_then(|figure| figure.ratio);
    [
        figure.map_or_else(String::new, |figure| figure.value.to_string()),
        ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}")),
    ]
}

/// A variant at a sweep point.
type Case<'a> = (&'a str, &'a Point);

/// Finds rows of results by their case, in a time that does not grow with their number.
pub(crate) struct Index<'a> {
    rows: HashMap<(Case<'a>, &'a str, usize, &'a str), &'a Summary>,
    runs: HashMap<Case<'a>, u64>,
}

impl<'a> Index<'a> {
    pub fn new(results: &'a Results) -> Self {
        let key = |row: &'a Summary| {
            let case = (row.variant.as_str(), &row.point);
            ((case, row.flow.as_str(), row.visit, row.metric.as_str()), row)
        };
        let mut runs = HashMap::new();
        for run in &results.runs {
            *runs.entry((run.variant.as_str(), &run.point)).or_default() += 1;
        }
        Self { rows: results.summary.iter().map(key).collect(), runs }
    }

    /// Returns `20`, or `18/20` if not all transfers completed.
    pub fn runs(&self, row: &'a Summary) -> String {
        let all = self.runs.get(&(row.variant.as_str(), &row.point)).copied().unwrap_or_default();
        if row.n == all { all.to_string() } else { format!("{}/{all}", row.n) }
    }

    /// Returns the statistics of another metric for the case of `row`.
    pub fn find(&self, row: &'a Summary, metric: &'a str) -> Option<&'a Summary> {
        let case = (row.variant.as_str(), &row.point);
        self.rows.get(&(case, row.flow.as_str(), row.visit, metric)).copied()
    }
}

/// Returns the last part of a swept key, or the whole key if that is ambiguous.
pub(crate) fn short(key: &str, plan: &Plan) -> String {
    let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    let same = plan.sweep.iter().filter(|(other, _)| last(other) == last(key)).count();
    if same > 1 { key.to_owned() } else { last(key) }
}

/// Formats a number with about four significant digits, without an exponent.
pub(crate) fn number(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 1000.0 => 0,
        size if size >= 100.0 => 1,
        size if size >= 10.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

/// Returns the 95 % interval of the median; empty without one.
pub(crate) fn interval(row: &Summary) -> String {
    match (row.ci95_low, row.ci95_high) {
        (Some(low), Some(high)) => format!("{} – {}", number(low), number(high)),
        _ => String::new(),
    }
}

/// Returns the heading of a metric's column: short names for the usual ones.
pub(crate) fn heading(row: &Row) -> String {
    let label = match row.name {
        "completion_s" => "completion".to_owned(),
        _ => row.in_sentence(),
    };
    format!("{label} {}", row.unit).trim_end().to_owned()
}

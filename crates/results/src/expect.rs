//! Expectations and published figures. Both select results by variant, point, flow and visit.

use crate::fairness::ALL_FLOWS;
use crate::flow_metrics::{find_population, find_shared};
use crate::population::is_size_class;
use crate::run::{Point, Run};
use crate::stats::Stats;
use crate::summary::{Summary, populations, values, visits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A statistic over the runs of one variant at one point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Statistic {
    /// 50th percentile.
    #[default]
    Median,
    /// Arithmetic mean.
    Mean,
    /// 5th percentile.
    P5,
    /// 95th percentile.
    P95,
    /// Minimum.
    Min,
    /// Maximum.
    Max,
}

/// Kind of a published figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PublishedKind {
    /// A target.
    Objective,
    /// A measurement.
    Measured,
}

impl PublishedKind {
    /// `objective` or `measured`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Objective => "objective",
            Self::Measured => "measured",
        }
    }
}

/// An `[[expect]]` of a scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// Name of the metric.
    pub metric: String,
    /// Name of the variant; `None` for every variant.
    pub variant: Option<String>,
    /// Values of some swept keys, which select points.
    pub point: Point,
    /// Name of the flow; `None` for every flow.
    pub flow: Option<String>,
    /// Number of the visit; `None` for every visit.
    pub visit: Option<usize>,
    /// Statistic over the runs.
    pub statistic: Statistic,
    /// Condition on the statistic.
    pub condition: Condition,
}

/// Condition on a statistic.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// Bounds of the statistic, exclusive.
    Bounds {
        /// Lower bound.
        above: Option<f64>,
        /// Upper bound.
        below: Option<f64>,
        /// Variant by whose statistic the value is divided before it is compared.
        relative_to: Option<String>,
    },
    /// Maximum relative difference from a published figure.
    Within {
        /// Maximum difference, as a fraction of the figure.
        share: f64,
        /// Published figure.
        published: f64,
    },
}

/// An expectation, and whether it passed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Expectation {
    /// The expectation in words.
    pub text: String,
    /// Whether it passed; `null` if runs that it needs are missing.
    pub passed: Option<bool>,
    /// Statistic or ratio that was compared.
    pub measured: Option<f64>,
}

/// A `[[published]]` figure of a scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// Short heading.
    pub label: String,
    /// Whether the figure is a target or a measurement.
    pub kind: PublishedKind,
    /// Name of the metric.
    pub metric: String,
    /// Variant that it is compared with; every variant if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Flow that it is compared with; every flow if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// Values of some swept keys, which select points.
    pub point: Point,
    /// Published value, in the metric's unit.
    pub value: f64,
    /// Publication that the value is from.
    pub source: String,
}

/// A published figure compared with the result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Short heading.
    pub label: String,
    /// Whether the figure is a target or a measurement.
    pub kind: PublishedKind,
    /// Name of the metric.
    pub metric: String,
    /// Name of the variant.
    pub variant: String,
    /// Value of each swept key.
    pub point: Point,
    /// Name of the flow.
    pub flow: String,
    /// Number of the visit, from 1.
    pub visit: usize,
    /// Published value, in the metric's unit.
    pub value: f64,
    /// Median of the runs.
    pub measured: Option<f64>,
    /// Median of the runs divided by the published value.
    pub ratio: Option<f64>,
    /// Publication that the value is from.
    pub source: String,
}

/// The runs of one variant at one point.
#[derive(Debug, Clone, Copy)]
pub struct Group<'a> {
    /// Name of the variant.
    pub variant: &'a str,
    /// Value of each swept key.
    pub point: &'a Point,
    /// The runs that ended.
    pub runs: &'a [Run],
    /// Number of runs planned.
    pub planned: usize,
}

/// Returns true if `point` has every value of `filter`.
fn matches(point: &Point, filter: &Point) -> bool {
    filter.iter().all(|(key, value)| point.get(key) == Some(value))
}

/// Evaluates each rule for each group that it selects. A rule that selects none yields one
/// expectation that is not measured.
pub fn judge(rules: &[Rule], groups: &[Group<'_>]) -> Vec<Expectation> {
    let mut found = Vec::new();
    for rule in rules {
        let before = found.len();
        for group in groups {
            let selected = rule.variant.as_deref().is_none_or(|variant| variant == group.variant);
            // A comparison of a variant with itself always passes.
            let itself = match &rule.condition {
                Condition::Bounds { relative_to, .. } => {
                    relative_to.as_deref() == Some(group.variant)
                }
                Condition::Within { .. } => false,
            };
            if !selected || (itself && rule.variant.is_none()) || !matches(group.point, &rule.point)
            {
                continue;
            }
            let candidates = candidates(rule, group);
            for (flow, visit) in candidates {
                let flow_fits = rule.flow.as_deref().is_none_or(|name| name == flow);
                if flow_fits && rule.visit.is_none_or(|wanted| wanted == visit) {
                    found.push(rule.judge(group, groups, &flow, visit));
                }
            }
        }
        if found.len() == before {
            found.push(Expectation {
                text: rule.text("", &rule.point, "", 0),
                passed: None,
                measured: None,
            });
        }
    }
    found
}

/// Returns the flows and visits of `group` that can have the metric of `rule`. Size classes of a
/// population are among them only if the rule names one.
fn candidates(rule: &Rule, group: &Group<'_>) -> Vec<(String, usize)> {
    if find_shared(&rule.metric).is_some() && !group.runs.is_empty() {
        return vec![(ALL_FLOWS.to_owned(), 1)];
    }
    if find_population(&rule.metric).is_none() {
        return visits(group.runs);
    }
    let found = populations(group.runs);
    let Some(class) = rule.flow.as_deref().filter(|name| is_size_class(name)) else { return found };
    let of_class = |(name, visit): (String, usize)| {
        class.starts_with(&name).then(|| (class.to_owned(), visit))
    };
    let mut found: Vec<(String, usize)> = found.into_iter().filter_map(of_class).collect();
    found.dedup();
    found
}

/// Returns the visit of `base` at the position that `visit` has in `group`.
///
/// Numbers of visits can differ: a resumed handshake is measured on the second visit, a full
/// handshake on the only visit.
fn same_position(group: &Group<'_>, base: &Group<'_>, flow: &str, visit: usize) -> usize {
    let own =
        |runs| visits(runs).into_iter().filter(|(name, _)| name == flow).map(|(_, visit)| visit);
    let position = own(group.runs).position(|candidate| candidate == visit).unwrap_or_default();
    own(base.runs).nth(position).unwrap_or(visit)
}

/// Metrics that cannot exceed 1.
const AT_MOST_ONE: [&str; 2] = ["jain_index", "min_max_ratio"];
/// Metrics that are above zero in every completed transfer.
const ABOVE_ZERO: [&str; 6] =
    ["completion_s", "first_byte_s", "packets_sent", "bytes_sent", "rtt_min_ms", "rtt_mean_ms"];
/// The metric that may be below zero: a transfer may be given up early.
const MAY_BE_NEGATIVE: &str = "send_overhead_percent";

impl Rule {
    /// Returns why the rule has no effect, if every possible value of a completed transfer passes.
    pub fn cannot_fail(&self) -> Option<String> {
        let Condition::Bounds { above, below, relative_to } = &self.condition else {
            return None;
        };
        let text = self.text(self.variant.as_deref().unwrap_or_default(), &self.point, "", 0);
        if let Some(base) = relative_to
            && self.variant.as_ref() == Some(base)
        {
            return Some(format!("the expectation `{text}` compares `{base}` with itself"));
        }
        let is_ratio = relative_to.is_some();
        let metric = self.metric.as_str();
        let low = |bound: f64| {
            let positive = !is_ratio && ABOVE_ZERO.contains(&metric);
            bound < 0.0 && metric != MAY_BE_NEGATIVE || bound == 0.0 && positive
        };
        let high = |bound: f64| !is_ratio && bound > 1.0 && AT_MOST_ONE.contains(&metric);
        (above.is_none_or(low) && below.is_none_or(high)).then(|| {
            format!("the expectation `{text}` cannot fail: every completed transfer passes")
        })
    }

    fn judge(
        &self,
        group: &Group<'_>,
        groups: &[Group<'_>],
        flow: &str,
        visit: usize,
    ) -> Expectation {
        let users = find_population(&self.metric).is_some();
        let several = match users {
            true => populations(group.runs).len() > 1,
            false => visits(group.runs).len() > 1 && flow != ALL_FLOWS,
        };
        let text = self.text(group.variant, group.point, if several { flow } else { "" }, visit);
        if group.runs.len() < group.planned {
            return Expectation { text, passed: None, measured: None };
        }
        let own = self.statistic(group, flow, visit);
        let measured = match &self.condition {
            Condition::Bounds { relative_to: Some(other), .. } => {
                let base =
                    groups.iter().find(|base| base.variant == other && base.point == group.point);
                let base = base.and_then(|base| {
                    self.statistic(base, flow, same_position(group, base, flow, visit))
                });
                own.zip(base).map(|(own, base)| own / base).filter(|ratio| ratio.is_finite())
            }
            _ => own,
        };
        let passed = measured.is_some_and(|measured| match &self.condition {
            Condition::Bounds { above, below, .. } => {
                above.is_none_or(|above| measured > above)
                    && below.is_none_or(|below| measured < below)
            }
            Condition::Within { share, published } => (measured / published - 1.0).abs() <= *share,
        });
        Expectation { text, passed: Some(passed), measured }
    }

    /// Returns the statistic; `None` if a run has no value, because a median of the successful
    /// runs alone would be misleading.
    fn statistic(&self, group: &Group<'_>, flow: &str, visit: usize) -> Option<f64> {
        let values = values(group.runs, flow, visit, &self.metric);
        if values.len() < group.runs.len() {
            return None;
        }
        let stats = Stats::of(&values)?;
        let quantiles = stats.p5_p95.unwrap_or((stats.median, stats.median));
        Some(match self.statistic {
            Statistic::Median => stats.median,
            Statistic::Mean => stats.mean,
            Statistic::P5 => quantiles.0,
            Statistic::P95 => quantiles.1,
            Statistic::Min => stats.min,
            Statistic::Max => stats.max,
        })
    }

    fn text(&self, variant: &str, point: &Point, flow: &str, visit: usize) -> String {
        let statistic = match self.statistic {
            Statistic::Median => "median",
            Statistic::Mean => "mean",
            Statistic::P5 => "5 % quantile",
            Statistic::P95 => "95 % quantile",
            Statistic::Min => "minimum",
            Statistic::Max => "maximum",
        };
        let mut text = format!("{statistic} {}", self.metric);
        if !variant.is_empty() {
            text.push_str(&format!(" of {variant}"));
        }
        if !flow.is_empty() {
            text.push_str(&format!(", flow {flow}, visit {visit}"));
        }
        if !point.is_empty() {
            text.push_str(&format!(" at {}", point_text(point)));
        }
        match &self.condition {
            Condition::Within { share, published } => {
                text.push_str(&format!(" within {} % of {published}", share * 100.0));
            }
            Condition::Bounds { above, below, relative_to } => {
                if let Some(other) = relative_to {
                    text.push_str(&format!(", over that of {other},"));
                }
                match (above, below) {
                    (Some(above), Some(below)) => {
                        text.push_str(&format!(" between {above} and {below}"))
                    }
                    (Some(above), None) => text.push_str(&format!(" above {above}")),
                    (None, Some(below)) => text.push_str(&format!(" below {below}")),
                    (None, None) => {}
                }
            }
        }
        text
    }
}

/// Formats a point, such as `path.profile = geo-50-10, workload.download = 2 MB`.
pub fn point_text(point: &Point) -> String {
    let parts: Vec<String> = point.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    parts.join(", ")
}

/// Compares each published figure with the medians that it selects.
pub fn compare(figures: &[Figure], summary: &[Summary]) -> Vec<Comparison> {
    let mut comparisons = Vec::new();
    for figure in figures {
        for row in summary {
            let variant = figure.variant.as_ref().is_none_or(|variant| *variant == row.variant);
            let flow = figure.flow.as_ref().is_none_or(|flow| *flow == row.flow);
            if row.metric != figure.metric
                || !variant
                || !flow
                || !matches(&row.point, &figure.point)
            {
                continue;
            }
            comparisons.push(Comparison {
                label: figure.label.clone(),
                kind: figure.kind,
                metric: figure.metric.clone(),
                variant: row.variant.clone(),
                point: row.point.clone(),
                flow: row.flow.clone(),
                visit: row.visit,
                value: figure.value,
                measured: row.median,
                ratio: row
                    .median
                    .map(|median| median / figure.value)
                    .filter(|ratio| ratio.is_finite()),
                source: figure.source.clone(),
            });
        }
    }
    comparisons
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(metric: &str, above: Option<f64>, below: Option<f64>, base: Option<&str>) -> Rule {
        Rule {
            metric: metric.to_owned(),
            variant: Some("a".to_owned()),
            point: Point::new(),
            flow: None,
            visit: None,
            statistic: Statistic::Median,
            condition: Condition::Bounds { above, below, relative_to: base.map(str::to_owned) },
        }
    }

    #[test]
    fn an_expectation_that_every_value_passes_is_found() {
        for (metric, above, below, base) in [
            ("completion_s", Some(0.0), None, None),
            ("packets_lost_queue", Some(-1.0), None, None),
            ("jain_index", None, Some(1.1), None),
            ("completion_s", None, Some(1.2), Some("a")),
            ("completion_s", Some(-0.5), None, Some("b")),
        ] {
            let rule = rule(metric, above, below, base);
            assert!(rule.cannot_fail().is_some(), "{rule:?}");
        }
    }

    #[test]
    fn an_expectation_that_some_value_fails_is_not() {
        for (metric, above, below, base) in [
            ("completion_s", Some(1.0), None, None),
            ("completion_s", Some(0.0), Some(9.0), None),
            ("packets_lost_queue", Some(0.0), None, None),
            ("goodput_mbps", Some(0.0), None, None),
            ("send_overhead_percent", Some(-1.0), None, None),
            ("jain_index", Some(0.9), None, None),
            ("completion_s", None, Some(1.2), Some("b")),
        ] {
            let rule = rule(metric, above, below, base);
            assert_eq!(rule.cannot_fail(), None, "{rule:?}");
        }
    }
}

//! What must hold, and what was published: both pick results by variant, point, flow and visit.

use crate::fairness::{self, ALL_FLOWS};
use crate::results::{Comparison, Expectation, Point, Run, Summary, values, visits};
use crate::scenario::document::{Axis, plain_text};
use crate::scenario::{Expect, PointFilter, PublishedKind, Scenario, Statistic};
use crate::stats::Stats;
use serde::{Deserialize, Serialize};
use serde_spanned::Spanned;

/// An `[[expect]]` of the scenario.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rule {
    metric: String,
    variant: Option<String>,
    point: Point,
    flow: Option<String>,
    visit: Option<usize>,
    statistic: Statistic,
    condition: Condition,
}

#[derive(Debug, Clone, PartialEq)]
enum Condition {
    Bounds { above: Option<f64>, below: Option<f64>, relative_to: Option<String> },
    Within { share: f64, published: f64 },
}

/// A `[[published]]` figure of the scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Short heading.
    pub label: String,
    /// An aim, or a measurement.
    pub kind: PublishedKind,
    /// A metric of a flow.
    pub metric: String,
    /// The variant it stands beside; all of them where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// The flow it stands beside; all of them where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// Values of some swept keys.
    pub point: Point,
    /// The figure.
    pub value: f64,
    /// Where it was published.
    pub source: String,
}

impl Rule {
    /// What it is about.
    pub(crate) fn metric(&self) -> &str {
        &self.metric
    }

    /// The scenario's rules, without those about points that are not run.
    pub(crate) fn all(scenario: &Scenario, axes: &[Axis<'_>]) -> Vec<Self> {
        let expects = scenario.expect.iter().map(Spanned::get_ref);
        expects.filter(|expect| is_planned(&expect.point, axes)).map(Self::new).collect()
    }

    fn new(expect: &Expect) -> Self {
        let number = |value: &Option<Spanned<f64>>| value.as_ref().map(|value| *value.get_ref());
        let text =
            |value: &Option<Spanned<String>>| value.as_ref().map(|value| value.get_ref().clone());
        let condition = match (&expect.within, number(&expect.published)) {
            (Some(share), Some(published)) => {
                Condition::Within { share: share.get_ref().get(), published }
            }
            _ => Condition::Bounds {
                above: number(&expect.above),
                below: number(&expect.below),
                relative_to: text(&expect.relative_to),
            },
        };
        Self {
            metric: expect.metric.get_ref().clone(),
            variant: text(&expect.variant),
            point: filter(&expect.point),
            flow: text(&expect.flow),
            visit: expect.visit.as_ref().map(|visit| *visit.get_ref()),
            statistic: expect.statistic,
            condition,
        }
    }
}

impl Figure {
    /// The scenario's published figures, without those about points that are not run.
    pub(crate) fn all(scenario: &Scenario, axes: &[Axis<'_>]) -> Vec<Self> {
        let figures = scenario.published.iter().map(Spanned::get_ref);
        figures
            .filter(|figure| is_planned(&figure.point, axes))
            .map(|figure| Self {
                label: figure.label.clone(),
                kind: figure.kind,
                metric: figure.metric.get_ref().clone(),
                variant: figure.variant.as_ref().map(|variant| variant.get_ref().clone()),
                flow: figure.flow.as_ref().map(|flow| flow.get_ref().clone()),
                point: filter(&figure.point),
                value: figure.value,
                source: figure.source.clone(),
            })
            .collect()
    }
}

fn filter(point: &PointFilter) -> Point {
    point.iter().map(|(key, value)| (key.get_ref().clone(), plain_text(value.get_ref()))).collect()
}

/// True where the sweep as it is run meets `point`.
pub(crate) fn is_planned(point: &PointFilter, axes: &[Axis<'_>]) -> bool {
    point.iter().all(|(key, value)| {
        let axis = axes.iter().find(|axis| axis.key == *key.get_ref());
        axis.is_some_and(|axis| axis.values.contains(&plain_text(value.get_ref())))
    })
}

fn matches(point: &Point, filter: &Point) -> bool {
    filter.iter().all(|(key, value)| point.get(key) == Some(value))
}

/// The runs of one variant at one point, in the order of the plan.
pub(crate) struct Group<'a> {
    pub variant: &'a str,
    pub point: &'a Point,
    pub runs: &'a [Run],
    /// How many runs were planned.
    pub planned: usize,
}

/// What each rule says of each group it is about.
pub(crate) fn judge(rules: &[Rule], groups: &[Group<'_>]) -> Vec<Expectation> {
    let mut found = Vec::new();
    for rule in rules {
        let before = found.len();
        for group in groups {
            let about = rule.variant.as_deref().is_none_or(|variant| variant == group.variant);
            // Compared to itself a variant always holds.
            let itself = matches!(&rule.condition, Condition::Bounds { relative_to: Some(other), .. } if other == group.variant);
            if !about || (itself && rule.variant.is_none()) || !matches(group.point, &rule.point) {
                continue;
            }
            let candidates = match fairness::metric(&rule.metric) {
                Some(_) if !group.runs.is_empty() => vec![(ALL_FLOWS.to_owned(), 1)],
                _ => visits(group.runs),
            };
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
                held: None,
                measured: None,
            });
        }
    }
    found
}

/// The visit of `base` that stands where `visit` stands in `group`: a resumed handshake is measured
/// on a second visit, a full one on its only one.
fn same_place(group: &Group<'_>, base: &Group<'_>, flow: &str, visit: usize) -> usize {
    let own =
        |runs| visits(runs).into_iter().filter(|(name, _)| name == flow).map(|(_, visit)| visit);
    let place = own(group.runs).position(|candidate| candidate == visit).unwrap_or_default();
    own(base.runs).nth(place).unwrap_or(visit)
}

impl Rule {
    fn judge(
        &self,
        group: &Group<'_>,
        groups: &[Group<'_>],
        flow: &str,
        visit: usize,
    ) -> Expectation {
        let several = visits(group.runs).len() > 1 && flow != ALL_FLOWS;
        let text = self.text(group.variant, group.point, if several { flow } else { "" }, visit);
        if group.runs.len() < group.planned {
            return Expectation { text, held: None, measured: None };
        }
        let own = self.statistic(group, flow, visit);
        let measured = match &self.condition {
            Condition::Bounds { relative_to: Some(other), .. } => {
                let base =
                    groups.iter().find(|base| base.variant == other && base.point == group.point);
                let base = base.and_then(|base| {
                    self.statistic(base, flow, same_place(group, base, flow, visit))
                });
                own.zip(base).map(|(own, base)| own / base).filter(|ratio| ratio.is_finite())
            }
            _ => own,
        };
        let held = measured.is_some_and(|measured| match &self.condition {
            Condition::Bounds { above, below, .. } => {
                above.is_none_or(|above| measured > above)
                    && below.is_none_or(|below| measured < below)
            }
            Condition::Within { share, published } => (measured / published - 1.0).abs() <= *share,
        });
        Expectation { text, held: Some(held), measured }
    }

    /// The statistic; none where a run lacks the metric, since a median of the runs that ended well
    /// says too much.
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

/// `path.profile = geo-50-10, workload.download = 2 MB`
pub(crate) fn point_text(point: &Point) -> String {
    let parts: Vec<String> = point.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    parts.join(", ")
}

/// Each published figure beside the median that it is about.
pub(crate) fn compare(figures: &[Figure], summary: &[Summary]) -> Vec<Comparison> {
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
    use crate::testing::{TWO_VARIANTS, plan, results};

    fn judged(expect: &str) -> Vec<(String, Option<bool>)> {
        let text = TWO_VARIANTS.split("[[expect]]").next().unwrap_or_default();
        let results =
            results(&plan(&format!("{text}\n[[expect]]\nmetric = \"completion_s\"\n{expect}")));
        results.expectations.into_iter().map(|e| (e.text, e.held)).collect()
    }

    #[test]
    fn without_a_variant_or_a_point_all_of_them_are_judged() {
        let judged = judged("below = 100");
        assert_eq!(judged.len(), 4);
        assert!(judged.iter().all(|(_, held)| *held == Some(true)));
        assert_eq!(
            judged[0].0,
            "median completion_s of 1rtt at workload.download = 2 MB below 100"
        );
    }

    #[test]
    fn a_ratio_compares_at_the_same_point_and_never_to_itself() {
        let judged = judged("relative_to = \"1rtt\"\nbelow = 1\nabove = 0.5\nstatistic = \"p95\"");
        assert_eq!(judged.len(), 2);
        assert_eq!(
            judged[1].0,
            "95 % quantile completion_s of 0rtt at workload.download = 10 MB, over that of 1rtt, \
                between 0.5 and 1"
        );
        assert_eq!(judged[1].1, Some(true));
    }

    #[test]
    fn within_is_relative_to_what_was_published() {
        let at =
            "variant = \"1rtt\"\npoint = { \"workload.download\" = \"2 MB\" }\npublished = 5.0\n";
        assert_eq!(judged(&format!("{at}within = 0.1"))[0].1, Some(true));
        assert_eq!(judged(&format!("{at}within = \"0.1 %\""))[0].1, Some(false));
    }
}

//! `[[expect]]` and `[[published]]` of a scenario in the form that results use.

use crate::document::{Axis, is_run, plain_text};
use crate::scenario::{Expect, PointFilter, Scenario};
use bentpipe_results::{Condition, Figure, Point, Rule};
use serde_spanned::Spanned;

/// Returns the rules of the scenario, without those for points that are not run.
pub fn rules(scenario: &Scenario, axes: &[Axis<'_>]) -> Vec<Rule> {
    let expects = scenario.expect.iter().map(Spanned::get_ref);
    expects.filter(|expect| is_planned(&expect.point, axes)).map(rule).collect()
}

/// Returns the published figures of the scenario, without those for points that are not run.
pub fn figures(scenario: &Scenario, axes: &[Axis<'_>]) -> Vec<Figure> {
    let figures = scenario.published.iter().map(Spanned::get_ref);
    figures
        .filter(|figure| is_planned(&figure.point, axes))
        .map(|figure| Figure {
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

/// Returns true if the sweep runs `point`. A value that `--set` deselected is not run.
pub fn is_planned(point: &PointFilter, axes: &[Axis<'_>]) -> bool {
    point.iter().all(|(key, value)| is_run(axes, key.get_ref(), value.get_ref()))
}

fn rule(expect: &Expect) -> Rule {
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
    Rule {
        metric: expect.metric.get_ref().clone(),
        variant: text(&expect.variant),
        point: filter(&expect.point),
        flow: text(&expect.flow),
        visit: expect.visit.as_ref().map(|visit| *visit.get_ref()),
        statistic: expect.statistic,
        condition,
    }
}

fn filter(point: &PointFilter) -> Point {
    point.iter().map(|(key, value)| (key.get_ref().clone(), plain_text(value.get_ref()))).collect()
}

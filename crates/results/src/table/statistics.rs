//! Tables of statistics over runs: summary, expectations and published figures.

use super::builder::TableBuilder;
use super::column::Column;
use crate::document::Results;
use crate::flow_metrics::find_row;

/// Returns the unit of the metric called `name`.
fn unit(name: &str) -> Option<&'static str> {
    find_row(name).map(|row| row.unit)
}

pub(super) fn summary(results: &Results) -> Vec<Column<'_>> {
    TableBuilder::new(results.summary.iter())
        .text("variant", "Name of the variant.", |row| Some(&row.variant))
        .point(|row| &row.point)
        .text("flow", "Name of the flow, or `all` for a metric of all flows together.", |row| {
            Some(&row.flow)
        })
        .int("visit", "", "Number of the visit, from 1.", |row| Some(row.visit))
        .text("metric", "Name of the metric.", |row| Some(&row.metric))
        .text("unit", "Unit of the metric; empty for a ratio.", |row| unit(&row.metric))
        .int("n", "", "Number of runs in which the metric has a value.", |row| Some(row.n))
        .float("median", "", "Median.", |row| row.median)
        .float("p5", "", "5th percentile; null for one run.", |row| row.p5)
        .float("p95", "", "95th percentile; null for one run.", |row| row.p95)
        .float("mean", "", "Arithmetic mean.", |row| row.mean)
        .float("ci95_low", "", "Lower end of the 95 % confidence interval of the median.", |row| {
            row.ci95_low
        })
        .float("ci95_high", "", "Upper end of that interval.", |row| row.ci95_high)
        .finish()
}

pub(super) fn expectations(results: &Results) -> Vec<Column<'_>> {
    TableBuilder::new(results.expectations.iter())
        .text("text", "The expectation in words.", |row| Some(&row.text))
        .bool("passed", "Whether it passed; null if runs are missing.", |row| row.passed)
        .float("measured", "", "Statistic or ratio that was compared.", |row| row.measured)
        .finish()
}

pub(super) fn published(results: &Results) -> Vec<Column<'_>> {
    TableBuilder::new(results.published.iter())
        .text("label", "Short heading.", |row| Some(&row.label))
        .text("kind", "`objective` for a target, `measured` for a measurement.", |row| {
            Some(row.kind.name())
        })
        .text("metric", "Name of the metric.", |row| Some(&row.metric))
        .text("unit", "Unit of the metric; empty for a ratio.", |row| unit(&row.metric))
        .text("variant", "Name of the variant.", |row| Some(&row.variant))
        .point(|row| &row.point)
        .text("flow", "Name of the flow.", |row| Some(&row.flow))
        .int("visit", "", "Number of the visit, from 1.", |row| Some(row.visit))
        .float("value", "", "Published value, in the metric's unit.", |row| Some(row.value))
        .float("measured", "", "Median of the runs.", |row| row.measured)
        .float("ratio", "", "Median of the runs divided by the published value.", |row| row.ratio)
        .text("source", "Publication that the value is from.", |row| Some(&row.source))
        .finish()
}

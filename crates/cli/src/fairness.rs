//! Table of how competing flows shared a link.

use crate::output::paint;
use crate::table::{Align, Table, find, number, published, runs, short};
use bentpipe_lab::Plan;
use bentpipe_lab::fairness::{ALL_FLOWS, METRICS};
use bentpipe_lab::results::{Results, Summary};

/// Returns one row per variant and sweep point in which flows competed, next to published values;
/// `None` if no flows competed.
pub fn table(plan: &Plan, results: &Results, colour: bool) -> Option<String> {
    let rows: Vec<&Summary> = results
        .summary
        .iter()
        .filter(|row| row.flow == ALL_FLOWS && row.metric == METRICS[0].0)
        .collect();
    if rows.is_empty() {
        return None;
    }
    let mut table = Table::new(&[]);
    for (key, _) in &plan.sweep {
        table.column(short(key, plan), Align::Left);
    }
    table.column("variant".to_owned(), Align::Left);
    for head in
        ["runs", "Jain", "min/max %", "total Mbps", "utilisation", "queue ms", "convergence s"]
    {
        table.column(head.to_owned(), Align::Right);
    }
    let mut labels: Vec<(&str, &str)> = Vec::new();
    for figure in results.published.iter().filter(|figure| figure.flow == ALL_FLOWS) {
        if !labels.contains(&(&figure.label, &figure.metric)) {
            labels.push((&figure.label, &figure.metric));
        }
    }
    for (label, metric) in &labels {
        table.column(format!("{label} {metric}"), Align::Right);
        table.column("ratio".to_owned(), Align::Right);
    }
    for row in rows {
        let mut cells: Vec<String> = plan
            .sweep
            .iter()
            .map(|(key, _)| row.point.get(key).cloned().unwrap_or_default())
            .collect();
        cells.push(row.variant.clone());
        cells.push(runs(results, row));
        for (metric, _) in METRICS {
            cells.push(
                find(results, row, metric)
                    .and_then(|row| row.median)
                    .map_or("–".to_owned(), number),
            );
        }
        cells.extend(
            labels.iter().flat_map(|(label, metric)| published(results, row, label, metric)),
        );
        table.row(cells);
    }
    Some(format!(
        "{}\n{}",
        paint(colour, "1", "fairness of all flows together"),
        table.render(colour)
    ))
}

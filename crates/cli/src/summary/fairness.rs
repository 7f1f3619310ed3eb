//! How competing flows shared a link, as a table.

use super::cells::{Index, labels, number, point, published, short};
use crate::output::{Look, paint};
use crate::tables::{Align, Table};
use bentpipe_lab::Plan;
use bentpipe_results::fairness::ALL_FLOWS;
use bentpipe_results::metrics::SHARED;
use bentpipe_results::{Results, Summary, find_population};

/// One row for each variant and point with competing flows, beside the published figures; `None`
/// without any.
pub fn table(plan: &Plan, results: &Results, look: Look) -> Option<String> {
    let rows: Vec<&Summary> = results
        .summary
        .iter()
        .filter(|row| row.flow == ALL_FLOWS && row.metric == SHARED[0].row.name)
        .collect();
    if rows.is_empty() {
        return None;
    }
    let mut table = Table::new(&[]);
    for (key, _) in &plan.sweep {
        table.column(short(key, plan), Align::Left);
    }
    table.column("variant".to_owned(), Align::Left);
    table.column("runs".to_owned(), Align::Right);
    for metric in SHARED {
        table.column(metric.row.heading(), Align::Right);
    }
    let mut labels = labels(results, true);
    labels.retain(|(_, metric)| find_population(metric).is_none());
    for (label, metric) in &labels {
        table.column(format!("{label} {metric}"), Align::Right);
        table.column("ratio".to_owned(), Align::Right);
    }
    let index = Index::new(results);
    for row in rows {
        let mut cells = point(plan, row);
        cells.push(row.variant.clone());
        cells.push(index.runs(row));
        for metric in SHARED {
            cells.push(
                index
                    .find(row, metric.row.name)
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
        paint(look.colour, "1", "fairness: shares of all flows together"),
        table.fitted(look)
    ))
}

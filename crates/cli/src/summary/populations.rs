//! Populations of users, as a table.

use super::cells::{Index, labels, number, point, published, short};
use crate::output::{Look, paint};
use crate::tables::{Align, Table};
use bentpipe_lab::Plan;
use bentpipe_results::{Results, Summary, find_population, is_size_class};

/// Metric of which each row of the table has one row in the summary.
const FIRST: &str = "users";
/// Columns of the table: metric and heading.
const COLUMNS: [(&str, &str); 11] = [
    ("mean_completion_s", "mean s"),
    ("median_completion_s", "median s"),
    ("p95_completion_s", "p95 s"),
    ("p99_completion_s", "p99 s"),
    ("mean_slowdown", "mean slowdown"),
    ("p95_slowdown", "p95 slowdown"),
    ("slowdown_jain_index", "Jain's index"),
    ("population_goodput_mbps", "goodput Mbps"),
    ("goodput_share_percent", "share %"),
    ("packets_dropped", "dropped"),
    ("dropped_percent", "dropped %"),
];

/// Columns that the table has if a population has a value for them: those of groups of `bulk`, of
/// calls and of adaptive video.
const SOME_COLUMNS: [(&str, &str); 8] = [
    ("link_share_percent", "share of the link %"),
    ("median_mos", "median MOS"),
    ("p5_mos", "p5 MOS"),
    ("median_frame_delay_ms", "median frame delay ms"),
    ("p95_frame_delay_ms", "p95 frame delay ms"),
    ("stalled_users_percent", "users with stalls %"),
    ("mean_stall_percent", "stalled %"),
    ("median_bitrate_kbps", "median bitrate kbps"),
];

/// One row for each population or share of each variant and point, beside the published figures;
/// `None` without any. Figures are medians over the runs.
pub fn table(plan: &Plan, results: &Results, look: Look) -> Option<String> {
    let rows: Vec<&Summary> = results
        .summary
        .iter()
        .filter(|row| row.metric == FIRST && !is_size_class(&row.flow))
        .collect();
    let first = rows.first()?;
    let mut table = Table::new(&[]);
    for (key, _) in &plan.sweep {
        table.column(short(key, plan), Align::Left);
    }
    table.column("variant".to_owned(), Align::Left);
    table.column("population".to_owned(), Align::Left);
    table.column("visit".to_owned(), Align::Right);
    table.column("runs".to_owned(), Align::Right);
    table.column("users".to_owned(), Align::Right);
    table.column("completed %".to_owned(), Align::Right);
    let index = Index::new(results);
    let has = |metric: &'static str| {
        rows.iter().any(|row| index.find(row, metric).is_some_and(|row| row.median.is_some()))
    };
    let some = SOME_COLUMNS.into_iter().filter(|&(metric, _)| has(metric));
    let columns: Vec<(&'static str, &str)> = COLUMNS.into_iter().chain(some).collect();
    for &(_, heading) in &columns {
        table.column(heading.to_owned(), Align::Right);
    }
    let labels: Vec<(&str, &str)> = [false, true]
        .into_iter()
        .flat_map(|shared| labels(results, shared))
        .filter(|(_, metric)| find_population(metric).is_some())
        .collect();
    for (label, metric) in &labels {
        table.column(format!("{label} {metric}"), Align::Right);
        table.column("ratio".to_owned(), Align::Right);
    }
    let visits = rows.iter().any(|row| row.visit != first.visit);
    for row in &rows {
        let median = |metric| index.find(row, metric).and_then(|row| row.median);
        let mut cells = point(plan, row);
        cells.push(row.variant.clone());
        cells.push(row.flow.clone());
        cells.push(if visits { row.visit.to_string() } else { String::new() });
        cells.push(index.runs(row));
        cells.push(median(FIRST).map_or("–".to_owned(), |users| format!("{users:.0}")));
        // Shown only if transfers are missing.
        let completed = median("completed_percent").filter(|percent| *percent < 100.0);
        cells.push(completed.map_or(String::new(), number));
        for &(metric, _) in &columns {
            let whole = metric == "packets_dropped";
            cells.push(median(metric).map_or("–".to_owned(), |value| match whole {
                true => format!("{value:.0}"),
                false => number(value),
            }));
        }
        cells.extend(
            labels.iter().flat_map(|(label, metric)| published(results, row, label, metric)),
        );
        table.row(cells);
    }
    Some(format!(
        "{}\n{}",
        paint(look.colour, "1", "populations: all users of a run, medians over the runs"),
        table.fitted(look)
    ))
}

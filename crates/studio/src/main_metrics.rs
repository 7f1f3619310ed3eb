//! The main metrics of a run, for the table beside its report.

use bentpipe_results::{MAIN_METRICS, Results, Summary};

/// Largest number of rows of that table; the report has all.
const MAX_ROWS: usize = 600;

/// Returns the rows of the main metrics.
pub fn main_metrics(results: &Results) -> Vec<Summary> {
    let rows = results.summary.iter();
    let main =
        rows.filter(|row| MAIN_METRICS.contains(&row.metric.as_str()) && row.median.is_some());
    main.take(MAX_ROWS).cloned().collect()
}

//! The main metrics of a run, for the table beside its report.

use bentpipe_results::{Results, Summary};

/// Metrics of the table beside the report.
const HEADLINES: [&str; 6] = [
    "completion_s",
    "goodput_mbps",
    "first_byte_s",
    "packets_lost_queue",
    "rtt_p99_ms",
    "reverse_bytes",
];
/// Largest number of rows of that table; the report has all.
const MAX_ROWS: usize = 600;

/// Returns the rows of the main metrics.
pub fn main_metrics(results: &Results) -> Vec<Summary> {
    let rows = results.summary.iter();
    let main = rows.filter(|row| HEADLINES.contains(&row.metric.as_str()) && row.median.is_some());
    main.take(MAX_ROWS).cloned().collect()
}

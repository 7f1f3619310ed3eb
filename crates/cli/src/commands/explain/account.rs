//! An account as rows of a table and as JSON.

use crate::tables::{Align, Table};
use bentpipe_results::explanation::{Account, statement};
use bentpipe_timeseries::TimePart;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Smallest time in a table, in seconds, and as a share of the longest completion time.
pub(super) const SMALLEST: (f64, f64) = (0.0005, 0.002);

/// Returns a table with a row for each part and a column for each account.
pub(super) fn table(group: &[&Account<'_>], visits: bool) -> String {
    let mut table = Table::new(&[("time, s", Align::Left)]);
    for account in group {
        let visit = if visits { format!(" visit {}", account.visit) } else { String::new() };
        table.column(format!("{}{visit}", account.variant), Align::Right);
    }
    let longest = group.iter().map(|account| account.completion_s).fold(0.0, f64::max);
    let least = SMALLEST.0.max(SMALLEST.1 * longest);
    for (index, part) in TimePart::ALL.into_iter().enumerate() {
        let times: Vec<f64> =
            group.iter().filter_map(|account| account.parts.get(index).copied()).collect();
        if times.iter().all(|time| *time < least) {
            continue;
        }
        let mut cells = vec![part.label().to_owned()];
        cells.extend(times.iter().map(|time| format!("{time:.3}")));
        table.row(cells);
    }
    let mut cells = vec!["Completion time".to_owned()];
    cells.extend(group.iter().map(|account| format!("{:.3}", account.completion_s)));
    table.row(cells);
    table.render(false)
}

/// An account: of a transfer, or of the runs of a variant.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AccountDocument {
    /// Name of the variant; of a file `recorded` or `bentpipe`.
    variant: String,
    /// Values of the sweep, by key.
    point: BTreeMap<String, String>,
    /// Name of the flow.
    flow: String,
    /// 1, or 2 for the second visit.
    visit: usize,
    /// Number of runs.
    runs: usize,
    /// Name of the metric.
    metric: &'static str,
    /// Its median.
    value: f64,
    /// Median of the completion time.
    completion_s: f64,
    /// The parts of that time, those that have any.
    time_budget: BTreeMap<&'static str, f64>,
    /// Keys of `time_budget` that make a transfer slow, those with most time first.
    causes: Vec<&'static str>,
    /// Packets that were lost, by place. A file does not say places: zero.
    packets_lost: PacketsLost,
    /// All of it in a sentence.
    pub text: String,
}

/// Packets that were lost, by place.
#[derive(Debug, Serialize, JsonSchema)]
struct PacketsLost {
    /// On the channel.
    channel: f64,
    /// At a full queue.
    queue: f64,
    /// At a policer.
    policer: f64,
    /// Without a route.
    routing: f64,
}

/// Returns an account as JSON.
pub(super) fn document(account: &Account<'_>) -> AccountDocument {
    AccountDocument {
        variant: account.variant.to_owned(),
        point: account.point.clone(),
        flow: account.flow.to_owned(),
        visit: account.visit,
        runs: account.values.len(),
        metric: account.row.name,
        value: account.value(),
        completion_s: account.completion_s,
        time_budget: account.times().map(|(part, time)| (part.name(), time)).collect(),
        causes: account.longest_parts(false).iter().map(|(part, _)| part.name()).collect(),
        packets_lost: PacketsLost {
            channel: account.losses.channel,
            queue: account.losses.queue,
            policer: account.losses.policer,
            routing: account.losses.routing,
        },
        text: statement(account),
    }
}

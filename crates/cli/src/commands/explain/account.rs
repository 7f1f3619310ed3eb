//! An account as rows of a table and as JSON.

use crate::tables::{Align, Table};
use bentpipe_results::explanation::{Account, statement};
use bentpipe_timeseries::TimePart;
use serde_json::{Value, json};

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

/// Returns an account as JSON.
pub(super) fn document(account: &Account<'_>) -> Value {
    let parts: serde_json::Map<String, Value> =
        account.times().map(|(part, time)| (part.name().to_owned(), json!(time))).collect();
    json!({
        "variant": account.variant,
        "point": account.point,
        "flow": account.flow,
        "visit": account.visit,
        "runs": account.values.len(),
        "metric": account.row.name,
        "value": account.value(),
        "completion_s": account.completion_s,
        "time_budget": parts,
        "causes": account
            .longest_parts(false)
            .iter()
            .map(|(part, _)| part.name())
            .collect::<Vec<_>>(),
        "packets_lost": {
            "channel": account.losses.channel,
            "queue": account.losses.queue,
            "policer": account.losses.policer,
            "routing": account.losses.routing,
        },
        "text": statement(account),
    })
}

//! Two files: what changed from one to the other.

use super::super::account::{document, table};
use super::explained::Explained;
use super::words::{Ends, data, statement};
use crate::output;
use bentpipe_lab::LabError;
use bentpipe_results::Point;
use bentpipe_results::explanation::{Account, difference};
use serde_json::json;
use std::fmt::Write;

/// Names of the two.
const NAMES: [&str; 2] = ["before", "after"];

/// Says where the time of each went, and what made the difference.
pub(super) fn run(before: &Explained, after: &Explained, as_json: bool) -> Result<u8, LabError> {
    let point = Point::new();
    let account = |name, one: &Explained| {
        let parts = one.recorded.budget.parts().map(|(_, seconds)| seconds).collect();
        Account::single(name, &point, one.recorded.completion.as_secs_f64(), parts)
    };
    let accounts = [account(NAMES[0], before), account(NAMES[1], after)];
    let found = difference(&accounts[0], &accounts[1]);
    let words = found.text_with(NAMES[0]);
    if as_json {
        let reasons = found
            .reasons
            .iter()
            .map(|reason| (reason.part.name().to_owned(), json!(reason.more_s)));
        let document = json!({
            "transfers": accounts.iter().map(document).collect::<Vec<_>>(),
            "more_s": reasons.collect::<serde_json::Map<_, _>>(),
            "text": format!("{} {words}", NAMES[1]),
        });
        return output::document(&format!("{document:#}\n"));
    }
    let mut text = String::new();
    for (name, one) in NAMES.into_iter().zip([before, after]) {
        let title = output::printable(&one.trace.title);
        let _ = writeln!(text, "{name}: {title}, {}", data(one.recorded.bytes));
    }
    let _ = write!(text, "\n{}\n", table(&accounts.iter().collect::<Vec<_>>(), false));
    for (name, one) in NAMES.into_iter().zip([before, after]) {
        let ends = Ends::of(one.trace.transport, one.side, &one.recorded);
        let _ = writeln!(text, "{name} {}", statement(&one.recorded, &ends));
    }
    let _ = writeln!(text, "{} {words}", NAMES[1]);
    let sizes = [before, after].map(|one| one.recorded.bytes.get() as f64);
    if (sizes[0] / sizes[1].max(1.0) - 1.0).abs() > 0.01 {
        text.push_str("\nnote: the two transfers have different amounts of data\n");
    }
    output::print(&text)
}

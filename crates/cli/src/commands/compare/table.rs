//! A comparison as text.

use crate::output::{Look, counted, paint};
use crate::tables::{Align, Table};
use bentpipe_results::comparison::{Change, ComparisonReport, Finding, Origin, Side, percent};
use std::fmt::Write;

/// Most rows of the table.
const MAX_ROWS: usize = 500;
/// Most missing cases that are listed.
const MAX_MISSING: usize = 20;

/// Returns all that `bentpipe compare` prints.
pub fn text(report: &ComparisonReport, look: Look) -> String {
    let mut text = origin("before", &report.before) + &origin("after ", &report.after);
    let runs = if report.paired { "runs paired by number" } else { "independent runs" };
    let _ = writeln!(
        text,
        "{}, {runs}; level {} over all, tolerance {}\n",
        counted(report.tests, "test"),
        percent(report.level),
        percent(report.tolerance)
    );
    let rows = rows(report);
    text.push_str(&table(&rows, look));
    if report.changes.len() > rows.len() {
        let more = report.changes.len() - rows.len();
        let _ = writeln!(text, "and {more} more rows without a change: see --json or --html");
    }
    for change in rows.iter().filter(|change| change.note.is_some()).take(MAX_MISSING) {
        let note = change.note.as_deref().unwrap_or_default();
        let _ = write!(text, "\nnot tested: {}, {}: {note}", change.case, change.metric);
    }
    for missing in report.missing.iter().take(MAX_MISSING) {
        let side = match missing.missing {
            Side::Before => "only after",
            Side::After => "only before",
        };
        let _ = write!(text, "\nmissing: {} is {side}", missing.case);
    }
    if report.missing.len() > MAX_MISSING {
        let _ = write!(text, "\nmissing: {} more cases", report.missing.len() - MAX_MISSING);
    }
    for note in &report.notes {
        let _ = write!(text, "\nnote: {note}");
    }
    let regressed = report.count(Finding::Regression) > 0;
    let counts = paint(look.colour, if regressed { "31" } else { "32" }, &report.counts_text());
    let _ = writeln!(text, "\n{counts}");
    text
}

fn origin(side: &str, origin: &Origin) -> String {
    let commit = origin.commit.as_ref().map(|commit| format!(" ({commit})")).unwrap_or_default();
    format!(
        "{side}  {}: {}, seed {}, Bentpipe {}{commit}\n",
        origin.source, origin.scenario, origin.seed, origin.version
    )
}

/// Returns the rows to show: all, or the changed ones first if there are too many.
fn rows(report: &ComparisonReport) -> Vec<&Change> {
    let mut rows: Vec<&Change> = report.changes.iter().collect();
    if rows.len() > MAX_ROWS {
        let weight =
            |change: &&Change| Finding::ALL.iter().position(|finding| *finding == change.finding);
        rows.sort_by_key(weight);
        rows.truncate(MAX_ROWS);
    }
    rows
}

fn table(rows: &[&Change], look: Look) -> String {
    let mut keys: Vec<&str> = Vec::new();
    for key in rows.iter().flat_map(|change| change.case.point.keys()) {
        if !keys.contains(&key.as_str()) {
            keys.push(key);
        }
    }
    let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    let mut table = Table::new(&[]);
    for key in &keys {
        let ambiguous = keys.iter().filter(|other| last(other) == last(key)).count() > 1;
        table.column(if ambiguous { (*key).to_owned() } else { last(key) }, Align::Left);
    }
    for (head, align) in [
        ("variant", Align::Left),
        ("flow", Align::Left),
        ("visit", Align::Right),
        ("metric", Align::Left),
        ("runs", Align::Right),
        ("median before", Align::Right),
        ("median after", Align::Right),
        ("mean change (interval)", Align::Left),
        ("typical change (interval)", Align::Left),
        ("adjusted p", Align::Right),
        ("finding", Align::Left),
    ] {
        table.column(head.to_owned(), align);
    }
    let several =
        |read: &dyn Fn(&Change) -> String| rows.iter().any(|change| read(change) != read(rows[0]));
    let flows = several(&|change| change.case.flow.clone());
    let visits = several(&|change| change.case.visit.to_string());
    for change in rows {
        let case = &change.case;
        let mut cells: Vec<String> =
            keys.iter().map(|key| case.point.get(*key).cloned().unwrap_or_default()).collect();
        cells.extend([
            case.variant.clone(),
            if flows { case.flow.clone() } else { String::new() },
            if visits { case.visit.to_string() } else { String::new() },
            change.metric.clone(),
            change.runs_text(),
            change.value_text(&change.before),
            change.value_text(&change.after),
            change.mean.map(|estimate| estimate.to_string()).unwrap_or_default(),
            change.typical.map(|estimate| estimate.to_string()).unwrap_or_default(),
            change.p_text(),
            change.finding.name().to_owned(),
        ]);
        table.row(cells);
    }
    table.fitted(look)
}

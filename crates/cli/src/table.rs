//! Results as a table.

use crate::output::paint;
use crate::{fairness, settings_table};
use bentpipe_lab::{Plan, Recorded};
use bentpipe_results::fairness::ALL_FLOWS;
use bentpipe_results::{PathSummary, Results, Summary};
use std::fmt::Write;

/// On which side a column's cells stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// Text in columns.
#[derive(Debug)]
pub struct Table {
    heads: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    pub fn new(heads: &[(&str, Align)]) -> Self {
        Self {
            heads: heads.iter().map(|(head, align)| ((*head).to_owned(), *align)).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a column at the right; rows that are there have nothing in it.
    pub fn column(&mut self, head: String, align: Align) {
        self.heads.push((head, align));
    }

    /// Adds a row; cells that are missing at its end are empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The table as text. Columns without a single cell are left out.
    pub fn render(&self, colour: bool) -> String {
        let cell = |row: &[String], column: usize| row.get(column).cloned().unwrap_or_default();
        let used = |column: &usize| self.rows.iter().any(|row| !cell(row, *column).is_empty());
        let columns: Vec<usize> = (0..self.heads.len()).filter(used).collect();
        let heads: Vec<String> = self.heads.iter().map(|(head, _)| head.clone()).collect();
        let width = |column: usize| {
            let rows = self.rows.iter().map(|row| cell(row, column));
            rows.chain([cell(&heads, column)])
                .map(|text| text.chars().count())
                .max()
                .unwrap_or_default()
        };
        let widths: Vec<usize> = columns.iter().map(|&column| width(column)).collect();
        let line = |row: &[String]| {
            let mut line = String::new();
            for (&column, &width) in columns.iter().zip(&widths) {
                let text = cell(row, column);
                match self.heads[column].1 {
                    Align::Left => _ = write!(line, "{text:<width$}  "),
                    Align::Right => _ = write!(line, "{text:>width$}  "),
                }
            }
            line.trim_end().to_owned()
        };
        let mut text = paint(colour, "1", &line(&heads)) + "\n";
        for row in &self.rows {
            text.push_str(&line(row));
            text.push('\n');
        }
        text
    }
}

/// Everything that `bentpipe run` prints about a scenario.
pub fn results(plan: &Plan, recorded: &Recorded, colour: bool) -> String {
    let results = &recorded.results;
    let mut text = format!("{}, seed {}\n", paint(colour, "1", &plan.title), plan.seed);
    let mut paths: Vec<&PathSummary> = plan.cases.iter().map(|case| &case.path).collect();
    paths.dedup();
    if let [first, rest @ ..] = paths.as_slice() {
        // A sweep of the path makes many: the first stands for them, the table tells them apart.
        text.push_str(&path_text(first));
        if !rest.is_empty() {
            let _ = writeln!(text, "  (the first of {} paths)", paths.len());
        }
    }
    text.push('\n');
    text.push_str(&settings_table::text(plan, colour));
    text.push('\n');
    text.push_str(&summary(plan, results, colour));
    if let Some(table) = fairness::table(plan, results, colour) {
        text.push('\n');
        text.push_str(&table);
    }
    for note in &recorded.notes {
        let _ = write!(text, "\nnote: {note}\n");
    }
    if !results.expectations.is_empty() {
        text.push('\n');
    }
    for expectation in &results.expectations {
        let verdict = match expectation.passed {
            Some(true) => paint(colour, "32", "passed"),
            Some(false) => paint(colour, "31", "FAILED"),
            None => paint(colour, "33", "no run"),
        };
        let measured = match (expectation.measured, expectation.passed) {
            (Some(value), _) => format!(" (measured {})", number(value)),
            (None, Some(_)) => " (some runs have no such value)".to_owned(),
            (None, None) => String::new(),
        };
        let _ = writeln!(text, "{verdict}  {}{measured}", expectation.text);
    }
    if let Some(directory) = &recorded.directory {
        let _ = write!(text, "\nreport: {}\n", directory.join("report.html").display());
    }
    text
}

fn path_text(path: &PathSummary) -> String {
    let mut text = format!(
        "{}, {} ms, BDP {:.3} MB\n",
        path.name,
        number(path.rtt_ms),
        path.bdp_bytes as f64 / 1e6
    );
    let width = path.hops.iter().map(|hop| hop.name.chars().count()).max().unwrap_or_default();
    for hop in &path.hops {
        let _ = writeln!(text, "  {:<width$}  forward {}", hop.name, hop.forward);
        let _ = writeln!(text, "  {:<width$}  return  {}", "", hop.reverse);
    }
    text
}

/// One row for each variant, point, flow and visit, with what was published beside it.
fn summary(plan: &Plan, results: &Results, colour: bool) -> String {
    let mut table = Table::new(&[]);
    for (key, _) in &plan.sweep {
        table.column(short(key, plan), Align::Left);
    }
    for (head, align) in [
        ("variant", Align::Left),
        ("flow", Align::Left),
        ("visit", Align::Right),
        ("runs", Align::Right),
        ("completion s", Align::Right),
        ("95 % interval", Align::Left),
        ("first byte s", Align::Right),
        ("goodput Mbps", Align::Right),
        ("lost", Align::Right),
    ] {
        table.column(head.to_owned(), align);
    }
    let mut labels: Vec<(&str, &str)> = Vec::new();
    for figure in results.published.iter().filter(|figure| figure.flow != ALL_FLOWS) {
        if !labels.contains(&(&figure.label, &figure.metric)) {
            labels.push((&figure.label, &figure.metric));
        }
    }
    for (label, metric) in &labels {
        let unit = if *metric == "completion_s" { String::new() } else { format!(" {metric}") };
        table.column(format!("{label}{unit}"), Align::Right);
        table.column("ratio".to_owned(), Align::Right);
    }
    let completions: Vec<&Summary> =
        results.summary.iter().filter(|row| row.metric == "completion_s").collect();
    let several = |read: &dyn Fn(&Summary) -> String| {
        completions.iter().any(|row| read(row) != read(completions[0]))
    };
    let flows = several(&|row| row.flow.clone());
    // One visit of each flow needs no number, whichever it is.
    let visits = completions.windows(2).any(|pair| {
        pair[0].variant == pair[1].variant
            && pair[0].point == pair[1].point
            && pair[0].flow == pair[1].flow
    });
    for row in &completions {
        let mut cells: Vec<String> = plan
            .sweep
            .iter()
            .map(|(key, _)| row.point.get(key).cloned().unwrap_or_default())
            .collect();
        cells.push(row.variant.clone());
        cells.push(if flows { row.flow.clone() } else { String::new() });
        cells.push(if visits { row.visit.to_string() } else { String::new() });
        cells.push(runs(results, row));
        cells.push(row.median.map_or("–".to_owned(), number));
        cells.push(match (row.ci95_low, row.ci95_high) {
            (Some(low), Some(high)) => format!("{} – {}", number(low), number(high)),
            _ => String::new(),
        });
        for metric in ["first_byte_s", "goodput_mbps", "packets_declared_lost"] {
            let median = find(results, row, metric).and_then(|row| row.median);
            let whole = metric == "packets_declared_lost";
            cells.push(median.map_or("–".to_owned(), |value| {
                if whole { format!("{value:.0}") } else { number(value) }
            }));
        }
        cells.extend(
            labels.iter().flat_map(|(label, metric)| published(results, row, label, metric)),
        );
        table.row(cells);
    }
    table.render(colour)
}

/// What was published under `label` of `metric` for the case of `row`, and our figure in units of
/// it; two empty cells where nothing was.
pub(crate) fn published(
    results: &Results,
    row: &Summary,
    label: &str,
    metric: &str,
) -> [String; 2] {
    let figure = results.published.iter().find(|figure| {
        figure.label == label
            && figure.metric == metric
            && figure.variant == row.variant
            && figure.point == row.point
            && figure.flow == row.flow
            && figure.visit == row.visit
    });
    let ratio = figure.and_then(|figure| figure.ratio);
    [
        figure.map_or_else(String::new, |figure| figure.value.to_string()),
        ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}")),
    ]
}

/// `20`, or `18/20` where not all transfers completed.
pub(crate) fn runs(results: &Results, row: &Summary) -> String {
    let all = results
        .runs
        .iter()
        .filter(|run| run.variant == row.variant && run.point == row.point)
        .count() as u64;
    if row.n == all { all.to_string() } else { format!("{}/{all}", row.n) }
}

/// The statistics of another metric beside `row`.
pub(crate) fn find<'a>(results: &'a Results, row: &Summary, metric: &str) -> Option<&'a Summary> {
    results.summary.iter().find(|other| {
        other.metric == metric
            && other.variant == row.variant
            && other.point == row.point
            && other.flow == row.flow
            && other.visit == row.visit
    })
}

/// The last part of a swept key, or the whole where another ends the same.
pub(crate) fn short(key: &str, plan: &Plan) -> String {
    let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    let same = plan.sweep.iter().filter(|(other, _)| last(other) == last(key)).count();
    if same > 1 { key.to_owned() } else { last(key) }
}

/// Four significant figures or so, without an exponent.
pub(crate) fn number(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 1000.0 => 0,
        size if size >= 100.0 => 1,
        size if size >= 10.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_lab::{Changes, CompletedRun, RunError, record};
    use bentpipe_sim::{Direction, FlowOutcome, PathOutcome, ReturnBytes, RunOutcome, RunSpec};
    use bentpipe_units::{Span, Time};
    use std::num::NonZeroUsize;
    use std::path::Path;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn columns_line_up_and_empty_ones_are_left_out() {
        let mut table =
            Table::new(&[("name", Align::Left), ("none", Align::Left), ("n", Align::Right)]);
        table.row(["é".to_owned(), String::new(), "1".to_owned()]);
        table.row(["longer".to_owned(), String::new(), "100".to_owned()]);
        assert_eq!(table.render(false), "name      n\né         1\nlonger  100\n");
    }

    #[test]
    fn numbers_keep_four_figures() {
        assert_eq!(
            ["7140.2", "797.04", "20.004", "3.1234"]
                .map(|text| number(text.parse().unwrap_or(0.0))),
            ["7140", "797.0", "20.00", "3.123"]
        );
    }

    /// Answers at once: a transfer takes seven seconds, and a little longer each run.
    struct Fake;

    impl bentpipe_lab::Runner for Fake {
        fn run(&self, spec: &RunSpec, _: &str, _: &AtomicBool) -> Result<CompletedRun, RunError> {
            let mut outcome = RunOutcome {
                flows: vec![],
                links: vec![],
                trace: None,
                qlog: vec![],
                capture: None,
                events: 0,
                end: Time::ZERO,
            };
            for flow in &spec.flows {
                let visit = flow.visits.len();
                let trips = if visit == 2 { 9 } else { 10 };
                let completion = spec.base_rtt * trips + Span::from_millis(spec.run * 7);
                let completed = spec.run != 3;
                outcome.flows.push(FlowOutcome {
                    name: flow.name.clone(),
                    visit,
                    transport: "quic",
                    congestion: "cubic".to_owned(),
                    connections: 1,
                    direction: Direction::Download,
                    bytes: flow.visits[visit - 1].objects[0].bytes.get(),
                    received_by_tenth: Vec::new(),
                    received: flow.visits[visit - 1].objects[0].bytes.get(),
                    completed,
                    start: Time::ZERO,
                    handshake: Some(spec.base_rtt),
                    first_byte: Some(spec.base_rtt * 2),
                    completion: completed.then_some(completion),
                    packets_sent: 1000,
                    bytes_sent: 1_100_000,
                    packets_lost_policer: 0,
                    packets_lost_queue: 0,
                    packets_lost_random: 12,
                    packets_lost_route: 0,
                    packets_declared_lost: Some(12),
                    flow_control_blocked: None,
                    flow_control_blocked_longest: None,
                    credit: None,
                    return_packets: 500,
                    return_bytes: ReturnBytes::default(),
                    acknowledgements: None,
                    rtt_min: None,
                    rtt_mean: None,
                    rtt_p99: None,
                    path: PathOutcome::default(),
                    pep: None,
                    objects: vec![],
                    error: None,
                });
            }
            Ok(outcome.into())
        }
    }

    const SCENARIO: &str = r#"
name = "table"
title = "A table"
repeat = 8
[path]
profile = "geo-50-10"
forward = { loss = 0.001 }
[workload]
download = "10 MB"
[[variant]]
name = "1rtt"
[[variant]]
name = "0rtt"
handshake = "0rtt"
[sweep]
"path.forward.loss" = [0.0, 0.001]
[[expect]]
metric = "completion_s"
variant = "0rtt"
relative_to = "1rtt"
below = 0.95
[[published]]
label = "objective"
kind = "objective"
metric = "completion_s"
value = 5.0
source = "a test"
[output]
time_series = "none"
"#;

    #[test]
    fn a_table_shows_ours_beside_what_was_published() {
        let plan = Plan::parse("t.toml", SCENARIO, Path::new("."), &Changes::default()).unwrap();
        let place = tempfile::tempdir().unwrap();
        let never = AtomicBool::new(false);
        let target = place.path().join("run");
        let recorded = record(&plan, &Fake, &target, NonZeroUsize::MIN, &never, &|_| {}).unwrap();
        let text =
            results(&plan, &recorded, false).replace(&place.path().display().to_string(), "OUT");
        insta::assert_snapshot!(text);
        assert!(results(&plan, &recorded, true).contains("\u{1b}[31mFAILED"));
    }
}

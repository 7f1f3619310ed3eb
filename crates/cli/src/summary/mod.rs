//! Results as text: path, settings, tables, notes and expectations.

mod best;
pub mod cells;
mod fairness;
mod flows;
mod populations;
pub mod sentences;
mod settings;

use crate::output::{Look, paint};
use bentpipe_lab::{Plan, Recorded};
use bentpipe_results::{Expectation, PathSummary};
use cells::number;
use std::fmt::Write;

/// Returns all that `bentpipe run` prints about a scenario.
/// `full`: every row of a sweep and every expectation, instead of the best variants and of those
/// that are not met.
pub fn results(plan: &Plan, recorded: &Recorded, look: Look, full: bool) -> String {
    let results = &recorded.results;
    let mut text = format!("{}, seed {}\n", paint(look.colour, "1", &plan.title), plan.seed);
    let mut paths: Vec<&PathSummary> = plan.cases.iter().map(|case| &case.path).collect();
    paths.dedup();
    if let [first, rest @ ..] = paths.as_slice() {
        // A sweep may have many paths. The first is shown, and the table distinguishes the others.
        text.push_str(&path_text(first));
        if !rest.is_empty() {
            let _ = writeln!(text, "  (the first of {} paths)", paths.len());
        }
    }
    text.push('\n');
    text.push_str(&settings::text(plan, look));
    text.push('\n');
    let mut tables = flows::tables(plan, results, look, full);
    tables.extend(populations::table(plan, results, look));
    tables.extend(fairness::table(plan, results, look));
    text.push_str(&tables.join("\n"));
    let failures = sentences::failures(results);
    if !failures.is_empty() {
        if !tables.is_empty() {
            text.push('\n');
        }
        text.push_str(&failures);
    }
    let sentences = sentences::sentences(results);
    if !sentences.is_empty() {
        text.push('\n');
        text.push_str(&sentences);
    }
    for note in &recorded.notes {
        let _ = write!(text, "\nnote: {note}\n");
    }
    if !results.expectations.is_empty() {
        text.push('\n');
    }
    text.push_str(&expectations(&results.expectations, look, full));
    if let Some(directory) = &recorded.directory {
        let _ = write!(text, "\nreport: {}\n", directory.join("report.html").display());
    }
    text
}

/// Most expectations of which each has a line although it is met.
const MAX_EXPECTATIONS: usize = 12;

/// Returns a line for each expectation, or, of many, for each that is not met and one for the rest.
pub fn expectations(all: &[Expectation], look: Look, full: bool) -> String {
    let short = !full && all.len() > MAX_EXPECTATIONS;
    let mut text = String::new();
    let (mut passed, mut without) = (0, 0);
    for expectation in all {
        let verdict = match expectation.passed {
            Some(true) => paint(look.colour, "32", "passed"),
            Some(false) => paint(look.colour, "31", "FAILED"),
            None => paint(look.colour, "33", "no run"),
        };
        match expectation.passed {
            Some(true) => passed += 1,
            None => without += 1,
            Some(false) => {}
        }
        if short && expectation.passed != Some(false) {
            continue;
        }
        let measured = match (expectation.measured, expectation.passed) {
            (Some(value), _) => format!(" (measured {})", number(value)),
            (None, Some(_)) => " (some runs have no value)".to_owned(),
            (None, None) => String::new(),
        };
        let _ = writeln!(text, "{verdict}  {}{measured}", expectation.text);
    }
    if short {
        let label = paint(look.colour, if passed == all.len() { "32" } else { "33" }, "passed");
        let none = if without > 0 { format!("; {without} have no run") } else { String::new() };
        let _ = writeln!(text, "{label}  {passed} of {} expectations{none}", all.len());
    }
    text
}

fn path_text(path: &PathSummary) -> String {
    // Milliseconds of delays in space are hard to read.
    let rtt = match path.rtt_ms {
        ms if ms >= 10_000.0 => format!("{} s", number(ms / 1e3)),
        ms => format!("{} ms", number(ms)),
    };
    let mut text = format!("{}, {rtt}, BDP {:.3} MB\n", path.name, path.bdp_bytes as f64 / 1e6);
    let width = path.hops.iter().map(|hop| hop.name.chars().count()).max().unwrap_or_default();
    for hop in &path.hops {
        let _ = writeln!(text, "  {:<width$}  forward {}", hop.name, hop.forward);
        let _ = writeln!(text, "  {:<width$}  return  {}", "", hop.reverse);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::{Align, Table};
    use bentpipe_lab::{Changes, Options, RunError, Threads, record};
    use bentpipe_sim::{FlowOutcome, RunOutcome, RunSpec};
    use bentpipe_units::{Span, Time};
    use std::num::NonZeroUsize;
    use std::path::Path;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn columns_are_aligned_and_empty_ones_omitted() {
        let mut table =
            Table::new(&[("name", Align::Left), ("none", Align::Left), ("n", Align::Right)]);
        table.row(["é".to_owned(), String::new(), "1".to_owned()]);
        table.row(["longer".to_owned(), String::new(), "100".to_owned()]);
        assert_eq!(table.render(false), "name      n\né         1\nlonger  100\n");
    }

    #[test]
    fn numbers_have_four_significant_digits() {
        assert_eq!(
            ["7140.2", "797.04", "20.004", "3.1234"]
                .map(|text| number(text.parse().unwrap_or(0.0))),
            ["7140", "797.0", "20.00", "3.123"]
        );
    }

    /// A runner without a simulation. Transfers take seven seconds, and a little longer in each
    /// run.
    struct Fake;

    impl bentpipe_lab::Runner for Fake {
        fn run(&self, spec: &RunSpec, _: &str, _: &AtomicBool) -> Result<RunOutcome, RunError> {
            let mut outcome = RunOutcome {
                flows: vec![],
                links: vec![],
                trace: None,
                qlog: vec![],
                capture: None,
                events: 0,
                end: Time::ZERO,
                emulation: None,
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
                    bytes: flow.visits[visit - 1].objects[0].bytes.get(),
                    received: flow.visits[visit - 1].objects[0].bytes.get(),
                    completed,
                    handshake: Some(spec.base_rtt),
                    first_byte: Some(spec.base_rtt * 2),
                    completion: completed.then_some(completion),
                    packets_sent: 1000,
                    bytes_sent: 1_100_000,
                    packets_lost_channel: 12,
                    packets_declared_lost: Some(12),
                    reverse_packets: 500,
                    ..FlowOutcome::default()
                });
            }
            Ok(outcome)
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
    fn tables_show_our_values_next_to_published_ones() {
        let plan = Plan::parse("t.toml", SCENARIO, Path::new("."), &Changes::default()).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let never = AtomicBool::new(false);
        let target = directory.path().join("run");
        let executor = Threads { runner: &Fake, jobs: NonZeroUsize::MIN };
        let recorded = record(&plan, &target, &Options::new(&executor, &never)).unwrap();
        let text = results(&plan, &recorded, Look::default(), false)
            .replace(&directory.path().display().to_string(), "OUT");
        insta::assert_snapshot!(text);
        let colours = Look { colour: true, width: None };
        let coloured = crate::output::printable(&results(&plan, &recorded, colours, false));
        assert!(coloured.contains("\u{1b}[31mFAILED"));
    }

    #[test]
    fn many_expectations_are_counted_but_for_those_that_are_not_met() {
        let expectation = |passed| Expectation {
            text: "median completion_s of a, below 1".to_owned(),
            passed,
            measured: Some(0.5),
        };
        let mut all = vec![expectation(Some(true)); 20];
        let counted = |all: &[Expectation]| expectations(all, Look::default(), false);
        assert_eq!(counted(&all), "passed  20 of 20 expectations\n");
        all[3] = expectation(Some(false));
        all[5] = expectation(None);
        assert_eq!(
            counted(&all),
            "FAILED  median completion_s of a, below 1 (measured 0.500)\n\
             passed  18 of 20 expectations; 1 have no run\n"
        );
        assert_eq!(expectations(&all, Look::default(), true).lines().count(), 20);
        assert_eq!(counted(&all[..4]).lines().count(), 4);
    }
}

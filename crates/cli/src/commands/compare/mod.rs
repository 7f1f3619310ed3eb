//! `bentpipe compare`: compares two sets of runs, as a gate against regressions.

mod table;

use crate::args::Compare;
use crate::output;
use crate::status::{NOT_MET, OK, USAGE};
use bentpipe_lab::{LabError, RunDirectory, write_file};
use bentpipe_results::comparison::{
    CompareOptions, ComparisonReport, Finding, Samples, compare_samples,
};
use bentpipe_results::{Manifest, Results, metric_names};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Largest baseline file. One of 100,000 cases with 50 runs each is smaller.
const MAX_BASELINE_BYTES: u64 = 256_000_000;

/// What a directory or file holds.
enum Source {
    /// A run directory.
    Runs { results: Box<Results>, manifest: Box<Manifest> },
    /// A baseline file.
    Baseline(Samples),
}

/// Compares two sets of runs, or writes a baseline file.
pub fn run(args: &Compare) -> Result<u8, LabError> {
    for metric in &args.metric {
        if !metric_names().any(|name| name == metric) {
            return Err(usage(
                "--metric",
                format!(
                    "`{metric}` is no metric; allowed: completion_s, goodput_mbps, and the others \
                     of `bentpipe schema --results`"
                ),
            ));
        }
    }
    let before = read(&args.before)?;
    if let Some(file) = &args.save_baseline {
        return save(args, &before, file);
    }
    let report = compare(args, &before)?;
    if let Some(file) = &args.junit {
        let text = bentpipe_report::junit(&report).map_err(|error| LabError::write(file, error))?;
        write_file(file, text.as_bytes())?;
    }
    if let Some(file) = &args.html {
        write_file(file, bentpipe_report::comparison_page(&report).as_bytes())?;
    }
    if args.json {
        output::document(&output::pretty(&report))?;
    } else {
        output::print(&table::text(&report, output::Look::stdout()))?;
    }
    if report.changes.is_empty() {
        return Ok(output::refuse("both sides have no values of the same case and metric", USAGE));
    }
    if !report.is_conclusive() {
        let reason = "no change can be found: more runs are needed (`bentpipe run --repeat`)";
        return Ok(output::refuse(reason, USAGE));
    }
    Ok(if report.count(Finding::Regression) > 0 { NOT_MET } else { OK })
}

/// Compares the sides that `args` ask for.
fn compare(args: &Compare, before: &Source) -> Result<ComparisonReport, LabError> {
    let other = args.after.as_deref().map(read).transpose()?;
    let after = match (&other, args.variants.is_empty()) {
        (Some(other), _) => other,
        (None, false) => before,
        (None, true) => {
            let reason = "there is nothing to compare with; allowed: a second run directory or \
                          baseline file, or --variants A B";
            return Err(usage("AFTER", reason.to_owned()));
        }
    };
    // A baseline file holds the metrics that were chosen when it was written.
    let mut metrics: Vec<&str> = args.metric.iter().map(String::as_str).collect();
    for source in [before, after] {
        let Source::Baseline(samples) = source else { continue };
        let held = samples.metrics();
        if let Some(lacking) = args.metric.iter().find(|name| !held.contains(&name.as_str())) {
            return Err(usage(
                "--metric",
                format!(
                    "the baseline file has no `{lacking}`; allowed: {}, or a new baseline file \
                     written with --metric {lacking}",
                    held.join(", ")
                ),
            ));
        }
        if args.metric.is_empty() {
            metrics.extend(held);
        }
    }
    let usual = args.metric.is_empty();
    let mut sides = [samples(before, &metrics, usual), samples(after, &metrics, usual)];
    let mut names = [&args.before, args.after.as_ref().unwrap_or(&args.before)]
        .map(|path| path.display().to_string());
    if let [first, second] = args.variants.as_slice() {
        let together =
            if first == second { first.clone() } else { format!("{first} → {second}") };
        for ((side, name), variant) in sides.iter_mut().zip(&mut names).zip([first, second]) {
            if !side.variants().contains(&variant.as_str()) {
                return Err(usage(
                    "--variants",
                    format!(
                        "{name} has no variant `{variant}`; allowed: {}",
                        side.variants().join(", ")
                    ),
                ));
            }
            *side = side.only(variant, &together);
            name.push_str(&format!(", variant {variant}"));
        }
    }
    let options = CompareOptions {
        level: args.level,
        tolerance: args.tolerance,
        metrics: args.metric.clone(),
    };
    Ok(compare_samples(&sides[0], &sides[1], [&names[0], &names[1]], &options))
}

/// Writes the baseline file of `source`.
fn save(args: &Compare, source: &Source, file: &Path) -> Result<u8, LabError> {
    let metrics: Vec<&str> = args.metric.iter().map(String::as_str).collect();
    let samples = samples(source, &metrics, true);
    if !samples.complete {
        let reason = "planned runs are missing; allowed: the directory of a complete study";
        return Err(LabError::read(&args.before, reason));
    }
    let text = samples.to_json().map_err(|error| LabError::write(file, error))?;
    write_file(file, text.as_bytes())?;
    let cases = output::counted(samples.cases.len(), "case");
    let metrics = samples.metrics().join(", ");
    output::print(&format!("{}: {cases} of {metrics}\n", file.display())).map(|_| OK)
}

fn samples(source: &Source, metrics: &[&str], usual: bool) -> Samples {
    match source {
        Source::Baseline(samples) => samples.clone(),
        Source::Runs { results, manifest } => Samples {
            commit: manifest.commit.clone(),
            ..Samples::new(results, metrics, usual, manifest.complete)
        },
    }
}

fn read(path: &Path) -> Result<Source, LabError> {
    if path.is_dir() {
        let directory = RunDirectory::open(path)?;
        let results = Box::new(directory.results()?);
        return Ok(Source::Runs { results, manifest: Box::new(directory.manifest) });
    }
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    let mut text = String::new();
    file.take(MAX_BASELINE_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(|error| unreadable(path, &error))?;
    if text.len() as u64 > MAX_BASELINE_BYTES {
        let reason = format!("it is too large; allowed: {} MB", MAX_BASELINE_BYTES / 1_000_000);
        return Err(LabError::read(path, reason));
    }
    Samples::parse(&text).map(Source::Baseline).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> LabError {
    LabError::read(
        path,
        format!(
            "{error}; allowed: a directory that `bentpipe run` wrote, or a file that `bentpipe \
             compare --save-baseline` wrote"
        ),
    )
}

fn usage(argument: &'static str, reason: String) -> LabError {
    LabError::Usage { argument, reason }
}

//! Runs a plan into a run directory: `manifest.json`, `results.json`, a Parquet file for each
//! table, `report.html`, time series, and the qlog files and captures that the scenario asks for.

use crate::error::LabError;
use crate::execution::{Options, Progress, execute};
use crate::plan::Plan;
use crate::run_recorder::{RecordedRuns, RunRecorder};
use crate::rundir::{MANIFEST, Staging, is_complete, sibling};
use crate::task_id::ENGINE;
use crate::visit_times::{after_all_changes, different_times};
use crate::window_notes::default_windows_limit;
use bentpipe_report::Recording;
use bentpipe_results::explanation::{doubts, single_runs};
use bentpipe_results::{InputFile, Manifest, Results, Rule, SweepAxis};
use bentpipe_results::{identical_variants, point_text};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The recorded runs of a plan.
#[derive(Debug)]
pub struct Recorded {
    /// Results of the runs that have ended.
    pub results: Results,
    /// The run directory. `None` if no run ended.
    pub directory: Option<PathBuf>,
    /// True if all runs of the plan, or of its shard, have ended.
    pub complete: bool,
    /// Number of runs by state.
    pub progress: Progress,
    /// The error, if a run failed.
    pub failure: Option<LabError>,
    /// Notes for the reader of the results.
    pub notes: Vec<String>,
}

/// Executes `plan` and writes the run directory `target` atomically.
///
/// If the execution ends early, the runs that have ended are written, with `"complete": false` in
/// the manifest. They do not replace a complete run directory: they are written beside it, to
/// `target` with the suffix `-incomplete`.
///
/// # Errors
/// The directory cannot be written. A failed run is not an error of this function: it is in
/// [`Recorded::failure`].
pub fn record(plan: &Plan, target: &Path, options: &Options<'_>) -> Result<Recorded, LabError> {
    let staging = Staging::create(target)?;
    let (study, files) = run_study(plan, options, Some(&staging))?;
    let Study { results, mut manifest, recording, complete, progress, failure } = study;
    let notes = manifest.notes.clone();
    if results.runs.is_empty() {
        return Ok(Recorded {
            results,
            directory: None,
            complete: false,
            progress,
            failure,
            notes,
        });
    }
    let (inputs, files) = write_inputs(plan, &staging, files)?;
    manifest.inputs = inputs;
    manifest.files = write_all(&staging, &manifest, &results, &recording, files)?;
    staging.write(MANIFEST, json(&manifest, target)?.as_bytes())?;
    let directory = match manifest.complete || !is_complete(target) {
        true => staging.commit()?,
        false => staging.commit_as(&sibling(target, "-incomplete"))?,
    };
    Ok(Recorded { results, directory: Some(directory), complete, progress, failure, notes })
}

/// The runs of a plan with everything that a report shows, in memory.
#[derive(Debug)]
pub struct Study {
    /// Results of the runs that have ended.
    pub results: Results,
    /// Description of the study, without files.
    pub manifest: Manifest,
    /// Time series.
    pub recording: Recording,
    /// True if all runs of the plan, or of its shard, have ended.
    pub complete: bool,
    /// Number of runs by state.
    pub progress: Progress,
    /// The error, if a run failed.
    pub failure: Option<LabError>,
}

/// Executes `plan` and writes nothing: qlog files and captures are dropped.
///
/// # Errors
/// The time series cannot be joined. A failed run is not an error of this function: it is in
/// [`Study::failure`].
pub fn study(plan: &Plan, options: &Options<'_>) -> Result<Study, LabError> {
    run_study(plan, options, None).map(|(study, _)| study)
}

/// Executes `plan`. Returns the study and the names of the files that its runs have written.
fn run_study(
    plan: &Plan,
    options: &Options<'_>,
    staging: Option<&Staging>,
) -> Result<(Study, BTreeSet<String>), LabError> {
    let recorder = RunRecorder::new(plan, staging, options.shard.is_some());
    let execution = execute(plan, options, &recorder);
    let progress = execution.progress;
    let all_runs = execution.complete;
    let complete = progress.done == progress.planned;
    let (results, failure) = execution.into_results(plan);
    let mut notes = plan.notes.clone();
    notes.extend(recorder.series_notes());
    notes.extend(identical_variants(&results.runs).into_iter().map(|(first, second)| {
        format!(
            "`{first}` and `{second}` gave identical results: the keys that they differ in had no \
                effect"
        )
    }));
    notes.extend(doubts(&results));
    let is_random = plan.cases.iter().any(|case| case.random);
    notes.extend(single_runs(&results, is_random));
    notes.extend(default_windows_limit(plan, &results.runs));
    notes.extend(plan.rules.iter().filter_map(Rule::cannot_fail));
    notes.extend(different_times(plan, &results.runs));
    notes.extend(after_all_changes(plan, &results.runs));
    notes.extend(warnings(&results));
    let RecordedRuns { recording, files } = recorder.finish(&mut notes)?;
    let mut manifest = manifest(plan, &results, all_runs, notes);
    manifest.shard = options.shard.map(|shard| shard.to_string());
    Ok((Study { results, manifest, recording, complete, progress, failure }, files))
}

/// Largest number of unreliable runs with a note each. The others are counted.
const MAX_WARNINGS: usize = 5;

/// Returns notes about runs that are unreliable because the emulator fell behind.
fn warnings(results: &Results) -> Vec<String> {
    let unreliable = results.runs.iter().filter_map(|run| {
        let warnings = &run.emulation.as_ref()?.warnings;
        let point = if run.point.is_empty() {
            String::new()
        } else {
            format!(" at {}", point_text(&run.point))
        };
        (!warnings.is_empty()).then(|| {
            format!(
                "unreliable: run {} of `{}`{point}: {}",
                run.run,
                run.variant,
                warnings.join("; ")
            )
        })
    });
    let mut warnings: Vec<String> = unreliable.collect();
    if warnings.len() > MAX_WARNINGS {
        let more = warnings.len() - MAX_WARNINGS;
        warnings.truncate(MAX_WARNINGS);
        warnings.push(format!("{more} more runs are unreliable: see their `emulation.warnings`"));
    }
    warnings
}

/// Returns the manifest, without its list of files.
fn manifest(plan: &Plan, results: &Results, complete: bool, notes: Vec<String>) -> Manifest {
    Manifest {
        version: results.version.clone(),
        complete,
        runs_planned: plan.tasks.len(),
        runs_done: results.runs.len(),
        scenario: plan.name.clone(),
        title: plan.title.clone(),
        description: plan.description.clone(),
        seed: plan.seed,
        clock: results.clock,
        commit: plan.commit.clone(),
        variants: plan.variants.clone(),
        variant_settings: plan.variant_settings(),
        sweep: plan
            .sweep
            .iter()
            .map(|(key, values)| SweepAxis::new(key.clone(), values.clone()))
            .collect(),
        path: plan.path().cloned(),
        path_changes: plan.cases.iter().any(|case| case.last_path_change().is_some()),
        published: plan.figures.clone(),
        notes,
        inputs: Vec::new(),
        files: Vec::new(),
        engine: ENGINE.to_owned(),
        shard: None,
        source: plan.source.clone(),
    }
}

/// Writes the files that the scenario names, so that its runs can be repeated anywhere. Returns
/// their entries of the manifest, and `files` with their names added.
fn write_inputs(
    plan: &Plan,
    staging: &Staging,
    mut files: BTreeSet<String>,
) -> Result<(Vec<InputFile>, BTreeSet<String>), LabError> {
    let mut inputs = Vec::new();
    for (index, (name, text)) in plan.input_files().into_iter().enumerate() {
        let own = name.file_name().unwrap_or_default().to_string_lossy();
        let file = format!("inputs/{index}-{own}");
        staging.write(&file, text.as_bytes())?;
        inputs.push(InputFile { name: name.to_string_lossy().into_owned(), file: file.clone() });
        files.insert(file);
    }
    Ok((inputs, files))
}

/// Writes all files but the manifest. Returns their names together with those in `files`.
fn write_all(
    staging: &Staging,
    manifest: &Manifest,
    results: &Results,
    recording: &Recording,
    mut files: BTreeSet<String>,
) -> Result<Vec<String>, LabError> {
    let mut write = |name: &str, bytes: &[u8]| {
        files.insert(name.to_owned());
        staging.write(name, bytes)
    };
    let text = results.to_json().map_err(|error| LabError::write("results.json", error))?;
    write("results.json", text.as_bytes())?;
    #[cfg(feature = "parquet")]
    for table in bentpipe_results::TABLES.iter().map(|kind| kind.of(results)) {
        write_table(&mut write, &table)?;
    }
    #[cfg(feature = "parquet")]
    for mut table in recording.tables() {
        table.metadata = results.table_metadata();
        write_table(&mut write, &table)?;
    }
    if !recording.traces.is_empty() {
        write("traces.json", json(&recording.traces, Path::new("traces.json"))?.as_bytes())?;
        write("traces.bin", &recording.blob)?;
    }
    if !recording.constellations.is_empty() {
        write(
            "constellations.json",
            json(&recording.constellations, Path::new("constellations.json"))?.as_bytes(),
        )?;
    }
    if let Some(text) = recording.czml(&manifest.title) {
        write("constellation.czml", text.as_bytes())?;
    }
    let page = bentpipe_report::html(manifest, results, recording)
        .map_err(|error| LabError::write("report.html", error))?;
    write("report.html", page.as_bytes())?;
    Ok(files.into_iter().collect())
}

/// Writes a table with rows as `NAME.parquet`.
#[cfg(feature = "parquet")]
fn write_table(
    write: &mut impl FnMut(&str, &[u8]) -> Result<(), LabError>,
    table: &bentpipe_results::Table<'_>,
) -> Result<(), LabError> {
    if table.is_empty() {
        return Ok(());
    }
    let name = format!("{}.parquet", table.name);
    let bytes = bentpipe_results::parquet::encode(table);
    write(&name, &bytes.map_err(|error| LabError::write(&name, error))?)
}

/// Serialises `value` for the file `path`.
fn json(value: &impl Serialize, path: &Path) -> Result<String, LabError> {
    serde_json::to_string_pretty(value)
        .map(|text| text + "\n")
        .map_err(|error| LabError::write(path, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Threads;
    use crate::run::{CompletedRun, RunError, Runner};
    use crate::testing::{Fake, TWO_VARIANTS, plan};
    use bentpipe_sim::RunSpec;
    use std::fs;
    use std::num::NonZeroUsize;
    use std::sync::atomic::{AtomicBool, Ordering};

    fn jobs(n: usize) -> NonZeroUsize {
        NonZeroUsize::new(n).unwrap()
    }

    fn recorded(text: &str, runner: &dyn Runner, n: usize, target: &Path) -> Recorded {
        let stop = AtomicBool::new(false);
        let executor = Threads { runner, jobs: jobs(n) };
        record(&plan(text), target, &Options::new(&executor, &stop)).unwrap()
    }

    #[test]
    fn the_number_of_jobs_does_not_change_any_file() {
        let directory = tempfile::tempdir().unwrap();
        let text = format!("{TWO_VARIANTS}\n[output]\nqlog = true\ntime_series = \"all\"\n");
        let targets = [1, 2, 5].map(|n| {
            let target = directory.path().join(n.to_string());
            assert!(recorded(&text, &Fake, n, &target).complete);
            target
        });
        let manifest: Manifest =
            serde_json::from_slice(&fs::read(targets[0].join(MANIFEST)).unwrap()).unwrap();
        assert!(
            manifest.files.iter().any(|name| name.starts_with("qlog/000-1rtt-run0/")),
            "{:?}",
            manifest.files
        );
        for name in manifest.files.iter().map(String::as_str).chain([MANIFEST]) {
            let first = fs::read(targets[0].join(name)).unwrap();
            for target in &targets[1..] {
                assert!(
                    fs::read(target.join(name)).unwrap() == first,
                    "{name} differs in {}",
                    target.display()
                );
            }
        }
    }

    #[test]
    fn results_have_the_documented_keys() {
        let directory = tempfile::tempdir().unwrap();
        let recorded = recorded(TWO_VARIANTS, &Fake, 2, &directory.path().join("run"));
        let text = fs::read_to_string(directory.path().join("run/results.json")).unwrap();
        assert_eq!(recorded.results.to_json().unwrap(), text);
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let keys = |value: &serde_json::Value| {
            let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
            keys.sort();
            keys.join(" ")
        };
        insta::assert_snapshot!(
            [
                keys(&json),
                keys(&json["runs"][0]),
                keys(&json["runs"][0]["flows"][0]),
                keys(&json["runs"][0]["flows"][0]["path"]),
                keys(&json["runs"][0]["flows"][0]["objects"][0]),
                keys(&json["runs"][0]["links"][0]),
                keys(&json["summary"][0]),
                keys(&json["expectations"][0]),
            ]
            .join("\n")
        );
        assert!(json["runs"][0]["flows"][0]["flow_control_blocked_s"].is_null());
        assert_eq!(json["runs"][0]["point"]["workload.download"], "2 MB");
        assert_eq!(recorded.results.runs.len(), 24);
        assert_eq!(
            recorded.results.published[0].ratio,
            recorded.results.published[0].measured.map(|own| own / 3.0)
        );
    }

    /// Runs like [`Fake`] up to run number `after`, then ends as `then` says.
    struct EndsEarly {
        after: u64,
        then: Then,
    }

    enum Then {
        Stop,
        Fail,
        Panic,
    }

    impl Runner for EndsEarly {
        fn run(
            &self,
            spec: &RunSpec,
            label: &str,
            stop: &AtomicBool,
        ) -> Result<CompletedRun, RunError> {
            if spec.run < self.after {
                return Fake.run(spec, label, stop);
            }
            match self.then {
                Then::Stop => {
                    stop.store(true, Ordering::Relaxed);
                    Err(RunError::Interrupted)
                }
                Then::Fail => Err(RunError::Failed("out of order".to_owned())),
                Then::Panic => panic!("a bug"),
            }
        }
    }

    #[test]
    fn interruption_keeps_the_runs_that_have_ended() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("run");
        let recorded =
            recorded(TWO_VARIANTS, &EndsEarly { after: 2, then: Then::Stop }, 1, &target);
        assert!(!recorded.complete && recorded.failure.is_none());
        // Two repeats of four cases.
        assert_eq!(recorded.results.runs.len(), 8);
        let manifest: Manifest =
            serde_json::from_slice(&fs::read(target.join(MANIFEST)).unwrap()).unwrap();
        assert!(!manifest.complete && manifest.runs_done == 8 && manifest.runs_planned == 24);
        assert!(
            recorded.results.expectations.iter().all(|expectation| expectation.passed.is_none())
        );
        assert!(crate::rebuild(&target).is_ok());
    }

    #[test]
    fn a_failed_run_is_reported_and_no_directory_is_left_without_results() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("run");
        let recorded =
            recorded(TWO_VARIANTS, &EndsEarly { after: 0, then: Then::Fail }, 1, &target);
        let failure = recorded.failure.map(|error| error.to_string());
        assert_eq!(
            failure.as_deref(),
            Some("run 0 of variant `0rtt` at workload.download = 10 MB failed: out of order")
        );
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_panic_in_one_run_keeps_the_others() {
        let directory = tempfile::tempdir().unwrap();
        let recorded = recorded(
            TWO_VARIANTS,
            &EndsEarly { after: 2, then: Then::Panic },
            1,
            &directory.path().join("run"),
        );
        assert_eq!((recorded.results.runs.len(), recorded.complete), (8, false));
        assert!(
            recorded
                .failure
                .is_some_and(|error| error.to_string().contains("a bug") && !error.is_usage())
        );
    }

    #[test]
    fn the_report_can_be_rebuilt_from_the_run_directory() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("run");
        recorded(TWO_VARIANTS, &Fake, 2, &target);
        let first = fs::read_to_string(target.join("report.html")).unwrap();
        fs::remove_file(target.join("report.html")).unwrap();
        assert_eq!(crate::rebuild(&target).unwrap(), target.join("report.html"));
        assert_eq!(fs::read_to_string(target.join("report.html")).unwrap(), first);
    }

    #[test]
    fn the_plain_report_has_tables_and_plots_and_escapes_text() {
        let plan =
            plan(&TWO_VARIANTS.replace("name = \"two\"", "name = \"two\"\ntitle = \"<b> & co\""));
        let results = crate::testing::results(&plan);
        let manifest = manifest(&plan, &results, true, plan.notes.clone());
        let html = bentpipe_report::static_html(&manifest, &results, &[], &[]);
        assert!(html.contains("&lt;b&gt; &amp; co") && !html.contains("<b> & co"));
        assert!(html.contains("<svg") && html.contains("objective 3"));
    }
}

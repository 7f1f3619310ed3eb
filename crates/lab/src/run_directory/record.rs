//! Runs a plan into a run directory: `manifest.json`, `results.json`, a Parquet file for each
//! table, `report.html`, time series, and the qlog files and captures that the scenario asks for.

#[cfg(test)]
mod tests;

use super::recorder::{RunFiles, RunRecorder};
use super::write::{MANIFEST, Staging, is_complete, sibling};
use crate::error::LabError;
use crate::execution::{Options, Progress, execute};
use crate::plan::Plan;
use crate::task_id::ENGINE;
use crate::visit_times::{after_all_changes, different_times};
use crate::window_notes::default_windows_limit;
use bentpipe_report::Recording;
use bentpipe_results::explanation::{doubts, single_runs};
use bentpipe_results::{
    InputFile, Manifest, Results, Rule, SweepAxis, identical_variants, point_text,
};
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
    let RunFiles { recording, names: files } = recorder.finish(&mut notes)?;
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

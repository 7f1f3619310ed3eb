//! Runs a plan into a run directory: `manifest.json`, `results.json`, `results.parquet`,
//! `report.html`, time series, and the qlog files and captures that the scenario asks for.

use crate::error::LabError;
use crate::plan::{Plan, Task};
use crate::run::{Observer, Runner, execute};
use crate::rundir::{MANIFEST, Staging};
use bentpipe_report::{Recording, Trace};
use bentpipe_report::{TracedNetwork, constellations};
use bentpipe_results::{Manifest, SweepAxis, identical_variants, point_text};
use bentpipe_results::{Results, parquet};
use bentpipe_sim::{RunOutcome, RunSpec};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Time series beyond this many bytes are left out of a run directory: no page could show them.
const MOST_TRACE_BYTES: usize = 512 << 20;

/// Points that the time series of all runs together may have; beyond it, the longest are thinned.
/// 12 bytes each make 48 MiB, which a browser opens in seconds.
const REPORT_POINTS: usize = 4 << 20;

/// What came of running a plan.
#[derive(Debug)]
pub struct Recorded {
    /// The results of what was run.
    pub results: Results,
    /// The run directory; none where not one run ended.
    pub directory: Option<PathBuf>,
    /// True where everything planned was run.
    pub complete: bool,
    /// Why the rest is missing, where a run failed.
    pub failure: Option<LabError>,
    /// Things that the reader of the results should know.
    pub notes: Vec<String>,
}

/// Runs `plan` on `jobs` threads and writes the run directory `target`: whole, or not at all.
///
/// Set `stop` to end early; runs that have ended are written, with `"complete": false` in the
/// manifest. `progress` is told how many runs have ended each time one does.
///
/// # Errors
/// A directory that cannot be written. A run that failed is no error here: see
/// [`Recorded::failure`].
pub fn record(
    plan: &Plan,
    runner: &dyn Runner,
    target: &Path,
    jobs: NonZeroUsize,
    stop: &AtomicBool,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<Recorded, LabError> {
    let staging = Staging::create(target)?;
    let recorder = Recorder {
        plan,
        staging: &staging,
        traces: Mutex::default(),
        files: Mutex::default(),
        done: AtomicUsize::new(0),
        thinned: AtomicBool::new(false),
        progress,
    };
    let execution = execute(plan, runner, jobs, stop, &recorder);
    let results = execution.results(plan);
    let Recorder { traces, files, thinned, .. } = recorder;
    let traces = traces.into_inner().unwrap_or_else(PoisonError::into_inner);
    let files = files.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut notes = plan.notes.clone();
    if thinned.into_inner() {
        notes.push(
            "long time series are drawn from part of their points: lows, highs and ends of short \
                stretches"
                .to_owned(),
        );
    }
    notes.extend(identical_variants(&results.runs).into_iter().map(|(first, second)| {
        format!(
            "`{first}` and `{second}` never differed: the keys that they differ in had no effect"
        )
    }));
    notes.extend(warnings(&results));
    if results.runs.is_empty() {
        return Ok(Recorded {
            results,
            directory: None,
            complete: false,
            failure: execution.failure,
            notes,
        });
    }
    let series = join(traces, &mut notes)?;
    let mut manifest = manifest(plan, &results, execution.complete, notes.clone());
    manifest.files = write_all(&staging, &manifest, &results, &series, files)?;
    staging.write(MANIFEST, json(&manifest, target)?.as_bytes())?;
    let directory = staging.commit()?;
    Ok(Recorded {
        results,
        directory: Some(directory),
        complete: execution.complete,
        failure: execution.failure,
        notes,
    })
}

/// Doubtful runs named in a note each; of more there is only the number.
const MAX_WARNINGS: usize = 5;

/// Notes about runs that are doubtful because their emulator fell behind.
fn warnings(results: &Results) -> Vec<String> {
    let doubtful = results.runs.iter().filter_map(|run| {
        let warnings = &run.emulation.as_ref()?.warnings;
        let point = if run.point.is_empty() {
            String::new()
        } else {
            format!(" at {}", point_text(&run.point))
        };
        (!warnings.is_empty()).then(|| {
            format!(
                "doubtful: run {} of `{}`{point}: {}",
                run.run,
                run.variant,
                warnings.join("; ")
            )
        })
    });
    let mut warnings: Vec<String> = doubtful.collect();
    if warnings.len() > MAX_WARNINGS {
        let more = warnings.len() - MAX_WARNINGS;
        warnings.truncate(MAX_WARNINGS);
        warnings.push(format!(
            "and {more} more runs are doubtful; `emulation.warnings` of each says why"
        ));
    }
    warnings
}

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
        published: plan.figures.clone(),
        notes,
        files: Vec::new(),
        source: plan.source.clone(),
    }
}

fn write_all(
    staging: &Staging,
    manifest: &Manifest,
    results: &Results,
    series: &Recording,
    mut files: BTreeSet<String>,
) -> Result<Vec<String>, LabError> {
    let mut write = |name: &str, bytes: &[u8]| {
        files.insert(name.to_owned());
        staging.write(name, bytes)
    };
    let text = results.to_json().map_err(|error| LabError::write("results.json", error))?;
    write("results.json", text.as_bytes())?;
    let table =
        parquet::flows(results).map_err(|error| LabError::write("results.parquet", error))?;
    write("results.parquet", &table)?;
    let table = parquet::links(results).map_err(|error| LabError::write("links.parquet", error))?;
    write("links.parquet", &table)?;
    if !series.traces.is_empty() {
        write("traces.json", json(&series.traces, Path::new("traces.json"))?.as_bytes())?;
        write("traces.bin", &series.blob)?;
    }
    if !series.constellations.is_empty() {
        write(
            "constellations.json",
            json(&series.constellations, Path::new("constellations.json"))?.as_bytes(),
        )?;
    }
    if let Some(text) = series.czml(&manifest.title) {
        write("constellation.czml", text.as_bytes())?;
    }
    let page = bentpipe_report::html(manifest, results, series)
        .map_err(|error| LabError::write("report.html", error))?;
    write("report.html", page.as_bytes())?;
    Ok(files.into_iter().collect())
}

fn json(value: &impl Serialize, path: &Path) -> Result<String, LabError> {
    serde_json::to_string_pretty(value)
        .map(|text| text + "\n")
        .map_err(|error| LabError::write(path, error))
}

/// One blob and one index of all traces, in the plan's order, up to what a page can show, and the
/// constellations above them.
fn join(traces: BTreeMap<usize, Kept>, notes: &mut Vec<String>) -> Result<Recording, LabError> {
    let (mut index, mut all) = (Vec::new(), Vec::new());
    let total = traces.len();
    for Kept { mut trace, blob, seen } in traces.into_values() {
        if all.len() + blob.len() > MOST_TRACE_BYTES {
            break;
        }
        trace.shift(all.len());
        all.extend(blob);
        index.push((trace, seen));
    }
    if index.len() < total {
        let limit = MOST_TRACE_BYTES >> 20;
        notes.push(format!(
            "time series of {} of {total} runs are kept: together they may have {limit} MiB",
            index.len()
        ));
    }
    let constellations = constellations(&mut index, &mut all)
        .map_err(|error| LabError::write("constellations.json", error))?;
    let end = index.first().and_then(|(_, seen)| seen.as_ref()).map(|seen| seen.end);
    Ok(Recording {
        traces: index.into_iter().map(|(trace, _)| trace).collect(),
        constellations,
        blob: all,
        first_end: end,
    })
}

/// What is kept of a traced run.
struct Kept {
    trace: Trace,
    blob: Vec<u8>,
    seen: Option<TracedNetwork>,
}

struct Recorder<'a> {
    plan: &'a Plan,
    staging: &'a Staging,
    traces: Mutex<BTreeMap<usize, Kept>>,
    files: Mutex<BTreeSet<String>>,
    done: AtomicUsize,
    /// Some series has lost points.
    thinned: AtomicBool,
    progress: &'a (dyn Fn(usize) + Sync),
}

impl Recorder<'_> {
    fn write(&self, name: String, bytes: &[u8]) -> Result<(), LabError> {
        self.staging.write(&name, bytes)?;
        self.files.lock().unwrap_or_else(PoisonError::into_inner).insert(name);
        Ok(())
    }
}

impl Observer for Recorder<'_> {
    fn finished(
        &self,
        index: usize,
        task: Task,
        spec: &RunSpec,
        outcome: &RunOutcome,
    ) -> Result<(), LabError> {
        let case = &self.plan.cases[task.case];
        let place = format!("{:03}-{}-run{}", task.case, case.variant, task.run);
        for file in &outcome.qlog {
            self.write(format!("qlog/{place}/{}.sqlog", file.name), &file.bytes)?;
            // The older form, for the qvis viewer. What cannot be translated is still there in the
            // current one.
            if let Ok(older) = file.qvis() {
                self.write(format!("qlog-qvis/{place}/{}.sqlog", file.name), &older)?;
            }
        }
        if let Some(capture) = &outcome.capture {
            self.write(format!("captures/{place}.pcapng"), capture)?;
        }
        if let Some(trace) = &outcome.trace {
            let names: Vec<String> = spec.flows.iter().map(|flow| flow.name.clone()).collect();
            let seen = spec.mesh.as_ref().map(|mesh| TracedNetwork {
                network: Arc::clone(&mesh.network),
                step: mesh.step,
                end: outcome.end,
            });
            let mut blob = Vec::new();
            let most =
                bentpipe_report::limit(trace, REPORT_POINTS / self.plan.traced_runs().max(1));
            if most < usize::MAX {
                self.thinned.store(true, Ordering::Relaxed);
            }
            let trace =
                Trace::encode(&case.variant, &case.point, task.run, trace, &names, most, &mut blob);
            self.traces
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(index, Kept { trace, blob, seen });
        }
        (self.progress)(self.done.fetch_add(1, Ordering::Relaxed) + 1);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{CompletedRun, RunError};
    use crate::testing::{Fake, TWO_VARIANTS, plan};
    use std::fs;

    fn jobs(n: usize) -> NonZeroUsize {
        NonZeroUsize::new(n).unwrap()
    }

    fn recorded(text: &str, runner: &dyn Runner, n: usize, target: &Path) -> Recorded {
        record(&plan(text), runner, target, jobs(n), &AtomicBool::new(false), &|_| {}).unwrap()
    }

    #[test]
    fn the_number_of_jobs_changes_no_byte_of_any_file() {
        let place = tempfile::tempdir().unwrap();
        let text = format!("{TWO_VARIANTS}\n[output]\nqlog = true\ntime_series = \"all\"\n");
        let targets = [1, 2, 5].map(|n| {
            let target = place.path().join(n.to_string());
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
    fn results_have_the_keys_of_the_contract() {
        let place = tempfile::tempdir().unwrap();
        let recorded = recorded(TWO_VARIANTS, &Fake, 2, &place.path().join("run"));
        let text = fs::read_to_string(place.path().join("run/results.json")).unwrap();
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

    /// Ends the first runs, then does something else.
    struct Ends {
        after: u64,
        then: Then,
    }

    enum Then {
        Stop,
        Fail,
        Panic,
    }

    impl Runner for Ends {
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
    fn an_interrupted_run_keeps_what_ended_and_says_so() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("run");
        let recorded = recorded(TWO_VARIANTS, &Ends { after: 2, then: Then::Stop }, 1, &target);
        assert!(!recorded.complete && recorded.failure.is_none());
        assert_eq!(recorded.results.runs.len(), 2);
        let manifest: Manifest =
            serde_json::from_slice(&fs::read(target.join(MANIFEST)).unwrap()).unwrap();
        assert!(!manifest.complete && manifest.runs_done == 2 && manifest.runs_planned == 24);
        assert!(
            recorded.results.expectations.iter().all(|expectation| expectation.passed.is_none())
        );
        assert!(crate::rebuild(&target).is_ok());
    }

    #[test]
    fn a_failed_run_is_told_and_a_run_without_results_leaves_nothing() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("run");
        let recorded = recorded(TWO_VARIANTS, &Ends { after: 0, then: Then::Fail }, 2, &target);
        let failure = recorded.failure.map(|error| error.to_string());
        assert_eq!(
            failure.as_deref(),
            Some("run 0 of variant `1rtt` at workload.download = 2 MB failed: out of order")
        );
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_bug_in_one_run_does_not_take_the_others_with_it() {
        let place = tempfile::tempdir().unwrap();
        let recorded = recorded(
            TWO_VARIANTS,
            &Ends { after: 2, then: Then::Panic },
            1,
            &place.path().join("run"),
        );
        assert_eq!((recorded.results.runs.len(), recorded.complete), (2, false));
        assert!(
            recorded
                .failure
                .is_some_and(|error| error.to_string().contains("a bug") && !error.is_usage())
        );
    }

    #[test]
    fn the_report_can_be_rebuilt_from_the_directory_alone() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("run");
        recorded(TWO_VARIANTS, &Fake, 2, &target);
        let first = fs::read_to_string(target.join("report.html")).unwrap();
        fs::remove_file(target.join("report.html")).unwrap();
        assert_eq!(crate::rebuild(&target).unwrap(), target.join("report.html"));
        assert_eq!(fs::read_to_string(target.join("report.html")).unwrap(), first);
    }

    #[test]
    fn the_plain_report_has_the_table_and_plots_and_escapes_what_people_write() {
        let plan =
            plan(&TWO_VARIANTS.replace("name = \"two\"", "name = \"two\"\ntitle = \"<b> & co\""));
        let results = crate::testing::results(&plan);
        let manifest = manifest(&plan, &results, true, plan.notes.clone());
        let html = bentpipe_report::plain_html(&manifest, &results, &[], &[]);
        assert!(html.contains("&lt;b&gt; &amp; co") && !html.contains("<b> & co"));
        assert!(html.contains("<svg") && html.contains("objective 3"));
    }
}

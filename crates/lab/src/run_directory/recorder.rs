//! Records the files and time series of runs as they end.

use super::write::Staging;
use crate::error::LabError;
use crate::execution::Observer;
use crate::plan::{Plan, Task};
use crate::store::{FileKind, RECORDS, RunFile, StoredRun, entry};
use bentpipe_report::{Recording, Trace, TracedNetwork, constellations};
use bentpipe_results::Run;
use bentpipe_timeseries::SeriesLimit;
use bentpipe_units::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Largest size of all time series in a run directory, in bytes.
const MAX_TRACE_BYTES: usize = 512 << 20;

/// Time series of one run.
struct EncodedSeries {
    trace: Trace,
    /// Points of the series, which `trace` indexes.
    blob: Vec<u8>,
    /// The satellite network of the run, if it has one.
    network: Option<TracedNetwork>,
}

/// Returns the name that the files of a run have in a run directory.
pub fn run_name(case: usize, variant: &str, run: u64) -> String {
    format!("{case:03}-{variant}-run{run}")
}

/// Observer that writes the files of each run and collects its time series.
pub struct RunRecorder<'a> {
    plan: &'a Plan,
    /// Where files go. `None` drops them.
    staging: Option<&'a Staging>,
    /// True if the records themselves are written too, for another machine.
    keep_records: bool,
    /// Time series by index of the task.
    series: Mutex<BTreeMap<usize, EncodedSeries>>,
    /// Names of the written files.
    files: Mutex<BTreeSet<String>>,
}

/// Files and time series of all runs.
pub struct RunFiles {
    pub recording: Recording,
    /// Names of the written files.
    pub names: BTreeSet<String>,
}

impl<'a> RunRecorder<'a> {
    /// Creates a recorder that writes files to `staging`, if there is one, and with `keep_records`
    /// [`RECORDS`] too.
    pub fn new(plan: &'a Plan, staging: Option<&'a Staging>, keep_records: bool) -> Self {
        Self { plan, staging, keep_records, series: Mutex::default(), files: Mutex::default() }
    }

    /// Returns the files and time series. Adds a note to `notes` if time series exceed the limit
    /// of a run directory.
    pub fn finish(self, notes: &mut Vec<String>) -> Result<RunFiles, LabError> {
        let series = self.series.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(RunFiles {
            recording: join(series, notes)?,
            names: self.files.into_inner().unwrap_or_else(PoisonError::into_inner),
        })
    }

    /// Returns a note about flows that the time series leave out.
    pub fn series_notes(&self) -> Vec<String> {
        let most = SeriesLimit::MAX_FLOWS;
        let series = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        let mut traced = series.keys().map(|&index| self.plan.tasks[index].case);
        match traced.any(|case| self.plan.cases[case].flow_count() > most) {
            true => vec![format!("only the first {most} flows of a run have time series")],
            false => Vec::new(),
        }
    }

    fn write(&self, name: String, bytes: &[u8]) -> Result<(), LabError> {
        if let Some(staging) = self.staging {
            staging.write(&name, bytes)?;
            self.files().insert(name);
        }
        Ok(())
    }

    fn files(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for RunRecorder<'_> {
    fn finished(&self, index: usize, task: Task, record: StoredRun) -> Result<Run, LabError> {
        if let (Some(id), Some(staging)) =
            (self.plan.task_id(task).filter(|_| self.keep_records), self.staging)
        {
            let mut files = self.files();
            staging.append(RECORDS, &entry(&id, &record))?;
            files.insert(RECORDS.to_owned());
        }
        let StoredRun { run, recording, .. } = record;
        let Some(recording) = recording else { return Ok(run) };
        let case = &self.plan.cases[task.case];
        let run_name = run_name(task.case, &case.variant, task.run);
        for RunFile { kind, name, content } in &recording.files {
            let name = match kind {
                FileKind::Qlog => format!("qlog/{run_name}/{name}.sqlog"),
                FileKind::Qvis => format!("qlog-qvis/{run_name}/{name}.sqlog"),
                FileKind::Capture => format!("captures/{run_name}.pcapng"),
            };
            self.write(name, content)?;
        }
        if let Some(trace) = recording.trace {
            // Only a path with an orbit has a network, whose start may be drawn for each run.
            let mesh = match case.orbit() {
                Some(_) => self.plan.spec(task)?.mesh,
                None => None,
            };
            let network = mesh.map(|mesh| TracedNetwork {
                network: mesh.network,
                step: mesh.step,
                end: Time::from_nanos(recording.end_ns),
            });
            let series = EncodedSeries { trace, blob: recording.points, network };
            self.series.lock().unwrap_or_else(PoisonError::into_inner).insert(index, series);
        }
        Ok(run)
    }
}

/// Joins the time series of all runs in the plan's order, up to the size limit, and adds the
/// constellations of their networks.
fn join(
    series: BTreeMap<usize, EncodedSeries>,
    notes: &mut Vec<String>,
) -> Result<Recording, LabError> {
    let (mut index, mut all) = (Vec::new(), Vec::new());
    let total = series.len();
    for EncodedSeries { mut trace, blob, network } in series.into_values() {
        if all.len() + blob.len() > MAX_TRACE_BYTES {
            break;
        }
        trace.shift(all.len());
        all.extend(blob);
        index.push((trace, network));
    }
    if index.len() < total {
        let limit = MAX_TRACE_BYTES >> 20;
        notes.push(format!(
            "time series of {} of {total} runs are kept, up to the limit of {limit} MiB",
            index.len()
        ));
    }
    let constellations = constellations(&mut index, &mut all)
        .map_err(|error| LabError::write("constellations.json", error))?;
    let end = index.first().and_then(|(_, network)| network.as_ref()).map(|network| network.end);
    Ok(Recording {
        traces: index.into_iter().map(|(trace, _)| trace).collect(),
        constellations,
        blob: all,
        first_end: end,
    })
}

//! Records the files and time series of runs as they end.

use crate::error::LabError;
use crate::plan::{Plan, Task};
use crate::run::Observer;
use crate::rundir::Staging;
use bentpipe_report::{Recording, Trace, TracedNetwork, constellations};
use bentpipe_series::SeriesLimit;
use bentpipe_sim::{RunOutcome, RunSpec};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Largest size of all time series in a run directory, in bytes.
const MAX_TRACE_BYTES: usize = 512 << 20;

/// Time series of one run.
struct RunSeries {
    trace: Trace,
    /// Points of the series, which `trace` indexes.
    blob: Vec<u8>,
    /// The satellite network of the run, if it has one.
    network: Option<TracedNetwork>,
}

/// Observer that writes the files of each run and collects its time series.
pub(crate) struct RunRecorder<'a> {
    plan: &'a Plan,
    staging: &'a Staging,
    /// Time series by index of the task.
    series: Mutex<BTreeMap<usize, RunSeries>>,
    /// Names of the written files.
    files: Mutex<BTreeSet<String>>,
    /// Number of runs that have ended.
    done: AtomicUsize,
    /// True if only the first flows of a run have time series.
    flows_left_out: AtomicBool,
    progress: &'a (dyn Fn(usize) + Sync),
}

/// Files and time series of all runs.
pub(crate) struct RecordedRuns {
    pub recording: Recording,
    /// Names of the written files.
    pub files: BTreeSet<String>,
}

impl<'a> RunRecorder<'a> {
    /// Creates a recorder that writes to `staging` and calls `progress` with the number of runs
    /// that have ended.
    pub fn new(plan: &'a Plan, staging: &'a Staging, progress: &'a (dyn Fn(usize) + Sync)) -> Self {
        Self {
            plan,
            staging,
            series: Mutex::default(),
            files: Mutex::default(),
            done: AtomicUsize::new(0),
            flows_left_out: AtomicBool::new(false),
            progress,
        }
    }

    /// Returns the files and time series. Adds a note to `notes` if time series exceed the limit
    /// of a run directory.
    pub fn finish(self, notes: &mut Vec<String>) -> Result<RecordedRuns, LabError> {
        let series = self.series.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(RecordedRuns {
            recording: join(series, notes)?,
            files: self.files.into_inner().unwrap_or_else(PoisonError::into_inner),
        })
    }

    /// Returns a note about flows that the time series leave out.
    pub fn series_notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.flows_left_out.load(Ordering::Relaxed) {
            let most = SeriesLimit::MAX_FLOWS;
            notes.push(format!("only the first {most} flows of a run have time series"));
        }
        notes
    }

    fn write(&self, name: String, bytes: &[u8]) -> Result<(), LabError> {
        self.staging.write(&name, bytes)?;
        self.files.lock().unwrap_or_else(PoisonError::into_inner).insert(name);
        Ok(())
    }
}

impl Observer for RunRecorder<'_> {
    fn finished(
        &self,
        index: usize,
        task: Task,
        spec: &RunSpec,
        outcome: &RunOutcome,
    ) -> Result<(), LabError> {
        let case = &self.plan.cases[task.case];
        let run_name = format!("{:03}-{}-run{}", task.case, case.variant, task.run);
        for file in &outcome.qlog {
            for (form, bytes) in [("qlog", &file.current), ("qlog-qvis", &file.qvis)] {
                if !bytes.is_empty() {
                    self.write(format!("{form}/{run_name}/{}.sqlog", file.name), bytes)?;
                }
            }
        }
        if let Some(capture) = &outcome.capture {
            self.write(format!("captures/{run_name}.pcapng"), capture)?;
        }
        if let Some(trace) = &outcome.trace {
            let names: Vec<String> = spec.flows.iter().map(|flow| flow.name.clone()).collect();
            let network = spec.mesh.as_ref().map(|mesh| TracedNetwork {
                network: Arc::clone(&mesh.network),
                step: mesh.step,
                end: outcome.end,
            });
            let mut blob = Vec::new();
            if spec.flows.len() > SeriesLimit::MAX_FLOWS {
                self.flows_left_out.store(true, Ordering::Relaxed);
            }
            let trace =
                Trace::encode(&case.variant, &case.point, task.run, trace, &names, &mut blob);
            self.series
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(index, RunSeries { trace, blob, network });
        }
        (self.progress)(self.done.fetch_add(1, Ordering::Relaxed) + 1);
        Ok(())
    }
}

/// Joins the time series of all runs in the plan's order, up to the size limit, and adds the
/// constellations of their networks.
fn join(
    series: BTreeMap<usize, RunSeries>,
    notes: &mut Vec<String>,
) -> Result<Recording, LabError> {
    let (mut index, mut all) = (Vec::new(), Vec::new());
    let total = series.len();
    for RunSeries { mut trace, blob, network } in series.into_values() {
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

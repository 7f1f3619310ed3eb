//! Runs a plan on threads of Rust or elsewhere, and handles signals and progress meanwhile.

use crate::cluster::Remote;
use crate::controller::PythonSimulator;
use crate::error::raise;
use crate::plan::Plan;
use crate::results::{Place, RunData};
use bentpipe_lab::{Executor, Options, Progress, ResultStore, Threads, record};
use pyo3::exceptions::{PyOSError, PyUserWarning};
use pyo3::prelude::*;
use std::ffi::CString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Time between two looks at signals. Ctrl-C should end a run at once for a person.
const POLL: Duration = Duration::from_millis(50);

/// Where the results of runs come from and go to.
#[derive(FromPyObject)]
pub struct StoreOptions {
    /// Directory of the result store; `None` for the default one.
    directory: Option<PathBuf>,
    /// False to run everything again.
    reuse: bool,
}

impl StoreOptions {
    /// Opens the store. A default one that cannot be opened is a warning.
    fn open(&self, py: Python<'_>) -> PyResult<Option<ResultStore>> {
        let directory = self.directory.clone().or_else(ResultStore::default_directory);
        let Some(directory) = directory else { return Ok(None) };
        match py.detach(|| ResultStore::open(&directory)) {
            Ok(store) => Ok(Some(store)),
            Err(error) if self.directory.is_some() => Err(PyOSError::new_err(error.to_string())),
            Err(error) => {
                let message = CString::new(format!("results are not kept for later: {error}"))?;
                PyErr::warn(py, &py.get_type::<PyUserWarning>(), &message, 2)?;
                Ok(None)
            }
        }
    }
}

/// Runs `plan` into the run directory `directory`; a temporary one if it is `None`.
///
/// Runs that the store has are taken from there, if there is one. The others run on `jobs` threads
/// [default: number of CPUs]; with `batches`, where that function runs them. Calls `progress` with
/// the number of runs that have ended. Signals are handled as in any Python code: Ctrl-C stops the
/// runs, keeps those that have ended, and raises `KeyboardInterrupt`.
#[pyfunction]
#[pyo3(signature = (plan, directory=None, jobs=None, progress=None, store=None, batches=None))]
pub fn run(
    py: Python<'_>,
    plan: &Plan,
    directory: Option<PathBuf>,
    jobs: Option<NonZeroUsize>,
    progress: Option<Py<PyAny>>,
    store: Option<StoreOptions>,
    batches: Option<Py<PyAny>>,
) -> PyResult<RunData> {
    let jobs =
        jobs.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
    let place = Place::new(directory)?;
    let plan = &*plan.plan;
    let reuse = store.as_ref().is_none_or(|store| store.reuse);
    let store = store.map_or(Ok(None), |store| store.open(py))?;
    let stop = AtomicBool::new(false);
    let simulator = PythonSimulator::default();
    let done = AtomicUsize::new(0);
    let threads = Threads { runner: &simulator, jobs };
    let remote = batches.map(Remote::new);
    let executor: &dyn Executor = match &remote {
        Some(remote) => remote,
        None => &threads,
    };
    let (recorded, interrupted) = py.detach(|| {
        let waiting = std::thread::current();
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let count = |now: Progress| done.store(now.done, Ordering::Relaxed);
                let options = Options {
                    progress: &count,
                    store: store.as_ref().map(|store| store as _),
                    reuse,
                    ..Options::new(executor, &stop)
                };
                let recorded = record(plan, place.path(), &options);
                waiting.unpark();
                recorded
            });
            let interrupted = attend(&stop, &done, progress.as_ref(), &|| worker.is_finished());
            (worker.join(), interrupted)
        })
    });
    let raised = remote.and_then(|remote| remote.take_raised());
    if let Some(raised) = interrupted.or(raised) {
        return Err(raised);
    }
    let recorded = recorded.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let recorded = recorded.map_err(|error| raise(py, &error))?;
    RunData::recorded(py, recorded, place, simulator.exception())
}

/// Handles signals and reports progress until `finished`. Returns the exception that a signal
/// handler or `progress` raised, having set `stop`.
fn attend(
    stop: &AtomicBool,
    done: &AtomicUsize,
    progress: Option<&Py<PyAny>>,
    finished: &dyn Fn() -> bool,
) -> Option<PyErr> {
    let mut raised = None;
    let mut reported = 0;
    loop {
        let finished = finished();
        if raised.is_none() {
            let ended = done.load(Ordering::Relaxed);
            let report = progress.filter(|_| ended != reported);
            reported = ended;
            let handled = Python::attach(|py| {
                py.check_signals()?;
                report.map_or(Ok(()), |report| report.call1(py, (ended,)).map(drop))
            });
            if let Err(error) = handled {
                stop.store(true, Ordering::Relaxed);
                raised = Some(error);
            }
        }
        if finished {
            return raised;
        }
        std::thread::park_timeout(POLL);
    }
}

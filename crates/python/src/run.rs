//! Runs a plan on threads of Rust, while the calling thread handles signals and progress.

use crate::controller::PythonSimulator;
use crate::error::raise;
use crate::plan::Plan;
use crate::results::{Place, RunData};
use bentpipe_lab::{Options, Progress, Threads, record};
use pyo3::prelude::*;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Time between two looks at signals. Ctrl-C should end a run at once for a person.
const POLL: Duration = Duration::from_millis(50);

/// Runs `plan` on `jobs` threads [default: number of CPUs] into the run directory `directory`; a
/// temporary one if it is `None`.
///
/// Calls `progress` with the number of runs that have ended. Signals are handled as in any Python
/// code: Ctrl-C stops the runs, keeps those that have ended in `directory`, and raises
/// `KeyboardInterrupt`.
#[pyfunction]
#[pyo3(signature = (plan, directory=None, jobs=None, progress=None))]
pub fn run(
    py: Python<'_>,
    plan: &Plan,
    directory: Option<PathBuf>,
    jobs: Option<NonZeroUsize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<RunData> {
    let jobs =
        jobs.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
    let place = Place::new(directory)?;
    let plan = &*plan.plan;
    let stop = AtomicBool::new(false);
    let simulator = PythonSimulator::default();
    let done = AtomicUsize::new(0);
    let (recorded, interrupted) = py.detach(|| {
        let waiting = std::thread::current();
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let count = |now: Progress| done.store(now.done, Ordering::Relaxed);
                let executor = Threads { runner: &simulator, jobs };
                let options = Options { progress: &count, ..Options::new(&executor, &stop) };
                let recorded = record(plan, place.path(), &options);
                waiting.unpark();
                recorded
            });
            let interrupted = attend(&stop, &done, progress.as_ref(), &|| worker.is_finished());
            (worker.join(), interrupted)
        })
    });
    if let Some(interrupted) = interrupted {
        return Err(interrupted);
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

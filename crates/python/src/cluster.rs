//! Runs of a plan in other processes: what a client sends, and what a worker does.

use crate::controller::PythonSimulator;
use crate::error::raise;
use bentpipe_lab::{Deliver, ENGINE, Executor, LabError, Plan, PlanInput, StoredRun, run_alone};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Executor that runs tasks by a function of Python, elsewhere.
pub struct Remote {
    /// Called with the plan as bytes and the indices of the tasks. Returns an iterator over lists
    /// of (index, record as bytes), which may be empty while it waits.
    pub batches: Py<PyAny>,
    /// The exception that `batches` raised.
    pub raised: Mutex<Option<PyErr>>,
}

impl Remote {
    pub fn new(batches: Py<PyAny>) -> Self {
        Self { batches, raised: Mutex::new(None) }
    }

    /// Returns the exception that ended the execution, if there is one.
    pub fn take_raised(&self) -> Option<PyErr> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Passes what the workers return to `deliver`, until all have ended or `stop` is set.
    fn collect(
        &self,
        py: Python<'_>,
        plan: &Plan,
        tasks: &[usize],
        stop: &AtomicBool,
        deliver: &Deliver<'_>,
    ) -> PyResult<Result<(), LabError>> {
        let payload = PyBytes::new(py, &payload(plan));
        let batches = self.batches.bind(py).call1((payload, tasks))?;
        let result = self.deliver_all(py, &batches, stop, deliver);
        // Cancels what has not started, also after an error.
        batches.call_method0("close")?;
        result
    }

    fn deliver_all(
        &self,
        py: Python<'_>,
        batches: &Bound<'_, PyAny>,
        stop: &AtomicBool,
        deliver: &Deliver<'_>,
    ) -> PyResult<Result<(), LabError>> {
        for batch in batches.try_iter()? {
            let batch: Vec<(usize, Vec<u8>)> = batch?.extract()?;
            let delivered = py.detach(|| {
                for (index, bytes) in batch {
                    let record = StoredRun::from_bytes(&bytes);
                    let record = record.map_err(|error| LabError::read("a worker's result", error));
                    deliver(index, record?)?;
                }
                Ok(())
            });
            if delivered.is_err() || stop.load(Ordering::Relaxed) {
                return Ok(delivered);
            }
        }
        Ok(Ok(()))
    }
}

impl Executor for Remote {
    fn execute(
        &self,
        plan: &Plan,
        tasks: &[usize],
        stop: &AtomicBool,
        deliver: &Deliver<'_>,
    ) -> Result<(), LabError> {
        if tasks.is_empty() {
            return Ok(());
        }
        Python::attach(|py| match self.collect(py, plan, tasks, stop, deliver) {
            Ok(result) => result,
            Err(raised) => {
                // Without the name of the class, which the command's users do not know.
                let error = LabError::Executor { reason: raised.value(py).to_string() };
                *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(raised);
                Err(error)
            }
        })
    }
}

/// Clusters that the package `bentpipe` connects to.
pub struct Clusters;

impl bentpipe_cli::Cluster for Clusters {
    fn dask(&self, address: &str) -> Result<Box<dyn Executor>, String> {
        Python::attach(|py| {
            let module = py.import("bentpipe._cluster");
            let batches = module.and_then(|module| module.call_method1("connect", (address,)));
            let batches = batches.map_err(|error| error.value(py).to_string())?;
            Ok(Box::new(Remote::new(batches.unbind())) as Box<dyn Executor>)
        })
    }
}

/// Returns everything that a worker needs to make the plan.
fn payload(plan: &Plan) -> Vec<u8> {
    // Fails for maps with keys that are no text, which the input of a plan does not have.
    serde_json::to_vec(&plan.input()).unwrap_or_default()
}

/// Plans that this worker has made, latest last.
static PLANS: Mutex<Vec<(Vec<u8>, Arc<Plan>)>> = Mutex::new(Vec::new());
/// Number of plans that a worker keeps. Clients interleave the batches of few.
const MAX_PLANS: usize = 4;

/// Digest of the simulator and its dependencies. Only workers with the same one give the same
/// results.
#[pyfunction]
pub fn engine() -> &'static str {
    ENGINE
}

/// Runs the tasks with these `indices` of the plan in `payload`, one after another, and returns
/// their records as bytes.
#[pyfunction]
pub fn run_tasks(
    py: Python<'_>,
    payload: &[u8],
    indices: Vec<usize>,
) -> PyResult<Vec<Py<PyBytes>>> {
    let plan = plan(payload).map_err(|error| match error {
        PlanError::Payload(reason) => PyValueError::new_err(reason),
        PlanError::Lab(error) => raise(py, &error),
    })?;
    let never = AtomicBool::new(false);
    let simulator = PythonSimulator::default();
    let run = |index: usize| {
        let task = plan.tasks.get(index).copied();
        let task = task.ok_or_else(|| {
            PyValueError::new_err(format!("there is no task {index} of {}", plan.tasks.len()))
        })?;
        let record = py.detach(|| run_alone(&plan, &simulator, task, &never));
        let record = record.map_err(|error| {
            let error = raise(py, &error);
            error.set_cause(py, simulator.exception());
            error
        })?;
        Ok(PyBytes::new(py, &record.map(|record| record.to_bytes()).unwrap_or_default()).unbind())
    };
    indices.into_iter().map(run).collect()
}

enum PlanError {
    Payload(String),
    Lab(LabError),
}

/// Returns the plan of `payload`, made once for all its batches.
fn plan(payload: &[u8]) -> Result<Arc<Plan>, PlanError> {
    let mut plans = PLANS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, plan)) = plans.iter().find(|(own, _)| own == payload) {
        return Ok(Arc::clone(plan));
    }
    let input: PlanInput =
        serde_json::from_slice(payload).map_err(|error| PlanError::Payload(error.to_string()))?;
    let plan = Plan::from_input(&input).map_err(|error| PlanError::Lab(error.into()))?;
    let plan = Arc::new(plan.on_virtual_clock().map_err(PlanError::Lab)?);
    if plans.len() == MAX_PLANS {
        plans.remove(0);
    }
    plans.push((payload.to_vec(), Arc::clone(&plan)));
    Ok(plan)
}

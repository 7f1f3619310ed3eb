//! A checked scenario and its runs.

use crate::error::raise;
use bentpipe_lab::{Changes, LabError};
use pyo3::prelude::*;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

/// A checked scenario and the list of its runs.
#[pyclass(frozen, module = "bentpipe._bentpipe")]
pub struct Plan {
    pub plan: Arc<bentpipe_lab::Plan>,
}

#[pymethods]
impl Plan {
    /// Checks the scenario `text`, called `name` in errors, with the assignments `sets`. Paths in
    /// it are relative to `directory`.
    #[new]
    #[pyo3(signature = (name, text, directory, sets, seed=None, repeat=None))]
    fn new(
        py: Python<'_>,
        name: &str,
        text: &str,
        directory: PathBuf,
        sets: Vec<String>,
        seed: Option<u64>,
        repeat: Option<u64>,
    ) -> PyResult<Self> {
        let changes = Changes { sets, seed, repeat };
        py.detach(|| checked(name, text, &directory, &changes))
            .map(|plan| Self { plan: Arc::new(plan) })
            .map_err(|error| raise(py, &error))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.plan.name
    }

    #[getter]
    fn title(&self) -> &str {
        &self.plan.title
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.plan.seed
    }

    /// Names of the variants, in order.
    #[getter]
    fn variants(&self) -> Vec<String> {
        self.plan.variants.clone()
    }

    /// The swept keys in order, each with its values as text.
    #[getter]
    fn sweep(&self) -> Vec<(String, Vec<String>)> {
        self.plan.sweep.clone()
    }

    /// Number of runs.
    #[getter]
    fn runs(&self) -> usize {
        self.plan.tasks.len()
    }

    /// The scenario with all changes, as TOML.
    #[getter]
    fn source(&self) -> &str {
        &self.plan.source
    }

    /// Notes for the reader of the results.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.plan.notes.clone()
    }
}

fn checked(
    name: &str,
    text: &str,
    directory: &Path,
    changes: &Changes,
) -> Result<bentpipe_lab::Plan, LabError> {
    let mut plan = bentpipe_lab::Plan::parse(name, text, directory, changes)?;
    plan.commit = bentpipe_cli::commit();
    plan.on_virtual_clock()
}

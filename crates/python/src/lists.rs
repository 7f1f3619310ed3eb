//! Built-in names as JSON, as `bentpipe profiles --json` and its siblings print them.

use pyo3::prelude::*;

/// The built-in paths.
#[pyfunction]
pub fn profiles() -> String {
    bentpipe_cli::lists::profiles().to_string()
}

/// Congestion controllers, slow-start algorithms and resumption, with their parameters.
#[pyfunction]
pub fn controllers() -> String {
    bentpipe_cli::lists::controllers().to_string()
}

/// The built-in constellations.
#[pyfunction]
pub fn constellations() -> String {
    bentpipe_cli::lists::constellations().to_string()
}

/// The built-in cities whose name contains `part`.
#[pyfunction]
pub fn cities(part: &str) -> String {
    bentpipe_cli::lists::cities(part).to_string()
}

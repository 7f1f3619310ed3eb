//! Imports of measurements of real paths.

use crate::error::raise;
use bentpipe_cli::recordings::{Arguments, import, interval, offset, phase};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::fmt::Display;
use std::path::PathBuf;

/// What Python asks for, as keywords.
#[derive(FromPyObject)]
pub struct Request {
    files: Vec<PathBuf>,
    up: Vec<PathBuf>,
    down: Vec<PathBuf>,
    out: PathBuf,
    format: Option<String>,
    direction: Option<String>,
    offset: Option<String>,
    interval: Option<String>,
    phase: Option<String>,
    rate: Option<String>,
    licence: Option<String>,
}

/// Reads the value of an argument, if it is given.
fn value<T, E: Display>(
    name: &str,
    text: Option<&String>,
    read: impl Fn(&str) -> Result<T, E>,
) -> PyResult<Option<T>> {
    let refused = |error| PyValueError::new_err(format!("{name}: {error}"));
    text.map(|text| read(text)).transpose().map_err(refused)
}

/// Returns one of the words that an argument may be.
fn word(name: &str, given: Option<String>, allowed: &[&str]) -> PyResult<Option<String>> {
    match given {
        Some(text) if !allowed.contains(&text.as_str()) => {
            let reason = format!("{name}: `{text}`; allowed: {}", allowed.join(", "));
            Err(PyValueError::new_err(reason))
        }
        given => Ok(given),
    }
}

/// Imports measurements, as `bentpipe import` does. Returns what was found: headings and lines.
#[pyfunction]
pub fn import_recording(
    py: Python<'_>,
    request: Request,
) -> PyResult<Vec<(&'static str, Vec<String>)>> {
    let arguments = Arguments {
        format: word("format", request.format, &Arguments::format_names())?,
        direction: word("direction", request.direction, &["up", "down"])?,
        offset: value("offset", request.offset.as_ref(), offset)?,
        interval: value("interval", request.interval.as_ref(), interval)?,
        phase: value("phase", request.phase.as_ref(), phase)?,
        rate: value("rate", request.rate.as_ref(), str::parse)?,
        files: request.files,
        up: request.up,
        down: request.down,
        out: request.out,
        licence: request.licence,
    };
    let imported = py.detach(|| import(&arguments)).map_err(|error| raise(py, &error))?;
    Ok(imported.summary.blocks().map(|(heading, lines)| (heading, lines.to_vec())).collect())
}

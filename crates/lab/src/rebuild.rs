//! Rebuilds the report of a run directory.

use crate::error::LabError;
use crate::rundir::MANIFEST;
use bentpipe_report::{Recording, html};
use bentpipe_results::{Manifest, Results};
use serde::de::DeserializeOwned;
use std::fs;
use std::path::{Path, PathBuf};

/// Rebuilds `report.html` from the results in `directory`, and returns its path.
///
/// # Errors
/// `directory` is not a run directory, a file in it cannot be read, or it cannot be written.
pub fn rebuild(directory: &Path) -> Result<PathBuf, LabError> {
    let manifest: Manifest = read_json(&directory.join(MANIFEST))?;
    let results: Results = read_json(&directory.join("results.json"))?;
    let index = directory.join("traces.json");
    let mut recording = Recording::default();
    if index.exists() {
        let blob = directory.join("traces.bin");
        recording.traces = read_json(&index)?;
        recording.blob = fs::read(&blob).map_err(|error| LabError::read(blob, error))?;
    }
    let constellations = directory.join("constellations.json");
    if constellations.exists() {
        recording.constellations = read_json(&constellations)?;
    }
    let path = directory.join("report.html");
    let page =
        html(&manifest, &results, &recording).map_err(|error| LabError::write(&path, error))?;
    // The old report stays in place until the new one is complete.
    let partial = directory.join(format!(".report.html.partial-{}", std::process::id()));
    fs::write(&partial, page)
        .and_then(|()| fs::rename(&partial, &path))
        .map_err(|error| LabError::write(&path, error))?;
    Ok(path)
}

/// Reads the JSON document in `path`, a file of a run directory.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, LabError> {
    let text = fs::read_to_string(path).map_err(|error| {
        LabError::read(path, format!("{error}; allowed: a directory that `bentpipe run` wrote"))
    })?;
    serde_json::from_str(&text).map_err(|error| {
        LabError::read(path, format!("{error}; was it written by another version of Bentpipe?"))
    })
}

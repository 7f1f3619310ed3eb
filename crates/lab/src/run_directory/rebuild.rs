//! Rebuilds the report of a run directory, as one to read or one to change and run.

use super::read::RunDirectory;
use super::write::replace_file;
use crate::error::LabError;
use bentpipe_files::read_below;
use bentpipe_report::{Editable, data_in, editable_html, html};
use bentpipe_results::Clock;
use std::path::{Path, PathBuf};

/// Rebuilds `report.html` from the results in `directory`, and returns its path.
///
/// # Errors
/// `directory` is not a run directory, a file in it cannot be read, or it cannot be written.
pub fn rebuild(directory: &Path) -> Result<PathBuf, LabError> {
    let opened = RunDirectory::open(directory)?;
    let (results, recording) = (opened.results()?, opened.recording()?);
    let path = directory.join("report.html");
    let page = html(&opened.manifest, &results, &recording)
        .map_err(|error| LabError::write(&path, error))?;
    replace_file(&path, page.as_bytes())?;
    Ok(path)
}

/// Returns the elements with the data of the report of the run directory `directory`, for a page
/// that shows it.
///
/// # Errors
/// `directory` is not a run directory, or a file in it cannot be read.
pub fn page_data(directory: &Path) -> Result<String, LabError> {
    // The report has them, unless the command was built without the page.
    let page = read_below(directory, Path::new("report.html")).unwrap_or_default();
    if let Some(data) = str::from_utf8(&page).ok().and_then(data_in) {
        return Ok(data.to_owned());
    }
    let opened = RunDirectory::open(directory)?;
    let (results, recording) = (opened.results()?, opened.recording()?);
    bentpipe_report::page_data(&opened.manifest, &results, &recording, 0)
        .map_err(|error| LabError::read(directory, error))
}

/// Returns the report of the run directory `directory` as a page in which a reader can change the
/// scenario and run it. `engine` are the elements that `make wasm` wrote, or others that load them.
///
/// # Errors
/// `directory` is not a run directory, a file in it cannot be read, it has no runs of the virtual
/// clock, or the command was built without the page.
pub fn editable(directory: &Path, engine: &str) -> Result<String, LabError> {
    let refuse = |reason: &str| LabError::Usage {
        argument: "DIR",
        reason: format!("{}: {reason}", directory.display()),
    };
    let opened = RunDirectory::open(directory)?;
    let (results, recording) = (opened.results()?, opened.recording()?);
    if opened.manifest.clock == Clock::Real {
        return Err(refuse("its runs were in real time, which a page cannot repeat"));
    }
    if results.runs.is_empty() {
        return Err(refuse("it has no runs; allowed: a directory that `bentpipe run` wrote"));
    }
    let name = format!("{}.toml", opened.manifest.scenario);
    let files = opened.inputs()?;
    let files = files.into_iter().map(|(name, text)| (name.display().to_string(), text)).collect();
    let scenario = Editable { name: &name, files: &files, engine };
    let page = editable_html(&opened.manifest, &results, &recording, &scenario)
        .map_err(|error| LabError::read(directory, error))?;
    page.ok_or_else(|| refuse("this `bentpipe` was built without the report page: make build"))
}

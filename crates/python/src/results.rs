//! The results of a plan, with the run directory that holds its files.

use crate::error::raise;
use crate::figure::{FigureText, Request, refused};
use crate::packets;
use crate::series;
use crate::table::TableData;
use bentpipe_lab::{LabError, Recorded, RunDirectory, Staging, is_below, run_name, select_case};
use bentpipe_report::{FigureData, Recording, Trace, What, figure, offers};
use bentpipe_results::{Manifest, Point, Results, TABLES, find_table};
use pyo3::exceptions::{PyLookupError, PyOSError, PyValueError};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tempfile::TempDir;

/// A run directory: one that the caller named, or a temporary one that this owns.
pub enum Place {
    Named(PathBuf),
    Temporary(TempDir, PathBuf),
}

impl Place {
    pub fn new(directory: Option<PathBuf>) -> PyResult<Self> {
        if let Some(directory) = directory {
            return Ok(Self::Named(directory));
        }
        let parent = tempfile::Builder::new().prefix("bentpipe-").tempdir().map_err(|error| {
            PyOSError::new_err(format!("cannot create a temporary directory: {error}"))
        })?;
        let path = parent.path().join("run");
        Ok(Self::Temporary(parent, path))
    }

    pub fn path(&self) -> &Path {
        match self {
            Self::Named(path) | Self::Temporary(_, path) => path,
        }
    }
}

/// Results of a plan.
#[pyclass(frozen, module = "bentpipe._bentpipe")]
pub struct RunData {
    place: Place,
    directory: RunDirectory,
    results: Results,
    failure: Option<String>,
    exception: Option<PyErr>,
    /// Time series, read when they are first needed.
    recording: OnceLock<Recording>,
}

#[pymethods]
impl RunData {
    /// Reads a directory that `bentpipe run` wrote.
    #[staticmethod]
    fn load(py: Python<'_>, directory: PathBuf) -> PyResult<Self> {
        py.detach(|| Self::read(Place::Named(directory), None)).map_err(|error| raise(py, &error))
    }

    /// Writes `files`, by name, to a temporary run directory and reads it.
    #[staticmethod]
    fn from_files(py: Python<'_>, files: BTreeMap<String, Vec<u8>>) -> PyResult<Self> {
        let place = Place::new(None)?;
        let written = py.detach(|| {
            let files = files.iter().map(|(name, bytes)| (name.as_str(), Ok(bytes.clone())));
            write(place.path(), files)?;
            Self::read(place, None)
        });
        written.map_err(|error| raise(py, &error))
    }

    /// Returns the content of every file of the directory, by name.
    fn files(&self, py: Python<'_>) -> PyResult<BTreeMap<String, Vec<u8>>> {
        let read = |name: &str| Ok((name.to_owned(), self.directory.bytes(name)?));
        let files: Result<_, LabError> = py.detach(|| self.directory.names().map(read).collect());
        files.map_err(|error| raise(py, &error))
    }

    /// Writes the run directory `directory` atomically, and returns its path. Replaces an earlier
    /// run there and nothing else.
    fn save(&self, py: Python<'_>, directory: PathBuf) -> PyResult<PathBuf> {
        let files = self.directory.names().map(|name| (name, self.directory.bytes(name)));
        py.detach(|| write(&directory, files)).map_err(|error| raise(py, &error))
    }

    /// The run directory; `None` for a temporary one.
    #[getter]
    fn directory(&self) -> Option<&Path> {
        match &self.place {
            Place::Named(path) => Some(path),
            Place::Temporary(..) => None,
        }
    }

    #[getter]
    fn scenario(&self) -> &str {
        &self.directory.manifest.scenario
    }

    #[getter]
    fn title(&self) -> &str {
        &self.directory.manifest.title
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.directory.manifest.seed
    }

    #[getter]
    fn version(&self) -> &str {
        &self.directory.manifest.version
    }

    #[getter]
    fn variants(&self) -> Vec<String> {
        self.directory.manifest.variants.clone()
    }

    /// The swept keys in order, each with its values as text.
    #[getter]
    fn sweep(&self) -> Vec<(String, Vec<String>)> {
        let axes = self.directory.manifest.sweep.iter();
        axes.map(|axis| (axis.key.clone(), axis.values.clone())).collect()
    }

    /// True if all planned runs have ended.
    #[getter]
    fn complete(&self) -> bool {
        self.directory.manifest.complete
    }

    #[getter]
    fn runs_planned(&self) -> usize {
        self.directory.manifest.runs_planned
    }

    #[getter]
    fn runs_done(&self) -> usize {
        self.directory.manifest.runs_done
    }

    #[getter]
    fn notes(&self) -> Vec<String> {
        self.directory.manifest.notes.clone()
    }

    /// The scenario as run, as TOML.
    #[getter]
    fn source(&self) -> &str {
        &self.directory.manifest.source
    }

    /// True if every expectation passed.
    #[getter]
    fn passed(&self) -> bool {
        self.results.all_passed()
    }

    /// Why a run failed; `None` if none did.
    #[getter]
    fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// The exception of a controller that made a run fail; `None` if none did.
    #[getter]
    fn exception<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        self.exception.as_ref().map(|exception| exception.value(py).clone().into_any())
    }

    /// The document `results.json`.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        let json = py.detach(|| self.results.to_json());
        json.map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The report page.
    fn report(&self, py: Python<'_>) -> PyResult<String> {
        let page = py.detach(|| self.directory.bytes("report.html"));
        let page = page.map_err(|error| raise(py, &error))?;
        String::from_utf8(page).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Name and meaning of each table.
    #[staticmethod]
    fn tables() -> Vec<(&'static str, &'static str)> {
        TABLES.iter().map(|kind| (kind.name, kind.about)).collect()
    }

    /// Returns the table called `name`.
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<TableData> {
        let Some(kind) = find_table(name) else {
            let names: Vec<&str> = TABLES.iter().map(|kind| kind.name).collect();
            return Err(PyLookupError::new_err(format!(
                "no table is named `{name}`; allowed: {}",
                names.join(", ")
            )));
        };
        py.detach(|| TableData::new(kind.of(&self.results)))
    }

    /// Returns the figure that `request` describes.
    fn figure(&self, py: Python<'_>, request: Request) -> PyResult<FigureText> {
        let (request, style) = request.parts()?;
        let none = Recording::default();
        let recording = if request.what == What::Series { self.recording(py)? } else { &none };
        let data = self.figure_data(recording);
        let drawn = py.detach(|| figure(data, &request, style));
        drawn.map(FigureText).map_err(|error| refused(&error))
    }

    /// Returns the kinds of figures that these results have the data of, each with what it shows.
    fn figures(&self, py: Python<'_>) -> PyResult<Vec<(&'static str, String)>> {
        let data = self.figure_data(self.recording(py)?);
        let all = py.detach(|| offers(data)).into_iter();
        Ok(all.filter_map(|(what, found)| Some((what.name(), found.ok()?))).collect())
    }

    /// Variant, point and number of each run with time series.
    fn recorded_runs(&self, py: Python<'_>) -> PyResult<Vec<(String, Point, u64)>> {
        let traces = &self.recording(py)?.traces;
        Ok(traces
            .iter()
            .map(|trace| (trace.variant.clone(), trace.point.clone(), trace.run))
            .collect())
    }

    /// Returns the time series of one run.
    fn series(
        &self,
        py: Python<'_>,
        variant: Option<&str>,
        run: u64,
        point: Point,
    ) -> PyResult<TableData> {
        let recording = self.recording(py)?;
        let trace = self.trace(recording, variant, run, &point)?;
        py.detach(|| {
            let [series, _] = recording.tables_of(&[trace]);
            TableData::new(series)
        })
    }

    /// Returns marks and phases of the flows of one run.
    fn marks(
        &self,
        py: Python<'_>,
        variant: Option<&str>,
        run: u64,
        point: Point,
    ) -> PyResult<TableData> {
        let recording = self.recording(py)?;
        let trace = self.trace(recording, variant, run, &point)?;
        py.detach(|| TableData::new(series::marks(trace)))
    }

    /// Returns the qlog events of one run.
    fn packets(
        &self,
        py: Python<'_>,
        variant: Option<&str>,
        run: u64,
        point: Point,
    ) -> PyResult<TableData> {
        let directory = self.qlog_directory(variant, run, &point)?;
        let names: Vec<&str> =
            self.directory.names().filter(|name| name.starts_with(&directory)).collect();
        if names.is_empty() {
            return Err(PyLookupError::new_err(format!(
                "this run has no qlog; to record it, set output.qlog = true (run 0 of each case \
                 has it then, and every run with output.time_series = \"all\"): {directory}"
            )));
        }
        py.detach(|| {
            let files = names.iter().map(|name| Ok((*name, self.directory.bytes(name)?)));
            let files: Vec<_> = files.collect::<Result<_, LabError>>()?;
            packets::table(&files)
        })
        .map_err(|error| raise(py, &error))
        .and_then(|table| py.detach(|| TableData::new(table)))
    }
}

impl RunData {
    /// Takes the results of a plan that has been run into `place`.
    ///
    /// `exception` is the cause of a failure, if a controller raised one.
    pub fn recorded(
        py: Python<'_>,
        recorded: Recorded,
        place: Place,
        exception: Option<PyErr>,
    ) -> PyResult<Self> {
        let failure = recorded.failure.as_ref();
        if recorded.directory.is_none()
            && let Some(failure) = failure
        {
            let error = raise(py, failure);
            error.set_cause(py, exception);
            return Err(error);
        }
        let failure = failure.map(ToString::to_string);
        let data = py.detach(|| {
            // Runs that are incomplete do not replace complete ones, and have another directory.
            let place = match (place, recorded.directory) {
                (Place::Temporary(owner, _), Some(path)) => Place::Temporary(owner, path),
                (Place::Named(_), Some(path)) => Place::Named(path),
                (place, None) => place,
            };
            let directory = RunDirectory::open(place.path())?;
            let results = recorded.results;
            let recording = OnceLock::new();
            Ok(Self { place, directory, results, failure, exception, recording })
        });
        data.map_err(|error: LabError| raise(py, &error))
    }

    fn figure_data<'a>(&'a self, recording: &'a Recording) -> FigureData<'a> {
        FigureData { manifest: &self.directory.manifest, results: &self.results, recording }
    }

    fn read(place: Place, failure: Option<String>) -> Result<Self, LabError> {
        let directory = RunDirectory::open(place.path())?;
        let results = directory.results()?;
        let recording = OnceLock::new();
        Ok(Self { place, directory, results, failure, exception: None, recording })
    }

    fn recording(&self, py: Python<'_>) -> PyResult<&Recording> {
        if let Some(recording) = self.recording.get() {
            return Ok(recording);
        }
        let recording = py
            .detach(|| self.directory.recording())
            .map_err(|error: LabError| raise(py, &error))?;
        Ok(self.recording.get_or_init(|| recording))
    }

    /// Returns the time series of the only run that `variant`, `run` and `point` select.
    fn trace<'a>(
        &self,
        recording: &'a Recording,
        variant: Option<&str>,
        run: u64,
        point: &Point,
    ) -> PyResult<&'a Trace> {
        let (variant, point) = self.case(variant, point)?;
        let traces = &recording.traces;
        let same = |trace: &&Trace| trace.variant == variant && trace.point == point;
        traces.iter().find(|trace| same(trace) && trace.run == run).ok_or_else(|| {
            let runs: Vec<String> =
                traces.iter().filter(same).map(|trace| trace.run.to_string()).collect();
            let recorded = if runs.is_empty() { "none".to_owned() } else { runs.join(", ") };
            PyLookupError::new_err(format!(
                "run {run} of `{variant}` has no time series; recorded: {recorded}. For those of \
                 every run, set output.time_series = \"all\""
            ))
        })
    }

    /// Returns the only variant and point that the arguments select.
    fn case(&self, variant: Option<&str>, point: &Point) -> PyResult<(String, Point)> {
        let Manifest { variants, sweep, .. } = &self.directory.manifest;
        let axes = sweep.iter().map(|axis| (axis.key.as_str(), axis.values.as_slice()));
        select_case(variants, axes, variant, point)
            .map_err(|(_, reason)| PyLookupError::new_err(reason))
    }

    /// Returns the directory of a run's qlog files: `qlog/CASE-VARIANT-runN/`.
    fn qlog_directory(&self, variant: Option<&str>, run: u64, point: &Point) -> PyResult<String> {
        let (variant, point) = self.case(variant, point)?;
        // Cases are ordered by point, of which the last key varies fastest, then by variant.
        let mut case = 0;
        for axis in &self.directory.manifest.sweep {
            let value = axis.values.iter().position(|value| Some(value) == point.get(&axis.key));
            case = case * axis.values.len() + value.unwrap_or_default();
        }
        let index = self.directory.manifest.variants.iter().position(|name| *name == variant);
        let case = case * self.directory.manifest.variants.len() + index.unwrap_or_default();
        Ok(format!("qlog/{}/", run_name(case, &variant, run)))
    }
}

/// Writes `files` to the run directory `directory` atomically.
fn write<'a>(
    directory: &Path,
    files: impl Iterator<Item = (&'a str, Result<Vec<u8>, LabError>)>,
) -> Result<PathBuf, LabError> {
    let staging = Staging::create(directory)?;
    for (name, bytes) in files {
        if !is_below(Path::new(name)) {
            return Err(LabError::write(
                directory,
                format!("`{name}` is not a file name below it"),
            ));
        }
        staging.write(name, &bytes?)?;
    }
    staging.commit()
}

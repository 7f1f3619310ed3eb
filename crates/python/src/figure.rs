//! Figures of results for papers and notebooks.

use crate::error::raise;
use bentpipe_lab::write_file;
use bentpipe_report::{Figure, FigureError, FigureRequest, FigureStyle, What};
use bentpipe_results::{Point, Stats};
use pyo3::exceptions::PyLookupError;
use pyo3::prelude::*;
use std::path::PathBuf;

/// A figure: a drawing and its numbers.
#[pyclass(frozen, module = "bentpipe._bentpipe")]
pub struct FigureText(pub Figure);

#[pymethods]
impl FigureText {
    /// What the figure shows, and where it is from.
    #[getter]
    fn caption(&self) -> &str {
        &self.0.caption
    }

    /// The drawing.
    #[getter]
    fn svg(&self) -> &str {
        &self.0.svg
    }

    fn csv(&self) -> String {
        self.0.csv()
    }

    fn markdown(&self) -> String {
        self.0.markdown()
    }

    fn latex(&self) -> String {
        self.0.latex()
    }

    /// Writes one of these texts to `file`.
    #[staticmethod]
    fn write(py: Python<'_>, file: PathBuf, text: &str) -> PyResult<()> {
        let written = py.detach(|| write_file(&file, text.as_bytes()));
        written.map_err(|error| raise(py, &error))
    }
}

/// What Python asks for, as keywords.
#[derive(FromPyObject)]
pub struct Request {
    what: String,
    metric: Option<String>,
    flow: Option<String>,
    visit: Option<usize>,
    point: Point,
    variants: Vec<String>,
    along: Option<String>,
    series: Vec<String>,
    link: Option<String>,
    run: u64,
    width: f64,
    serif: bool,
    grey: bool,
    caption: bool,
}

impl Request {
    /// Returns the request and the style.
    pub fn parts(self) -> PyResult<(FigureRequest, FigureStyle)> {
        let Some(what) = What::named(&self.what) else {
            let names = What::ALL.map(What::name).join(", ");
            let reason = format!("no figure is named `{}`; allowed: {names}", self.what);
            return Err(PyLookupError::new_err(reason));
        };
        let Self { metric, flow, visit, point, variants, along, series, link, run, .. } = self;
        let request =
            FigureRequest { what, metric, flow, visit, point, variants, along, series, link, run };
        let Self { width: width_mm, serif, grey, caption, .. } = self;
        Ok((request, FigureStyle { width_mm, serif, grey, caption }))
    }
}

/// Returns the error as Python has it: with the name of the argument, not of the option.
pub fn refused(error: &FigureError) -> PyErr {
    let argument = error.argument.trim_start_matches('-');
    PyLookupError::new_err(format!("{argument}: {}", error.reason))
}

/// Returns what figures draw beside the median of `values`: both ends, and what they are.
#[pyfunction]
pub fn interval(values: Vec<f64>) -> Option<(f64, f64, String)> {
    let found = Stats::of(&values)?.interval()?;
    Some((found.low, found.high, found.words()))
}

//! Errors as exceptions of the Python package.

use bentpipe_lab::LabError;
use bentpipe_scenario::ScenarioError;
use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyValueError};
use pyo3::prelude::*;

/// Converts `error` to the exception that users catch.
pub fn raise(py: Python<'_>, error: &LabError) -> PyErr {
    match error {
        LabError::Scenario(scenario) => scenario_error(py, scenario),
        LabError::Read { path, .. } if !path.exists() => {
            PyFileNotFoundError::new_err(error.to_string())
        }
        LabError::Read { .. } | LabError::Write { .. } => PyOSError::new_err(error.to_string()),
        LabError::Usage { .. } => PyValueError::new_err(error.to_string()),
        LabError::Run { .. } | LabError::Executor { .. } => {
            exception(py, "RunError", (error.to_string(),))
        }
    }
}

/// Creates a `bentpipe.ScenarioError` with the place of `error` and its line.
pub fn scenario_error(py: Python<'_>, error: &ScenarioError) -> PyErr {
    let before = error.text.get(..error.span.start).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let column = before[line_start..].chars().count() + 1;
    let spanned = error.text.get(error.span.clone()).unwrap_or_default();
    let width = spanned.lines().next().unwrap_or_default().chars().count();
    let source = error.text.lines().nth(error.line - 1).unwrap_or_default();
    let arguments =
        (&error.message, &error.name, error.line, column, width, source, error.help.as_deref());
    exception(py, "ScenarioError", arguments)
}

/// Creates an exception of `bentpipe._errors`, where the classes are defined: an extension module
/// for several versions of Python cannot derive classes from exceptions.
fn exception<'py>(
    py: Python<'py>,
    class: &str,
    arguments: impl pyo3::call::PyCallArgs<'py>,
) -> PyErr {
    let made = py
        .import("bentpipe._errors")
        .and_then(|module| module.getattr(class))
        .and_then(|class| class.call1(arguments));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

//! The extension module `bentpipe._bentpipe` of the Python package.

use pyo3::prelude::*;

/// The native part of `bentpipe`.
#[pymodule]
mod _bentpipe {
    use pyo3::prelude::*;
    use std::ffi::OsString;
    use std::path::PathBuf;

    /// Runs the command line `args` and returns its exit status.
    #[pyfunction]
    fn main(py: Python<'_>, args: Vec<OsString>, program: PathBuf) -> u8 {
        py.detach(|| bentpipe_cli::main_with(args, &program))
    }
}

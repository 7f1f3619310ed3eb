//! Reads trace files.

use crate::{ConfigError, LinkError, ReadFiles};
use std::path::Path;

/// Reads the file `name` of `files` with `parse`, whose errors contain the line, from 1.
pub(crate) fn read<T>(
    files: &dyn ReadFiles,
    name: &Path,
    parse: impl Fn(&str) -> Result<T, (usize, ConfigError)>,
) -> Result<T, LinkError> {
    let text = files
        .read(name)
        .map_err(|source| LinkError::Read { path: files.location(name), source })?;
    parse(&text).map_err(|(line, error)| LinkError::Trace {
        path: files.location(name),
        line,
        error,
    })
}

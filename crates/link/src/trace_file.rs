//! Reads trace files.

use crate::{ConfigError, LinkError};
use std::path::{Path, PathBuf};

/// Reads the file at `path` with `parse`, whose errors contain the line, from 1.
pub(crate) fn read<T>(
    path: &Path,
    parse: impl Fn(&str) -> Result<T, (usize, ConfigError)>,
) -> Result<T, LinkError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| LinkError::Read { path: PathBuf::from(path), source })?;
    parse(&text).map_err(|(line, error)| LinkError::Trace {
        path: PathBuf::from(path),
        line,
        error,
    })
}

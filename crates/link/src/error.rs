//! Errors in a link's configuration.

use bentpipe_units::UnitError;
use std::path::PathBuf;
use thiserror::Error;

/// An invalid configuration. The message names the value and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// The text is not a quantity.
    #[error(transparent)]
    Unit(#[from] UnitError),
    /// The value is invalid.
    #[error("`{value}` {problem}; allowed: {allowed}")]
    Refused {
        /// The value, with its key if that helps.
        value: String,
        /// The problem.
        problem: String,
        /// Allowed values.
        allowed: String,
    },
}

impl ConfigError {
    /// Returns the error that `value` has the given `problem`, while `allowed` would be valid.
    pub(crate) fn refused(
        value: impl ToString,
        problem: impl ToString,
        allowed: impl ToString,
    ) -> Self {
        Self::Refused {
            value: value.to_string(),
            problem: problem.to_string(),
            allowed: allowed.to_string(),
        }
    }
}

/// Why a link's configuration could not be loaded.
#[derive(Debug, Error)]
pub enum LinkError {
    /// The configuration is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A trace file cannot be read.
    #[error("cannot read the trace {}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A trace file contains an invalid line.
    #[error("{}, line {line}: {error}", .path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The invalid line.
        error: ConfigError,
    },
}

//! What can be wrong with a link's description.

use bentpipe_units::UnitError;
use std::path::PathBuf;
use thiserror::Error;

/// Why a link cannot be built as described. Names the value and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// A text is no quantity.
    #[error(transparent)]
    Unit(#[from] UnitError),
    /// A value is understood but cannot be.
    #[error("`{value}` {problem}; allowed: {allowed}")]
    Refused {
        /// The value, with its key where that helps.
        value: String,
        /// What is wrong with it.
        problem: String,
        /// What would be right.
        allowed: String,
    },
}

impl ConfigError {
    /// `value` has `problem`; `allowed` would do.
    pub(crate) fn refused(value: impl ToString, problem: impl ToString, allowed: impl ToString) -> Self {
        Self::Refused { value: value.to_string(), problem: problem.to_string(), allowed: allowed.to_string() }
    }
}

/// Why a link's description could not be loaded.
#[derive(Debug, Error)]
pub enum LinkError {
    /// The description itself is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A trace could not be read.
    #[error("cannot read the trace {}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A trace holds something that does not belong there.
    #[error("{}, line {line}: {error}", .path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong there.
        error: ConfigError,
    },
}

//! What keeps a scenario from ending in a complete run directory.

use bentpipe_scenario::ScenarioError;
use std::path::PathBuf;
use thiserror::Error;

/// Everything that keeps a scenario from ending in a complete run directory.
#[derive(Debug, Error)]
pub enum LabError {
    /// The scenario is wrong.
    #[error(transparent)]
    Scenario(#[from] Box<ScenarioError>),
    /// A file that should be read cannot be.
    #[error("cannot read {}: {reason}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The output directory, or a file in it, cannot be written.
    #[error("cannot write {}: {reason}", path.display())]
    Write {
        /// The directory or file.
        path: PathBuf,
        /// Why, and what would do.
        reason: String,
    },
    /// An argument of the command line is wrong.
    #[error("{argument}: {reason}")]
    Usage {
        /// The option or argument.
        argument: &'static str,
        /// What is wrong, and what would do.
        reason: String,
    },
    /// A run ended in an error of its own.
    #[error("run {run} of variant `{variant}`{point} failed: {reason}")]
    Run {
        /// The variant.
        variant: String,
        /// The sweep point in words, with a leading space; empty where nothing is swept.
        point: String,
        /// The run's number.
        run: u64,
        /// What the simulator said.
        reason: String,
    },
}

impl LabError {
    /// True where the scenario or the command line is at fault, not the machine or the run.
    pub fn is_usage(&self) -> bool {
        !matches!(self, Self::Run { .. })
    }

    /// `path` cannot be written, for `reason`.
    pub fn write(path: impl Into<PathBuf>, reason: impl ToString) -> Self {
        Self::Write { path: path.into(), reason: reason.to_string() }
    }

    /// `path` cannot be read, for `reason`.
    pub fn read(path: impl Into<PathBuf>, reason: impl ToString) -> Self {
        Self::Read { path: path.into(), reason: reason.to_string() }
    }
}

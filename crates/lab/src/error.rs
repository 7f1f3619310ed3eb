//! Errors of scenarios and their runs.

use bentpipe_scenario::ScenarioError;
use std::path::PathBuf;
use thiserror::Error;

/// An error of a scenario, its runs or its run directory.
#[derive(Debug, Error)]
pub enum LabError {
    /// The scenario is invalid.
    #[error(transparent)]
    Scenario(#[from] Box<ScenarioError>),
    /// A file cannot be read.
    #[error("cannot read {}: {reason}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The output directory or a file in it cannot be written.
    #[error("cannot write {}: {reason}", path.display())]
    Write {
        /// The directory or file.
        path: PathBuf,
        /// The reason, and what is allowed.
        reason: String,
    },
    /// An argument is invalid.
    #[error("{argument}: {reason}")]
    Usage {
        /// The option or argument.
        argument: &'static str,
        /// What is wrong, and what is allowed.
        reason: String,
    },
    /// Runs could not be executed elsewhere.
    #[error("{reason}")]
    Executor {
        /// The reason.
        reason: String,
    },
    /// A run failed.
    #[error("run {run} of variant `{variant}`{point} failed: {reason}")]
    Run {
        /// Name of the variant.
        variant: String,
        /// The sweep point as text, with a leading space. Empty without a sweep.
        point: String,
        /// Number of the run.
        run: u64,
        /// Error of the simulator or emulator.
        reason: String,
    },
}

impl LabError {
    /// Returns true if the scenario, an argument or a path is at fault, and false if a run
    /// or its executor failed.
    pub fn is_usage(&self) -> bool {
        !matches!(self, Self::Run { .. } | Self::Executor { .. })
    }

    /// Creates a [`LabError::Write`].
    pub fn write(path: impl Into<PathBuf>, reason: impl ToString) -> Self {
        Self::Write { path: path.into(), reason: reason.to_string() }
    }

    /// Creates a [`LabError::Read`].
    pub fn read(path: impl Into<PathBuf>, reason: impl ToString) -> Self {
        Self::Read { path: path.into(), reason: reason.to_string() }
    }
}

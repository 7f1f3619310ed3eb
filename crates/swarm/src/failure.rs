//! What went wrong in an episode.

use bentpipe_lab::LabError;
use std::fmt;

/// A check that did not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Name of the check. A smaller episode fails in the same way if it fails the same check.
    pub check: String,
    /// What was expected and what was found.
    pub what: String,
}

impl Failure {
    /// Creates a failure of `check`.
    pub fn new(check: impl Into<String>, what: impl Into<String>) -> Self {
        Self { check: check.into(), what: what.into() }
    }

    /// Returns the failure that an error of a run is.
    pub fn of_run(error: &LabError) -> Self {
        let what = error.to_string();
        let LabError::Run { reason, .. } = error else { return Self::new("laboratory", what) };
        // Checks of the simulator name themselves, and so do those of the swarm.
        let named = |prefix: &str| Some(reason.strip_prefix(prefix)?.split_once('`')?.0.to_owned());
        let check = named("impossible result, check `").or_else(|| named("check `"));
        let panic = reason.starts_with("a bug in Bentpipe").then(|| "no panic".to_owned());
        Self::new(check.or(panic).unwrap_or_else(|| "run".to_owned()), what)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "check `{}`: {}", self.check, self.what)
    }
}

/// Why an episode was not played.
#[derive(Debug)]
pub enum Unplayed {
    /// A check failed.
    Failed(Failure),
    /// This machine does not permit it, for this reason.
    Skipped(String),
}

impl From<Failure> for Unplayed {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

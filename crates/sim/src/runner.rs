//! What runs have in common on every clock.

use crate::error::SimError;
use crate::outcome::RunOutcome;
use crate::simulation;
use crate::spec::{RunSpec, Stack};
use std::sync::atomic::AtomicBool;

/// Executes runs on one of the clocks.
pub trait Runner: Sync {
    /// Checks that the clock supports everything that `spec` asks for: results must not suggest
    /// that a key had an effect.
    ///
    /// # Errors
    /// Something is not supported. The error gives the reason and what is allowed.
    fn check(&self, _spec: &RunSpec) -> Result<(), String> {
        Ok(())
    }

    /// Returns the congestion control that flows with `stack` get, if it is not that of the
    /// scenario, but the nearest that there is.
    fn congestion(&self, _stack: &Stack) -> Option<String> {
        None
    }

    /// Runs `spec`, shown to users as `label`. Returns early with [`RunError::Interrupted`] once
    /// `stop` is set.
    ///
    /// # Errors
    /// The run failed or was interrupted.
    fn run(&self, spec: &RunSpec, label: &str, stop: &AtomicBool) -> Result<RunOutcome, RunError>;
}

/// Why a run has no outcome.
#[derive(Debug)]
pub enum RunError {
    /// The `stop` flag was set.
    Interrupted,
    /// The run failed, for this reason.
    Failed(String),
}

impl From<SimError> for RunError {
    fn from(error: SimError) -> Self {
        match error {
            SimError::Interrupted => Self::Interrupted,
            error => Self::Failed(error.to_string()),
        }
    }
}

/// Runs on the virtual clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct Simulator;

impl Runner for Simulator {
    fn run(&self, spec: &RunSpec, _: &str, stop: &AtomicBool) -> Result<RunOutcome, RunError> {
        Ok(simulation::run(spec, stop)?)
    }
}

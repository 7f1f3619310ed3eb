//! The run that a visit belongs to.

use bentpipe_emu::Emulator;
use bentpipe_sim::RunSpec;
use bentpipe_units::Time;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// The run that a visit belongs to, with its emulator.
#[derive(Clone, Copy)]
pub(super) struct VisitRunner<'a> {
    pub spec: &'a RunSpec,
    /// The `bentpipe` command.
    pub bentpipe: &'a Path,
    pub emulator: &'a Emulator,
    /// Set to end the run early.
    pub stop: &'a AtomicBool,
}

impl VisitRunner<'_> {
    /// Returns when a visit that starts now has to end.
    pub fn deadline(self) -> Time {
        self.emulator.now() + self.spec.time_limit
    }
}

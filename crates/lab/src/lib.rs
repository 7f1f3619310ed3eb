//! Scenario, plan, runs, results, report.
//!
//! [`Plan::read`] turns a scenario file into the list of runs, or says what is wrong with it and
//! where. [`execute`] carries the runs out, [`Execution::results`] sums them up, and [`record`] does
//! both and writes the directory that holds everything: whole, or not at all.
//!
//! Same scenario, seed and version: byte-identical results, on any number of threads.

mod error;
mod library;
pub mod orbit;
mod outcome;
pub mod plan;
#[cfg(feature = "real-clock")]
mod real_clock;
mod rebuild;
mod record;
mod resolve;
mod run;
mod rundir;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use error::LabError;
pub use library::Lab;
pub use plan::{Changes, Plan, Task};
#[cfg(feature = "real-clock")]
pub use real_clock::{LiveStats, MAX_LATENESS, RealClock, StatsObserver};
pub use rebuild::rebuild;
pub use record::{Recorded, record};
pub use resolve::{Case, FlowEnds, OrbitPath};
pub use run::{CompletedRun, Execution, Observer, RunError, Runner, Simulator, execute};
pub use rundir::{MANIFEST, Staging};

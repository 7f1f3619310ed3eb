//! Runs scenarios on the virtual or the real clock, and writes run directories.
//!
//! [`Plan::read`] checks a scenario file and returns the list of its runs. [`execute`] runs them,
//! and [`Execution::into_results`] returns their results. [`record`] does both and writes a run
//! directory atomically. [`Lab`] runs scenarios in memory.
//!
//! A run has an identity, [`TaskId`]: a digest of everything that decides its results. A
//! [`RunStore`] keeps the [`RunRecord`] of each identity, so that a study runs only what no earlier
//! one has run.
//!
//! On the virtual clock, the same scenario, seed and version give byte-identical results, on any
//! number of threads.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files as they need"))]

mod error;
mod estimate;
mod execution;
mod executor;
mod library;
pub mod orbit;
mod outcome;
mod outlook;
pub mod plan;
mod population;
#[cfg(feature = "real-clock")]
mod real_clock;
mod rebuild;
mod record;
mod resolve;
mod run;
mod run_directory;
mod run_record;
mod run_recorder;
mod rundir;
mod store;
mod task_id;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod visit_times;
mod window_notes;

pub use error::LabError;
pub use estimate::{Estimate, USUAL_PACE, estimate, measured_pace};
pub use execution::{Execution, Observer, Options, Progress, execute, remaining};
pub use executor::{Deliver, Executor, Threads};
pub use library::Lab;
pub use outlook::outlook;
pub use plan::{Changes, Plan, PlanInput, Shard, Task, select_case};
#[cfg(feature = "real-clock")]
pub use real_clock::{
    EmulatedPath, LiveStats, MAX_LATENESS, RealClock, StatsObserver, emulated_hops,
};
pub use rebuild::{editable, rebuild, replace_file, write_file};
pub use record::{Recorded, Study, record, study};
pub use resolve::{Case, FlowEnds, OrbitPath};
pub use run::{CompletedRun, RunError, Runner, Simulator, run_alone};
pub use run_directory::{RunDirectory, is_below};
pub use run_record::{DecodeError, RunRecord};
pub use run_recorder::run_name;
pub use rundir::{MANIFEST, Staging};
pub use store::{RECORDS, RecordFiles, RunStore};
#[cfg(feature = "store")]
pub use store::{ResultStore, StoreError, StoreSummary};
pub use task_id::{ENGINE, SOURCES, TaskId};

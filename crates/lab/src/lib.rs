//! Runs scenarios and writes run directories.
//!
//! The clock is a [`Runner`]: the [`Simulator`], or `RealClock` of `bentpipe-realclock`.
//! [`Plan::read`] checks a scenario file and returns the list of its runs. [`execute`] runs them,
//! and [`Execution::into_results`] returns their results. [`record`] does both and writes a run
//! directory atomically. [`Lab`] runs scenarios in memory.
//!
//! A run has an identity, [`TaskId`]: a digest of everything that decides its results. A
//! [`RunStore`] keeps the [`StoredRun`] of each identity, so that a study runs only what no earlier
//! one has run.
//!
//! On the virtual clock, the same scenario, seed and version give byte-identical results, on any
//! number of threads.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files as they need"))]

mod error;
mod estimate;
mod execution;
mod library;
mod node_factory;
pub mod orbit;
mod outcome;
mod outlook;
mod pages;
pub mod plan;
mod population;
mod resolve;
mod run_directory;
mod store;
mod task_id;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod visit_times;
mod window_notes;

/// Nodes on the path, for [`Lab::node`].
pub use bentpipe_sim::{HopEnd, node};
pub use bentpipe_sim::{RunError, Runner, Simulator};
pub use error::LabError;
pub use estimate::{Estimate, USUAL_PACE, estimate, measured_pace};
pub use execution::{
    Deliver, Execution, Executor, Observer, Options, Progress, Threads, execute, remaining,
    run_alone,
};
pub use library::Lab;
pub use outlook::outlook;
pub use plan::{Changes, Plan, PlanInput, PlanLimit, Shard, Task, select_case};
pub use resolve::{Case, FlowEnds, OrbitPath};
pub use run_directory::{
    MANIFEST, Recorded, RunDirectory, Staging, Study, editable, is_below, is_run, page_data,
    rebuild, record, replace_file, run_name, study, write_file,
};
pub use store::{DecodeError, RECORDS, RunStore, ShardFiles, StoredRun};
#[cfg(feature = "store")]
pub use store::{ResultStore, StoreError, StoreSummary};
pub use task_id::{ENGINE, SOURCES, TaskId};

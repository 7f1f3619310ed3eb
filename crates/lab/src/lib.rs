//! Scenario, plan, runs, results, report.
//!
//! [`Plan::read`] turns a scenario file into the list of runs, or says what is wrong with it and
//! where. [`execute`] carries the runs out, [`Executed::results`] sums them up, and [`record`] does
//! both and writes the directory that holds everything: whole, or not at all.
//!
//! Same scenario, seed and version: byte-identical results, on any number of threads.

mod czml;
mod error;
mod expect;
pub mod fairness;
mod leo;
pub mod orbit;
pub mod parquet;
pub mod peers;
mod plain_report;
pub mod plan;
pub mod profiles;
mod record;
mod report;
mod resolve;
pub mod results;
pub mod return_path;
mod run;
mod rundir;
pub mod scenario;
pub mod sky;
mod stats;
#[cfg(test)]
mod testing;
mod thin;
pub mod traces;
pub mod wall;

pub use error::{LabError, ScenarioError};
pub use expect::Figure;
pub use leo::Reconfiguration;
pub use plan::{Changes, Plan, Task};
pub use record::{Manifest, Recorded, SweepAxis, record};
pub use report::rebuild;
pub use resolve::{Case, FlowEnds, HopSummary, OrbitPath, PathSummary};
pub use results::Results;
pub use run::{Executed, Observer, Ran, RunError, Runner, Simulator, execute};
pub use stats::Stats;
pub use wall::Wall;

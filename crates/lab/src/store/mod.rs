//! Stores of finished runs, so that a study takes what is there and runs the rest.

mod record_file;
#[cfg(feature = "store")]
mod sqlite;

pub(crate) use record_file::entry;
pub use record_file::{RECORDS, RecordFiles};
#[cfg(feature = "store")]
pub use sqlite::{ResultStore, StoreError, StoreSummary};

use crate::plan::{Plan, Task};
use crate::run_record::RunRecord;

/// Keeps records of runs.
///
/// A store is a cache: a record that cannot be read is one that it does not have, and a record that
/// cannot be written is dropped.
pub trait RunStore: Sync {
    /// Returns the record of `task`, with everything that the plan records of it. Its names may be
    /// those of another task with the same identity.
    fn record(&self, plan: &Plan, task: Task) -> Option<RunRecord>;

    /// Returns true if the store has no records, so that none need be looked up.
    fn is_empty(&self) -> bool {
        false
    }

    /// Returns true if the store has the record of `task`.
    fn has(&self, plan: &Plan, task: Task) -> bool {
        self.record(plan, task).is_some()
    }

    /// Returns the time that a run of this task's case takes, in seconds; `None` if no earlier run
    /// tells.
    fn seconds(&self, _plan: &Plan, _task: Task) -> Option<f64> {
        None
    }

    /// Keeps the record of `task` for later.
    fn keep(&self, plan: &Plan, task: Task, record: &RunRecord);
}

//! Stores of finished runs, so that a study takes what is there and runs the rest.

mod shard_files;
#[cfg(feature = "store")]
mod sqlite;
mod stored_run;

pub(crate) use shard_files::entry;
pub use shard_files::{RECORDS, ShardFiles};
#[cfg(feature = "store")]
pub use sqlite::{ResultStore, StoreError, StoreSummary};
pub use stored_run::{DecodeError, StoredRun};
pub(crate) use stored_run::{FileKind, RunFile, StoredRecording};

use crate::plan::{Plan, Task};

/// Keeps records of runs.
///
/// A store is a cache: a record that cannot be read is one that it does not have, and a record that
/// cannot be written is dropped.
pub trait RunStore: Sync {
    /// Returns the record of `task`, with everything that the plan records of it. Its names may be
    /// those of another task with the same identity.
    fn record(&self, plan: &Plan, task: Task) -> Option<StoredRun>;

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
    fn keep(&self, plan: &Plan, task: Task, record: &StoredRun);
}

//! Runs many tasks: on several threads here, or wherever the caller does.

use super::task::run_alone;
use crate::error::LabError;
use crate::plan::{Plan, Task};
use crate::resolve::Case;
use crate::store::StoredRun;
use bentpipe_sim::Runner;
use std::cmp::Reverse;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Takes the record of the task with this index in [`Plan::tasks`].
///
/// # Errors
/// An error that must end the plan, such as a full disk.
pub type Deliver<'a> = dyn Fn(usize, StoredRun) -> Result<(), LabError> + Sync + 'a;

/// Executes tasks of a plan.
pub trait Executor: Sync {
    /// Runs the tasks with these indices in [`Plan::tasks`], and passes each record to `deliver`
    /// once the run has ended, from any thread and in any order. Returns early, without an error,
    /// once `stop` is set.
    ///
    /// The order of `tasks` is the one in which they should start. Their results do not depend on
    /// it.
    ///
    /// # Errors
    /// A run failed, or `deliver` did. Tasks that have not started are left out then.
    fn execute(
        &self,
        plan: &Plan,
        tasks: &[usize],
        stop: &AtomicBool,
        deliver: &Deliver<'_>,
    ) -> Result<(), LabError>;
}

/// Executes tasks on threads of this process.
pub struct Threads<'a> {
    /// Executes each run.
    pub runner: &'a dyn Runner,
    /// Number of threads.
    pub jobs: NonZeroUsize,
}

impl Executor for Threads<'_> {
    fn execute(
        &self,
        plan: &Plan,
        tasks: &[usize],
        stop: &AtomicBool,
        deliver: &Deliver<'_>,
    ) -> Result<(), LabError> {
        let failure: Mutex<Option<(usize, LabError)>> = Mutex::new(None);
        let next = AtomicUsize::new(0);
        let failed = AtomicBool::new(false);
        let work = || {
            while !stop.load(Ordering::Relaxed) && !failed.load(Ordering::Relaxed) {
                let Some(&index) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                let ended = run_alone(plan, self.runner, plan.tasks[index], stop);
                match ended.and_then(|record| match record {
                    Some(record) => deliver(index, record).map(|()| true),
                    None => Ok(false),
                }) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) => {
                        failed.store(true, Ordering::Relaxed);
                        let mut first = failure.lock().unwrap_or_else(PoisonError::into_inner);
                        // Report the failure that is first in the plan, not first in time.
                        if first.as_ref().is_none_or(|(at, _)| index < *at) {
                            *first = Some((index, error));
                        }
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.jobs.get().min(tasks.len().max(1)) {
                scope.spawn(work);
            }
            work();
        });
        let failure = failure.into_inner().unwrap_or_else(PoisonError::into_inner);
        failure.map_or(Ok(()), |(_, error)| Err(error))
    }
}

/// Returns the order in which tasks start: the first repeat of every case before the second, so
/// that a study that is interrupted covers all its cases, and long runs before short ones, so that
/// no thread is left with a long run at the end.
pub fn order(plan: &Plan) -> Vec<usize> {
    let work: Vec<u64> = plan.cases.iter().map(Case::work).collect();
    let mut order: Vec<usize> = (0..plan.tasks.len()).collect();
    order.sort_by_key(|&index| {
        let Task { case, run } = plan.tasks[index];
        (run, Reverse(work[case]))
    });
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TWO_VARIANTS, plan};

    #[test]
    fn every_case_starts_before_the_second_repeat_and_long_runs_start_first() {
        let plan = plan(TWO_VARIANTS);
        let order = order(&plan);
        let start: Vec<(u64, String)> = order[..5]
            .iter()
            .map(|&index| {
                let Task { case, run } = plan.tasks[index];
                (run, plan.cases[case].point["workload.download"].to_string())
            })
            .collect();
        let names: Vec<(u64, &str)> = start.iter().map(|(run, at)| (*run, at.as_str())).collect();
        // A resumed handshake needs a visit before it.
        let first = [(0, "10 MB"), (0, "2 MB"), (0, "10 MB"), (0, "2 MB"), (1, "10 MB")];
        assert_eq!(names, first);
        let mut all = order;
        all.sort_unstable();
        assert_eq!(all, Vec::from_iter(0..plan.tasks.len()));
    }
}

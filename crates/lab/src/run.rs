//! Runs a plan on several threads. The results do not depend on their number.

use crate::error::LabError;
use crate::outcome;
use crate::plan::{Plan, Task};
use crate::resolve::Case;
use bentpipe_results::Emulation;
use bentpipe_results::{Group, compare, judge, point_text};
use bentpipe_results::{Results, Run, summarise};
use bentpipe_sim::{RunOutcome, RunSpec, SimError};
use std::any::Any;
use std::cmp::Reverse;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Executes runs on one of the clocks.
pub trait Runner: Sync {
    /// Runs `spec`, shown to users as `label`. Returns early with [`RunError::Interrupted`] once
    /// `stop` is set.
    ///
    /// # Errors
    /// The run failed or was interrupted.
    fn run(&self, spec: &RunSpec, label: &str, stop: &AtomicBool)
    -> Result<CompletedRun, RunError>;
}

/// A run that ended without an error.
#[derive(Debug)]
pub struct CompletedRun {
    /// Outcome of the run.
    pub outcome: RunOutcome,
    /// Report of the emulator. `None` on the virtual clock.
    pub emulation: Option<Emulation>,
}

impl From<RunOutcome> for CompletedRun {
    fn from(outcome: RunOutcome) -> Self {
        Self { outcome, emulation: None }
    }
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

/// Runs on the virtual clock, in the simulator.
#[derive(Debug, Clone, Copy, Default)]
pub struct Simulator;

impl Runner for Simulator {
    fn run(&self, spec: &RunSpec, _: &str, stop: &AtomicBool) -> Result<CompletedRun, RunError> {
        Ok(bentpipe_sim::run(spec, stop)?.into())
    }
}

/// Observes the runs of a plan, from several threads.
pub trait Observer: Sync {
    /// Called when the run with this `index` in [`Plan::tasks`] has ended. Runs end in any order.
    ///
    /// # Errors
    /// An error that must end the plan, such as a full disk.
    fn finished(
        &self,
        index: usize,
        task: Task,
        spec: &RunSpec,
        outcome: &RunOutcome,
    ) -> Result<(), LabError>;
}

/// The runs of a plan that have ended, in the plan's order.
#[derive(Debug)]
pub struct Execution {
    /// One entry per task: `None` if the run did not end.
    pub runs: Vec<Option<Run>>,
    /// The error, if a run failed.
    pub failure: Option<LabError>,
    /// True if all planned runs have ended.
    pub complete: bool,
}

/// Runs `plan` on `jobs` threads. Set `stop` to end early and keep the runs that have ended.
///
/// The number of threads does not change the results: each run depends on its own specification
/// only, and results are in the plan's order.
pub fn execute(
    plan: &Plan,
    runner: &dyn Runner,
    jobs: NonZeroUsize,
    stop: &AtomicBool,
    observer: &dyn Observer,
) -> Execution {
    let runs: Mutex<Vec<Option<Run>>> = Mutex::new(vec![None; plan.tasks.len()]);
    let failure: Mutex<Option<(usize, LabError)>> = Mutex::new(None);
    let order = order(plan);
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let work = || {
        while !stop.load(Ordering::Relaxed) && !failed.load(Ordering::Relaxed) {
            let Some(&index) = order.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
            let task = plan.tasks[index];
            match run_task(plan, runner, stop, observer, index, task) {
                Ok(Some(run)) => locked(&runs)[index] = Some(run),
                Ok(None) => break,
                Err(error) => {
                    failed.store(true, Ordering::Relaxed);
                    let mut first = locked(&failure);
                    // Report the failure that is first in the plan, not first in time.
                    if first.as_ref().is_none_or(|(at, _)| index < *at) {
                        *first = Some((index, error));
                    }
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..jobs.get().min(plan.tasks.len().max(1)) {
            scope.spawn(work);
        }
        work();
    });
    let runs = runs.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let failure = failure.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let complete = runs.iter().all(Option::is_some);
    Execution { runs, failure: failure.map(|(_, error)| error), complete }
}

/// Returns the order in which tasks start: the first repeat of every case before the second, so
/// that a study that is interrupted covers all its cases, and long runs before short ones, so that
/// no thread is left with a long run at the end.
fn order(plan: &Plan) -> Vec<usize> {
    let work: Vec<u64> = plan.cases.iter().map(Case::work).collect();
    let mut order: Vec<usize> = (0..plan.tasks.len()).collect();
    order.sort_by_key(|&index| {
        let Task { case, run } = plan.tasks[index];
        (run, Reverse(work[case]))
    });
    order
}

/// Runs one task. Returns `None` if it was interrupted.
fn run_task(
    plan: &Plan,
    runner: &dyn Runner,
    stop: &AtomicBool,
    observer: &dyn Observer,
    index: usize,
    task: Task,
) -> Result<Option<Run>, LabError> {
    let spec = plan.spec(task)?;
    let case = &plan.cases[task.case];
    let at = if case.point.is_empty() {
        String::new()
    } else {
        format!(" at {}", point_text(&case.point))
    };
    let failed = |reason: String| LabError::Run {
        variant: case.variant.clone(),
        point: at.clone(),
        run: task.run,
        reason,
    };
    let label = format!("{}{at}, run {}", case.variant, task.run);
    // A bug in one run must not lose the results of the others. The state of the run is dropped.
    match catch_unwind(AssertUnwindSafe(|| runner.run(&spec, &label, stop))) {
        Ok(Ok(CompletedRun { outcome, emulation })) => {
            observer.finished(index, task, &spec, &outcome)?;
            let run =
                outcome::run(&case.variant, &case.point, task.run, &spec, &outcome, case.warmup);
            Ok(Some(Run { emulation, ..run }))
        }
        Ok(Err(RunError::Interrupted)) => Ok(None),
        Ok(Err(RunError::Failed(reason))) => Err(failed(reason)),
        Err(panic) => Err(failed(format!("a bug in Bentpipe: {}", panic_text(panic.as_ref())))),
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a message")
}

/// Locks `mutex`, even if another thread panicked while holding it. Its data is consistent then,
/// and joining that thread reports the panic.
fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Execution {
    /// Returns the results of the runs that have ended.
    pub fn results(&self, plan: &Plan) -> Results {
        let runs: Vec<Run> = self.runs.iter().flatten().cloned().collect();
        let named = plan
            .rules
            .iter()
            .map(|rule| rule.metric.as_str())
            .chain(plan.figures.iter().map(|figure| figure.metric.as_str()));
        let summary = summarise(&runs, &named.collect::<Vec<_>>());
        let mut groups = Vec::new();
        let mut rest = runs.as_slice();
        for (case, resolved) in plan.cases.iter().enumerate() {
            let same = |run: &&Run| run.variant == resolved.variant && run.point == resolved.point;
            let (own, after) = rest.split_at(rest.iter().take_while(same).count());
            rest = after;
            let planned = plan.tasks.iter().filter(|task| task.case == case).count();
            groups.push(Group {
                variant: &resolved.variant,
                point: &resolved.point,
                runs: own,
                planned,
            });
        }
        Results {
            scenario: plan.name.clone(),
            seed: plan.seed,
            clock: plan.clock,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            expectations: judge(&plan.rules, &groups),
            published: compare(&plan.figures, &summary),
            summary,
            runs,
        }
    }
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

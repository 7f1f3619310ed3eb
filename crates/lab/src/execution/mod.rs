//! Executes a plan: takes the runs that a store has, runs the others, and collects the results.

mod task;
mod threads;

#[cfg(test)]
pub(crate) use task::now;
pub use task::run_alone;
pub use threads::{Deliver, Executor, Threads};

use crate::error::LabError;
use crate::plan::{Plan, Shard, Task};
use crate::store::{RunStore, StoredRun};
use bentpipe_results::{Group, Results, Run, compare, judge, summarise};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use threads::order;

/// Number of runs of a plan by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Runs to have in the end.
    pub planned: usize,
    /// Runs with results, those from the store included.
    pub done: usize,
    /// Runs whose results came from the store.
    pub reused: usize,
}

/// How a plan is executed.
pub struct Options<'a> {
    /// Runs the tasks.
    pub executor: &'a dyn Executor,
    /// Keeps records of runs for later.
    pub store: Option<&'a dyn RunStore>,
    /// Whether runs that the store has are taken from it. Otherwise they run again, and their new
    /// records replace the old ones.
    pub reuse: bool,
    /// The part of the plan to run. `None` for all of it.
    pub shard: Option<Shard>,
    /// Set to end early. The runs that have ended are kept.
    pub stop: &'a AtomicBool,
    /// Called after each run that has ended.
    pub progress: &'a (dyn Fn(Progress) + Sync),
}

impl<'a> Options<'a> {
    /// Returns options to run a whole plan without a store.
    pub fn new(executor: &'a dyn Executor, stop: &'a AtomicBool) -> Self {
        Self { executor, store: None, reuse: true, shard: None, stop, progress: &|_| {} }
    }

    /// Returns the store if records may be taken from it and it has any.
    fn store_to_reuse(&self) -> Option<&'a dyn RunStore> {
        self.store.filter(|store| self.reuse && !store.is_empty())
    }
}

/// Observes the runs of a plan, from several threads.
pub trait Observer: Sync {
    /// Called when the run with this `index` in [`Plan::tasks`] has ended, or was taken from the
    /// store. Runs end in any order.
    ///
    /// # Errors
    /// An error that must end the plan, such as a full disk.
    fn finished(&self, index: usize, task: Task, record: StoredRun) -> Result<Run, LabError>;
}

/// Observer that keeps the results and drops the recordings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResultsOnly;

impl Observer for ResultsOnly {
    fn finished(&self, _: usize, _: Task, record: StoredRun) -> Result<Run, LabError> {
        Ok(record.run)
    }
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
    /// Number of runs by state.
    pub progress: Progress,
}

/// Executes `plan`, or the shard that the options name.
///
/// Neither the number of threads, nor the order of runs, nor what the store has changes the
/// results: each run depends on its own specification only, and results are in the plan's order.
pub fn execute(plan: &Plan, options: &Options<'_>, observer: &dyn Observer) -> Execution {
    let chosen = chosen(plan, options);
    let collector = Collector {
        plan,
        options,
        observer,
        runs: Mutex::new(vec![None; plan.tasks.len()]),
        planned: chosen.len(),
        done: AtomicUsize::new(0),
        reused: AtomicUsize::new(0),
    };
    let failure = collector
        .take_stored(&chosen)
        .and_then(|left| {
            let deliver = |index, record| collector.add(index, record);
            options.executor.execute(plan, &left, options.stop, &deliver)
        })
        .err();
    let progress = collector.progress();
    let runs = collector.runs.into_inner().unwrap_or_else(PoisonError::into_inner);
    let complete = runs.iter().all(Option::is_some);
    Execution { runs, failure, complete, progress }
}

/// Returns the indices of the tasks that [`execute`] would run: those of the shard that the store
/// does not have, in the order in which they would start. Once it is to stop, no more are looked
/// up.
pub fn remaining(plan: &Plan, options: &Options<'_>) -> Vec<usize> {
    let mut chosen = chosen(plan, options);
    if let Some(store) = options.store_to_reuse() {
        let stopped = || options.stop.load(Ordering::Relaxed);
        chosen.retain(|&index| stopped() || !store.has(plan, plan.tasks[index]));
    }
    chosen
}

/// Returns the tasks of the plan or of its shard, in the order in which they start.
fn chosen(plan: &Plan, options: &Options<'_>) -> Vec<usize> {
    let order = order(plan);
    match options.shard {
        Some(shard) => shard.of(&order),
        None => order,
    }
}

struct Collector<'a> {
    plan: &'a Plan,
    options: &'a Options<'a>,
    observer: &'a dyn Observer,
    runs: Mutex<Vec<Option<Run>>>,
    planned: usize,
    done: AtomicUsize,
    reused: AtomicUsize,
}

impl Collector<'_> {
    fn progress(&self) -> Progress {
        Progress {
            planned: self.planned,
            done: self.done.load(Ordering::Relaxed),
            reused: self.reused.load(Ordering::Relaxed),
        }
    }

    /// Takes the records that the store has, and returns the other tasks, in order.
    fn take_stored(&self, tasks: &[usize]) -> Result<Vec<usize>, LabError> {
        let Some(store) = self.options.store_to_reuse() else {
            return Ok(tasks.to_vec());
        };
        let mut left = Vec::new();
        for &index in tasks {
            if self.options.stop.load(Ordering::Relaxed) {
                break;
            }
            let task = self.plan.tasks[index];
            match store.record(self.plan, task) {
                Some(mut record) => {
                    record.rename(self.plan, task);
                    self.reused.fetch_add(1, Ordering::Relaxed);
                    self.finished(index, task, record)?;
                }
                None => left.push(index),
            }
        }
        Ok(left)
    }

    /// Adds the record of a task that has run.
    fn add(&self, index: usize, record: StoredRun) -> Result<(), LabError> {
        let task = self.plan.tasks[index];
        if let Some(store) = self.options.store {
            store.keep(self.plan, task, &record);
        }
        self.finished(index, task, record)
    }

    fn finished(&self, index: usize, task: Task, record: StoredRun) -> Result<(), LabError> {
        let run = self.observer.finished(index, task, record)?;
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(run);
        self.done.fetch_add(1, Ordering::Relaxed);
        (self.options.progress)(self.progress());
        Ok(())
    }
}

impl Execution {
    /// Returns the results of the runs that have ended, and the error if a run failed.
    pub fn into_results(self, plan: &Plan) -> (Results, Option<LabError>) {
        let runs: Vec<Run> = self.runs.into_iter().flatten().collect();
        let named = plan
            .rules
            .iter()
            .map(|rule| rule.metric.as_str())
            .chain(plan.figures.iter().map(|figure| figure.metric.as_str()));
        let summary = summarise(&runs, &named.collect::<Vec<_>>());
        let mut groups = Vec::new();
        let mut rest = runs.as_slice();
        // Tasks are ordered by case.
        let mut tasks = plan.tasks.as_slice();
        for (case, resolved) in plan.cases.iter().enumerate() {
            let same = |run: &&Run| run.variant == resolved.variant && run.point == resolved.point;
            let (own, after) = rest.split_at(rest.iter().take_while(same).count());
            rest = after;
            let planned = tasks.iter().take_while(|task| task.case == case).count();
            tasks = &tasks[planned..];
            groups.push(Group {
                variant: &resolved.variant,
                point: &resolved.point,
                runs: own,
                planned,
            });
        }
        let results = Results {
            scenario: plan.name.clone(),
            seed: plan.seed,
            clock: plan.clock,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            headline: plan.headline.clone(),
            expectations: judge(&plan.rules, &groups),
            published: compare(&plan.figures, &summary),
            summary,
            runs,
        };
        (results, self.failure)
    }
}

//! Runs of scenarios, one after another in a thread, with their directories below `out/studio`.

use crate::main_metrics::main_metrics;
use crate::run_directories::RunDirectories;
use crate::settings::{ByKey, Change, by_key, changes};
use bentpipe_lab::{
    Estimate, LabError, Options, Plan, Progress, Recorded, RunStore, Simulator, Threads, estimate,
    measured_pace, record, remaining,
};
use bentpipe_results::Summary;
use serde::Serialize;
use std::collections::VecDeque;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Largest number of runs that wait.
const MAX_WAITING: usize = 16;
/// Largest number of runs that are kept, and of directories of runs.
const MAX_KEPT: usize = 50;

/// State of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// It waits for others.
    Waiting,
    /// It runs.
    Running,
    /// Its results are complete.
    Done,
    /// It was cancelled. Results of the runs that had ended may exist.
    Cancelled,
    /// It failed.
    Failed,
}

/// What the page shows of a run.
#[derive(Debug, Clone, Serialize)]
pub struct RunState {
    /// Its number, which no other run of the directory has.
    pub id: u64,
    /// The scenario's file.
    pub file: String,
    /// Its name.
    pub name: String,
    /// Its text.
    #[serde(skip)]
    pub text: Arc<str>,
    /// Its state.
    pub phase: Phase,
    /// Runs that have ended.
    pub done: usize,
    /// Runs of those that came from the result store.
    pub reused: usize,
    /// All runs.
    pub planned: usize,
    /// True if there are results.
    pub has_report: bool,
    /// Why it failed.
    pub error: Option<String>,
    /// What differs from the text of the run of the same file before it in the list.
    pub changes: Vec<Change>,
}

/// The state of a run with its main metrics, which the list of all runs leaves out.
#[derive(Debug, Clone, Serialize)]
pub struct RunDetails {
    /// Its state.
    #[serde(flatten)]
    pub state: RunState,
    /// Statistics of the main metrics.
    pub summary: Vec<Summary>,
}

struct Entry {
    state: RunState,
    summary: Vec<Summary>,
    /// Where its results go, and from its end on where they are.
    directory: PathBuf,
    stop: Arc<AtomicBool>,
    /// Until it begins.
    plan: Option<Plan>,
    /// True if it was for one position of a moving slider: of no interest once it is cancelled.
    passing: bool,
    settings: ByKey,
}

impl Entry {
    /// Returns true if a later position of the same slider has cancelled it.
    fn is_passed(&self) -> bool {
        self.passing && self.state.phase == Phase::Cancelled
    }

    /// Returns the directory of its results, if there are any. Another studio may have removed it
    /// since.
    fn directory(&self) -> Option<&Path> {
        (self.state.has_report && self.directory.is_dir()).then_some(&self.directory)
    }

    /// Returns its state as it is now.
    fn state(&self) -> RunState {
        RunState { has_report: self.directory().is_some(), ..self.state.clone() }
    }
}

#[derive(Default)]
struct Inner {
    entries: VecDeque<Entry>,
    last: u64,
    closed: bool,
}

/// All runs since the start.
pub struct Runs {
    inner: Mutex<Inner>,
    wake: Condvar,
    directories: RunDirectories,
    jobs: NonZeroUsize,
    store: Option<Arc<dyn RunStore + Send>>,
    /// Whether runs that the store has are taken from it.
    reuse: bool,
}

impl Runs {
    /// Creates an empty list that writes below `directory`.
    pub fn new(
        directory: &Path,
        jobs: NonZeroUsize,
        store: Option<Arc<dyn RunStore + Send>>,
        reuse: bool,
    ) -> Self {
        Self {
            inner: Mutex::default(),
            wake: Condvar::new(),
            directories: RunDirectories::new(directory),
            jobs,
            store,
            reuse,
        }
    }

    /// Returns how `executor` executes runs until `stop` is set.
    fn options<'a>(&'a self, executor: &'a Threads<'a>, stop: &'a AtomicBool) -> Options<'a> {
        let store = self.store.as_ref().map(|store| &**store as &dyn RunStore);
        Options { store, reuse: self.reuse, ..Options::new(executor, stop) }
    }

    /// Returns the number of runs of `plan` that the result store has, among those that are looked
    /// up until `stop` is set.
    pub fn in_store(&self, plan: &Plan, stop: &AtomicBool) -> usize {
        let threads = Threads { runner: &Simulator, jobs: NonZeroUsize::MIN };
        plan.tasks.len() - remaining(plan, &self.options(&threads, stop)).len()
    }

    /// Returns how many runs of `plan` are left, and about how long they take. Once `stop` is set,
    /// nobody waits for the answer.
    pub fn estimate(&self, plan: &Plan, stop: &AtomicBool) -> Estimate {
        let threads = Threads { runner: &Simulator, jobs: self.jobs };
        estimate(plan, &self.options(&threads, stop), self.jobs, measured_pace)
    }

    /// Adds a run and returns its number. `latest` ends those of the same file that have not
    /// ended: their answers came too late.
    ///
    /// # Errors
    /// Too many wait.
    pub fn start(&self, file: &str, text: &str, plan: Plan, latest: bool) -> Result<u64, String> {
        // Without it, the run says what is wrong with its directory.
        let number = self.directories.take_number().unwrap_or_default();
        let mut inner = self.lock();
        if latest {
            for entry in inner.entries.iter_mut().filter(|entry| entry.state.file == file) {
                cancel(entry);
            }
        }
        let waiting =
            inner.entries.iter().filter(|entry| entry.state.phase == Phase::Waiting).count();
        if waiting >= MAX_WAITING {
            return Err(format!("{waiting} runs wait already; allowed: {MAX_WAITING}"));
        }
        // Another request of this studio may have taken one since.
        let id = number.max(inner.last + 1);
        inner.last = id;
        let state = RunState {
            id,
            file: file.to_owned(),
            name: plan.name.clone(),
            text: text.into(),
            phase: Phase::Waiting,
            done: 0,
            reused: 0,
            planned: plan.tasks.len(),
            has_report: false,
            error: None,
            changes: Vec::new(),
        };
        let directory = self.directories.of(id, &plan.name);
        let (summary, stop) = Default::default();
        inner.entries.push_back(Entry {
            state,
            summary,
            directory,
            stop,
            plan: Some(plan),
            passing: latest,
            settings: by_key(text),
        });
        self.forget_oldest(&mut inner);
        self.wake.notify_all();
        Ok(id)
    }

    /// Returns the states of all runs, the newest first, but for those that a later position of
    /// the same slider has cancelled.
    pub fn list(&self) -> Vec<RunState> {
        let inner = self.lock();
        let kept: Vec<&Entry> = inner.entries.iter().filter(|entry| !entry.is_passed()).collect();
        let state = |(index, entry): (usize, &&Entry)| {
            let before = kept[..index].iter().rev().find(|one| one.state.file == entry.state.file);
            let changes = before.map(|before| changes(&before.settings, &entry.settings));
            RunState { changes: changes.unwrap_or_default(), ..entry.state() }
        };
        kept.iter().enumerate().map(state).rev().collect()
    }

    /// Returns the state of a run, and its main metrics.
    pub fn get(&self, id: u64) -> Option<RunDetails> {
        let inner = self.lock();
        let entry = inner.entries.iter().find(|entry| entry.state.id == id)?;
        Some(RunDetails { state: entry.state(), summary: entry.summary.clone() })
    }

    /// Returns the directory of a run's results, if there are any.
    pub fn directory(&self, id: u64) -> Option<PathBuf> {
        let inner = self.lock();
        let entry = inner.entries.iter().find(|entry| entry.state.id == id)?;
        entry.directory().map(Path::to_owned)
    }

    /// Cancels a run. Returns false if there is none of this number.
    pub fn cancel(&self, id: u64) -> bool {
        let mut inner = self.lock();
        let entry = inner.entries.iter_mut().find(|entry| entry.state.id == id);
        entry.map(cancel).is_some()
    }

    /// Ends all runs, and [`Runs::work`].
    pub fn close(&self) {
        let mut inner = self.lock();
        inner.closed = true;
        inner.entries.iter_mut().for_each(cancel);
        self.wake.notify_all();
    }

    /// Executes runs until [`Runs::close`]. Call it in a thread of its own.
    pub fn work(&self) {
        while let Some((id, plan, directory, stop)) = self.next() {
            let threads = Threads { runner: &Simulator, jobs: self.jobs };
            let show = |progress: Progress| {
                self.update(id, |entry| set_progress(&mut entry.state, progress));
            };
            let options = Options { progress: &show, ..self.options(&threads, &stop) };
            let created = self.directories.create();
            let recorded = created
                .map_err(|error| LabError::write(&directory, error))
                .and_then(|_| record(&plan, &directory, &options));
            self.update(id, |entry| end(entry, recorded));
            self.directories.keep_newest(MAX_KEPT);
        }
    }

    /// Waits for the next run to execute. `None` after [`Runs::close`].
    fn next(&self) -> Option<(u64, Plan, PathBuf, Arc<AtomicBool>)> {
        let mut inner = self.lock();
        loop {
            if inner.closed {
                return None;
            }
            let waiting =
                inner.entries.iter_mut().find(|entry| entry.state.phase == Phase::Waiting);
            if let Some(entry) = waiting
                && let Some(plan) = entry.plan.take()
            {
                entry.state.phase = Phase::Running;
                return Some((entry.state.id, plan, entry.directory.clone(), entry.stop.clone()));
            }
            inner = self.wake.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn update(&self, id: u64, change: impl FnOnce(&mut Entry)) {
        let mut inner = self.lock();
        if let Some(entry) = inner.entries.iter_mut().find(|entry| entry.state.id == id) {
            change(entry);
        }
    }

    /// Removes the oldest runs that have ended, with their directories, beyond the number to keep.
    fn forget_oldest(&self, inner: &mut Inner) {
        while inner.entries.len() > MAX_KEPT {
            let ended = |entry: &Entry| {
                matches!(entry.state.phase, Phase::Done | Phase::Cancelled | Phase::Failed)
            };
            let passed = inner.entries.iter().position(Entry::is_passed);
            let Some(index) = passed.or_else(|| inner.entries.iter().position(ended)) else {
                return;
            };
            if let Some(entry) = inner.entries.remove(index)
                && entry.state.has_report
            {
                // It is only a cache by now: what remains does no harm.
                let _ = fs::remove_dir_all(entry.directory);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn cancel(entry: &mut Entry) {
    entry.stop.store(true, Ordering::Relaxed);
    if entry.state.phase == Phase::Waiting {
        entry.plan = None;
        entry.state.phase = Phase::Cancelled;
    }
}

fn set_progress(state: &mut RunState, progress: Progress) {
    (state.done, state.reused) = (progress.done, progress.reused);
    state.planned = progress.planned;
}

/// Notes how a run has ended.
fn end(entry: &mut Entry, recorded: Result<Recorded, LabError>) {
    let state = &mut entry.state;
    let failure = match recorded {
        Err(error) => Some(error),
        Ok(recorded) => {
            set_progress(state, recorded.progress);
            state.phase = if recorded.complete { Phase::Done } else { Phase::Cancelled };
            entry.summary = main_metrics(&recorded.results);
            if let Some(directory) = recorded.directory {
                state.has_report = true;
                // Not always where it was to be: an incomplete study replaces no complete one.
                entry.directory = directory;
            }
            recorded.failure
        }
    };
    if let Some(error) = failure {
        state.phase = Phase::Failed;
        state.error = Some(error.to_string());
    }
}

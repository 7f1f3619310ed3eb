//! Runs plans into run directories: what `run`, `matrix`, `replay` and `merge` have in common.

pub mod progress;
#[cfg(feature = "store")]
pub mod store;

use crate::output::{self, Look, errors, say};
use crate::status::{FAILED, NOT_MET, OK};
use crate::summary;
use bentpipe_lab::{
    Executor, LabError, Options, Plan, Progress, Recorded, RunStore, Shard, record,
};
use bentpipe_results::Results;
use indicatif::{MultiProgress, ProgressDrawTarget};
use progress::ProgressDisplay;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Runs plans, one after another.
pub(crate) struct Study<'a> {
    pub executor: &'a dyn Executor,
    /// Where results of runs come from and go to.
    pub store: Option<&'a dyn RunStore>,
    /// Whether runs that the store has are taken from it.
    pub reuse: bool,
    /// The part of each plan to run.
    pub shard: Option<Shard>,
    pub stop: &'a AtomicBool,
    pub bars: &'a MultiProgress,
    /// Whether progress is not shown.
    pub quiet: bool,
}

impl<'a> Study<'a> {
    /// Creates a study that runs whole plans without a store.
    pub fn new(executor: &'a dyn Executor, stop: &'a AtomicBool, bars: &'a MultiProgress) -> Self {
        Self { executor, store: None, reuse: true, shard: None, stop, bars, quiet: false }
    }

    /// Runs one plan into its directory, and reports an error of a run.
    pub fn run(&self, plan: &Plan, target: &Path) -> Result<Recorded, LabError> {
        let display = (!self.quiet).then(|| ProgressDisplay::new(&plan.name, self.bars));
        let show = |progress| {
            if let Some(display) = &display {
                display.set(progress);
            }
        };
        let recorded = record(plan, target, &self.options(&show));
        drop(display);
        let recorded = recorded?;
        if let Some(failure) = &recorded.failure {
            output::report(&errors::render(failure));
        }
        Ok(recorded)
    }

    /// Returns how the study executes a plan.
    pub fn options<'b>(&'b self, progress: &'b (dyn Fn(Progress) + Sync)) -> Options<'b> {
        let Self { executor, store, reuse, shard, stop, .. } = *self;
        Options { executor, store, reuse, shard, stop, progress }
    }

    /// Returns the exit status that follows from the results. Reports missing runs.
    pub fn exit_status(&self, recorded: &Recorded, target: &Path) -> u8 {
        let results = &recorded.results;
        if recorded.complete {
            // What did not complete cannot be compared.
            let failed = results.runs.iter().flat_map(|run| &run.flows).any(|flow| !flow.completed);
            // A part of a study does not judge the whole.
            let passed = self.shard.is_some() || results.all_passed();
            return match (failed, passed) {
                (true, _) => FAILED,
                (false, true) => OK,
                (false, false) => NOT_MET,
            };
        }
        say!("{}", self.incomplete(recorded, target));
        FAILED
    }

    /// Returns a line about a study that did not come to its end.
    fn incomplete(&self, recorded: &Recorded, target: &Path) -> String {
        let (done, planned) = (recorded.progress.done, recorded.progress.planned);
        let mut line = match &recorded.directory {
            Some(directory) => {
                let shown = directory.display();
                format!("incomplete: {done} of {planned} runs finished; results are in {shown}")
            }
            None => format!("incomplete: none of {planned} runs finished; nothing was written"),
        };
        if recorded.directory.as_ref().is_some_and(|directory| directory != target) {
            let kept = target.display();
            line.push_str(&format!("; {kept} holds a complete study and was left as it is"));
        }
        if self.store.is_some() && done > 0 && self.stop.load(Ordering::Relaxed) {
            line.push_str(&format!(
                "; the same command continues with the other {}",
                planned - done
            ));
        }
        line
    }
}

/// Returns the directory for results: the one that the user names, where a link leads to its
/// target, or `out/NAME`.
///
/// # Errors
/// `out` is a link, and the user has not named it: it may come with a directory of somebody else.
pub(crate) fn output_directory(given: Option<&Path>, name: &str) -> Result<PathBuf, LabError> {
    const USUAL: &str = "out";
    match given {
        Some(path) => Ok(bentpipe_files::followed(path)),
        None if bentpipe_files::is_link(Path::new(USUAL)) => {
            let reason = format!(
                "it is a symbolic link, followed only if you name it; allowed: --out {USUAL}/{name}"
            );
            Err(LabError::write(USUAL, reason))
        }
        None => Ok(Path::new(USUAL).join(name)),
    }
}

/// Returns the number of parallel runs: as given, or that of the CPUs.
pub(crate) fn jobs(given: Option<NonZeroUsize>) -> NonZeroUsize {
    given.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
}

/// Formats one document, or a list of them if there are several files.
pub(crate) fn json(documents: &[Results], several: bool) -> String {
    match documents {
        [one] if !several => one.to_json().unwrap_or_default(),
        list => output::pretty(list),
    }
}

/// What of results is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Tables, in short where they are long.
    Summary,
    /// All rows.
    Full,
    /// Expectations that are not met.
    Quiet,
    /// One JSON document.
    Json,
}

impl Shown {
    /// Returns what is printed without further options.
    pub fn usual(as_json: bool) -> Self {
        if as_json { Self::Json } else { Self::Summary }
    }
}

/// Prints the results of a plan.
pub(crate) fn print(recorded: &Recorded, plan: &Plan, shown: Shown) -> Result<u8, LabError> {
    let look = Look::stdout();
    match shown {
        Shown::Json => output::document(&json(std::slice::from_ref(&recorded.results), false)),
        // Tables of nothing.
        _ if recorded.results.runs.is_empty() && !recorded.complete => Ok(OK),
        Shown::Quiet => {
            let all = recorded.results.expectations.iter();
            let failed: Vec<_> = all.filter(|one| one.passed == Some(false)).cloned().collect();
            output::print(&summary::expectations(&failed, look, true))
        }
        Shown::Summary | Shown::Full => {
            output::print(&summary::results(plan, recorded, look, shown == Shown::Full))
        }
    }
}

/// Progress bars on standard error while a plan runs, if that is a terminal.
pub(crate) fn bars() -> MultiProgress {
    MultiProgress::with_draw_target(ProgressDrawTarget::stderr())
}

/// Time after which somebody who has pressed Ctrl-C wonders whether it was seen.
const UNTIL_ASKED: Duration = Duration::from_millis(700);

/// Returns a flag that the first Ctrl-C sets, so that finished runs are kept. The second ends the
/// process.
#[allow(clippy::disallowed_methods, reason = "how long a user waits")]
pub(crate) fn stop_on_interrupt() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&stop);
    let handler = ctrlc::set_handler(move || {
        if seen.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(FAILED));
        }
        // Mostly, the line about the end follows at once.
        std::thread::spawn(|| {
            std::thread::sleep(UNTIL_ASKED);
            say!("stopping; finished runs are kept (signal again to stop at once)");
        });
    });
    if let Err(error) = handler {
        say!("warning: a signal will discard finished runs: {error}");
    }
    stop
}

//! `bentpipe run`: runs scenarios and prints their results.

use crate::args::{Clock, Run};
#[cfg(feature = "real-clock")]
use crate::live::LiveLines;
use crate::progress::Progress;
use crate::status::{FAILED, NOT_MET, OK, USAGE};
use crate::{errors, output, summary};
use bentpipe_lab::{Changes, LabError, Plan, Recorded, Runner, Simulator, record};
#[cfg(feature = "real-clock")]
use bentpipe_lab::{RealClock, StatsObserver};
use bentpipe_results::Results;
use indicatif::{MultiProgress, ProgressDrawTarget};
#[cfg(feature = "real-clock")]
use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs the scenarios one after another. Reads all of them first, so that an error there prevents
/// any run. `program` runs the QUIC endpoints of the real clock.
#[cfg_attr(not(feature = "real-clock"), expect(unused_variables))]
pub fn run(args: &Run, program: &Path) -> Result<u8, LabError> {
    let changes = Changes { sets: args.set.clone(), seed: args.seed, repeat: args.repeat };
    let plans: Result<Vec<Plan>, LabError> = args
        .files
        .iter()
        .map(|file| {
            let mut plan = Plan::read(file, &changes)?;
            plan.commit = crate::version::commit();
            match args.clock {
                Clock::Virtual => plan.on_virtual_clock(),
                #[cfg(feature = "real-clock")]
                Clock::Real => plan.on_real_clock(),
            }
        })
        .collect();
    let plans = plans?;
    #[cfg(feature = "real-clock")]
    if args.clock == Clock::Real
        && let Err(error) = bentpipe_emu::prepare()
    {
        // Needs a process with one thread, as it still is here.
        eprintln!(
            "{} {error}",
            output::paint(output::coloured(&std::io::stderr()), "1;31", "error:")
        );
        return Ok(FAILED);
    }
    let mut targets: Vec<PathBuf> = Vec::new();
    for plan in &plans {
        let target = target(args, plan);
        if targets.contains(&target) {
            let reason =
                format!("two scenarios are named `{}`; allowed: each name once", plan.name);
            return Err(LabError::Write { path: target, reason });
        }
        targets.push(target);
    }
    let jobs = match args.clock {
        Clock::Virtual => args.jobs.or_else(|| std::thread::available_parallelism().ok()),
        // Parallel runs would compete for the CPU, so they run one at a time unless requested
        // otherwise.
        #[cfg(feature = "real-clock")]
        Clock::Real => args.jobs,
    };
    let jobs = jobs.unwrap_or(NonZeroUsize::MIN);
    let bars = bars();
    let runner: Box<dyn Runner> = match args.clock {
        Clock::Virtual => Box::new(Simulator),
        #[cfg(feature = "real-clock")]
        Clock::Real => Box::new(real_clock(program, &bars)),
    };
    let stop = stop_on_interrupt();

    let mut status = OK;
    let mut documents: Vec<Results> = Vec::new();
    for (plan, target) in plans.iter().zip(&targets) {
        let recorded = one(plan, &*runner, target, jobs, &stop, &bars)?;
        status = status.max(verdict(&recorded, plan));
        if !args.json {
            output::print(&summary::results(
                plan,
                &recorded,
                output::coloured(&std::io::stdout()),
            ))?;
        }
        documents.push(recorded.results);
        if stop.load(Ordering::Relaxed) || status >= USAGE {
            break;
        }
    }
    if args.json {
        output::print(&json(&documents, plans.len() > 1))?;
    }
    Ok(status)
}

/// Returns the real clock, with live statistics below `bars` on a terminal.
#[cfg(feature = "real-clock")]
fn real_clock(program: &Path, bars: &MultiProgress) -> RealClock {
    // Without a terminal, live lines have no reader.
    let observer = std::io::stderr()
        .is_terminal()
        .then(|| Arc::new(LiveLines::below(bars)) as Arc<dyn StatsObserver>);
    RealClock { bentpipe: program.to_owned(), observer, ..RealClock::default() }
}

fn target(args: &Run, plan: &Plan) -> PathBuf {
    match &args.out {
        Some(out) if args.files.len() == 1 => out.clone(),
        Some(out) => out.join(&plan.name),
        None => Path::new("out").join(&plan.name),
    }
}

/// Formats one document, or a list of them if there are several files.
pub(crate) fn json(documents: &[Results], several: bool) -> String {
    match documents {
        [one] if !several => one.to_json().unwrap_or_default(),
        list => serde_json::to_string_pretty(list).unwrap_or_default() + "\n",
    }
}

/// Runs one plan into its directory.
pub(crate) fn one(
    plan: &Plan,
    runner: &dyn Runner,
    target: &Path,
    jobs: NonZeroUsize,
    stop: &AtomicBool,
    bars: &MultiProgress,
) -> Result<Recorded, LabError> {
    let progress = Progress::new(plan, bars);
    let recorded = record(plan, runner, target, jobs, stop, &|done| progress.set(done));
    drop(progress);
    let recorded = recorded?;
    if let Some(failure) = &recorded.failure {
        eprint!("{}", errors::render(failure));
    }
    Ok(recorded)
}

/// Returns the exit status that follows from the results. Reports missing runs.
pub(crate) fn verdict(recorded: &Recorded, plan: &Plan) -> u8 {
    if recorded.complete {
        // With the real clock, a flow may fail for reasons other than the scenario, such as a
        // missing program or a socket error.
        let failed = plan.clock == bentpipe_results::Clock::Real
            && recorded
                .results
                .runs
                .iter()
                .flat_map(|run| &run.flows)
                .any(|flow| flow.error.is_some());
        return match (failed, recorded.results.all_passed()) {
            (true, _) => FAILED,
            (false, true) => OK,
            (false, false) => NOT_MET,
        };
    }
    let (done, planned) = (recorded.results.runs.len(), plan.tasks.len());
    match &recorded.directory {
        Some(directory) => {
            eprintln!(
                "incomplete: {done} of {planned} runs finished; results are in {}",
                directory.display()
            );
        }
        None => eprintln!("incomplete: none of {planned} runs finished; nothing was written"),
    }
    FAILED
}

/// Progress bars on standard error while a plan runs, if that is a terminal.
pub(crate) fn bars() -> MultiProgress {
    MultiProgress::with_draw_target(ProgressDrawTarget::stderr())
}

/// Returns a flag that the first Ctrl-C sets, so that finished runs are kept. The second ends the
/// process.
pub(crate) fn stop_on_interrupt() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&stop);
    let handler = ctrlc::set_handler(move || {
        if seen.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(FAILED));
        }
        eprintln!("stopping; finished runs are kept (Ctrl-C again to stop at once)");
    });
    if let Err(error) = handler {
        eprintln!("warning: Ctrl-C will discard finished runs: {error}");
    }
    stop
}

//! `bentpipe run`.

use crate::args::{Clock, Run};
use crate::live::Lines;
use crate::{FAILED, NOT_HELD, OK, USAGE, errors, output, table};
use bentpipe_lab::StatsObserver;
use bentpipe_lab::{Changes, LabError, Plan, RealClock, Recorded, Runner, Simulator, record};
use bentpipe_results::Results;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Runs the scenarios one after another. All are read first: where one is wrong, nothing runs.
pub fn run(args: &Run) -> Result<u8, LabError> {
    let changes = Changes { sets: args.set.clone(), seed: args.seed, repeat: args.repeat };
    let plans: Result<Vec<Plan>, LabError> = args
        .files
        .iter()
        .map(|file| {
            let mut plan = Plan::read(file, &changes)?;
            plan.commit = crate::version::commit();
            match args.clock {
                Clock::Virtual => plan.on_virtual_clock(),
                Clock::Real => plan.on_real_clock(),
            }
        })
        .collect();
    let plans = plans?;
    if args.clock == Clock::Real
        && let Err(error) = bentpipe_emu::prepare()
    {
        // The process has one thread yet, which this needs.
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
        // Runs beside each other would take the processor from each other, unless somebody knows
        // better.
        Clock::Real => args.jobs,
    };
    let jobs = jobs.unwrap_or(NonZeroUsize::MIN);
    let bentpipe = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("bentpipe"));
    let bars = bars();
    // Elsewhere nobody would look on.
    let observer = std::io::stderr()
        .is_terminal()
        .then(|| Arc::new(Lines::below(&bars)) as Arc<dyn StatsObserver>);
    let (simulator, real) = (Simulator, RealClock { bentpipe, observer, ..RealClock::default() });
    let runner: &dyn Runner = if args.clock == Clock::Real { &real } else { &simulator };
    let stop = stop_on_interrupt();

    let mut status = OK;
    let mut documents: Vec<Results> = Vec::new();
    for (plan, target) in plans.iter().zip(&targets) {
        let recorded = one(plan, runner, target, jobs, &stop, &bars)?;
        status = status.max(verdict(&recorded, plan));
        if !args.json {
            output::print(&table::results(plan, &recorded, output::coloured(&std::io::stdout())))?;
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

fn target(args: &Run, plan: &Plan) -> PathBuf {
    match &args.out {
        Some(out) if args.files.len() == 1 => out.clone(),
        Some(out) => out.join(&plan.name),
        None => Path::new("out").join(&plan.name),
    }
}

/// One document, or a list of them where several files were asked for.
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
    let bar = progress_bar(plan, bars);
    let recorded = record(plan, runner, target, jobs, stop, &|done| bar.set_position(done as u64));
    bar.finish_and_clear();
    bars.remove(&bar);
    let recorded = recorded?;
    if let Some(failure) = &recorded.failure {
        eprint!("{}", errors::render(failure));
    }
    Ok(recorded)
}

/// The exit status that the results amount to; says what is missing.
pub(crate) fn verdict(recorded: &Recorded, plan: &Plan) -> u8 {
    if recorded.complete {
        // With the real clock, a flow may fail for reasons that are no result: a program that is
        // not there, a socket that breaks.
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
            (false, false) => NOT_HELD,
        };
    }
    let (done, planned) = (recorded.results.runs.len(), plan.tasks.len());
    match &recorded.directory {
        Some(directory) => {
            eprintln!(
                "incomplete: {done} of {planned} runs ended, and are in {}",
                directory.display()
            );
        }
        None => eprintln!("incomplete: no run of {planned} ended, and nothing was written"),
    }
    FAILED
}

/// What is shown on standard error while a plan runs, where that is a terminal.
pub(crate) fn bars() -> MultiProgress {
    MultiProgress::with_draw_target(ProgressDrawTarget::stderr())
}

/// A bar with the time left.
fn progress_bar(plan: &Plan, bars: &MultiProgress) -> ProgressBar {
    let bar = bars.add(ProgressBar::new(plan.tasks.len() as u64));
    let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} runs, {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_message(plan.name.clone());
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Set by the first Ctrl-C, so that runs that have ended are kept; the second ends the process.
pub(crate) fn stop_on_interrupt() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&stop);
    let handler = ctrlc::set_handler(move || {
        if seen.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(FAILED));
        }
        eprintln!("stopping: runs that have ended are kept (Ctrl-C again to stop at once)");
    });
    if let Err(error) = handler {
        eprintln!("warning: Ctrl-C will lose what has been run: {error}");
    }
    stop
}

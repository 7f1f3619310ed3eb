//! `bentpipe run`: runs scenarios and prints their results.

mod dry_run;

use crate::args::{Clock, Run};
use crate::cluster::Cluster;
#[cfg(feature = "real-clock")]
use crate::output::live::LiveLines;
use crate::output::{self, browser};
#[cfg(feature = "real-clock")]
use crate::status::FAILED;
use crate::status::OK;
use crate::study::{Shown, Study, bars, jobs, json, output_directory, print, stop_on_interrupt};
use bentpipe_lab::{Changes, Executor, LabError, Plan, Runner, Simulator, Threads};
#[cfg(feature = "real-clock")]
use bentpipe_realclock::{RealClock, StatsObserver};
use bentpipe_results::Results;
#[cfg(feature = "real-clock")]
use indicatif::MultiProgress;
#[cfg(feature = "real-clock")]
use std::io::IsTerminal;
#[cfg(feature = "real-clock")]
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
#[cfg(feature = "real-clock")]
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Runs the scenarios one after another. Reads all of them first, so that an error there prevents
/// any run. `program` runs the QUIC endpoints of the real clock.
#[cfg_attr(not(feature = "real-clock"), expect(unused_variables))]
pub fn run(args: &Run, program: &Path, cluster: Option<&dyn Cluster>) -> Result<u8, LabError> {
    let plans = plans(args)?;
    #[cfg(feature = "real-clock")]
    if args.clock == Clock::Real
        && !args.dry_run
        && let Err(error) = bentpipe_emu::prepare()
    {
        // Needs a process with one thread, as it still is here.
        return Ok(output::refuse(&error.to_string(), FAILED));
    }
    let targets = targets(args, &plans)?;
    let jobs = match args.clock {
        Clock::Virtual => jobs(args.jobs),
        // Parallel runs would compete for the CPU, so they run one at a time unless requested
        // otherwise.
        #[cfg(feature = "real-clock")]
        Clock::Real => args.jobs.unwrap_or(NonZeroUsize::MIN),
    };
    let bars = bars();
    let runner: Box<dyn Runner> = match args.clock {
        Clock::Virtual => Box::new(Simulator),
        #[cfg(feature = "real-clock")]
        Clock::Real => Box::new(real_clock(program, &bars)),
    };
    let stop = stop_on_interrupt();
    let threads = Threads { runner: &*runner, jobs };
    let remote = args.dask.as_deref().map(|address| dask(address, args, cluster)).transpose()?;
    let executor = remote.as_deref().unwrap_or(&threads);
    #[cfg(feature = "store")]
    let store = match args.clock {
        Clock::Virtual => crate::study::store::open(&args.store)?,
        #[cfg(feature = "real-clock")]
        Clock::Real => None,
    };
    let study = Study {
        #[cfg(feature = "store")]
        store: store.as_ref().map(|store| store as _),
        #[cfg(feature = "store")]
        reuse: !args.store.no_reuse,
        shard: args.shard,
        quiet: args.quiet,
        ..Study::new(executor, &stop, &bars)
    };
    if args.dry_run {
        return dry_run::print(&plans, &study.options(&|_| {}), jobs, args.json);
    }

    let shown = match (args.full, args.quiet) {
        (_, true) => Shown::Quiet,
        (true, _) => Shown::Full,
        _ => Shown::Summary,
    };
    let mut status = OK;
    let mut documents: Vec<Results> = Vec::new();
    for (plan, target) in plans.iter().zip(&targets) {
        let recorded = study.run(plan, target)?;
        #[cfg(feature = "store")]
        if store.as_ref().is_some_and(bentpipe_lab::ResultStore::has_failed) {
            output::say!("warning: some results could not be kept in the result store");
        }
        status = status.max(study.exit_status(&recorded, target));
        if !args.json {
            print(&recorded, plan, shown)?;
        }
        if let Some(directory) = recorded.directory.as_deref().filter(|_| args.open) {
            browser::open(&directory.join("report.html").to_string_lossy());
        }
        let complete = recorded.complete;
        documents.push(recorded.results);
        if stop.load(Ordering::Relaxed) || !complete {
            break;
        }
    }
    if args.json {
        output::document(&json(&documents, plans.len() > 1))?;
    }
    Ok(status)
}

/// Reads the scenarios.
fn plans(args: &Run) -> Result<Vec<Plan>, LabError> {
    let changes = Changes { sets: args.set.clone(), seed: args.seed, repeat: args.repeat };
    let read = |file: &PathBuf| {
        let mut plan = Plan::read(file, &changes)?;
        plan.commit = crate::version::commit();
        match args.clock {
            Clock::Virtual => plan.on_virtual_clock(),
            #[cfg(feature = "real-clock")]
            Clock::Real => plan.on_real_clock(&RealClock::default()),
        }
    };
    args.files.iter().map(read).collect()
}

/// Returns where the results of each plan go.
fn targets(args: &Run, plans: &[Plan]) -> Result<Vec<PathBuf>, LabError> {
    let mut targets: Vec<PathBuf> = Vec::new();
    for plan in plans {
        let target = target(args, plan)?;
        if targets.contains(&target) {
            let reason =
                format!("two scenarios are named `{}`; allowed: each name once", plan.name);
            return Err(LabError::Write { path: target, reason });
        }
        targets.push(target);
    }
    Ok(targets)
}

/// Connects to the Dask scheduler at `address`.
fn dask(
    address: &str,
    args: &Run,
    cluster: Option<&dyn Cluster>,
) -> Result<Box<dyn Executor>, LabError> {
    let refused = |reason: String| LabError::Usage { argument: "--dask", reason };
    if args.clock != Clock::Virtual {
        return Err(refused("only runs on the virtual clock; allowed: no --clock real".to_owned()));
    }
    let cluster = cluster.ok_or_else(|| {
        refused(
            "this `bentpipe` is not the one of the Python package; to install that: pip install \
                'bentpipe[dask]'"
                .to_owned(),
        )
    })?;
    cluster.dask(address).map_err(refused)
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

fn target(args: &Run, plan: &Plan) -> Result<PathBuf, LabError> {
    let name = match args.shard {
        Some(shard) => {
            format!("{}-shard-{}", plan.name, shard.to_string().replace('/', "-of-"))
        }
        None => plan.name.clone(),
    };
    match args.out.as_deref() {
        Some(out) if args.files.len() > 1 => Ok(output_directory(Some(out), &name)?.join(name)),
        out => output_directory(out, &name),
    }
}

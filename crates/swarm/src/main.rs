//! A swarm over the whole: random episodes, each drawn from one seed, in the shape of TigerBeetle's
//! simulator (VOPR).
//!
//! An episode is drawn ([`draw`], [`endpoints`], [`hostile`], [`disk`]), played, and checked: what
//! must hold at any time ([`safety`]), that the same seed gives the same bytes, and that everything
//! completes once faults have ended ([`liveness`]). A failure is made smaller ([`shrink`]) and
//! printed with its seed and the command that repeats it ([`report`]).

mod args;
mod case;
mod clock;
mod disk;
mod draw;
mod endpoints;
mod failure;
mod hostile;
mod liveness;
mod report;
mod safety;
mod scenario;
mod session;
mod shrink;

use args::Args;
use case::Case;
use clap::Parser;
use failure::Failure;
use session::Session;
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Minutes if neither they nor a number of episodes is given.
const MINUTES: f64 = 2.0;

fn main() -> ExitCode {
    let args = Args::parse();
    if args.dimensions {
        print_dimensions();
        return ExitCode::SUCCESS;
    }
    let session = session(&args);
    let unknown = session.without.iter().find(|name| !is_dimension(name));
    if let Some(name) = unknown {
        eprintln!("error: --without: `{name}` is no dimension; allowed: see --dimensions");
        return ExitCode::from(2);
    }
    if let Some(disk) = &args.on_disk {
        let holds = disk::on_disk(session.first, &session.without, disk);
        return if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    if args.show {
        print!("{}", session.case(session.first).text());
        return ExitCode::SUCCESS;
    }
    let stop = stop_on_interrupt();
    eprintln!("swarm: seeds from {} on", session.first);
    let (counts, failed) = session.play(&stop);
    match failed {
        Some((case, failure)) => {
            fail(&args, &case, &failure, &stop);
            ExitCode::FAILURE
        }
        None => {
            println!("swarm: {}", counts.text());
            // 128 and the number of SIGINT, as shells have it.
            if stop.load(Ordering::Relaxed) { ExitCode::from(130) } else { ExitCode::SUCCESS }
        }
    }
}

/// Returns what the command line asks for.
fn session(args: &Args) -> Session {
    let only = args.seed.is_some() && args.minutes.is_none();
    let runs = args.runs.or(only.then_some(1));
    let minutes = args.minutes.or(runs.is_none().then_some(MINUTES));
    let cpus = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    Session {
        first: args.seed.unwrap_or_else(clock::first_seed),
        runs,
        time: minutes.map(|minutes| Duration::from_secs_f64(60.0 * minutes)),
        threads: args.threads.unwrap_or(cpus),
        kind: args.kind,
        without: args.without.iter().filter(|name| !name.is_empty()).cloned().collect(),
    }
}

/// Makes a failure smaller, prints it and writes it to a file.
fn fail(args: &Args, case: &Case, failure: &Failure, stop: &AtomicBool) {
    println!("swarm: seed {} failed: {failure}", case.seed);
    println!("swarm: repeat it with: {}", report::command(case));
    eprintln!("swarm: making it smaller");
    let (smallest, last) = shrink::shrink(case, failure, stop);
    println!("swarm: with only {}: {last}", smallest.dimensions().join(", "));
    println!("swarm: repeat it with: {}", report::command(&smallest));
    match report::keep(&smallest, &last, &args.out) {
        Ok(file) => println!("swarm: what was drawn is in {}", file.display()),
        Err(error) => eprintln!("swarm: cannot write to {}: {error}", args.out.display()),
    }
}

fn dimensions() -> [(&'static str, BTreeSet<&'static str>); 2] {
    [
        ("scenario, disk", draw::DIMENSIONS.iter().map(|dimension| dimension.name).collect()),
        ("endpoints", endpoints::DIMENSIONS.iter().map(|(name, ..)| *name).collect()),
    ]
}

fn print_dimensions() {
    for (kinds, names) in dimensions() {
        println!("{kinds}: {}", Vec::from_iter(names).join(", "));
    }
}

fn is_dimension(name: &str) -> bool {
    dimensions().iter().any(|(_, names)| names.contains(name))
}

/// Returns a flag that the first Ctrl-C sets. The second ends the process.
fn stop_on_interrupt() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&stop);
    // Without a handler, an interrupt ends the process: nothing is lost but the summary.
    let _ = ctrlc::set_handler(move || {
        if seen.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        eprintln!("swarm: stopping (signal again to stop at once)");
    });
    stop
}

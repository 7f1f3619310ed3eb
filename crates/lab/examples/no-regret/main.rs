//! Compares what Bentpipe does by default with plain starts on random paths: memory of the path,
//! 0-RTT and `slow_start = "auto"` together, against none of the three. Both are a second visit at
//! the same time over the same path with the same seed.
//!
//! ```text
//! cargo run --release -p bentpipe-lab --example no-regret -- --cases 500 --seed 5 --jobs 2
//! cargo run --release -p bentpipe-lab --example no-regret -- --seed 5 --case 12
//! ```
//!
//! Cases take turns in four populations:
//!
//! - `geo`: RTT 500 to 800 ms, 2 to 250 Mbps, queue 0.1 to 2 BDP
//! - `meo`: RTT 120 to 300 ms, 10 to 300 Mbps, queue 0.1 to 2 BDP
//! - `leo`: the profile `leo`, whose capacity and RTT are drawn anew every 15 s
//! - `terrestrial`: RTT 5 to 120 ms, 5 to 500 Mbps, queue 0.1 to 3 BDP
//!
//! Rates and queues are log-uniform, and so is the download, from 50 kB to 50 MB. Return rates are
//! 0.5 to 10 Mbps (`geo`) or a tenth to a half of the forward rate. Three paths of ten lose 0.001
//! to 3 % of packets at random, log-uniform too.
//!
//! `--case` prints one case as a scenario for `bentpipe run`.

mod draw;
mod table;

use bentpipe_lab::{Changes, Plan};
use bentpipe_sim::run;
use bentpipe_units::Span;
use draw::Case;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Completion times in seconds, without and with; `None` if the time limit was reached.
type Times = [Option<f64>; 2];

struct Options {
    cases: u64,
    seed: u64,
    jobs: u64,
    case: Option<u64>,
}

impl Options {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self { cases: 100, seed: 5, jobs: 1, case: None };
        while let Some(word) = words.next() {
            let mut number = |low: u64| {
                let value = words.next().unwrap_or_default();
                value.parse().ok().filter(|number| *number >= low).ok_or_else(|| {
                    format!("`{word} {value}` is invalid; allowed: an integer from {low}")
                })
            };
            match word.as_str() {
                "--cases" => options.cases = number(1)?,
                "--seed" => options.seed = number(0)?,
                "--jobs" => options.jobs = number(1)?,
                "--case" => options.case = Some(number(0)?),
                _ => {
                    return Err(format!(
                        "`{word}` is not an option; allowed: --cases, --seed, --jobs, --case, each \
                            with a number"
                    ));
                }
            }
        }
        Ok(options)
    }
}

/// Runs the case without and with.
fn measure(case: &Case) -> Result<Times, String> {
    let plan = Plan::parse("case", &case.scenario(), Path::new("."), &Changes::default())
        .map_err(|error| error.to_string())?;
    let mut times = Vec::new();
    for task in &plan.tasks {
        let spec = plan.spec(*task).map_err(|error| error.to_string())?;
        let outcome = run(&spec, &AtomicBool::new(false)).map_err(|error| error.to_string())?;
        let visit = outcome.flows.last().ok_or("a run without a flow")?;
        times.push(visit.completion.filter(|_| visit.completed).map(Span::as_secs_f64));
    }
    Times::try_from(times).map_err(|times| format!("{} runs instead of two", times.len()))
}

fn main() -> ExitCode {
    let options = match Options::read(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("error: {problem}");
            return ExitCode::from(2);
        }
    };
    if let Some(number) = options.case {
        print!("{}", Case::draw(options.seed, number).scenario());
        return ExitCode::SUCCESS;
    }
    let (next, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let results: Mutex<Vec<(Case, Result<Times, String>)>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.min(options.cases) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= options.cases {
                        break;
                    }
                    let case = Case::draw(options.seed, number);
                    let times = measure(&case);
                    let so_far = done.fetch_add(1, Ordering::Relaxed) + 1;
                    eprintln!("{so_far} of {}: {case}: {times:?}", options.cases);
                    if let Ok(mut results) = results.lock() {
                        results.push((case, times));
                    }
                }
            });
        }
    });
    let mut all = results.into_inner().unwrap_or_default();
    all.sort_by_key(|(case, _)| case.number);
    println!("{} cases, seed {}\n", options.cases, options.seed);
    let (mut measured, mut failed) = (Vec::new(), false);
    for (case, times) in all {
        match times {
            Ok(times) => measured.push((case, times)),
            Err(problem) => {
                failed = true;
                println!("{case} failed: {problem}");
            }
        }
    }
    table::print(&measured);
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

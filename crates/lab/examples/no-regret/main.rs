//! Compares what Bentpipe does by default with plain starts on random paths: memory of the path,
//! 0-RTT and `slow_start = "auto"` together, against none of the three and against `auto` alone.
//! All are a second visit at the same time over the same path with the same seed.
//!
//! ```text
//! cargo run --release -p bentpipe-lab --example no-regret -- --cases 500 --seed 5 --jobs 2
//! cargo run --release -p bentpipe-lab --example no-regret -- --seed 5 --wide --cases 1000
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
//! With `--wide`, all cases are of the population `wide`: RTT 20 to 700 ms, 2 to 300 Mbps, queue
//! 0.1 to 2 BDP, return rates of a fiftieth to a half, all log-uniform. Half of the paths lose
//! 0.001 to 3 % of packets at random. A fifth delivers packets late (a standard deviation of 0.1 to
//! 3 ms), another fifth has a policer of 0.3 to 0.9 of the rate with a burst of 16 to 1024 kB, and
//! a third one jitter that keeps the order (0.1 to 20 ms).
//!
//! Times are those of one run, or with `--repeat` medians of several: where packets are lost at
//! random, single runs of one path differ more than the variants.
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

/// Number of variants: standard start, `auto`, and `auto` with memory and 0-RTT.
const VARIANTS: usize = 3;

/// Completion times of the variants in seconds; `None` if the time limit was reached.
type Times = [Option<f64>; VARIANTS];

struct Options {
    cases: u64,
    seed: u64,
    jobs: u64,
    case: Option<u64>,
    wide: bool,
    repeat: u64,
}

impl Options {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self { cases: 100, seed: 5, jobs: 1, case: None, wide: false, repeat: 1 };
        while let Some(word) = words.next() {
            let mut number = |low: u64| {
                let value = words.next().unwrap_or_default();
                value.parse().ok().filter(|number| *number >= low).ok_or_else(|| {
                    format!("`{word} {value}` is invalid; allowed: an integer from {low}")
                })
            };
            match word.as_str() {
                "--wide" => options.wide = true,
                "--cases" => options.cases = number(1)?,
                "--seed" => options.seed = number(0)?,
                "--jobs" => options.jobs = number(1)?,
                "--repeat" => options.repeat = number(1)?,
                "--case" => options.case = Some(number(0)?),
                _ => {
                    return Err(format!(
                        "`{word}` is not an option; allowed: --wide, and --cases, --seed, --jobs, \
                            --repeat, --case, each with a number"
                    ));
                }
            }
        }
        Ok(options)
    }
}

/// Runs all variants of the case.
fn measure(case: &Case, repeat: u64) -> Result<Times, String> {
    let plan = Plan::parse("case", &case.scenario(repeat), Path::new("."), &Changes::default())
        .map_err(|error| error.to_string())?;
    let mut times: [Vec<f64>; VARIANTS] = Default::default();
    for task in &plan.tasks {
        let spec = plan.spec(*task).map_err(|error| error.to_string())?;
        let outcome = run(&spec, &AtomicBool::new(false)).map_err(|error| error.to_string())?;
        let visit = outcome.flows.last().ok_or("a run without a flow")?;
        let completion = visit.completion.filter(|_| visit.completed);
        times[task.case].push(completion.map_or(f64::INFINITY, Span::as_secs_f64));
    }
    Ok(times.map(median))
}

/// Returns the median, the upper one of an even number; `None` if that run did not complete.
fn median(mut times: Vec<f64>) -> Option<f64> {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().filter(|time| time.is_finite())
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
        let case = Case::draw(options.seed, number, options.wide);
        print!("{}", case.scenario(options.repeat));
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
                    let case = Case::draw(options.seed, number, options.wide);
                    let times = measure(&case, options.repeat);
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

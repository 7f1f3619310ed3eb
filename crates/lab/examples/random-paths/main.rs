//! Compares `slow_start = "auto"` with standard slow start on random paths, in the full simulator:
//! CUBIC without resumption, one download at a time, the same path and seed for both.
//!
//! ```text
//! cargo run --release -p bentpipe-lab --example random-paths -- --cases 500 --seed 7 >CASES
//! cargo run --release -p bentpipe-lab --example random-paths -- --seed 7 --case 12
//! ```
//!
//! Values are drawn from these ranges:
//!
//! - rate: 5 to 300 Mbps forward, 0.5 to 10 Mbps return, both log-uniform
//! - forward queue: 0.05 to 2 BDP, log-uniform; the return queue holds one BDP
//! - RTT: 150 to 800 ms; for a fifth of the cases 20 to 100 ms, log-uniform
//! - jitter: 0 to 5 ms
//! - frames: 10 ms forward and 26.5 ms return, or none
//! - acknowledgements: one for two packets (`stack`) or one for ten (`1:10`)
//! - download: 0.1 to 100 MB, if the rate can carry it in the limit of 120 s of virtual time
//!
//! A study prints each case as a line of JSON, from which `tools/atlas/random-paths-rows` makes the
//! results of the book. `--case` prints one case as a scenario for `bentpipe run`, with its
//! results.

mod draw;
mod lines;
mod measure;

use draw::Case;
use measure::{Measured, measure};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The command line.
struct Options {
    cases: u64,
    seed: u64,
    jobs: u64,
    case: Option<u64>,
}

impl Options {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self { cases: 100, seed: 7, jobs: 1, case: None };
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

fn main() -> ExitCode {
    let options = match Options::read(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("error: {problem}");
            return ExitCode::from(2);
        }
    };
    let Some(number) = options.case else { return study(&options) };
    let case = Case::draw(options.seed, number);
    match measure(&case) {
        Ok(measured) => {
            lines::print_case(&case, &measured);
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("error: {problem}\n{}", case.scenario());
            ExitCode::FAILURE
        }
    }
}

fn study(options: &Options) -> ExitCode {
    let (next, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let results: Mutex<Vec<(Case, Result<Measured, String>)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.min(options.cases) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= options.cases {
                        break;
                    }
                    let case = Case::draw(options.seed, number);
                    let measured = std::panic::catch_unwind(|| measure(&case))
                        .unwrap_or_else(|_| Err("a panic".into()));
                    let so_far = done.fetch_add(1, Ordering::Relaxed) + 1;
                    eprintln!("{so_far} of {}: case {number}, {case}", options.cases);
                    if let Ok(mut results) = results.lock() {
                        results.push((case, measured));
                    }
                }
            });
        }
    });
    let mut all = results.into_inner().unwrap_or_default();
    all.sort_by_key(|(case, _)| case.number);
    let mut failed = 0u64;
    for (case, measured) in &all {
        match measured {
            Ok(measured) => lines::print(case, measured),
            Err(problem) => {
                failed += 1;
                eprintln!("case {} failed: {problem}; {case}", case.number);
            }
        }
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

//! Measures how often `bentpipe compare` errs and what it finds, with real runs of
//! `scenarios/validation/compare.toml`.
//!
//! ```text
//! cargo run -p bentpipe-lab --example compare -- [COMPARISONS]
//! ```
//!
//! - 200 comparisons of equal variants under different seeds, 20 runs on each side: a comparison
//!   errs if it finds a change in any case. At a level of 5 %, more than 20 errors have a
//!   probability of 0.07 %.
//! - As many comparisons with a path whose RTT of 626 ms instead of 600 ms makes 2 MB take 3 %
//!   longer, also under other seeds, and a quarter as many at higher losses.
//!
//! Exit status 1 if there are more errors than that, or if less than 90 % of the slowdowns are
//! found at the scenario's own loss.

use bentpipe_lab::{Lab, LabError};
use bentpipe_results::comparison::{
    Change, CompareOptions, ComparisonReport, Finding, Samples, compare_samples,
};
use std::num::NonZeroUsize;
use std::process::ExitCode;

const SCENARIO: &str = include_str!("../../../scenarios/validation/compare.toml");
/// RTT that makes 2 MB take 3 % longer.
const SLOWER: &str = "path.rtt=626 ms";
/// Level of the comparisons.
const LEVEL: f64 = 0.05;

fn main() -> ExitCode {
    let comparisons = std::env::args().nth(1).map_or(Ok(200), |text| text.parse());
    let Ok(comparisons) = comparisons else {
        eprintln!("error: the argument is the number of comparisons");
        return ExitCode::from(2);
    };
    match study(comparisons) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Values of 20 runs of each case.
fn runs(seed: u64, sets: &[&str]) -> Result<Samples, LabError> {
    let jobs = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let mut lab = Lab::new().seed(seed).jobs(jobs);
    for set in sets {
        lab = lab.set(*set);
    }
    Ok(Samples::new(&lab.run(SCENARIO)?, &[], true, true))
}

fn compared(before: &Samples, after: &Samples) -> ComparisonReport {
    let options = CompareOptions { level: LEVEL, tolerance: 0.0, metrics: Vec::new() };
    compare_samples(before, after, ["before", "after"], &options)
}

/// Returns the case of 2 MB.
fn of_2mb(report: &ComparisonReport) -> Option<&Change> {
    report
        .changes
        .iter()
        .find(|change| change.case.point.get("workload.download").is_none_or(|size| size == "2 MB"))
}

/// What comparisons with a slower path found.
#[derive(Default)]
struct Found {
    comparisons: usize,
    regressions: usize,
    by_mean: usize,
    slowdown: f64,
    noise: f64,
}

impl Found {
    fn add(&mut self, report: &ComparisonReport) {
        let Some(change) = of_2mb(report) else { return };
        self.comparisons += 1;
        self.regressions += usize::from(change.finding == Finding::Regression);
        self.by_mean +=
            usize::from(change.mean.and_then(|mean| mean.low).is_some_and(|low| low > 0.0));
        self.slowdown += change.mean.map_or(0.0, |mean| mean.change);
        let (mean, deviation) = (change.before.mean, change.before.deviation);
        self.noise += mean.zip(deviation).map_or(0.0, |(mean, deviation)| deviation / mean);
    }

    fn print(&self, loss: &str) {
        let mean = |sum: f64| 100.0 * sum / self.comparisons.max(1) as f64;
        println!(
            "loss {loss}: 2 MB {:.2} % slower on average, noise {:.1} % of the mean: found {} of \
             {}; the interval of the mean alone excludes zero in {}",
            mean(self.slowdown),
            mean(self.noise),
            self.regressions,
            self.comparisons,
            self.by_mean
        );
    }
}

fn study(comparisons: u64) -> Result<bool, LabError> {
    let mut errors = 0;
    let mut found = Found::default();
    for index in 0..comparisons {
        let before = runs(3 * index + 1, &[])?;
        let equal = compared(&before, &runs(3 * index + 2, &[])?);
        let wrong = equal
            .changes
            .iter()
            .any(|change| !matches!(change.finding, Finding::Unchanged | Finding::Identical));
        errors += u64::from(wrong);
        found.add(&compared(&before, &runs(3 * index + 3, &[SLOWER])?));
    }
    println!(
        "equal variants, 3 cases of 20 runs: {errors} of {comparisons} comparisons found a change; \
         level {LEVEL}"
    );
    found.print("0.0002");
    for loss in ["0.001", "0.005"] {
        let mut found = Found::default();
        let loss_key = format!("path.forward.loss={loss}");
        let only = "workload.download=2 MB";
        for index in 0..comparisons.div_ceil(4) {
            let before = runs(2 * index + 1, &[&loss_key, only])?;
            found.add(&compared(&before, &runs(2 * index + 2, &[&loss_key, only, SLOWER])?));
        }
        found.print(loss);
    }
    let most = (LEVEL * comparisons as f64 * 2.0).ceil() as u64;
    Ok(errors <= most && found.regressions as f64 >= 0.9 * found.comparisons as f64)
}

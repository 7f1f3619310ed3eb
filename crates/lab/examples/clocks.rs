//! Compares the virtual and the real clock on the same scenarios, and prints the table of the
//! chapter Validation.
//!
//! ```text
//! cargo build -p bentpipe-cli
//! cargo run -p bentpipe-lab --example clocks -- scenarios/validation/clocks-tcp*.toml [--jobs N]
//!     [--repeat N]
//! ```
//!
//! The emulator needs root or user namespaces. QUIC flows use the `bentpipe` command that the first
//! line builds.

use bentpipe_lab::{
    Changes, LabError, Observer, Options, Plan, RealClock, RunRecord, Runner, Simulator, Task,
    Threads, execute,
};
use bentpipe_results::{Point, Results, Run, Summary};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

/// Required agreement of the medians, in percent. Larger differences are listed run by run.
const REQUIRED_PERCENT: f64 = 5.0;

/// Prints each run that ends.
struct Progress;

impl Observer for Progress {
    fn finished(&self, index: usize, _: Task, record: RunRecord) -> Result<Run, LabError> {
        let completed = record.run.flows.iter().all(|flow| flow.completed);
        eprintln!("run {index}{}", if completed { "" } else { ": incomplete" });
        Ok(record.run)
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    // Has to run while the process has a single thread.
    bentpipe_emu::prepare()?;
    let (mut files, mut jobs, mut changes) = (Vec::new(), NonZeroUsize::MIN, Changes::default());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--jobs" => jobs = arguments.next().ok_or("--jobs needs a number")?.parse()?,
            "--repeat" => {
                changes.repeat = Some(arguments.next().ok_or("--repeat needs a number")?.parse()?)
            }
            file => files.push(PathBuf::from(file)),
        }
    }
    let mut cells = Vec::new();
    for file in &files {
        cells.extend(run_both(file, &changes, jobs)?);
    }
    print(&cells);
    Ok(())
}

/// One transfer over one path on both clocks.
struct Cell {
    path: String,
    transfer: String,
    variant: String,
    /// Median completion time on the virtual clock, in seconds.
    virtual_s: Option<f64>,
    /// Median completion time on the real clock, in seconds.
    real_s: Option<f64>,
    /// Completion times of all runs on the real clock.
    runs: String,
    /// Number of runs in which the emulator fell behind.
    unreliable: usize,
    /// Number of runs on the real clock.
    count: usize,
}

impl Cell {
    fn percent(&self) -> Option<f64> {
        self.virtual_s
            .zip(self.real_s)
            .map(|(virtual_s, real_s)| (real_s / virtual_s - 1.0) * 100.0)
    }

    fn differs(&self) -> bool {
        self.percent().is_none_or(|percent| percent.abs() > REQUIRED_PERCENT)
    }

    fn text(&self) -> String {
        let Some((seconds, percent)) = self.virtual_s.zip(self.percent()) else {
            return "incomplete".to_owned();
        };
        let mark = if self.differs() { "**" } else { "" };
        format!("{seconds:.3}, {mark}{percent:+.1} %{mark}")
    }
}

/// Runs the scenario in `file` on both clocks.
fn run_both(
    file: &Path,
    changes: &Changes,
    jobs: NonZeroUsize,
) -> Result<Vec<Cell>, Box<dyn std::error::Error>> {
    // The command is in the parent directory of the examples.
    let example = std::env::current_exe()?;
    let directory = example.parent().and_then(Path::parent);
    let bentpipe = directory.map(|directory| directory.join("bentpipe")).unwrap_or_default();
    let clock = RealClock { bentpipe, ..RealClock::default() };
    eprintln!("{}", file.display());
    let simulated = results(&Plan::read(file, changes)?, &Simulator, jobs)?;
    let plan = Plan::read(file, changes)?.on_real_clock()?;
    let real = results(&plan, &clock, jobs)?;
    let completions = |results: &Results| -> Vec<Summary> {
        results.summary.iter().filter(|row| row.metric == "completion_s").cloned().collect()
    };
    let both = completions(&simulated).into_iter().zip(completions(&real));
    let cells = both.map(|(one, other)| {
        let runs = || {
            real.runs.iter().filter(|run| run.variant == other.variant && run.point == other.point)
        };
        let seconds = runs().flat_map(|run| &run.flows).map(|flow| {
            flow.metrics
                .completion_s
                .map_or("–".to_owned(), |completion| format!("{completion:.3}"))
        });
        let unreliable = |run: &&Run| {
            run.emulation.as_ref().is_some_and(|emulation| !emulation.warnings.is_empty())
        };
        Cell {
            path: point(&one.point, "path.profile"),
            transfer: point(&one.point, "workload.download"),
            variant: one.variant,
            virtual_s: one.median,
            real_s: other.median,
            runs: seconds.collect::<Vec<_>>().join(", "),
            unreliable: runs().filter(unreliable).count(),
            count: runs().count(),
        }
    });
    Ok(cells.collect())
}

/// Returns the items without repetition, in order of first appearance.
fn unique<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    items.fold(Vec::new(), |mut unique, item| {
        if !unique.contains(&item) {
            unique.push(item);
        }
        unique
    })
}

/// Prints a table with a column per variant and a row per transfer, then the transfers that differ,
/// run by run.
fn print(cells: &[Cell]) {
    let variants = unique(cells.iter().map(|cell| &cell.variant));
    println!(
        "\n| path, download | {} |",
        variants.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(" | ")
    );
    println!("|---|{}", "---|".repeat(variants.len()));
    for (path, transfer) in unique(cells.iter().map(|cell| (&cell.path, &cell.transfer))) {
        let of = |variant: &String| {
            let is_it = |cell: &&Cell| {
                (&cell.path, &cell.transfer, &cell.variant) == (path, transfer, variant)
            };
            cells.iter().find(is_it).map_or("–".to_owned(), Cell::text)
        };
        println!(
            "| {path}, {transfer} | {} |",
            variants.iter().map(|name| of(name)).collect::<Vec<_>>().join(" | ")
        );
    }
    println!("\nDifferences of more than {REQUIRED_PERCENT} %:");
    for variant in variants {
        let all = || cells.iter().filter(|cell| cell.variant == *variant);
        println!(
            "- {variant}: {} of {}",
            all().filter(|cell| cell.differs()).count(),
            all().count()
        );
        for cell in all().filter(|cell| cell.differs()) {
            println!(
                "  - {}, {}: {}; on the real clock {}",
                cell.path,
                cell.transfer,
                cell.text(),
                cell.runs
            );
        }
    }
    let sum = |of: fn(&Cell) -> usize| cells.iter().map(of).sum::<usize>();
    println!(
        "\nIn {} of {} runs the emulator fell behind.",
        sum(|cell| cell.unreliable),
        sum(|cell| cell.count)
    );
}

fn results(plan: &Plan, runner: &dyn Runner, jobs: NonZeroUsize) -> Result<Results, LabError> {
    let stop = AtomicBool::new(false);
    let executor = Threads { runner, jobs };
    let executed = execute(plan, &Options::new(&executor, &stop), &Progress);
    let (results, failure) = executed.into_results(plan);
    failure.map_or(Ok(results), Err)
}

fn point(point: &Point, key: &str) -> String {
    point.get(key).cloned().unwrap_or_default()
}

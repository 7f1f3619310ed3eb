//! Both clocks side by side: the same scenarios under the virtual and the wall clock, as a table
//! for the chapter Validation.
//!
//! `cargo run -p bentpipe-lab --example clocks -- scenarios/validation/clocks-*.toml [--jobs N]
//! [--repeat N]`. Needs what the emulator needs: root, or user namespaces. QUIC needs the command
//! beside it: `cargo build -p bentpipe-cli` first.

use bentpipe_lab::{
    Changes, LabError, Observer, Plan, RealClock, Runner, Simulator, Task, execute,
};
use bentpipe_results::{Point, Results, Run, Summary};
use bentpipe_sim::{RunOutcome, RunSpec};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

/// Medians that are farther apart than this are told: what the two clocks are asked to agree
/// within.
const ASKED_PERCENT: f64 = 7.0;

/// Says how far it is.
struct Progress;

impl Observer for Progress {
    fn finished(
        &self,
        index: usize,
        _: Task,
        _: &RunSpec,
        outcome: &RunOutcome,
    ) -> Result<(), LabError> {
        let completed = outcome.flows.iter().all(|flow| flow.completed);
        eprintln!("run {index}{}", if completed { "" } else { ": not complete" });
        Ok(())
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
    // While there is one thread.
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
        cells.extend(play(file, &changes, jobs)?);
    }
    print(&cells);
    Ok(())
}

/// One transfer over one path under both clocks.
struct Cell {
    path: String,
    transfer: String,
    variant: String,
    /// Median completion, seconds.
    virtual_s: Option<f64>,
    wall_s: Option<f64>,
    /// Every run under the wall clock.
    runs: String,
    /// Of these, runs in which the emulator fell behind.
    doubtful: usize,
    count: usize,
}

impl Cell {
    fn percent(&self) -> Option<f64> {
        self.virtual_s
            .zip(self.wall_s)
            .map(|(virtual_s, wall_s)| (wall_s / virtual_s - 1.0) * 100.0)
    }

    fn is_far(&self) -> bool {
        self.percent().is_none_or(|percent| percent.abs() > ASKED_PERCENT)
    }

    fn text(&self) -> String {
        let Some((seconds, percent)) = self.virtual_s.zip(self.percent()) else {
            return "not complete".to_owned();
        };
        let mark = if self.is_far() { "**" } else { "" };
        format!("{seconds:.3}, {mark}{percent:+.1} %{mark}")
    }
}

fn play(
    file: &Path,
    changes: &Changes,
    jobs: NonZeroUsize,
) -> Result<Vec<Cell>, Box<dyn std::error::Error>> {
    // Beside the examples is the command.
    let own = std::env::current_exe()?;
    let bentpipe =
        own.parent().and_then(Path::parent).map(|place| place.join("bentpipe")).unwrap_or_default();
    let wall = RealClock { bentpipe, ..RealClock::default() };
    eprintln!("{}", file.display());
    let simulated = results(&Plan::read(file, changes)?, &Simulator, jobs)?;
    let plan = Plan::read(file, changes)?.on_real_clock()?;
    let real = results(&plan, &wall, jobs)?;
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
        let doubtful =
            |run: &&Run| run.emulation.as_ref().is_some_and(|did| !did.warnings.is_empty());
        Cell {
            path: point(&one.point, "path.profile"),
            transfer: point(&one.point, "workload.download"),
            variant: one.variant,
            virtual_s: one.median,
            wall_s: other.median,
            runs: seconds.collect::<Vec<_>>().join(", "),
            doubtful: runs().filter(doubtful).count(),
            count: runs().count(),
        }
    });
    Ok(cells.collect())
}

/// Each once, in the order of their appearance.
fn each<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    all.fold(Vec::new(), |mut each, one| {
        if !each.contains(&one) {
            each.push(one);
        }
        each
    })
}

/// A column for each variant, a row for each transfer; then what is far apart, run by run.
fn print(cells: &[Cell]) {
    let variants = each(cells.iter().map(|cell| &cell.variant));
    println!(
        "\n| path, download | {} |",
        variants.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(" | ")
    );
    println!("|---|{}", "---|".repeat(variants.len()));
    for (path, transfer) in each(cells.iter().map(|cell| (&cell.path, &cell.transfer))) {
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
    println!("\nMore than {ASKED_PERCENT} % apart:");
    for variant in variants {
        let all = || cells.iter().filter(|cell| cell.variant == *variant);
        println!(
            "- {variant}: {} of {}",
            all().filter(|cell| cell.is_far()).count(),
            all().count()
        );
        for cell in all().filter(|cell| cell.is_far()) {
            println!(
                "  - {}, {}: {}; under the wall clock {}",
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
        sum(|cell| cell.doubtful),
        sum(|cell| cell.count)
    );
}

fn results(plan: &Plan, runner: &dyn Runner, jobs: NonZeroUsize) -> Result<Results, LabError> {
    let executed = execute(plan, runner, jobs, &AtomicBool::new(false), &Progress);
    let results = executed.results(plan);
    executed.failure.map_or(Ok(results), Err)
}

fn point(point: &Point, key: &str) -> String {
    point.get(key).cloned().unwrap_or_default()
}

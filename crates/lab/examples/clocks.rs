//! Both clocks side by side: the same scenarios under the virtual and the wall clock, as a table for the chapter Validation.
//!
//! `cargo run -p bentpipe-lab --example clocks -- scenarios/validation/clocks-*.toml [--jobs N] [--repeat N]`. Needs what the emulator needs: root, or user
//! namespaces. QUIC needs the command beside it: `cargo build -p bentpipe-cli` first.

use bentpipe_lab::results::{Point, Results, Summary};
use bentpipe_lab::{Changes, LabError, Observer, Plan, Runner, Simulator, Task, Wall, execute};
use bentpipe_sim::{RunOutcome, RunSpec};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

/// Medians that are farther apart than this are told: what the two clocks are asked to agree within.
const ASKED_PERCENT: f64 = 7.0;

/// Says how far it is.
struct Progress;

impl Observer for Progress {
    fn finished(&self, index: usize, _: Task, _: &RunSpec, outcome: &RunOutcome) -> Result<(), LabError> {
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
            "--repeat" => changes.repeat = Some(arguments.next().ok_or("--repeat needs a number")?.parse()?),
            file => files.push(PathBuf::from(file)),
        }
    }
    for file in &files {
        table(file, &changes, jobs)?;
    }
    Ok(())
}

fn table(file: &Path, changes: &Changes, jobs: NonZeroUsize) -> Result<(), Box<dyn std::error::Error>> {
    // Beside the examples is the command.
    let own = std::env::current_exe()?;
    let bentpipe = own.parent().and_then(Path::parent).map(|place| place.join("bentpipe")).unwrap_or_default();
    let wall = Wall { bentpipe, ..Wall::default() };
    let simulated = results(&Plan::read(file, changes)?, &Simulator, jobs)?;
    let plan = Plan::read(file, changes)?.under_wall_clock()?;
    let real = results(&plan, &wall, jobs)?;

    println!("\n{}\n", plan.title);
    println!("| path | transfer | variant | virtual s | wall s | difference | wall, runs |");
    println!("|---|---|---|---|---|---|---|");
    let completions = |results: &Results| -> Vec<Summary> {
        results.summary.iter().filter(|row| row.metric == "completion_s").cloned().collect()
    };
    let (simulated, measured) = (completions(&simulated), completions(&real));
    let mut beyond = 0;
    for (one, other) in simulated.iter().zip(&measured) {
        let difference = one.median.zip(other.median).map(|(one, other)| (other / one - 1.0) * 100.0);
        let far = difference.is_none_or(|percent| percent.abs() > ASKED_PERCENT);
        beyond += u32::from(far);
        let number = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.3}"));
        let mark = if far { " **" } else { "" };
        println!(
            "| {} | {} | {} | {} | {} | {}{mark} | {} |",
            point(&one.point, "path.profile"),
            point(&one.point, "workload.download"),
            one.variant,
            number(one.median),
            number(other.median),
            difference.map_or("–".to_owned(), |percent| format!("{percent:+.1} %")),
            all(&real, other),
        );
    }
    let doubtful = real.runs.iter().filter(|run| run.emulation.as_ref().is_some_and(|did| !did.doubts.is_empty()));
    println!(
        "\n{beyond} of {} medians are more than {ASKED_PERCENT} % apart. In {} of {} runs the emulator fell behind.",
        simulated.len(),
        doubtful.count(),
        real.runs.len()
    );
    Ok(())
}

fn results(plan: &Plan, runner: &dyn Runner, jobs: NonZeroUsize) -> Result<Results, LabError> {
    let executed = execute(plan, runner, jobs, &AtomicBool::new(false), &Progress);
    let results = executed.results(plan);
    executed.failure.map_or(Ok(results), Err)
}

fn point(point: &Point, key: &str) -> String {
    point.get(key).cloned().unwrap_or_default()
}

/// Every run of a row.
fn all(results: &Results, row: &Summary) -> String {
    let runs = results.runs.iter().filter(|run| run.variant == row.variant && run.point == row.point);
    let values = runs
        .flat_map(|run| &run.flows)
        .map(|flow| flow.completion_s.map_or("–".to_owned(), |completion| format!("{completion:.3}")));
    values.collect::<Vec<_>>().join(", ")
}

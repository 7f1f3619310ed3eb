//! `bentpipe replay`: one run of a run directory again, with everything that can be recorded.

use crate::args::Replay;
use crate::output::say;
use crate::status::FAILED;
use crate::study::{Shown, Study, bars, output_directory, print, stop_on_interrupt};
use bentpipe_lab::{Changes, ENGINE, LabError, Plan, RunDirectory, Simulator, Threads};
use bentpipe_results::{Clock, Point, Run};
use std::num::NonZeroUsize;

/// Runs the run that `args` name. Says whether its results are those that the directory has.
pub fn run(args: &Replay) -> Result<u8, LabError> {
    let directory = RunDirectory::open(&args.dir)?;
    if directory.manifest.clock == Clock::Real {
        let reason = "its runs were in real time, which cannot be repeated; allowed: a directory \
            of `run --clock virtual`";
        return Err(LabError::Usage { argument: "DIR", reason: reason.to_owned() });
    }
    let plan = plan(&directory, args)?;
    let target = output_directory(args.out.as_deref(), &name(&plan, args.run))?;
    let (stop, bars) = (stop_on_interrupt(), bars());
    let executor = Threads { runner: &Simulator, jobs: NonZeroUsize::MIN };
    let study = Study::new(&executor, &stop, &bars);
    let recorded = study.run(&plan, &target)?;
    let status = study.exit_status(&recorded, &target);
    let Some(run) = recorded.results.runs.first() else { return Ok(status) };
    print(&recorded, &plan, Shown::usual(args.json))?;
    let same_engine = directory.manifest.engine == ENGINE;
    match (same_as_recorded(&directory.results()?.runs, run), same_engine) {
        (Some(true), _) => say!("identical to the run in {}", args.dir.display()),
        (Some(false), true) => {
            say!("error: the same simulator gave other results: please report this");
            return Ok(FAILED);
        }
        (Some(false), false) => say!(
            "the results differ: {} was written by version {} of another simulator",
            args.dir.display(),
            directory.manifest.version
        ),
        (None, _) => say!("{} does not have this run", args.dir.display()),
    }
    Ok(status)
}

/// Returns true if `runs` has a run with the names of `run` and the same results; `None` if it has
/// no such run.
fn same_as_recorded(runs: &[Run], run: &Run) -> Option<bool> {
    let same = |other: &&Run| {
        other.variant == run.variant && other.point == run.point && other.run == run.run
    };
    runs.iter().find(same).map(|other| other == run)
}

/// Returns the point that the values of `--point` name.
///
/// # Errors
/// One of them is not `KEY=VALUE`.
pub(super) fn point(assignments: &[String]) -> Result<Point, LabError> {
    let mut point = Point::new();
    for assignment in assignments {
        let Some((key, value)) = assignment.split_once('=') else {
            let reason = format!("`{assignment}` has no `=`; allowed: KEY=VALUE");
            return Err(LabError::Usage { argument: "--point", reason });
        };
        let value = value.trim().trim_matches(['"', '\'']);
        point.insert(key.trim().to_owned(), value.to_owned());
    }
    Ok(point)
}

/// Returns the plan of the run alone, with every recording.
fn plan(directory: &RunDirectory, args: &Replay) -> Result<Plan, LabError> {
    let point = point(&args.point)?;
    let first = directory.plan(&Changes::default())?;
    let mut sets = vec!["output.qlog=true".to_owned(), "output.time_series=\"all\"".to_owned()];
    // The capture of the first hop; a satellite network has none.
    sets.extend(first.first_hop().map(|hop| format!("output.capture=\"{hop}\"")));
    let mut plan = directory.plan(&Changes { sets, ..Changes::default() })?;
    plan.commit = crate::version::commit();
    plan.only(args.variant.as_deref(), &point, args.run)?;
    Ok(plan)
}

/// Returns the name of the directory for a run that is repeated.
fn name(plan: &Plan, run: u64) -> String {
    let variant = plan.variants.first().map_or("", String::as_str);
    format!("{}-{variant}-run{run}", plan.name)
}

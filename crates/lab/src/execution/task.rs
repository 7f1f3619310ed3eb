//! Runs single tasks on one of the clocks.

use crate::error::LabError;
use crate::outcome;
use crate::plan::{Plan, Task};
use crate::population::populations;
use crate::resolve::Case;
use crate::store::{FileKind, RunFile, StoredRecording, StoredRun};
use bentpipe_report::Trace;
use bentpipe_results::{Run, point_text};
use bentpipe_sim::{RunError, RunOutcome, RunSpec, Runner};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;

/// Runs one task of `plan`. Returns `None` if it was interrupted.
///
/// # Errors
/// The run failed.
pub fn run_alone(
    plan: &Plan,
    runner: &dyn Runner,
    task: Task,
    stop: &AtomicBool,
) -> Result<Option<StoredRun>, LabError> {
    let spec = plan.spec(task)?;
    let case = &plan.cases[task.case];
    let at = if case.point.is_empty() {
        String::new()
    } else {
        format!(" at {}", point_text(&case.point))
    };
    let failed = |reason: String| LabError::Run {
        variant: case.variant.clone(),
        point: at.clone(),
        run: task.run,
        reason,
    };
    let label = format!("{}{at}, run {}", case.variant, task.run);
    let start = now();
    // A bug in one run must not lose the results of the others. The state of the run is dropped.
    match catch_unwind(AssertUnwindSafe(|| runner.run(&spec, &label, stop))) {
        Ok(Ok(outcome)) => {
            let seconds = start.elapsed().as_secs_f64();
            Ok(Some(stored(case, task.run, &spec, outcome, seconds)))
        }
        Ok(Err(RunError::Interrupted)) => Ok(None),
        Ok(Err(RunError::Failed(reason))) => Err(failed(reason)),
        Err(panic) => Err(failed(format!("a bug in Bentpipe: {}", panic_text(panic.as_ref())))),
    }
}

/// Returns the record of run number `run` of `case`, which ended with `outcome`.
fn stored(case: &Case, run: u64, spec: &RunSpec, outcome: RunOutcome, seconds: f64) -> StoredRun {
    let (flows, populations) = populations(&case.expansions, &case.flow_names, spec, &outcome);
    let identity = (case.variant.as_str(), &case.point, run);
    let workload = |flow: &str, visit| case.workload(flow, visit);
    let result = outcome::run(identity, spec, &flows, &outcome, case.warmup, workload);
    let mut files = Vec::new();
    for file in outcome.qlog {
        for (kind, content) in [(FileKind::Qlog, file.current), (FileKind::Qvis, file.qvis)] {
            if !content.is_empty() {
                files.push(RunFile { kind, name: file.name.clone(), content });
            }
        }
    }
    if let Some(content) = outcome.capture {
        files.push(RunFile { kind: FileKind::Capture, name: String::new(), content });
    }
    let mut points = Vec::new();
    let trace = outcome.trace.map(|trace| {
        let names: Vec<String> = spec.flows.iter().map(|flow| flow.name.clone()).collect();
        Trace::encode(&case.variant, &case.point, run, &trace, &names, &mut points)
    });
    let any = trace.is_some() || !files.is_empty();
    let end_ns = outcome.end.as_nanos();
    let recording = any.then_some(StoredRecording { trace, points, end_ns, files });
    StoredRun { run: Run { populations, ..result }, recording, seconds }
}

#[expect(clippy::disallowed_methods, reason = "how long a run takes, not a simulated time")]
pub(crate) fn now() -> web_time::Instant {
    web_time::Instant::now()
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a message")
}

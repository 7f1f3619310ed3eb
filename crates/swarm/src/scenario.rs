//! Episodes of whole scenarios on the virtual clock.

use crate::draw::{self, Draft};
use crate::failure::Failure;
use crate::liveness;
use crate::safety::Checked;
use bentpipe_lab::{
    Executor, LabError, Observer, Options, Plan, Shard, StoredRun, Task, Threads, execute,
};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

/// Everything that each run leaves behind, by its index in the plan.
type Records = BTreeMap<usize, Vec<u8>>;

/// Collects the bytes of runs.
#[derive(Default)]
struct Collector(Mutex<Records>);

impl Observer for Collector {
    fn finished(
        &self,
        index: usize,
        _: Task,
        mut record: StoredRun,
    ) -> Result<bentpipe_results::Run, LabError> {
        // How long the run took is no part of what it computes.
        record.seconds = 0.0;
        let bytes = record.to_bytes();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(index, bytes);
        Ok(record.run)
    }
}

/// Returns the scenario of `seed` as TOML, with its time limit if it is valid.
pub fn text(seed: u64, without: &BTreeSet<String>) -> String {
    let (draft, _) = draw::draw(seed, without);
    limited(draft.clone()).map_or_else(|_| draft.scenario(), |(text, _)| text)
}

/// Plays the scenario of `seed`.
///
/// # Errors
/// The first check that does not hold.
pub fn play(seed: u64, without: &BTreeSet<String>, stop: &AtomicBool) -> Result<(), Failure> {
    let (draft, _) = draw::draw(seed, without);
    let runner = Checked { may_fail: draft.may_fail };
    let (_, plan) = limited(draft)?;
    let whole = records(&plan, &runner, NonZeroUsize::MIN, None, stop)?;
    let mut parts = Records::new();
    for shard in ["1/2", "2/2"] {
        let shard = shard.parse().map_err(|error: String| Failure::new("shards", error))?;
        let two = NonZeroUsize::MIN.saturating_add(1);
        parts.extend(records(&plan, &runner, two, Some(shard), stop)?);
    }
    if whole.len() != plan.tasks.len() && !stop.load(std::sync::atomic::Ordering::Relaxed) {
        let what = format!("{} of {} runs ended", whole.len(), plan.tasks.len());
        return Err(Failure::new("all runs end", what));
    }
    for (index, record) in &whole {
        let Some(again) = parts.get(index) else { continue };
        if again != record {
            return Err(Failure::new("determinism", difference(&plan, *index, record, again)));
        }
    }
    Ok(())
}

/// Returns the scenario of `draft` and its plan, with the bound of its completion as time limit.
pub fn limited(mut draft: Draft) -> Result<(String, Plan), Failure> {
    let plan = parse(&draft, &draft.scenario())?;
    let mut seconds = 0.0f64;
    for task in &plan.tasks {
        let spec = plan.spec(*task).map_err(|error| Failure::new("refused", error.to_string()))?;
        seconds = seconds.max(liveness::bound(&draft, &spec).as_secs_f64());
    }
    let limit = format!("{} s", seconds.ceil());
    draft.head.insert("time_limit".to_owned(), limit.into());
    let text = draft.scenario();
    let plan = parse(&draft, &text)?;
    Ok((text, plan))
}

/// Reads the scenario `text` of `draft`. The swarm draws valid ones only.
fn parse(draft: &Draft, text: &str) -> Result<Plan, Failure> {
    draft.plan(text).map_err(|error| Failure::new("refused", error))
}

/// Runs `plan` or a shard of it on as many threads as `jobs`.
fn records(
    plan: &Plan,
    runner: &Checked,
    jobs: NonZeroUsize,
    shard: Option<Shard>,
    stop: &AtomicBool,
) -> Result<Records, Failure> {
    let executor: &dyn Executor = &Threads { runner, jobs };
    let collector = Collector::default();
    let execution = execute(plan, &Options { shard, ..Options::new(executor, stop) }, &collector);
    match execution.failure {
        Some(error) => Err(Failure::of_run(&error)),
        None => Ok(collector.0.into_inner().unwrap_or_else(PoisonError::into_inner)),
    }
}

/// Says where two records of a run differ.
fn difference(plan: &Plan, index: usize, first: &[u8], second: &[u8]) -> String {
    let Task { case, run } = plan.tasks[index];
    let same = first.iter().zip(second).take_while(|(one, other)| one == other).count();
    let around = |bytes: &[u8]| {
        let part = &bytes[same.saturating_sub(80)..(same + 40).min(bytes.len())];
        String::from_utf8_lossy(part).into_owned()
    };
    format!(
        "run {run} of case {case} differs from byte {same} on when it is repeated in shards: \
         `{}` and `{}`",
        around(first),
        around(second)
    )
}

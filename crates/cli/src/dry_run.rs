//! `bentpipe run --dry-run`: what would run, and for how long.

use crate::output::{self, counted};
use bentpipe_lab::{LabError, Options, Plan, Task, remaining};
use serde_json::json;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

/// Bytes over TCP that a thread simulates in a second, if no earlier run on this machine tells:
/// that of a server processor of 2020.
const DEFAULT_PACE: f64 = 1e9;

/// Estimates of run times from earlier runs.
pub trait Estimate {
    /// Returns the time that `task` takes, in seconds; `None` without earlier runs.
    fn seconds(&self, plan: &Plan, task: Task) -> Option<f64>;
}

/// Prints the number of runs of each plan, how many the store has, and about how long the others
/// take on `jobs` threads, from earlier runs where there are any.
pub fn print(
    plans: &[Plan],
    options: &Options<'_>,
    jobs: NonZeroUsize,
    estimate: Option<&dyn Estimate>,
    as_json: bool,
) -> Result<u8, LabError> {
    let mut documents = Vec::new();
    let mut text = String::new();
    for plan in plans {
        let left = remaining(plan, options);
        let planned = remaining(plan, &Options { store: None, ..*options }).len();
        let (mut sum, mut known) = (0.0, true);
        let mut cases: BTreeMap<usize, f64> = BTreeMap::new();
        for task in left.iter().map(|&index| plan.tasks[index]) {
            sum += *cases.entry(task.case).or_insert_with(|| {
                let seconds = estimate.and_then(|estimate| estimate.seconds(plan, task));
                known &= seconds.is_some();
                seconds.unwrap_or(plan.work(task) as f64 / DEFAULT_PACE)
            });
        }
        let seconds = sum / jobs.get().min(left.len().max(1)) as f64;
        documents.push(json!({
            "scenario": plan.name,
            "runs": planned,
            "in_store": planned - left.len(),
            "to_run": left.len(),
            "estimated_s": seconds,
        }));
        text.push_str(&format!(
            "{}: {} at {} of {}, {} in the result store; {} to run{}\n",
            plan.name,
            counted(planned, "run"),
            counted(plan.points(), "sweep point"),
            counted(plan.variants.len(), "variant"),
            planned - left.len(),
            left.len(),
            match (left.is_empty(), known) {
                (true, _) => String::new(),
                (false, true) => format!(", {}", duration(seconds)),
                (false, false) => {
                    format!(
                        ", {} (a guess: some have never run on this machine)",
                        duration(seconds)
                    )
                }
            },
        ));
    }
    if as_json {
        let document = match documents.as_slice() {
            [one] => one.clone(),
            _ => json!(documents),
        };
        text = format!("{document:#}\n");
    }
    output::print(&text)
}

/// Returns an estimate in words, as exact as it can be meant.
fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => "under a second".to_owned(),
        s if s < 90.0 => format!("about {s:.0} s"),
        s if s < 5400.0 => format!("about {:.0} min", s / 60.0),
        s => format!("about {:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_rounded_to_what_they_are_worth() {
        let texts = [0.2, 12.4, 300.0, 7200.0].map(duration);
        assert_eq!(texts, ["under a second", "about 12 s", "about 5 min", "about 2.0 h"]);
    }
}

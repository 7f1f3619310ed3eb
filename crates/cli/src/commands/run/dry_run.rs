//! `bentpipe run --dry-run`: what would run, and for how long.

use crate::output::{self, counted};
use bentpipe_lab::{LabError, Options, Plan, USUAL_PACE, estimate};
use serde_json::json;
use std::num::NonZeroUsize;

/// Prints the number of runs of each plan, how many the store has, and about how long the others
/// take on `jobs` threads, from earlier runs where there are any.
pub fn print(
    plans: &[Plan],
    options: &Options<'_>,
    jobs: NonZeroUsize,
    as_json: bool,
) -> Result<u8, LabError> {
    let mut documents = Vec::new();
    let mut text = String::new();
    for plan in plans {
        let estimate = estimate(plan, options, jobs, || USUAL_PACE);
        let (planned, left, seconds) = (estimate.runs, estimate.to_run, estimate.seconds);
        documents.push(json!({
            "scenario": plan.name,
            "runs": planned,
            "in_store": planned - left,
            "to_run": left,
            "estimated_s": seconds,
        }));
        text.push_str(&format!(
            "{}: {} at {} of {}, {} in the result store; {} to run{}\n",
            plan.name,
            counted(planned, "run"),
            counted(plan.points(), "sweep point"),
            counted(plan.variants.len(), "variant"),
            planned - left,
            left,
            match (left == 0, estimate.from_earlier_runs) {
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
    output::write(&text, as_json)
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

//! What a scenario plans, or what is wrong with it, while it is being written.

use crate::edit;
use crate::runs::Runs;
use bentpipe_lab::{Changes, LabError, Plan, Simulator, Threads, remaining};
use bentpipe_results::PathSummary;
use serde::Serialize;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Largest number of sweep points times variants: planning takes a fraction of a millisecond each.
const MAX_CASES: u64 = 10_000;

/// Answer to a check.
#[derive(Debug, Serialize)]
pub struct Checked {
    /// What the scenario plans, if it is valid.
    pub plan: Option<PlanFacts>,
    /// What is wrong with it, if it is not.
    pub error: Option<Fault>,
    /// Values of the form's keys, as text.
    pub form: BTreeMap<&'static str, String>,
}

/// What a valid scenario plans.
#[derive(Debug, Serialize)]
pub struct PlanFacts {
    /// Name of the scenario.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Number of runs.
    pub runs: usize,
    /// Number of runs that the result store has.
    pub in_store: usize,
    /// Names of the variants.
    pub variants: Vec<String>,
    /// Swept keys and their values.
    pub sweep: Vec<(String, Vec<String>)>,
    /// The path of the first case.
    pub path: Option<PathSummary>,
}

/// What is wrong with a scenario.
#[derive(Debug, Serialize)]
pub struct Fault {
    /// What is wrong, and what is allowed.
    pub message: String,
    /// A suggested fix.
    pub help: Option<String>,
    /// The part of the text, in UTF-16 units as JavaScript counts.
    pub from: usize,
    /// Its end.
    pub to: usize,
    /// Its line, from 1; 0 if the error has no place.
    pub line: usize,
}

/// Checks `text`, called `name`, whose files are relative to `base`, to be one of `runs`.
pub fn check(name: &str, text: &str, base: &Path, runs: &Runs) -> Checked {
    let form = edit::form(text);
    match plan(name, text, base) {
        Ok(plan) => Checked { plan: Some(facts(&plan, runs)), error: None, form },
        Err(error) => Checked { plan: None, error: Some(fault(text, &error)), form },
    }
}

/// Plans `text` for the virtual clock.
///
/// # Errors
/// It is invalid, needs the real clock, or is too large to be planned while someone types.
pub fn plan(name: &str, text: &str, base: &Path) -> Result<Plan, LabError> {
    let plan = Plan::parse_up_to(name, text, base, &Changes::default(), MAX_CASES)?;
    plan.on_virtual_clock()
}

fn facts(plan: &Plan, runs: &Runs) -> PlanFacts {
    let threads = Threads { runner: &Simulator, jobs: NonZeroUsize::MIN };
    let never = AtomicBool::new(false);
    let to_run = remaining(plan, &runs.options(&threads, &never)).len();
    PlanFacts {
        name: plan.name.clone(),
        title: plan.title.clone(),
        runs: plan.tasks.len(),
        in_store: plan.tasks.len() - to_run,
        variants: plan.variants.clone(),
        sweep: plan.sweep.clone(),
        path: plan.path().cloned(),
    }
}

fn fault(text: &str, error: &LabError) -> Fault {
    let LabError::Scenario(error) = error else {
        return Fault { message: error.to_string(), help: None, from: 0, to: 0, line: 0 };
    };
    let utf16 = |byte: usize| {
        let before = text.get(..byte).unwrap_or(text);
        before.encode_utf16().count()
    };
    Fault {
        message: error.message.clone(),
        help: error.help.clone(),
        from: utf16(error.span.start),
        to: utf16(error.span.end),
        line: error.line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a text on a list of runs without a result store.
    fn checked(text: &str) -> Checked {
        let runs = Runs::new(Path::new(""), NonZeroUsize::MIN, None, true);
        check("x.toml", text, Path::new(""), &runs)
    }

    #[test]
    fn a_valid_scenario_says_what_it_plans() {
        let text =
            "name = \"x\"\n[path]\nprofile = \"geo-50-10\"\n[workload]\ndownload = \"2 MB\"\n";
        let checked = checked(text);
        let plan = checked.plan.unwrap();
        assert_eq!((plan.name.as_str(), plan.runs, plan.in_store), ("x", 1, 0));
        assert!(plan.path.unwrap().rtt_ms > 500.0);
        assert_eq!(checked.form["workload.download"], "2 MB");
    }

    #[test]
    fn an_error_has_its_place_in_units_of_the_page() {
        let text = "name = \"x\"\ntitle = \"😀\"\n[path]\nprofile = \"geo\"\n\
            [workload]\ndownload = \"1 MB\"\n";
        let error = checked(text).error.unwrap();
        let units: Vec<u16> = text.encode_utf16().collect();
        let place = String::from_utf16(&units[error.from..error.to]).unwrap();
        assert_eq!((place.as_str(), error.line), ("\"geo\"", 4), "{error:?}");
    }
}

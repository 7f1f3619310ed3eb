//! What a scenario plans, or what is wrong with it, while it is being written.

use crate::edit;
use bentpipe_lab::{LabError, Plan};
use bentpipe_results::PathSummary;
use bentpipe_scenario::profiles::profiles;
use serde::Serialize;
use std::collections::BTreeMap;

/// Largest number of sweep points times variants: planning takes a fraction of a millisecond each.
pub const MAX_CASES: u64 = 10_000;

/// Answer to a check.
#[derive(Debug, Serialize)]
pub struct Checked {
    /// What the scenario plans, if it is valid.
    pub plan: Option<PlanFacts>,
    /// What is wrong with it, if it is not.
    pub error: Option<Fault>,
    /// Values of the form's keys, as text.
    pub form: BTreeMap<&'static str, String>,
    /// True if keys of `[path]` describe its only hop, so that the form may change them.
    pub one_hop: bool,
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

/// A built-in path.
#[derive(Debug, Serialize)]
pub struct ProfileName {
    /// What scenarios call it.
    pub name: &'static str,
    /// What it is.
    pub title: &'static str,
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

impl Checked {
    /// Answers for `text`, of which `planned` was made. `in_store` counts runs that need not run.
    pub fn new(
        text: &str,
        planned: Result<Plan, LabError>,
        in_store: impl FnOnce(&Plan) -> usize,
    ) -> Self {
        let (form, one_hop) = (edit::form(text), edit::has_one_hop(text));
        match planned.and_then(Plan::on_virtual_clock) {
            Ok(plan) => {
                let in_store = in_store(&plan);
                Self { plan: Some(PlanFacts::new(&plan, in_store)), error: None, form, one_hop }
            }
            Err(error) => Self { plan: None, error: Some(fault(text, &error)), form, one_hop },
        }
    }
}

impl PlanFacts {
    fn new(plan: &Plan, in_store: usize) -> Self {
        Self {
            name: plan.name.clone(),
            title: plan.title.clone(),
            runs: plan.tasks.len(),
            in_store,
            variants: plan.variants.clone(),
            sweep: plan.sweep.clone(),
            path: plan.path().cloned(),
        }
    }
}

/// Returns name and title of each built-in path.
pub fn profile_names() -> Vec<ProfileName> {
    profiles().iter().map(|path| ProfileName { name: &path.name, title: &path.title }).collect()
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
    use bentpipe_lab::Changes;
    use std::path::Path;

    fn checked(text: &str) -> Checked {
        let base = Path::new("");
        let plan = Plan::parse_up_to("x.toml", text, base, &Changes::default(), MAX_CASES);
        Checked::new(text, plan.map_err(LabError::from), |_| 0)
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
        assert!(checked.one_hop);
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

//! What a scenario plans, or what is wrong with it, while it is being written.

use crate::edit;
use crate::settings::{Setting, settings};
use bentpipe_lab::{LabError, Plan};
use bentpipe_results::PathSummary;
use bentpipe_scenario::profiles::profiles;
use serde::Serialize;
use std::collections::BTreeMap;

/// Largest number of sweep points times variants. Planning takes a fraction of a millisecond each,
/// and tens of milliseconds over satellites, so that its time has a limit of its own.
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
    /// All settings of the text, for a form of its tables.
    pub settings: Vec<Setting>,
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
        let (form, settings) = (edit::form(text), settings(text));
        match planned.and_then(Plan::on_virtual_clock) {
            Ok(plan) => {
                let in_store = in_store(&plan);
                Self { plan: Some(PlanFacts::new(&plan, in_store)), error: None, form, settings }
            }
            Err(error) => Self { plan: None, error: Some(fault(text, &error)), form, settings },
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

/// Largest number of runs of a scenario for which keys that it lacks are tried: each is a plan.
const MAX_TRIED: usize = 2000;

/// Returns the keys of the form that the scenario `text`, of which `planned` was made, lacks and
/// may have. `plan` plans variations of it.
pub fn possible_keys(
    text: &str,
    planned: &Plan,
    plan: impl Fn(&str) -> Result<Plan, LabError>,
) -> Vec<&'static str> {
    if planned.tasks.len() > MAX_TRIED {
        return Vec::new();
    }
    edit::possible(text, |text| plan(text).is_ok())
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
    use bentpipe_lab::{Changes, PlanLimit};
    use std::path::Path;

    const LIMIT: PlanLimit<'_> = PlanLimit { max_cases: MAX_CASES, ..PlanLimit::NONE };

    fn checked(text: &str) -> Checked {
        let base = Path::new("");
        let plan = Plan::parse_up_to("x.toml", text, base, &Changes::default(), LIMIT);
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

    /// A key that the form shows must leave every example a scenario.
    #[test]
    fn the_form_breaks_no_example() {
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/examples");
        let plan = |text: &str| {
            let plan = Plan::parse_up_to("x.toml", text, &examples, &Changes::default(), LIMIT);
            plan.map_err(LabError::from)
        };
        let (mut files, mut keys) = (0, 0);
        for entry in std::fs::read_dir(&examples).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "toml") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let Ok(planned) = plan(&text).and_then(Plan::on_virtual_clock) else {
                // For the real clock only.
                continue;
            };
            let possible = possible_keys(&text, &planned, plan);
            let checked = Checked::new(&text, Ok(planned), |_| 0);
            let shown = checked.form.iter().map(|(key, value)| (*key, value.clone()));
            let more = possible.iter().map(|&key| (key, edit::tried(key).to_owned()));
            for (key, value) in shown.chain(more) {
                let change =
                    edit::Edit { text: text.clone(), key: key.to_owned(), value: Some(value) };
                let edited = edit::edit(&change).unwrap_or_else(|error| panic!("{name}: {error}"));
                if let Err(error) = plan(&edited.text) {
                    panic!("{name}, {key}: {error}");
                }
                keys += 1;
            }
            if ["two-flows.toml", "users.toml", "video.toml", "upload.toml", "leo.toml"]
                .contains(&name.as_str())
            {
                let download = "workload.download";
                assert!(!possible.contains(&download), "{name}");
                assert!(!checked.form.contains_key(download), "{name}");
            }
            if name == "first.toml" {
                assert!(possible.contains(&"path.rtt"), "{possible:?}");
                assert!(!possible.contains(&"workload.upload"), "a download is the workload");
            }
            files += 1;
        }
        assert!(files > 10 && keys > 50, "{files} {keys}");
    }
}

//! `bentpipe check`: checks scenarios without running them.

use crate::args::Check;
use crate::output::{self, counted, errors};
use crate::status::{OK, USAGE};
use bentpipe_lab::{Changes, LabError, Plan};
use serde_json::{Value, json};
use std::path::Path;

/// Checks all scenarios, also after an invalid one.
pub fn run(args: &Check) -> Result<u8, LabError> {
    let changes = Changes { sets: args.set.clone(), ..Changes::default() };
    let (mut status, mut text, mut list) = (OK, String::new(), Vec::new());
    for file in &args.files {
        match checked(file, &changes) {
            Ok(valid) => {
                text.push_str(&valid.text(file));
                list.push(valid.json(file));
            }
            Err(error) => {
                status = USAGE;
                list.push(invalid(file, &error));
                if !args.json {
                    // In the order of the files, although on another stream.
                    output::print(&std::mem::take(&mut text))?;
                    output::report(&errors::render(&error));
                }
            }
        }
    }
    if args.json {
        text = output::pretty(&list);
    }
    output::write(&text, args.json)?;
    Ok(status)
}

/// What a valid scenario plans.
struct Valid {
    plan: Plan,
    /// Why the scenario cannot run on the virtual clock, if it cannot.
    real_clock: Option<String>,
}

fn checked(file: &Path, changes: &Changes) -> Result<Valid, LabError> {
    let plan = Plan::read(file, changes)?;
    let real_clock = plan.check_virtual_clock().err().map(|error| error.to_string());
    Ok(Valid { plan, real_clock })
}

impl Valid {
    fn text(&self, file: &Path) -> String {
        let mut text = format!(
            "{}: {}, {} of {} at {}\n",
            file.display(),
            self.plan.name,
            counted(self.plan.tasks.len(), "run"),
            counted(self.plan.variants.len(), "variant"),
            counted(self.plan.points(), "sweep point")
        );
        if let Some(reason) = &self.real_clock {
            text.push_str(&format!("  only with --clock real: {reason}\n"));
        }
        for note in &self.plan.notes {
            text.push_str(&format!("  note: {note}\n"));
        }
        text
    }

    fn json(&self, file: &Path) -> Value {
        let sweep: serde_json::Map<String, Value> =
            self.plan.sweep.iter().map(|(key, values)| (key.clone(), json!(values))).collect();
        json!({
            "file": file,
            "valid": true,
            "scenario": self.plan.name,
            "title": self.plan.title,
            "runs": self.plan.tasks.len(),
            "variants": self.plan.variants,
            "sweep": sweep,
            "sweep_points": self.plan.points(),
            "needs_real_clock": self.real_clock.is_some(),
            "notes": self.plan.notes,
        })
    }
}

fn invalid(file: &Path, error: &LabError) -> Value {
    let error = match error {
        LabError::Scenario(error) => json!({
            "message": error.message,
            "help": error.help,
            "place": error.place(),
            "line": error.line,
        }),
        other => json!({ "message": other.to_string(), "help": null, "place": null, "line": null }),
    };
    json!({ "file": file, "valid": false, "error": error })
}

//! What `bentpipe studio` answers over HTTP, without a server: the virtual clock in a page.
//!
//! Text goes in and out as JSON, of the same shapes as those of the server, so that one page serves
//! both. Crate `bentpipe-wasm` exports these functions to a Web Worker.

use crate::{
    Checked, Edit, MAX_CASES, Outlook, edit as edited, main_metrics, possible_keys, profile_names,
};
pub use bentpipe_lab::SOURCES;
use bentpipe_lab::{
    Changes, LabError, Options, Plan, PlanInput, PlanLimit, Progress, Simulator, Study, Threads,
    estimate, measured_pace, study,
};
use serde::Serialize;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Largest number of packets that a page runs. More take minutes, which a command does better.
pub const MAX_PACKETS: u64 = 2_000_000;
/// The texts of the files that a scenario may name.
type Files = BTreeMap<PathBuf, String>;
/// Size of a packet, to estimate their number.
const PACKET_BYTES: u64 = 1200;

/// Returns what the text `text` plans, or what is wrong with it. `files` is a JSON object with the
/// text of each file that it may name.
///
/// # Errors
/// `files` is not such an object.
pub fn check(name: &str, text: &str, files: &str) -> Result<String, String> {
    let planned = plan(name, text, files)?;
    json(&Checked::new(text, planned, |_| 0))
}

/// Returns how long the text `text` takes in this page, and what its path offers over time. For the
/// other arguments see [`check`].
///
/// # Errors
/// The scenario is invalid.
pub fn outlook(name: &str, text: &str, files: &str) -> Result<String, String> {
    let plan = plan(name, text, files)?.and_then(Plan::on_virtual_clock);
    let plan = plan.map_err(|error| error.to_string())?;
    let threads = Threads { runner: &Simulator, jobs: NonZeroUsize::MIN };
    let never = AtomicBool::new(false);
    let estimate =
        estimate(&plan, &Options::new(&threads, &never), NonZeroUsize::MIN, measured_pace);
    let files = read_files(files)?;
    let possible = possible_keys(text, &plan, |text| planned(name, text, &files));
    json(&Outlook::new(&plan, estimate, possible).map_err(|error| error.to_string())?)
}

/// Changes one key of a text. `change` is a JSON object with `text`, `key` and `value`.
///
/// # Errors
/// The text or the change is invalid.
pub fn edit(change: &str) -> Result<String, String> {
    let change: Edit = serde_json::from_str(change).map_err(|error| error.to_string())?;
    json(&edited(&change)?)
}

/// Returns names and titles of the built-in paths.
///
/// # Errors
/// None occur.
pub fn profiles() -> Result<String, String> {
    json(&profile_names())
}

/// What a scenario's runs gave.
#[derive(Debug)]
pub struct Completed {
    /// The main metrics, as JSON.
    pub summary: String,
    /// The file `results.json` that the command would write.
    pub results: String,
    /// The elements with the data of a report page.
    pub data: String,
}

/// Runs a scenario of up to about `max_packets` packets and calls `progress` after each run, with
/// the runs done and planned. For the other arguments see [`check`].
///
/// # Errors
/// It is invalid, too large for a page, or a run failed.
pub fn run(
    name: &str,
    text: &str,
    files: &str,
    max_packets: u64,
    progress: &(dyn Fn(u32, u32) + Sync),
) -> Result<Completed, String> {
    let plan = plan(name, text, files)?.and_then(Plan::on_virtual_clock);
    let plan = plan.map_err(|error| error.to_string())?;
    let bytes = plan.tasks.iter().fold(0u64, |sum, &task| sum.saturating_add(plan.work(task)));
    let packets = bytes / PACKET_BYTES;
    if packets > max_packets {
        return Err(format!(
            "about {packets} packets; a page runs up to {max_packets}. To run it on the command \
             line, save the text: bentpipe run {name}"
        ));
    }
    let threads = Threads { runner: &Simulator, jobs: NonZeroUsize::MIN };
    let stop = AtomicBool::new(false);
    let after_run = |Progress { done, planned, .. }: Progress| {
        progress(done as u32, planned as u32);
    };
    let options = Options { progress: &after_run, ..Options::new(&threads, &stop) };
    let Study { results, manifest, recording, failure, .. } =
        study(&plan, &options).map_err(|error| error.to_string())?;
    if let Some(error) = failure {
        return Err(error.to_string());
    }
    Ok(Completed {
        summary: json(&main_metrics(&results))?,
        results: results.to_json().map_err(|error| error.to_string())?,
        data: bentpipe_report::page_data(&manifest, &results, &recording, 0)
            .map_err(|error| error.to_string())?,
    })
}

/// Plans a text. The outer error is that of `files`.
fn plan(name: &str, text: &str, files: &str) -> Result<Result<Plan, LabError>, String> {
    Ok(planned(name, text, &read_files(files)?))
}

fn read_files(files: &str) -> Result<Files, String> {
    serde_json::from_str(files).map_err(|error| format!("the files: {error}"))
}

fn planned(name: &str, text: &str, files: &Files) -> Result<Plan, LabError> {
    let (name, text, files) = (name.to_owned(), text.to_owned(), files.clone());
    let input = PlanInput { name, text, changes: Changes::default(), files };
    let limit = PlanLimit { max_cases: MAX_CASES, ..PlanLimit::NONE };
    Plan::from_input_up_to(&input, limit).map_err(LabError::from)
}

fn json(value: &impl Serialize) -> Result<String, String> {
    serde_json::to_string(value).map_err(|error| error.to_string())
}

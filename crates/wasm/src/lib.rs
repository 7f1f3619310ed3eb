//! The virtual clock in a browser: what `bentpipe studio` answers over HTTP, without a server.
//!
//! Built for `wasm32-unknown-unknown` and called from a Web Worker. Text goes in and out as JSON,
//! of the same shapes as those of the studio's server, so that one page serves both.
//! The worker defines two functions that this module calls: `bentpipeProgress(done, planned)` after
//! each run, and `bentpipeFailed(reason)` before a panic ends the module.

use bentpipe_lab::{
    Changes, LabError, Options, Plan, PlanInput, Progress, Simulator, Study, Threads, study,
};
use bentpipe_studio::{Checked, Edit, MAX_CASES, edit as edited, main_metrics, profile_names};
use serde::Serialize;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use wasm_bindgen::prelude::wasm_bindgen;

/// Largest number of packets that a page runs. More take minutes, which a command does better.
const MAX_PACKETS: u64 = 2_000_000;
/// Size of a packet, to estimate their number.
const PACKET_BYTES: u64 = 1200;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = bentpipeProgress)]
    fn show_progress(done: u32, planned: u32);
    #[wasm_bindgen(js_name = bentpipeFailed)]
    fn show_failure(reason: &str);
}

/// Reports panics to the worker. Call it once, first.
#[wasm_bindgen]
pub fn begin() {
    std::panic::set_hook(Box::new(|panic| show_failure(&panic.to_string())));
}

/// Returns what the text `text` plans, or what is wrong with it. `files` is a JSON object with the
/// text of each file that it may name.
///
/// # Errors
/// `files` is not such an object.
#[wasm_bindgen]
pub fn check(name: &str, text: &str, files: &str) -> Result<String, String> {
    let planned = plan(name, text, files)?;
    json(&Checked::new(text, planned, |_| 0))
}

/// Changes one key of a text. `change` is a JSON object with `text`, `key` and `value`.
///
/// # Errors
/// The text or the change is invalid.
#[wasm_bindgen]
pub fn edit(change: &str) -> Result<String, String> {
    let change: Edit = serde_json::from_str(change).map_err(|error| error.to_string())?;
    json(&edited(&change)?)
}

/// Returns the JSON Schema of scenarios.
///
/// # Errors
/// None occur.
#[wasm_bindgen]
pub fn schema() -> Result<String, String> {
    json(&bentpipe_scenario::json_schema())
}

/// Returns names and titles of the built-in paths.
///
/// # Errors
/// None occur.
#[wasm_bindgen]
pub fn profiles() -> Result<String, String> {
    json(&profile_names())
}

/// What a scenario's runs gave.
#[derive(Debug)]
#[wasm_bindgen(getter_with_clone)]
pub struct Completed {
    /// The main metrics, as JSON.
    pub summary: String,
    /// The file `results.json` that the command would write.
    pub results: String,
    /// The elements with the data of a report page.
    pub data: String,
}

/// Runs a scenario. For the arguments see [`check`].
///
/// # Errors
/// It is invalid, too large for a page, or a run failed.
#[wasm_bindgen]
pub fn run(name: &str, text: &str, files: &str) -> Result<Completed, String> {
    let plan = plan(name, text, files)?.and_then(Plan::on_virtual_clock);
    let plan = plan.map_err(|error| error.to_string())?;
    let bytes = plan.tasks.iter().fold(0u64, |sum, &task| sum.saturating_add(plan.work(task)));
    let packets = bytes / PACKET_BYTES;
    if packets > MAX_PACKETS {
        return Err(format!(
            "about {packets} packets; a page runs up to {MAX_PACKETS}. To run it on the command \
             line, save the text: bentpipe run {name}"
        ));
    }
    let threads = Threads { runner: &Simulator, jobs: NonZeroUsize::MIN };
    let stop = AtomicBool::new(false);
    let progress = |Progress { done, planned, .. }: Progress| {
        show_progress(done as u32, planned as u32);
    };
    let options = Options { progress: &progress, ..Options::new(&threads, &stop) };
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
    let files: BTreeMap<PathBuf, String> =
        serde_json::from_str(files).map_err(|error| format!("the files: {error}"))?;
    let changes = Changes::default();
    let input = PlanInput { name: name.to_owned(), text: text.to_owned(), changes, files };
    Ok(Plan::from_input_up_to(&input, MAX_CASES).map_err(LabError::from))
}

fn json(value: &impl Serialize) -> Result<String, String> {
    serde_json::to_string(value).map_err(|error| error.to_string())
}

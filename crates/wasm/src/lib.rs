//! The virtual clock in a browser: calls between a Web Worker and `bentpipe_studio::in_page`.
//!
//! Built for `wasm32-unknown-unknown` by `make wasm`; empty for other targets. It is a `cdylib`
//! alone, because a library beside it would keep the linker from removing what nothing calls.
//!
//! The worker defines two functions that this module calls:
//! `bentpipeProgress(done, planned)` after each run, and `bentpipeFailed(reason)` before a panic
//! ends the module.

#![cfg(target_family = "wasm")]

use bentpipe_studio::in_page;
use wasm_bindgen::prelude::wasm_bindgen;

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

/// Returns a digest of the sources that decide results, which the command has too.
#[wasm_bindgen]
pub fn sources() -> String {
    in_page::SOURCES.to_owned()
}

/// See `in_page::check`.
#[wasm_bindgen]
pub fn check(name: &str, text: &str, files: &str) -> Result<String, String> {
    in_page::check(name, text, files)
}

/// See `in_page::outlook`.
#[wasm_bindgen]
pub fn outlook(name: &str, text: &str, files: &str) -> Result<String, String> {
    in_page::outlook(name, text, files)
}

/// See `in_page::edit`.
#[wasm_bindgen]
pub fn edit(change: &str) -> Result<String, String> {
    in_page::edit(change)
}

/// See `in_page::profiles`.
#[wasm_bindgen]
pub fn profiles() -> Result<String, String> {
    in_page::profiles()
}

/// What a scenario's runs gave; see `in_page::Completed`.
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

/// See `in_page::run`; up to the packets that a page runs.
#[wasm_bindgen]
pub fn run(name: &str, text: &str, files: &str) -> Result<Completed, String> {
    run_up_to(name, text, files, in_page::MAX_PACKETS)
}

/// As [`run`], of any size: for the comparison with the command, which is not in a page.
#[wasm_bindgen]
pub fn run_any_size(name: &str, text: &str, files: &str) -> Result<Completed, String> {
    run_up_to(name, text, files, u64::MAX)
}

fn run_up_to(name: &str, text: &str, files: &str, most: u64) -> Result<Completed, String> {
    let in_page::Completed { summary, results, data } =
        in_page::run(name, text, files, most, &show_progress)?;
    Ok(Completed { summary, results, data })
}

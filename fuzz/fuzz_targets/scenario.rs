//! Any text as a scenario: refused with a place in the text, or planned; never a panic.
#![no_main]

use bentpipe_lab::{Changes, Plan};
use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|text: &str| {
    let _ = Plan::parse("fuzz.toml", text, Path::new("/nonexistent"), &Changes::default());
});

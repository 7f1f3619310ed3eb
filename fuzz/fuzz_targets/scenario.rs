//! Scenarios from arbitrary text: no panic, and every error points to a place in the text.
#![no_main]

use bentpipe_lab::{Changes, Plan};
use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|input: (&str, Vec<String>)| {
    let (text, sets) = input;
    let changes = Changes { sets, ..Changes::default() };
    if let Err(error) = Plan::parse("fuzz.toml", text, Path::new("/nonexistent"), &changes) {
        assert!(error.line >= 1);
        assert!(error.text.get(error.span.clone()).is_some());
        assert!(!error.message.is_empty());
    }
});

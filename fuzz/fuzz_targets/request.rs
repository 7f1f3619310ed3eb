//! Request paths and `Range` headers from arbitrary text: no panic, no path leaves the directory,
//! no range extends beyond the file.
#![no_main]

use bentpipe_net::http::{RequestPath, Selected};
use libfuzzer_sys::fuzz_target;
use std::path::Component;

fuzz_target!(|input: (&str, &str, u64)| {
    let (path, range, length) = input;
    if let Ok(path) = RequestPath::parse(path) {
        assert!(path.below().components().all(|part| matches!(part, Component::Normal(_))));
    }
    if let Selected::Part(part) = Selected::of(range, length) {
        assert!(
            part.length > 0 && part.first.checked_add(part.length).is_some_and(|end| end <= length)
        );
    }
});

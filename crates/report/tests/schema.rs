//! Checks the schema from which the types of the page are generated.
#![allow(clippy::disallowed_methods, reason = "tests make files as they need")]

use std::path::Path;

/// Run with `UPDATE_SCHEMA=1` to write the schema, then `npm run types` in `studio/`.
#[test]
fn the_schema_of_the_page_is_up_to_date() {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studio/src/data/report.schema.json");
    let mut schema = bentpipe_report::json_schema().to_value();
    // The order of keys depends on the features of serde_json, which other crates of the same build
    // can change.
    schema.sort_all_objects();
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&file, serde_json::to_string_pretty(&schema).unwrap() + "\n").unwrap();
    }
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let current: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    assert!(current == schema, "{} is out of date; UPDATE_SCHEMA=1 writes it", file.display());
}

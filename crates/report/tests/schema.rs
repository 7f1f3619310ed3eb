//! Checks the schema from which the types of the page are generated.

use std::path::Path;

/// Run with `UPDATE_SCHEMA=1` to write the schema, then `npm run types` in `studio/`.
#[test]
fn the_schema_of_the_page_is_up_to_date() {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studio/src/data/report.schema.json");
    let schema = serde_json::to_string_pretty(&bentpipe_report::json_schema()).unwrap() + "\n";
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&file, &schema).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(kept == schema, "{} is out of date; UPDATE_SCHEMA=1 writes it", file.display());
}

//! `bentpipe schema`: the JSON Schema of scenarios and of results.

use crate::output;
use bentpipe_lab::LabError;

/// Prints the schema of scenario files, or that of `results`.
pub fn print(results: bool) -> Result<u8, LabError> {
    let schema = if results {
        bentpipe_results::json_schema().to_value()
    } else {
        bentpipe_scenario::json_schema()
    };
    output::document(&output::pretty(&schema))
}

//! `bentpipe schema`: the JSON Schema of scenarios, of results, and of what `explain` says.

use crate::output;
use bentpipe_lab::LabError;

/// Prints the schema of scenario files, or that of `results`, or that of `explain FILE --json`.
pub fn print(results: bool, explain: bool) -> Result<u8, LabError> {
    let schema = if explain {
        super::explain::json_schema()
    } else if results {
        bentpipe_results::json_schema().to_value()
    } else {
        bentpipe_scenario::json_schema()
    };
    output::document(&output::pretty(&schema))
}

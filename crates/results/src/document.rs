//! The document `results.json`, which `bentpipe report` reads back.
//!
//! `null` means that something did not happen. All lists are in the order of the plan (points,
//! variants, runs), and floats are printed as the shortest text that parses to the same value.
//! Therefore the same scenario produces the same bytes.

use crate::expect::{Comparison, Expectation};
use crate::json_format::NumbersInLines;
use crate::run::{Clock, Run};
use crate::summary::Summary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Results of a scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Results {
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Clock of the runs.
    pub clock: Clock,
    /// Version of Bentpipe.
    pub version: String,
    /// Metric that the scenario names as the one that it compares; absent if it names none, so that
    /// each [workload](crate::headline) decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headline: Option<String>,
    /// All runs.
    pub runs: Vec<Run>,
    /// Statistics over the runs.
    pub summary: Vec<Summary>,
    /// Expectations of the scenario, and whether they passed.
    pub expectations: Vec<Expectation>,
    /// Published figures compared with the results.
    pub published: Vec<Comparison>,
}

impl Results {
    /// Returns true if every expectation passed.
    pub fn all_passed(&self) -> bool {
        self.expectations.iter().all(|expectation| expectation.passed == Some(true))
    }

    /// Formats the document as indented JSON with a trailing newline.
    ///
    /// # Errors
    /// Returns the error of `serde_json`, which does not occur for results of a run.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let mut bytes = Vec::new();
        let mut serializer =
            serde_json::Serializer::with_formatter(&mut bytes, NumbersInLines::new());
        self.serialize(&mut serializer)?;
        bytes.push(b'\n');
        // `serde_json` writes UTF-8.
        Ok(String::from_utf8(bytes).unwrap_or_default())
    }
}

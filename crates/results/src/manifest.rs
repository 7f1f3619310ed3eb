//! The manifest of a run directory: what a report needs in addition to results and time series.

use crate::expect::Figure;
use crate::quantity::quantity;
use crate::run::Clock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Description of a run directory, written to `manifest.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    /// Version of Bentpipe that wrote the directory.
    pub version: String,
    /// Commit that this version was built from; `null` if unknown.
    #[serde(default)]
    pub commit: Option<String>,
    /// False if runs are missing because of an interruption or a failed run.
    pub complete: bool,
    /// Number of runs of the scenario.
    pub runs_planned: usize,
    /// Number of runs in `results.json`.
    pub runs_done: usize,
    /// Name of the scenario.
    pub scenario: String,
    /// Title of the scenario.
    pub title: String,
    /// Purpose of the scenario.
    pub description: Option<String>,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Clock of the runs.
    pub clock: Clock,
    /// Names of the variants in order.
    pub variants: Vec<String>,
    /// Settings of each variant, in the same order.
    #[serde(default)]
    pub variant_settings: Vec<VariantSettings>,
    /// The swept keys in order.
    pub sweep: Vec<SweepAxis>,
    /// Path of the first case.
    pub path: Option<PathSummary>,
    /// True if the path of any case changes with time, so that visits that begin at different times
    /// meet different conditions.
    #[serde(default)]
    pub path_changes: bool,
    /// Published figures.
    pub published: Vec<Figure>,
    /// Notes for readers of the results.
    pub notes: Vec<String>,
    /// Copies of the files that the scenario names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<InputFile>,
    /// The other files of the directory.
    pub files: Vec<String>,
    /// Digest of the simulator's sources and dependencies. Equal ones give equal results.
    #[serde(default)]
    pub engine: String,
    /// Part of the runs that this directory has, as `K/N`; absent if it is the whole study.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
    /// The scenario as run, in TOML.
    pub source: String,
}

/// A file that the scenario names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InputFile {
    /// Name in the scenario.
    pub name: String,
    /// Copy in the run directory.
    pub file: String,
}

/// Settings of a variant at the first point of the sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VariantSettings {
    /// Name of the variant.
    pub name: String,
    /// Distinct settings of its flows.
    pub flows: Vec<FlowSettings>,
}

/// The settings of a flow that affect its results most.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowSettings {
    /// Names of the flows that have them.
    #[serde(default)]
    pub flows: Vec<String>,
    /// `quic` or `tcp`; otherwise the kind of workload.
    pub transport: String,
    /// Congestion controller, with what differs from the document that specifies it.
    pub congestion: Option<String>,
    /// Slow-start algorithm.
    pub slow_start: Option<String>,
    /// ACK policy.
    pub ack: Option<String>,
    /// Handshake of the measured visit: `1rtt` or `0rtt`.
    #[serde(default)]
    pub handshake: Option<String>,
    /// Use of saved path parameters: `none`, `careful` or `jump`, with `by token` if the client
    /// keeps them.
    #[serde(default)]
    pub resume: Option<String>,
    /// Preset, if the scenario names one.
    pub preset: Option<String>,
}

/// A swept key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepAxis {
    /// Dotted path of the key.
    pub key: String,
    /// Values in order, as text.
    pub values: Vec<String>,
    /// The same values as numbers in base units; `null` for a value that is not a quantity.
    #[serde(default)]
    pub numbers: Vec<Option<f64>>,
    /// Unit of the numbers: `bytes`, `s` or `bps`; `null` if there is none or they differ.
    #[serde(default)]
    pub unit: Option<String>,
}

impl SweepAxis {
    /// Creates the axis of `key` with `values`.
    pub fn new(key: String, values: Vec<String>) -> Self {
        let parsed: Vec<_> = values.iter().map(|value| quantity(value)).collect();
        let unit = parsed.first().copied().flatten().map(|(_, unit)| unit);
        let same = parsed.iter().flatten().all(|(_, other)| Some(*other) == unit);
        Self {
            key,
            values,
            numbers: parsed.into_iter().map(|number| number.map(|(number, _)| number)).collect(),
            unit: unit.filter(|unit| same && !unit.is_empty()).map(str::to_owned),
        }
    }
}

/// Description of a path for reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathSummary {
    /// Title of the profile, or the names of the hops.
    pub name: String,
    /// Each hop, from the client to the server.
    pub hops: Vec<HopSummary>,
    /// RTT of the idle path.
    pub rtt_ms: f64,
    /// Bandwidth-delay product in the direction of the data.
    pub bdp_bytes: u64,
    /// Name of the profile, if the path has one.
    pub profile: Option<String>,
    /// Source of the profile's figures.
    pub source: Option<String>,
}

/// Description of a hop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HopSummary {
    /// Name of the hop.
    pub name: String,
    /// Direction towards the client.
    pub forward: String,
    /// Direction towards the server.
    #[serde(rename = "return")]
    pub reverse: String,
}

//! The manifest of a run directory: everything that a report needs besides results and series.

use crate::{Clock, Figure, quantity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a run directory contains, as written to `manifest.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    /// Version of Bentpipe that wrote it.
    pub version: String,
    /// Commit that this version was built from; `null` if it is unknown.
    #[serde(default)]
    pub commit: Option<String>,
    /// False if runs are missing because the whole was interrupted or one failed.
    pub complete: bool,
    /// Number of runs that the scenario asks for.
    pub runs_planned: usize,
    /// Number of runs in `results.json`.
    pub runs_done: usize,
    /// Name of the scenario.
    pub scenario: String,
    /// Its title.
    pub title: String,
    /// What it is for.
    pub description: Option<String>,
    /// Seed of every random draw.
    pub seed: u64,
    /// Which clock ran.
    pub clock: Clock,
    /// Names of the variants in order.
    pub variants: Vec<String>,
    /// What each variant uses, in the same order.
    #[serde(default)]
    pub variant_settings: Vec<VariantSettings>,
    /// The swept keys in order.
    pub sweep: Vec<SweepAxis>,
    /// Path of the first case.
    pub path: Option<PathSummary>,
    /// Published figures.
    pub published: Vec<Figure>,
    /// What a reader of the results should know.
    pub notes: Vec<String>,
    /// The files of the directory besides this one.
    pub files: Vec<String>,
    /// The scenario as it was run, as TOML.
    pub source: String,
}

/// What a variant uses at the first point of the sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VariantSettings {
    /// Name of the variant.
    pub name: String,
    /// What its flows use, each once.
    pub flows: Vec<FlowSettings>,
}

/// The settings of a flow that decide most about its results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowSettings {
    /// `quic` or `tcp`; the kind of workload for others.
    pub transport: String,
    /// The congestion controller.
    pub congestion: Option<String>,
    /// The slow-start algorithm.
    pub slow_start: Option<String>,
    /// The ACK policy.
    pub ack: Option<String>,
    /// The preset, if one was named.
    pub preset: Option<String>,
}

/// A swept key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepAxis {
    /// Its dotted path.
    pub key: String,
    /// Its values in order, as text.
    pub values: Vec<String>,
    /// The same values as numbers in base units; `null` for what is no quantity.
    #[serde(default)]
    pub numbers: Vec<Option<f64>>,
    /// Unit of the numbers: `bytes`, `s` or `bps`; `null` if there is none or they differ.
    #[serde(default)]
    pub unit: Option<String>,
}

impl SweepAxis {
    /// The axis of `key` with `values`.
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

/// A path in words, for reports.
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
    /// Name of the profile, if the path is one.
    pub profile: Option<String>,
    /// Source of the profile's figures.
    pub source: Option<String>,
}

/// A hop in words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HopSummary {
    /// Name of the hop.
    pub name: String,
    /// Towards the client.
    pub forward: String,
    /// Towards the server.
    #[serde(rename = "return")]
    pub reverse: String,
}

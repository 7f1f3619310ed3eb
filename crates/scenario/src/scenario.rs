//! The keys of a scenario file at its top level, and those of the path and of the results.

use crate::contacts::ContactsSection;
use crate::error::Problem;
use crate::flow::{DefaultsTable, Flow, FlowTable, Variant, VariantTable, WorkloadTable};
use crate::light_time::LightTimeSection;
use crate::orbit::OrbitSection;
use crate::pep::PepSection;
use crate::reconfiguration::Reconfiguration;
use crate::recording::RecordingSection;
use crate::section::Merged;
use bentpipe_link::DirectionPatch;
use bentpipe_results::{PublishedKind, Statistic};
use bentpipe_units::{Bytes, Ratio, Span};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_spanned::Spanned;
use std::collections::BTreeMap;

/// Name of the hop of a path that is not a list of hops.
pub const ONLY_HOP: &str = "access";

/// A scenario: the path, the flows over it, and what is measured.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Short name, also used for the output directory: 1 to 64 lower-case letters, digits and
    /// hyphens.
    #[schemars(with = "String", regex(pattern = r"^[a-z0-9-]+$"))]
    pub name: Spanned<String>,
    /// Title in reports, one line.
    pub title: Option<String>,
    /// Purpose of the scenario.
    pub description: Option<String>,
    /// Metric that tables, sentences and the report compare, such as `goodput_mbps`; by default,
    /// that of the workload.
    #[schemars(with = "Option<String>")]
    pub headline: Option<Spanned<String>>,
    /// Variant that the report page compares the others with; by default, the first one.
    #[schemars(with = "Option<String>")]
    pub baseline: Option<Spanned<String>>,
    /// Seed of all random numbers; 1 by default.
    #[serde(default = "one")]
    pub seed: u64,
    /// Runs of each variant at each sweep point; 1 by default. A case without randomness runs
    /// once.
    #[serde(default = "spanned_one")]
    #[schemars(with = "u64", range(min = 1, max = 100_000))]
    pub repeat: Spanned<u64>,
    /// Time after which a run is aborted; 1 h by default. Unfinished transfers count as not
    /// completed.
    #[serde(default = "hour")]
    #[schemars(with = "Span")]
    pub time_limit: Spanned<Span>,
    /// The path between client and server.
    #[schemars(with = "PathSection")]
    pub path: Spanned<PathSection>,
    /// What the only flow transfers.
    #[serde(default)]
    #[schemars(with = "Option<WorkloadTable>")]
    pub workload: Merged<WorkloadTable>,
    /// Several flows, instead of `workload`. Their transport keys override those of the variant.
    #[serde(default)]
    pub flow: Merged<Vec<FlowTable>>,
    /// Transport keys inherited by all variants.
    #[serde(default)]
    pub defaults: Merged<DefaultsTable>,
    /// Variants to compare; by default, a single one named `default`.
    #[serde(default)]
    pub variant: Merged<Vec<VariantTable>>,
    /// The variants with their flows, read from `workload`, `flow`, `defaults` and `variant`.
    #[serde(skip)]
    pub variants: Vec<Variant>,
    /// Keys of these tables that have no effect on any flow.
    #[serde(skip)]
    pub ineffective: Vec<Problem>,
    /// Swept keys as dotted paths, each with a list of values. All combinations are run.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Vec<serde_json::Value>>")]
    pub sweep: BTreeMap<String, Vec<toml::Value>>,
    /// Conditions on the results. Exit status 0 requires that all of them pass.
    #[serde(default)]
    #[schemars(with = "Vec<Expect>")]
    pub expect: Vec<Spanned<Expect>>,
    /// Published figures, shown beside the results.
    #[serde(default)]
    #[schemars(with = "Vec<Published>")]
    pub published: Vec<Spanned<Published>>,
    /// How the fairness of competing flows is measured.
    #[serde(default)]
    pub fairness: FairnessSection,
    /// Files written besides the results.
    #[serde(default)]
    pub output: Output,
    /// Protection of QUIC packets on the virtual clock: `null` (the default) or `real`. Results
    /// are the same; a run with `output.capture` always uses `real`.
    #[serde(default)]
    pub crypto: Crypto,
}

/// Protection of QUIC packets on the virtual clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Crypto {
    /// 0-RTT and 1-RTT packets in the clear, with the lengths of encrypted ones.
    #[default]
    Null,
    /// Encryption by the negotiated AEAD.
    Real,
}

/// How the fairness of competing flows is measured.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FairnessSection {
    /// Time excluded after the start of the last flow; by default, a fifth of the time during
    /// which all flows are active.
    pub warmup: Option<Span>,
}

/// The path between client and server: one hop, a list of hops, or a satellite network.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathSection {
    /// Built-in profile (`bentpipe profiles` lists them). `forward`, `return` and `rtt` override
    /// parts of it.
    #[schemars(with = "Option<String>")]
    pub profile: Option<Spanned<String>>,
    /// Hops in order from the client to the server, instead of `profile`, `forward` and `return`.
    #[serde(default)]
    #[schemars(with = "Vec<Hop>")]
    pub hop: Vec<Spanned<Hop>>,
    /// Contact plan, of which a route gives the hops, instead of `hop`.
    #[schemars(with = "Option<ContactsSection>")]
    pub contacts: Option<Spanned<ContactsSection>>,
    /// Network of moving satellites, instead of hops.
    #[schemars(with = "Option<OrbitSection>")]
    pub orbit: Option<Spanned<OrbitSection>>,
    /// Direction from the server to the client.
    #[schemars(with = "Option<DirectionPatch>")]
    pub forward: Option<Spanned<DirectionPatch>>,
    /// Direction from the client to the server.
    #[serde(rename = "return")]
    #[schemars(with = "Option<DirectionPatch>")]
    pub reverse: Option<Spanned<DirectionPatch>>,
    /// Base RTT. The delay of each direction is half of it.
    #[schemars(with = "Option<Span>")]
    pub rtt: Option<Spanned<Span>>,
    /// Light time between two bodies of the solar system, as the delay of both directions.
    #[schemars(with = "Option<LightTimeSection>")]
    pub light_time: Option<Spanned<LightTimeSection>>,
    /// True (the default) if all terminals share the path's carriers, false if each terminal has
    /// its own.
    pub shared: Option<bool>,
    /// Random changes of the path at regular times, instead of the profile's.
    #[schemars(with = "Option<Reconfiguration>")]
    pub reconfiguration: Option<Spanned<Reconfiguration>>,
    /// Time before each reconfiguration, or change of a recording, at which data senders get notice
    /// of it; no notice by default.
    #[schemars(with = "Option<Span>")]
    pub path_change_notice: Option<Spanned<Span>>,
    /// Which part of its recordings a path replays.
    #[schemars(with = "Option<RecordingSection>")]
    pub recording: Option<Spanned<RecordingSection>>,
    /// Performance-enhancing proxy of variants with `tcp.pep`.
    #[schemars(with = "Option<PepSection>")]
    pub pep: Option<Spanned<PepSection>>,
    /// Number of terminals (client machines) on the path; 1 by default.
    #[serde(default = "spanned_one_usize")]
    #[schemars(with = "u64", range(min = 1, max = 1000))]
    pub terminals: Spanned<usize>,
    /// Maximum size of IP packets; 1500 B by default. A UDP payload is 28 bytes smaller.
    #[serde(default = "ethernet")]
    #[schemars(with = "Bytes")]
    pub mtu: Spanned<Bytes>,
}

/// One hop of a path.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hop {
    /// Name in results: lower-case letters, digits and hyphens.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// Built-in profile that the hop is based on.
    #[schemars(with = "Option<String>")]
    pub profile: Option<Spanned<String>>,
    /// Direction towards the client.
    #[schemars(with = "Option<DirectionPatch>")]
    pub forward: Option<Spanned<DirectionPatch>>,
    /// Direction towards the server.
    #[serde(rename = "return")]
    #[schemars(with = "Option<DirectionPatch>")]
    pub reverse: Option<Spanned<DirectionPatch>>,
    /// Light time between two bodies of the solar system, as the delay of both directions.
    #[schemars(with = "Option<LightTimeSection>")]
    pub light_time: Option<Spanned<LightTimeSection>>,
    /// Random changes of the hop at regular times, instead of the profile's.
    #[schemars(with = "Option<Reconfiguration>")]
    pub reconfiguration: Option<Spanned<Reconfiguration>>,
    /// True if all terminals share the hop's carriers, false if each terminal has its own; the
    /// path's `shared` by default.
    pub shared: Option<bool>,
}

impl Scenario {
    /// Returns the flows of the first variant. Variants differ only in transport keys.
    pub fn flows(&self) -> &[Flow] {
        self.variants.first().map_or(&[], |variant| &variant.flows)
    }
}

/// A condition on the results.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// A metric of a flow, such as `completion_s`, or of fairness, such as `jain`.
    #[schemars(with = "String")]
    pub metric: Spanned<String>,
    /// Variant; all by default.
    #[schemars(with = "Option<String>")]
    pub variant: Option<Spanned<String>>,
    /// Sweep points, by the values of some swept keys; all points by default.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub point: PointFilter,
    /// Flow, or `all` for a metric of fairness; every flow by default.
    #[schemars(with = "Option<String>")]
    pub flow: Option<Spanned<String>>,
    /// Visit, counted from 1; all measured visits by default.
    #[schemars(with = "Option<u64>")]
    pub visit: Option<Spanned<usize>>,
    /// Statistic over the runs; the median by default.
    #[serde(default)]
    pub statistic: Statistic,
    /// The statistic or ratio must be below this value.
    #[schemars(with = "Option<f64>")]
    pub below: Option<Spanned<f64>>,
    /// The statistic or ratio must be above this value.
    #[schemars(with = "Option<f64>")]
    pub above: Option<Spanned<f64>>,
    /// Maximum relative difference from `published`, such as `10 %`.
    #[schemars(with = "Option<Ratio>")]
    pub within: Option<Spanned<Ratio>>,
    /// Published figure for `within`, in the metric's unit.
    #[schemars(with = "Option<f64>")]
    pub published: Option<Spanned<f64>>,
    /// Variant whose statistic the value is divided by. `below` and `above` then bound the ratio.
    #[schemars(with = "Option<String>")]
    pub relative_to: Option<Spanned<String>>,
}

/// A published figure, shown beside the results.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Short heading.
    pub label: String,
    /// Whether the figure is an objective or a measurement.
    pub kind: PublishedKind,
    /// A metric of a flow, such as `completion_s`, or of fairness, such as `jain`.
    #[schemars(with = "String")]
    pub metric: Spanned<String>,
    /// Variant; all by default.
    #[schemars(with = "Option<String>")]
    pub variant: Option<Spanned<String>>,
    /// Flow, or `all` for a metric of fairness; every flow by default.
    #[schemars(with = "Option<String>")]
    pub flow: Option<Spanned<String>>,
    /// Sweep points, by the values of some swept keys; all points by default.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub point: PointFilter,
    /// Published value, in the metric's unit.
    pub value: f64,
    /// Publication that the value is from.
    pub source: String,
}

/// Values of some swept keys, which select points of the sweep.
pub type PointFilter = BTreeMap<Spanned<String>, Spanned<toml::Value>>;

/// Files written besides the results.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Output {
    /// Write qlog files of both endpoints for the runs with time series; false by default.
    pub qlog: bool,
    /// Write them in the form that the qvis viewer reads; false by default.
    pub qvis: bool,
    /// Runs that write time series for the report: `first` (the default), `all` or `none`.
    pub time_series: TimeSeries,
    /// Keep every point of the time series in `traces.bin`; by default, false, a series has at most
    /// 8192 points.
    pub full_time_series: bool,
    /// Also record the variables of the congestion controller that sends the data, as time series
    /// and in qlog; false by default. `bbr3` has them, by the names of its draft.
    pub controller_state: bool,
    /// Hop whose packets are captured in both directions (pcapng) in the runs with time series.
    /// Its name is `access` on a path without a list of hops.
    #[schemars(with = "Option<String>")]
    pub capture: Option<Spanned<String>>,
    /// End of the hop at which packets are captured, with the times of sending and arrival there:
    /// the one towards the `server` (the default) or the `client`.
    pub capture_at: CaptureAt,
}

/// End of a hop at which packets are captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CaptureAt {
    /// The end towards the server.
    #[default]
    Server,
    /// The end towards the client.
    Client,
}

/// Which runs write time series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TimeSeries {
    /// The first run of each variant at each sweep point.
    #[default]
    First,
    /// Every run.
    All,
    /// No run.
    None,
}

/// Returns the JSON Schema of scenario files.
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(Scenario).to_value()
}

fn one() -> u64 {
    1
}
fn spanned_one() -> Spanned<u64> {
    Spanned::new(0..0, 1)
}
fn spanned_one_usize() -> Spanned<usize> {
    Spanned::new(0..0, 1)
}
fn hour() -> Spanned<Span> {
    Spanned::new(0..0, Span::from_secs(3600))
}
fn ethernet() -> Spanned<Bytes> {
    Spanned::new(0..0, Bytes::new(1500))
}

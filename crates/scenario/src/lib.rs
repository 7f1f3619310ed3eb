//! The keys of scenario files, with their documentation: the same types parse the file and print
//! the JSON Schema for editors.
//!
//! serde's `flatten` and `untagged` are not used: both lose the place in the text and the list of
//! allowed values, which errors should name. Tables that share keys are read by `section` instead.

mod accept;
mod check;
mod cities;
mod document;
mod error;
mod expectations;
mod flow;
pub mod leo;
mod orbit;
mod orbit_check;
mod orbit_text;
mod pep;
mod preset;
pub mod profiles;
mod protocol;
mod section;
mod transport;
mod window;
pub mod workload;

pub use check::{HEADERS, check, variant_names};
pub use document::{Axis, Document, plain_text};
pub use error::{Problem, ScenarioError, Source, nearest, quoted};
pub use expectations::{figures, is_planned, rules};
pub use flow::{Ends, Flow, FlowTable, Placement, Variant, VariantTable};
pub use orbit::{
    FibreSection, LinksSection, OrbitSection, RouteUpdatesName, ShellSection, StationSection,
};
pub use orbit_text::{Begin, ConstellationText, IslText, PhaseText};
pub use pep::PepSection;
pub use protocol::Protocol;
pub use transport::{
    FlowControlPreset, HttpKind, MeasuredVisit, PathChangeResponseName, PepMode, Transport,
    TransportKind,
};
pub use window::{ConnectionWindow, Window};
pub use workload::Workload;

use bentpipe_link::DirectionPatch;
use bentpipe_results::{Direction, PublishedKind, Statistic};
use bentpipe_units::{Bytes, Ratio, Span};
use flow::{DefaultsTable, WorkloadTable};
use schemars::JsonSchema;
use section::Merged;
use serde::Deserialize;
use serde_spanned::Spanned;
use std::collections::BTreeMap;

/// Name of the hop of a path that is not a list of hops.
pub const ONLY_HOP: &str = "access";

/// A scenario: the path, the flows over it, and what is measured.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Short name, also of the output directory: lower-case letters, digits and hyphens.
    #[schemars(with = "String", regex(pattern = r"^[a-z0-9-]+$"))]
    pub name: Spanned<String>,
    /// One line for people.
    pub title: Option<String>,
    /// What the scenario is for.
    pub description: Option<String>,
    /// Seed of every random draw.
    #[serde(default = "one")]
    pub seed: u64,
    /// Runs of each variant at each sweep point; one run if nothing is random.
    #[serde(default = "spanned_one")]
    #[schemars(with = "u64", range(min = 1, max = 100_000))]
    pub repeat: Spanned<u64>,
    /// Time after which a run is aborted and its transfers count as not completed.
    #[serde(default = "hour")]
    #[schemars(with = "Span")]
    pub time_limit: Spanned<Span>,
    /// The path between client and server.
    #[schemars(with = "PathSection")]
    pub path: Spanned<PathSection>,
    /// What is transferred, if there is one flow.
    #[serde(default)]
    #[schemars(with = "Option<WorkloadTable>")]
    pub workload: Merged<WorkloadTable>,
    /// Several flows, instead of `workload`. Their transport keys win over the variant's.
    #[serde(default)]
    pub flow: Merged<Vec<FlowTable>>,
    /// Transport keys that all variants inherit.
    #[serde(default)]
    pub defaults: Merged<DefaultsTable>,
    /// What is compared; by default one variant, named `default`.
    #[serde(default)]
    pub variant: Merged<Vec<VariantTable>>,
    /// The variants, each with its flows, as `workload`, `flow`, `defaults` and `variant` say.
    #[serde(skip)]
    pub variants: Vec<Variant>,
    /// Keys of those that have no effect on any flow.
    #[serde(skip)]
    pub ineffective: Vec<Problem>,
    /// Dotted paths into the scenario, each with a list of values; all combinations are run.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Vec<serde_json::Value>>")]
    pub sweep: BTreeMap<String, Vec<toml::Value>>,
    /// Conditions for exit status 0.
    #[serde(default)]
    #[schemars(with = "Vec<Expect>")]
    pub expect: Vec<Spanned<Expect>>,
    /// Published figures, shown beside the results.
    #[serde(default)]
    #[schemars(with = "Vec<Published>")]
    pub published: Vec<Spanned<Published>>,
    /// How shares of a link are measured if flows compete.
    #[serde(default)]
    pub fairness: FairnessSection,
    /// Files that a run writes besides its results.
    #[serde(default)]
    pub output: Output,
}

/// How shares of a link are measured if flows compete.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FairnessSection {
    /// Time after the start of the last flow that is not counted; by default a fifth of the time in
    /// which all flows are active.
    pub warmup: Option<Span>,
}

/// The path between client and server: one hop, a list of hops, or a network of satellites.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathSection {
    /// Built-in profile; `bentpipe profiles` lists them. Every field of it can be overridden.
    #[schemars(with = "Option<String>")]
    pub profile: Option<Spanned<String>>,
    /// Several hops in order from the client to the server, instead of `profile`, `forward` and
    /// `return`.
    #[serde(default)]
    #[schemars(with = "Vec<Hop>")]
    pub hop: Vec<Spanned<Hop>>,
    /// A network of moving satellites, instead of hops.
    #[schemars(with = "Option<OrbitSection>")]
    pub orbit: Option<Spanned<OrbitSection>>,
    /// From the server to the client.
    #[schemars(with = "Option<DirectionPatch>")]
    pub forward: Option<Spanned<DirectionPatch>>,
    /// From the client to the server.
    #[serde(rename = "return")]
    #[schemars(with = "Option<DirectionPatch>")]
    pub reverse: Option<Spanned<DirectionPatch>>,
    /// Base RTT: sets the delay of each direction to half of it.
    #[schemars(with = "Option<Span>")]
    pub rtt: Option<Spanned<Span>>,
    /// True if all terminals share one carrier, false if each has its own.
    pub shared: Option<bool>,
    /// The performance-enhancing proxy of variants with `tcp.pep`.
    #[schemars(with = "Option<PepSection>")]
    pub pep: Option<Spanned<PepSection>>,
    /// Terminals (client machines) on the path.
    #[serde(default = "spanned_one_usize")]
    #[schemars(with = "u64", range(min = 1, max = 1000))]
    pub terminals: Spanned<usize>,
    /// Size of the IP packets of the endpoints; a UDP payload is 28 bytes smaller.
    #[serde(default = "ethernet")]
    #[schemars(with = "Bytes")]
    pub mtu: Spanned<Bytes>,
}

/// One hop of a path.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hop {
    /// Name in results, lower-case letters, digits and hyphens.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// Built-in profile that the hop is based on.
    #[schemars(with = "Option<String>")]
    pub profile: Option<Spanned<String>>,
    /// Towards the client.
    #[schemars(with = "Option<DirectionPatch>")]
    pub forward: Option<Spanned<DirectionPatch>>,
    /// Towards the server.
    #[serde(rename = "return")]
    #[schemars(with = "Option<DirectionPatch>")]
    pub reverse: Option<Spanned<DirectionPatch>>,
    /// True (the default) if all terminals share this hop.
    pub shared: Option<bool>,
}

impl Scenario {
    /// The flows. Variants differ in how they are transported.
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
    /// Visit, counted from 1; all measured ones by default.
    #[schemars(with = "Option<u64>")]
    pub visit: Option<Spanned<usize>>,
    /// Statistic over the runs.
    #[serde(default)]
    pub statistic: Statistic,
    /// Upper bound of the statistic or ratio, excluded.
    #[schemars(with = "Option<f64>")]
    pub below: Option<Spanned<f64>>,
    /// Lower bound of the statistic or ratio, excluded.
    #[schemars(with = "Option<f64>")]
    pub above: Option<Spanned<f64>>,
    /// Maximum relative difference to `published`.
    #[schemars(with = "Option<Ratio>")]
    pub within: Option<Spanned<Ratio>>,
    /// Published figure, for `within`.
    #[schemars(with = "Option<f64>")]
    pub published: Option<Spanned<f64>>,
    /// Divide by the same statistic of this variant.
    #[schemars(with = "Option<String>")]
    pub relative_to: Option<Spanned<String>>,
}

/// A published figure, shown beside the results.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Short heading.
    pub label: String,
    /// Objective or measurement.
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
    /// Sweep points, by the values of some swept keys.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub point: PointFilter,
    /// The figure, in the metric's unit.
    pub value: f64,
    /// Publication.
    pub source: String,
}

/// Values of some swept keys.
pub type PointFilter = BTreeMap<Spanned<String>, Spanned<toml::Value>>;

/// Files that a run writes besides its results.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Output {
    /// Write qlog files of both ends, for the runs with time series.
    pub qlog: bool,
    /// Runs that write time series for the report.
    pub time_series: TimeSeries,
    /// Hop whose packets are captured in both directions (pcapng), for the runs with time series;
    /// `access` if the path has one hop.
    #[schemars(with = "Option<String>")]
    pub capture: Option<Spanned<String>>,
}

/// Runs that write time series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TimeSeries {
    /// The first run of each variant at each point.
    #[default]
    First,
    /// All runs.
    All,
    /// No run.
    None,
}

/// The JSON Schema of scenario files.
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

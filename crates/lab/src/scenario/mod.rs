//! What a scenario file may say. Every key is here with its documentation: the same types parse the file and print
//! the JSON Schema that editors use.
//!
//! There is no `flatten` and no `untagged` on purpose: both lose the place in the text and the list of allowed values
//! that an error should name.

mod check;
mod cities;
mod datagrams;
pub(crate) mod document;
mod orbit;
mod orbit_check;
mod orbit_text;
mod pep;
mod transport;
mod window;
mod workload;

pub(crate) use check::{HEADERS, check, variant_names};
pub(crate) use cities::expand;
pub use orbit::{FibreSection, LinksSection, OrbitSection, ShellSection, StationSection};
pub use orbit_text::{Begin, ConstellationText, IslText, PhaseText};
pub use pep::PepSection;
pub(crate) use transport::Spoken;
pub use transport::{Hints, HttpKind, PepMode, ProgramSection, Transport, TransportKind};
pub use window::{ConnectionWindow, Window};
pub use workload::{Direction, Flow, Object, VisitSection, Workload};

use bentpipe_link::DirectionPatch;
use bentpipe_units::{Bytes, Ratio, Span};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_spanned::Spanned;
use std::collections::BTreeMap;

/// A scenario: what the path is, who talks over it, what is measured.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Short name of lower-case letters, digits and hyphens; also names the output directory.
    #[schemars(with = "String", regex(pattern = r"^[a-z0-9-]+$"))]
    pub name: Spanned<String>,
    /// One line for people.
    pub title: Option<String>,
    /// What the scenario is for.
    pub description: Option<String>,
    /// Seed of every random draw.
    #[serde(default = "one")]
    pub seed: u64,
    /// Runs of each variant at each sweep point; where nothing is random there is one, whatever stands here.
    #[serde(default = "spanned_one")]
    #[schemars(with = "u64", range(min = 1, max = 100_000))]
    pub repeat: Spanned<u64>,
    /// Virtual time after which a run is given up and its transfers count as not completed.
    #[serde(default = "hour")]
    #[schemars(with = "Span")]
    pub time_limit: Spanned<Span>,
    /// The path between client and server.
    #[schemars(with = "PathSection")]
    pub path: Spanned<PathSection>,
    /// What is transferred, where there is one flow.
    #[schemars(with = "Option<Workload>")]
    pub workload: Option<Spanned<Workload>>,
    /// Several flows, instead of `workload`.
    #[serde(default)]
    #[schemars(with = "Vec<Flow>")]
    pub flow: Vec<Spanned<Flow>>,
    /// What all variants inherit.
    #[serde(default)]
    pub defaults: Transport,
    /// What is compared; without any there is one, named `default`.
    #[serde(default)]
    #[schemars(with = "Vec<Variant>")]
    pub variant: Vec<Spanned<Variant>>,
    /// Dotted paths into the scenario, each with the values it takes; all combinations are run.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Vec<serde_json::Value>>")]
    pub sweep: BTreeMap<String, Vec<toml::Value>>,
    /// What must hold for the exit status to be 0.
    #[serde(default)]
    #[schemars(with = "Vec<Expect>")]
    pub expect: Vec<Spanned<Expect>>,
    /// Published figures to stand beside ours.
    #[serde(default)]
    #[schemars(with = "Vec<Published>")]
    pub published: Vec<Spanned<Published>>,
    /// How shares of a link are measured, where flows compete.
    #[serde(default)]
    pub fairness: FairnessSection,
    /// Which files a run leaves besides its results.
    #[serde(default)]
    pub output: Output,
}

/// How shares of a link are measured, where flows compete.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FairnessSection {
    /// Time from the start of the last flow on that is left out; a fifth of the time in which all are active where left out.
    pub settle: Option<Span>,
}

/// The path between client and server: one hop, a list of them, or a network of satellites.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathSection {
    /// A built-in profile; `bentpipe profiles` lists them. Every field of it can be overridden.
    #[schemars(with = "Option<String>")]
    pub profile: Option<Spanned<String>>,
    /// Several hops in order from the client to the server, instead of `profile`, `forward` and `return`.
    #[serde(default)]
    #[schemars(with = "Vec<Hop>")]
    pub hop: Vec<Spanned<Hop>>,
    /// A network of satellites that move, instead of hops.
    #[schemars(with = "Option<OrbitSection>")]
    pub orbit: Option<Spanned<OrbitSection>>,
    /// From the server to the client.
    #[schemars(with = "Option<DirectionPatch>")]
    pub forward: Option<Spanned<DirectionPatch>>,
    /// From the client to the server.
    #[serde(rename = "return")]
    #[schemars(with = "Option<DirectionPatch>")]
    pub reverse: Option<Spanned<DirectionPatch>>,
    /// Base round trip: sets the delay of both directions to a half of it each.
    #[schemars(with = "Option<Span>")]
    pub rtt: Option<Spanned<Span>>,
    /// True where all terminals share one carrier, false where each has its own.
    pub shared: Option<bool>,
    /// The performance-enhancing proxy that variants with a `pep` pass.
    #[schemars(with = "Option<PepSection>")]
    pub pep: Option<Spanned<PepSection>>,
    /// Terminals (client machines) on the path.
    #[serde(default = "spanned_one_usize")]
    #[schemars(with = "u64", range(min = 1, max = 1000))]
    pub terminals: Spanned<usize>,
    /// Size of the IP packets that the endpoints send; a UDP payload is 28 bytes less.
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
    /// A built-in profile that the hop starts from.
    #[schemars(with = "Option<String>")]
    pub profile: Option<Spanned<String>>,
    /// Towards the client.
    #[schemars(with = "Option<DirectionPatch>")]
    pub forward: Option<Spanned<DirectionPatch>>,
    /// Towards the server.
    #[serde(rename = "return")]
    #[schemars(with = "Option<DirectionPatch>")]
    pub reverse: Option<Spanned<DirectionPatch>>,
    /// True (the default) where all terminals share this hop.
    pub shared: Option<bool>,
}

transport::keys! {
    /// One way of doing the same work; every key left out comes from `[defaults]`.
    pub struct Variant {
        /// Name in results, lower-case letters, digits, hyphens, dots and plus signs.
        #[schemars(with = "String")]
        pub name: Spanned<String>,
    }
}

/// Something that must hold.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// A metric of a flow, such as `completion_s`, or of fairness, such as `jain`.
    #[schemars(with = "String")]
    pub metric: Spanned<String>,
    /// The variant it is about; all of them where left out.
    #[schemars(with = "Option<String>")]
    pub variant: Option<Spanned<String>>,
    /// The sweep points it is about: values of some swept keys, in quotes; all points where left out.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub point: PointFilter,
    /// The flow it is about, or `all` for a metric of fairness; all of them where left out.
    #[schemars(with = "Option<String>")]
    pub flow: Option<Spanned<String>>,
    /// The visit it is about, counted from 1; all reported ones where left out.
    #[schemars(with = "Option<u64>")]
    pub visit: Option<Spanned<usize>>,
    /// Which statistic of the runs is compared.
    #[serde(default)]
    pub statistic: Statistic,
    /// The statistic (or ratio) lies below this.
    #[schemars(with = "Option<f64>")]
    pub below: Option<Spanned<f64>>,
    /// The statistic (or ratio) lies above this.
    #[schemars(with = "Option<f64>")]
    pub above: Option<Spanned<f64>>,
    /// Largest relative distance from `published`.
    #[schemars(with = "Option<Ratio>")]
    pub within: Option<Spanned<Ratio>>,
    /// The published figure that `within` is about.
    #[schemars(with = "Option<f64>")]
    pub published: Option<Spanned<f64>>,
    /// Compare the ratio to the same statistic of this variant.
    #[schemars(with = "Option<String>")]
    pub ratio_to: Option<Spanned<String>>,
}

/// A published figure, shown beside ours.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Short heading.
    pub label: String,
    /// An aim, or a measurement.
    pub kind: PublishedKind,
    /// A metric of a flow, such as `completion_s`, or of fairness, such as `jain`.
    #[schemars(with = "String")]
    pub metric: Spanned<String>,
    /// The variant it stands beside; all of them where left out.
    #[schemars(with = "Option<String>")]
    pub variant: Option<Spanned<String>>,
    /// The flow it stands beside, or `all` for a metric of fairness; all of them where left out.
    #[schemars(with = "Option<String>")]
    pub flow: Option<Spanned<String>>,
    /// The sweep points it stands beside.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub point: PointFilter,
    /// The figure, in the metric's unit.
    pub value: f64,
    /// Where it was published.
    pub source: String,
}

/// Values of some swept keys.
pub type PointFilter = BTreeMap<Spanned<String>, Spanned<toml::Value>>;

/// What kind of figure was published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, serde::Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PublishedKind {
    /// Something to aim for.
    Objective,
    /// Something that was measured.
    Measured,
}

/// A statistic over the runs of one variant at one point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, serde::Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Statistic {
    /// Half of the runs lie below.
    #[default]
    Median,
    /// The average.
    Mean,
    /// 5 % of the runs lie below.
    P5,
    /// 95 % of the runs lie below.
    P95,
    /// The smallest.
    Min,
    /// The largest.
    Max,
}

/// Which files a run leaves besides its results.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Output {
    /// qlog files of both ends, of the runs that are traced.
    pub qlog: bool,
    /// Time series for the report.
    pub traces: Traces,
    /// A hop whose packets are captured both ways (pcapng), of the runs that are traced; `access` where the path has one hop.
    #[schemars(with = "Option<String>")]
    pub capture: Option<Spanned<String>>,
}

/// Which runs are traced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Traces {
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

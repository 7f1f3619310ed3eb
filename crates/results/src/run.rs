//! One run: what was measured of its flows and links.

use crate::emulation::Emulation;
use crate::fairness::Fairness;
use crate::metrics::{
    CallMetrics, FlowMetrics, LinkMetrics, PageMetrics, PlayerMetrics, ResponsivenessMetrics,
};
use crate::population::Population;
use crate::reverse::ReverseBytes;
use crate::time_budget::{self, Episode, LossTime, Written};
use bentpipe_timeseries::TimeBudget;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Value of each swept key, as text.
pub type Point = BTreeMap<String, String>;

/// The clock that a scenario runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// Deterministic simulation.
    #[default]
    Virtual,
    /// Real time, with real programs and endpoints of the kernel.
    Real,
}

impl Clock {
    /// `virtual` or `real`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Virtual => "virtual",
            Self::Real => "real",
        }
    }
}

/// Direction of application data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the server to the client.
    #[default]
    Download,
    /// From the client to the server.
    Upload,
}

impl Direction {
    /// `download` or `upload`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Download => "download",
            Self::Upload => "upload",
        }
    }
}

/// One run of one variant at one point of the sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Name of the variant.
    pub variant: String,
    /// Value of each swept key.
    pub point: Point,
    /// Number of the run, from 0.
    pub run: u64,
    /// One entry for each measured visit of each flow.
    pub flows: Vec<Flow>,
    /// One entry for each direction of each hop.
    pub links: Vec<Link>,
    /// Fairness of competing flows; `null` without two such flows.
    #[serde(default)]
    pub fairness: Option<Fairness>,
    /// One entry for each visit of each population of users, or of each of its shares; absent
    /// without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub populations: Vec<Population>,
    /// Hops whose path changes at regular times; absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reconfigurations: Vec<Reconfiguration>,
    /// Report of the emulator; absent on the virtual clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulation: Option<Emulation>,
}

/// Regular changes of a hop, such as those of a satellite terminal from one satellite to the next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reconfiguration {
    /// Name of the hop; empty for those of a recording of the path.
    pub hop: String,
    /// Time of the first change since the start of the run, in seconds.
    pub first_s: f64,
    /// Time from one change to the next in seconds.
    pub period_s: f64,
}

/// One measured visit of one flow. The default is a visit of which nothing is known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Flow {
    /// Name of the flow.
    pub name: String,
    /// Number of the visit, from 1.
    pub visit: usize,
    /// Key of the workload in the scenario, such as `download`; empty if it is not known.
    #[serde(default)]
    pub workload: String,
    /// `quic` or `tcp`; `cbr`, `on-off` or `ping` for datagrams, `udp` for a call over UDP.
    pub transport: String,
    /// The congestion controller; `none` for datagrams.
    pub congestion: String,
    /// Number of connections. Time series are those of the sender of the first one.
    pub connections: u64,
    /// Direction of the data.
    pub direction: Direction,
    /// Application bytes to transfer; the bytes received if the duration is fixed.
    pub bytes: u64,
    /// True if all bytes arrived, or the fixed duration has passed.
    pub completed: bool,
    /// Time of the client's first packet since the start of the run, in seconds.
    pub start_s: f64,
    /// Metrics of the visit.
    #[serde(flatten)]
    pub metrics: FlowMetrics,
    /// Bytes of the reverse direction by layer.
    pub reverse_bytes: ReverseBytes,
    /// What the completion time was spent on; `null` for datagrams and on the real clock.
    #[serde(default, with = "time_budget")]
    #[schemars(with = "Option<Written>")]
    pub time_budget: Option<TimeBudget<f64>>,
    /// What losses cost of the completion time; absent without any, and where it is not known.
    #[serde(default, skip_serializing_if = "LossTime::is_none")]
    pub loss_time: LossTime,
    /// The longest episodes in which time was lost to one cause, in the order in which they began.
    #[serde(default)]
    pub episodes: Vec<Episode>,
    /// Sizes of ACK frames; QUIC only.
    #[serde(default)]
    pub ack_frame_bytes: Option<Distribution>,
    /// Sizes of the options of pure ACKs; TCP only.
    #[serde(default)]
    pub ack_option_bytes: Option<Distribution>,
    /// What both endpoints knew about the path.
    #[serde(default)]
    pub path: PathKnowledge,
    /// What the player of an adaptive video has played; absent of other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub player: Option<Player>,
    /// What a web page was to its user; absent of other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<Page>,
    /// What a test of responsiveness has measured; absent of other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub responsiveness: Option<ResponsivenessMetrics>,
    /// The streams of a call; absent of other workloads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub call: Vec<CallStream>,
    /// The objects transferred.
    pub objects: Vec<Object>,
    /// Why the flow ended early; `null` if it did not.
    pub error: Option<String>,
}

/// A kind of media.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Media {
    /// Audio.
    Audio,
    /// Video.
    Video,
}

/// One stream of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallStream {
    /// Audio or video.
    pub media: Media,
    /// Direction of the media.
    pub direction: Direction,
    /// What its receiver has measured.
    #[serde(flatten)]
    pub metrics: CallMetrics,
}

/// What the player of an adaptive video has played.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Player {
    /// Total time of stalls, in seconds.
    pub stall_s: f64,
    /// Its metrics.
    #[serde(flatten)]
    pub metrics: PlayerMetrics,
}

/// A web page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Page {
    /// Its metrics.
    #[serde(flatten)]
    pub metrics: PageMetrics,
    /// Its origins, the first of which has the root.
    pub origins: Vec<PageOrigin>,
}

/// An origin of a web page: a server with connections of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PageOrigin {
    /// Name of its host.
    pub name: String,
    /// Number of its objects.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Number of connections to it.
    pub connections: u64,
    /// Time until its address was known, in seconds; `null` if the client did not ask.
    pub dns_s: Option<f64>,
    /// Time of the handshakes of its connections, in seconds, added up.
    pub handshakes_s: f64,
}

/// What both endpoints of a flow knew about the path. Windows are bytes of QUIC packets per RTT.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathKnowledge {
    /// Window of the saved path that was offered to the sender.
    pub saved_window_bytes: Option<u64>,
    /// RTT of the saved path.
    pub saved_rtt_ms: Option<f64>,
    /// Window that the sender would save.
    pub observed_window_bytes: Option<u64>,
    /// Minimum RTT that the sender would save.
    pub observed_rtt_ms: Option<f64>,
    /// Most bytes that arrived at the receiver within one of its RTTs.
    pub receiver_window_bytes: Option<u64>,
    /// Smallest of the receiver's smoothed RTTs.
    pub receiver_rtt_ms: Option<f64>,
    /// True if the use of the saved path caused congestion; `null` if none was offered.
    pub retreated: Option<bool>,
    /// Outcome of the client's token: `accepted`, the reason for rejection, or `none`; `null`
    /// without tokens.
    pub token: Option<String>,
}

/// One object of a flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Object {
    /// Name of the object.
    pub name: String,
    /// Size of the object.
    pub bytes: u64,
    /// Time of the request, in seconds since the visit's first packet.
    pub start_s: f64,
    /// Time of completion, in seconds since the visit's first packet.
    pub completion_s: Option<f64>,
    /// What it is in a web page, as in `style`; absent of other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Number of its origin among those of the page, from 0; absent of other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<u64>,
}

/// One direction of one hop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// `hop/forward` or `hop/return`.
    pub name: String,
    /// Counters of the link.
    #[serde(flatten)]
    pub metrics: LinkMetrics,
}

/// Distribution of sizes in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// Number of values.
    pub n: u64,
    /// Minimum.
    pub min: u32,
    /// Median: the smallest size that half of the values do not exceed.
    pub median: u32,
    /// 99th percentile: the smallest size that 99 % of the values do not exceed.
    pub p99: u32,
    /// Maximum.
    pub max: u32,
    /// Number of values by size. Above 255 bytes, each power of two counts the sizes up to the
    /// next power.
    pub counts: BTreeMap<u32, u64>,
}

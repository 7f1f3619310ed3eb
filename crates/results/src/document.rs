//! The document that is written as `results.json` and read back by `bentpipe report`.
//!
//! `null` stands for what did not happen. Everything is in the order of the plan (points, variants,
//! runs), and floats are printed as the shortest text that reads back as the same value, so that
//! the same scenario gives the same bytes.

use crate::{
    Comparison, Emulation, Expectation, Fairness, FlowMetrics, LinkMetrics, ReverseBytes, Summary,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Value of each swept key, as text.
pub type Point = BTreeMap<String, String>;

/// Which clock a scenario runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// Deterministic simulation.
    #[default]
    Virtual,
    /// Real time, with the kernel's endpoints and real programs.
    Real,
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

/// Results of a scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Results {
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of every random draw.
    pub seed: u64,
    /// Which clock ran.
    pub clock: Clock,
    /// Version of Bentpipe.
    pub version: String,
    /// Every run.
    pub runs: Vec<Run>,
    /// Statistics over runs.
    pub summary: Vec<Summary>,
    /// Expectations of the scenario, and whether they passed.
    pub expectations: Vec<Expectation>,
    /// Published figures beside ours.
    pub published: Vec<Comparison>,
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
    /// How competing flows shared the path; `null` without two such flows.
    #[serde(default)]
    pub fairness: Option<Fairness>,
    /// Report of the emulator; absent on the virtual clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulation: Option<Emulation>,
}

/// One measured visit of one flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Flow {
    /// Name of the flow.
    pub name: String,
    /// Number of the visit, from 1.
    pub visit: usize,
    /// `quic` or `tcp`; `cbr`, `on-off` or `ping` for datagrams.
    pub transport: String,
    /// The congestion controller; `none` for datagrams.
    pub congestion: String,
    /// Number of connections. Time series are those of the first one's sender.
    pub connections: u64,
    /// Direction of the data.
    pub direction: Direction,
    /// Application bytes to transfer; with a fixed duration, those received.
    pub bytes: u64,
    /// True if all of them arrived, or the fixed duration has passed.
    pub completed: bool,
    /// Time of the client's first packet since the start of the run, in seconds.
    pub start_s: f64,
    /// What was measured.
    #[serde(flatten)]
    pub metrics: FlowMetrics,
    /// Bytes of the reverse direction by layer.
    pub reverse_bytes: ReverseBytes,
    /// Sizes of ACK frames; QUIC only.
    #[serde(default)]
    pub ack_frame_bytes: Option<Distribution>,
    /// Sizes of the options of pure ACKs; TCP only.
    #[serde(default)]
    pub ack_option_bytes: Option<Distribution>,
    /// What both ends knew about the path.
    #[serde(default)]
    pub path: PathKnowledge,
    /// Each object that was transferred.
    pub objects: Vec<Object>,
    /// Why the flow ended early, if it did.
    pub error: Option<String>,
}

/// What both ends of a flow knew about the path. Windows count the bytes of QUIC packets in one
/// RTT.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathKnowledge {
    /// Window of the saved path that was offered to the sender.
    pub saved_window_bytes: Option<u64>,
    /// RTT of that path.
    pub saved_rtt_ms: Option<f64>,
    /// Window that the sender would save.
    pub observed_window_bytes: Option<u64>,
    /// Minimum RTT that the sender would save.
    pub observed_rtt_ms: Option<f64>,
    /// Most bytes that arrived at the receiver within one of its RTTs.
    pub receiver_window_bytes: Option<u64>,
    /// Smallest of the receiver's smoothed RTTs.
    pub receiver_rtt_ms: Option<f64>,
    /// Whether the offered path met congestion; `null` if none was offered.
    pub retreated: Option<bool>,
    /// Outcome of the client's token: `accepted`, why not, or `none`; `null` without tokens.
    pub token: Option<String>,
}

/// One object of a flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Object {
    /// Name of the object.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// When it was requested, in seconds since the visit's first packet.
    pub start_s: f64,
    /// When it was complete, in seconds since the visit's first packet.
    pub completion_s: Option<f64>,
}

/// One direction of one hop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// `hop/forward` or `hop/return`.
    pub name: String,
    /// Its counters.
    #[serde(flatten)]
    pub metrics: LinkMetrics,
}

/// How often something had which size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// Number of sizes.
    pub n: u64,
    /// The smallest.
    pub min: u32,
    /// The smallest size that half of them do not exceed.
    pub median: u32,
    /// The smallest size that 99 % of them do not exceed.
    pub p99: u32,
    /// The largest.
    pub max: u32,
    /// Sizes in bytes, and how many had them. Above 255 bytes, a power of two stands for all sizes
    /// below the next.
    pub counts: BTreeMap<u32, u64>,
}

impl Results {
    /// True if every expectation passed.
    pub fn all_passed(&self) -> bool {
        self.expectations.iter().all(|expectation| expectation.passed == Some(true))
    }

    /// The document as it is written: indented JSON with a newline at its end.
    ///
    /// # Errors
    /// Never for results of a run; serde's own error type otherwise.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }
}

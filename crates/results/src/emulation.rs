//! What the emulator did in a run on the real clock.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the emulator did in a run: whether its results can be trusted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Emulation {
    /// Why the run is doubtful, such as packets that the emulator dropped or released late; empty
    /// otherwise.
    pub warnings: Vec<String>,
    /// Towards the clients, and towards the server.
    pub directions: Vec<DirectionEmulation>,
}

/// What the emulator did in one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionEmulation {
    /// `forward` or `return`.
    pub name: String,
    /// Packets read.
    pub packets: u64,
    /// Of these, packets that the path would have carried and the emulator dropped.
    pub dropped: u64,
    /// Packets whose fate is unknown. Not zero only if Bentpipe has a bug.
    pub unaccounted: i64,
    /// Median lateness of packets against their deadlines.
    pub late_p50_us: f64,
    /// 99th percentile of the lateness.
    pub late_p99_us: f64,
    /// Largest lateness.
    pub late_max_us: f64,
    /// Whether its thread had real-time priority.
    pub realtime: bool,
    /// CPU time of its thread.
    pub cpu_s: f64,
}

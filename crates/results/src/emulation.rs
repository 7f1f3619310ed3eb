//! Report of the emulator on a run on the real clock.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Report of the emulator on a run, which shows whether its results can be trusted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Emulation {
    /// Reasons to doubt the results, such as packets that the emulator dropped or sent late.
    pub warnings: Vec<String>,
    /// The directions towards the clients and towards the server.
    pub directions: Vec<DirectionEmulation>,
}

/// Report of the emulator on one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionEmulation {
    /// `forward` or `return`.
    pub name: String,
    /// Packets read.
    pub packets: u64,
    /// Packets that the emulator dropped although the path would have carried them.
    pub dropped: u64,
    /// Packets missing from the emulator's accounts; a value other than zero is a bug of Bentpipe.
    pub unaccounted: i64,
    /// Median lateness of packets relative to their deadlines, in microseconds.
    pub late_p50_us: f64,
    /// 99th percentile of the lateness, in microseconds.
    pub late_p99_us: f64,
    /// Maximum lateness, in microseconds.
    pub late_max_us: f64,
    /// True if the thread of the direction had real-time priority.
    pub realtime: bool,
    /// CPU time of the thread, in seconds.
    pub cpu_s: f64,
}

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
    /// The proxies, from the clients to the server; left out without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proxies: Vec<ProxyEmulation>,
}

/// Report of a proxy (`bentpipe pep`) on the path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProxyEmulation {
    /// `terminal` or `gateway`.
    pub name: String,
    /// Connections that it split.
    pub connections: u64,
    /// Of these, connections that did not end in order in both directions.
    pub incomplete: u64,
    /// Bytes that it passed on towards the server.
    pub bytes_to_server: u64,
    /// Bytes that it passed on towards the clients.
    pub bytes_to_client: u64,
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

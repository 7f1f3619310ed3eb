//! How well a run in real time kept its times.

use bentpipe_units::Span;

/// Report of the emulator on a run, which shows whether its outcome can be trusted.
#[derive(Debug, Clone, PartialEq)]
pub struct EmulationOutcome {
    /// Reasons to doubt the outcome, such as packets that the emulator dropped or sent late.
    pub warnings: Vec<String>,
    /// The directions towards the clients and towards the server.
    pub directions: Vec<EmulatedDirection>,
    /// The proxies, from the clients to the server.
    pub proxies: Vec<EmulatedProxy>,
}

/// Report of the emulator on one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct EmulatedDirection {
    /// `forward` or `return`.
    pub name: &'static str,
    /// Packets read.
    pub packets: u64,
    /// Packets that the emulator dropped although the path would have carried them.
    pub dropped: u64,
    /// Packets missing from the emulator's accounts; a value other than zero is a bug.
    pub unaccounted: i64,
    /// Median lateness of packets relative to their deadlines.
    pub late_p50: Span,
    /// 99th percentile of the lateness.
    pub late_p99: Span,
    /// Maximum lateness.
    pub late_max: Span,
    /// True if the thread of the direction had real-time priority.
    pub realtime: bool,
    /// CPU time of the thread.
    pub cpu_time: Span,
}

/// Report of a proxy on the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmulatedProxy {
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

//! The format of a log line.

use std::time::SystemTime;

/// The format of the lines of an access log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// `192.0.2.1 [2026-01-01T00:00:00Z] "GET /path HTTP/3" 200 1234 0.042`: client, time, request,
    /// status, bytes of content sent, seconds.
    Text,
    /// JSON objects with the same values: `time`, `client`, `method`, `path`, `protocol`, `status`,
    /// `bytes`, `seconds`, `complete`.
    Json,
}

/// An event that becomes a line.
pub(crate) trait LogLine: Send + 'static {
    /// Returns the line with its newline.
    fn format(&self, format: LogFormat) -> String;
}

/// Formats `time` by RFC 3339, in UTC, to the second.
pub(crate) fn rfc3339(time: SystemTime) -> String {
    format!("{:.0}", bentpipe_units::Epoch::from(time))
}

//! The access log: one line for each request.

use super::metrics::Metrics;
use crate::log_writer::{LogLine, LogWriter, humane};
use http::{Method, StatusCode, Version};
use std::fmt::Write as _;
use std::io::Write;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime};

/// How lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// `192.0.2.1 [2026-01-01T00:00:00Z] "GET /path HTTP/3" 200 1234 0.042`: who, when, what,
    /// status, bytes of content sent, seconds.
    Text,
    /// The same as JSON objects: `time`, `client`, `method`, `path`, `protocol`, `status`, `bytes`,
    /// `seconds`, `complete`.
    Json,
}

/// A request that was answered. Queries and header fields are left out: they may hold secrets.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub client: IpAddr,
    pub time: SystemTime,
    pub method: Method,
    pub path: String,
    pub version: Version,
    pub status: StatusCode,
    pub bytes: u64,
    pub took: Duration,
    pub complete: bool,
}

impl LogLine for Line {
    fn format(&self, format: LogFormat) -> String {
        let time = humane(self.time);
        let protocol = match self.version {
            Version::HTTP_3 => "HTTP/3",
            Version::HTTP_2 => "HTTP/2",
            Version::HTTP_10 => "HTTP/1.0",
            _ => "HTTP/1.1",
        };
        let (status, seconds) = (self.status.as_u16(), self.took.as_secs_f64());
        match format {
            LogFormat::Text => {
                let mut path = String::new();
                for c in self.path.chars() {
                    // A path as it came holds neither, but a line must stay one whatever it holds.
                    if c.is_control() || c == '"' {
                        let _ = write!(path, "\\u{{{:x}}}", u32::from(c));
                    } else {
                        path.push(c);
                    }
                }
                let cut = if self.complete { "" } else { " incomplete" };
                format!(
                    "{} [{time}] \"{} {path} {protocol}\" {status} {} {seconds:.3}{cut}\n",
                    self.client, self.method, self.bytes
                )
            }
            LogFormat::Json => {
                let line = serde_json::json!({
                    "time": time, "client": self.client, "method": self.method.as_str(), "path": self.path, "protocol": protocol,
                    "status": status, "bytes": self.bytes, "seconds": seconds, "complete": self.complete,
                });
                format!("{line}\n")
            }
        }
    }
}

/// Where lines go. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct AccessLog {
    lines: LogWriter<Line>,
    metrics: Arc<Metrics>,
}

impl AccessLog {
    /// Writes to `sink` from a thread of its own, so that a slow disk or terminal holds up nobody.
    /// It ends with the last clone.
    pub fn new(
        format: LogFormat,
        sink: Box<dyn Write + Send>,
        metrics: Arc<Metrics>,
    ) -> std::io::Result<Self> {
        let counts = metrics.clone();
        let lost = move || {
            counts.log_lost.fetch_add(1, Relaxed);
        };
        Ok(Self { lines: LogWriter::new(format, sink, lost)?, metrics })
    }

    /// Waits until the lines so far are written.
    pub async fn settle(&self) {
        self.lines.settle().await;
    }

    pub fn write(&self, line: Line) {
        if !self.lines.write(line) {
            self.metrics.log_lost.fetch_add(1, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stays_a_line() {
        let line = Line {
            client: [192, 0, 2, 1].into(),
            time: SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600),
            method: Method::GET,
            path: "/a\n\"b".to_owned(),
            version: Version::HTTP_3,
            status: StatusCode::OK,
            bytes: 1234,
            took: Duration::from_millis(42),
            complete: true,
        };
        let text = line.format(LogFormat::Text);
        assert!(
            text.starts_with("192.0.2.1 [2026-01-01")
                && text.ends_with("\"GET /a\\u{a}\\u{22}b HTTP/3\" 200 1234 0.042\n"),
            "{text}"
        );
        assert_eq!(text.lines().count(), 1);
        let json = line.format(LogFormat::Json);
        assert_eq!(json.lines().count(), 1);
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!((json["path"].as_str(), json["bytes"].as_u64()), (Some("/a\n\"b"), Some(1234)));
    }
}

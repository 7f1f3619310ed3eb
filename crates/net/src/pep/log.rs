//! A line of the log: one for each connection.

use super::entry::Protocol;
use super::refusal::Refusal;
use super::relay::End;
use super::target::Target;
use crate::log_writer::{LogLine, humane};
use crate::server::LogFormat;
use std::fmt;
use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

/// How a connection came to the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// It asked for a proxy.
    Explicit(Protocol),
    /// It wanted to go elsewhere, and was led here (TPROXY).
    Transparent,
    /// It wanted to go elsewhere, and was led here (REDIRECT).
    Redirected,
    /// Through a tunnel, from another proxy.
    Tunnel,
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Explicit(protocol) => protocol.fmt(f),
            Self::Transparent => f.write_str("transparent"),
            Self::Redirected => f.write_str("redirected"),
            Self::Tunnel => f.write_str("tunnel"),
        }
    }
}

/// What became of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It was led on, and ended.
    Ended(End),
    /// It was not led on.
    Refused(Refusal),
    /// The proxy stopped.
    Stopped,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended(end) => end.fmt(f),
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

/// A connection that has ended.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub client: SocketAddr,
    pub time: SystemTime,
    pub how: How,
    /// Where it wanted to go.
    pub target: Target,
    /// Where it was led to; nothing through a tunnel, or where nobody answered.
    pub server: Option<SocketAddr>,
    pub up: u64,
    pub down: u64,
    pub took: Duration,
    pub fate: Outcome,
}

impl LogLine for Line {
    fn format(&self, format: LogFormat) -> String {
        let (time, seconds) = (humane(self.time), self.took.as_secs_f64());
        let Self { client, how, target, up, down, fate, .. } = self;
        match format {
            LogFormat::Text => {
                let server =
                    self.server.map_or_else(|| "-".to_owned(), |server| server.to_string());
                format!(
                    "{client} [{time}] {how} {target} {server} {up} {down} {seconds:.3} {fate}\n"
                )
            }
            LogFormat::Json => {
                let line = serde_json::json!({
                    "time": time, "client": client, "how": how.to_string(), "target": target.to_string(), "server": self.server,
                    "bytes_to_server": up, "bytes_to_client": down, "seconds": seconds, "end": fate.to_string(),
                });
                format!("{line}\n")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_who_went_where_and_how_it_ended() {
        let line = Line {
            client: "192.0.2.1:5000".parse().unwrap(),
            time: SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600),
            how: How::Explicit(Protocol::Socks5),
            target: Target::from_authority("example.org:443").unwrap(),
            server: Some("192.0.2.9:443".parse().unwrap()),
            up: 123,
            down: 4567,
            took: Duration::from_millis(42),
            fate: Outcome::Refused(Refusal::TimedOut),
        };
        let text = line.format(LogFormat::Text);
        assert!(text.starts_with("192.0.2.1:5000 [2026-01-01"), "{text}");
        assert!(
            text.ends_with("] socks5 example.org:443 192.0.2.9:443 123 4567 0.042 timed-out\n"),
            "{text}"
        );
        let json: serde_json::Value = serde_json::from_str(&line.format(LogFormat::Json)).unwrap();
        assert_eq!(
            (json["bytes_to_client"].as_u64(), json["server"].as_str()),
            (Some(4567), Some("192.0.2.9:443"))
        );
        assert_eq!(json["end"], "timed-out");
    }
}

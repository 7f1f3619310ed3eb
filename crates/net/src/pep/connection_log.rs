//! The connection log: one line for each connection.

use super::handshake::machine::Protocol;
use super::refusal::Refusal;
use super::relay::End;
use super::target::Target;
use crate::logging::{LogFormat, LogLine, rfc3339};
use std::fmt;
use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

/// How a connection reached the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// By the handshake of an explicit proxy.
    Explicit(Protocol),
    /// Diverted by a rule (TPROXY).
    Transparent,
    /// Redirected by a rule (REDIRECT).
    Redirected,
    /// Through a tunnel, from another proxy.
    Tunnel,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Explicit(protocol) => protocol.fmt(f),
            Self::Transparent => f.write_str("transparent"),
            Self::Redirected => f.write_str("redirected"),
            Self::Tunnel => f.write_str("tunnel"),
        }
    }
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It was forwarded and has ended.
    Ended(End),
    /// It was not forwarded.
    Refused(Refusal),
    /// The proxy was stopped.
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
pub(super) struct ConnectionLine {
    pub client: SocketAddr,
    pub time: SystemTime,
    pub origin: Origin,
    /// The requested destination.
    pub target: Target,
    /// The server's address. `None` through a tunnel, or if no server was reached.
    pub server: Option<SocketAddr>,
    /// Bytes to the server.
    pub up: u64,
    /// Bytes to the client.
    pub down: u64,
    pub duration: Duration,
    pub outcome: Outcome,
}

impl LogLine for ConnectionLine {
    fn format(&self, format: LogFormat) -> String {
        let (time, seconds) = (rfc3339(self.time), self.duration.as_secs_f64());
        let Self { client, origin, target, up, down, outcome, .. } = self;
        match format {
            LogFormat::Text => {
                let server =
                    self.server.map_or_else(|| "-".to_owned(), |server| server.to_string());
                format!(
                    "{client} [{time}] {origin} {target} {server} {up} {down} {seconds:.3} \
                     {outcome}\n"
                )
            }
            LogFormat::Json => {
                let line = serde_json::json!({
                    "time": time,
                    "client": client,
                    "how": origin.to_string(),
                    "target": target.to_string(),
                    "server": self.server,
                    "bytes_to_server": up,
                    "bytes_to_client": down,
                    "seconds": seconds,
                    "end": outcome.to_string(),
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
    fn a_line_has_client_target_bytes_and_outcome() {
        let line = ConnectionLine {
            client: "192.0.2.1:5000".parse().unwrap(),
            time: SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600),
            origin: Origin::Explicit(Protocol::Socks5),
            target: Target::from_authority("example.org:443").unwrap(),
            server: Some("192.0.2.9:443".parse().unwrap()),
            up: 123,
            down: 4567,
            duration: Duration::from_millis(42),
            outcome: Outcome::Refused(Refusal::TimedOut),
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

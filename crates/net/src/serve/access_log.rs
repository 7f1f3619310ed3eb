//! The access log: one line for each request.

use super::holdback::Group;
use crate::logging::{LogFormat, LogLine, rfc3339};
use bentpipe_units::{Printable, Span};
use http::{Method, StatusCode, Version};
use std::net::IpAddr;
use std::time::{Duration, SystemTime};

/// A request and its response. Queries and header fields are omitted, because they may hold
/// secrets.
#[derive(Debug, Clone)]
pub(super) struct AccessLine {
    pub client: IpAddr,
    pub time: SystemTime,
    pub method: Method,
    pub path: String,
    pub version: Version,
    pub status: StatusCode,
    pub bytes: u64,
    pub duration: Duration,
    pub complete: bool,
    /// If clients are divided into groups.
    pub visit: Option<Visit>,
}

/// The group of a client, and how its request went.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Visit {
    pub group: Group,
    /// Minimum RTT of the connection.
    pub rtt: Option<Span>,
    /// Time until the client had acknowledged the last byte of the response.
    pub delivered: Option<Span>,
}

impl Visit {
    fn text(&self) -> String {
        let seconds = |name: &str, span: Option<Span>| {
            span.map_or_else(String::new, |span| format!(" {name}={:.3}", span.as_secs_f64()))
        };
        let (rtt, delivered) = (seconds("rtt", self.rtt), seconds("delivered", self.delivered));
        format!(" group={}{rtt}{delivered}", self.group.name())
    }
}

impl LogLine for AccessLine {
    fn format(&self, format: LogFormat) -> String {
        let received = rfc3339(self.time);
        let protocol = match self.version {
            Version::HTTP_3 => "HTTP/3",
            Version::HTTP_2 => "HTTP/2",
            Version::HTTP_10 => "HTTP/1.0",
            _ => "HTTP/1.1",
        };
        let (status, seconds) = (self.status.as_u16(), self.duration.as_secs_f64());
        match format {
            LogFormat::Text => {
                // So that no path breaks the line or its quotes.
                let path = Printable(&self.path).to_string().replace('"', "\\u{22}");
                let suffix = if self.complete { "" } else { " incomplete" };
                let visit = self.visit.map_or_else(String::new, |visit| visit.text());
                let time = format!("{seconds:.3}{suffix}{visit}");
                format!(
                    "{} [{received}] \"{} {path} {protocol}\" {status} {} {time}\n",
                    self.client, self.method, self.bytes
                )
            }
            LogFormat::Json => {
                let mut line = serde_json::json!({
                    "time": received,
                    "client": self.client,
                    "method": self.method.as_str(),
                    "path": self.path,
                    "protocol": protocol,
                    "status": status,
                    "bytes": self.bytes,
                    "seconds": seconds,
                    "complete": self.complete,
                });
                if let Some(Visit { group, rtt, delivered }) = self.visit {
                    line["group"] = group.name().into();
                    line["rtt_s"] = rtt.map(Span::as_secs_f64).into();
                    line["delivered_s"] = delivered.map(Span::as_secs_f64).into();
                }
                format!("{line}\n")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_cannot_break_the_line() {
        let line = AccessLine {
            client: [192, 0, 2, 1].into(),
            time: SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600),
            method: Method::GET,
            path: "/a\n\"b".to_owned(),
            version: Version::HTTP_3,
            status: StatusCode::OK,
            bytes: 1234,
            duration: Duration::from_millis(42),
            complete: true,
            visit: None,
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
        assert!(json.get("group").is_none());
        let visit = Visit {
            group: Group::Holdback,
            rtt: Some(Span::from_millis(600)),
            delivered: Some(Span::from_millis(1500)),
        };
        let visited = AccessLine { visit: Some(visit), ..line };
        let text = visited.format(LogFormat::Text);
        assert!(text.ends_with(" 1234 0.042 group=holdback rtt=0.600 delivered=1.500\n"), "{text}");
        let with: serde_json::Value =
            serde_json::from_str(&visited.format(LogFormat::Json)).unwrap();
        assert_eq!(
            (&with["group"], &with["rtt_s"], &with["delivered_s"]),
            (&"holdback".into(), &0.6.into(), &1.5.into())
        );
        assert_eq!((json["path"].as_str(), json["bytes"].as_u64()), (Some("/a\n\"b"), Some(1234)));
    }
}

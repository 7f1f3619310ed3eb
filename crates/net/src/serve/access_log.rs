//! The access log: one line for each request.

use super::holdback::Group;
use crate::logging::{LogFormat, LogLine, rfc3339};
use crate::path_report::PathReport;
use bentpipe_units::{Printable, Span};
use http::{HeaderMap, Method, StatusCode, Version};
use std::net::IpAddr;
use std::time::{Duration, SystemTime};

/// A field of requests that is logged if the operator asks for it: it tells more about people than
/// a server needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogField {
    /// The program of the client (`User-Agent`).
    Agent,
    /// The page that the request came from (`Referer`), without its query.
    Referrer,
    /// The trace that the request is part of, by its ID in `traceparent` (W3C Trace Context).
    Trace,
}

/// Characters of a host, an agent, or a referrer that are logged. Our choice.
const LONGEST_FIELD: usize = 256;

impl LogField {
    /// Returns its value in the header of a request.
    pub(super) fn of(self, headers: &HeaderMap) -> Option<Box<str>> {
        let (name, end): (_, &[char]) = match self {
            Self::Agent => (http::header::USER_AGENT, &[]),
            // What follows may hold secrets.
            Self::Referrer => (http::header::REFERER, &['?', '#']),
            Self::Trace => return trace_id(headers).map(Into::into),
        };
        let value = String::from_utf8_lossy(headers.get(name)?.as_bytes()).into_owned();
        Some(bounded(value.split(end).next().unwrap_or_default()))
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Referrer => "referrer",
            Self::Trace => "trace",
        }
    }
}

/// Returns the trace ID of a request. One that is not as Trace Context §3.2.2 has it names nothing.
fn trace_id(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all("traceparent").iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let mut parts = value.to_str().ok()?.split('-');
    let [version, trace, parent, flags] = [(); 4].map(|()| parts.next().unwrap_or_default());
    let is_hex = |part: &str, length| {
        let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        part.len() == length && part.bytes().all(hex)
    };
    let is_id = |part: &str, length| is_hex(part, length) && part.bytes().any(|byte| byte != b'0');
    // Later versions may have more parts.
    let whole =
        is_hex(version, 2) && version != "ff" && (version != "00" || parts.next().is_none());
    (whole && is_id(trace, 32) && is_id(parent, 16) && is_hex(flags, 2)).then_some(trace)
}

/// Returns as much of `text` as a line has room for.
pub(super) fn bounded(text: &str) -> Box<str> {
    text.chars().take(LONGEST_FIELD).collect()
}

/// A request and its response. Queries are omitted, because they may hold secrets, and so are
/// header fields that nobody asked for.
#[derive(Debug, Clone)]
pub(super) struct AccessLine {
    pub client: IpAddr,
    pub time: SystemTime,
    pub host: Option<Box<str>>,
    /// `None`, as the path, of a request whose header is too large to be read.
    pub method: Option<Method>,
    pub path: Option<String>,
    pub version: Version,
    /// `None` if the client gave the request up before there was a response.
    pub status: Option<StatusCode>,
    pub bytes: u64,
    pub duration: Duration,
    pub complete: bool,
    pub fields: Vec<(LogField, Box<str>)>,
    /// The connection's path, if it is known: that of QUIC.
    pub seen: Option<PathSeen>,
    /// The group of the client, if clients are divided.
    pub group: Option<Group>,
}

/// What a connection has seen of its path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PathSeen {
    /// Minimum RTT of the connection.
    pub rtt: Option<Span>,
    /// What the server did with its memory of the path.
    pub resumption: PathReport,
    /// Packets of the connection that were declared lost until now.
    pub lost: u64,
    /// Time until the client had acknowledged the last byte of the response, if it has.
    pub delivered: Option<Span>,
}

impl AccessLine {
    fn protocol(&self) -> &'static str {
        match self.version {
            Version::HTTP_3 => "HTTP/3",
            Version::HTTP_2 => "HTTP/2",
            Version::HTTP_10 => "HTTP/1.0",
            _ => "HTTP/1.1",
        }
    }

    fn text(&self) -> String {
        let (client, received, bytes) = (self.client, rfc3339(self.time), self.bytes);
        let method = self.method.as_ref().map_or("-", Method::as_str);
        let path = self.path.as_ref().map_or_else(|| "-".to_owned(), |path| quotable(path));
        let status = self.status.as_ref().map_or("-", StatusCode::as_str);
        let protocol = self.protocol();
        let mut line = format!(
            "{client} [{received}] \"{method} {path} {protocol}\" {status} {bytes} {:.3}",
            self.duration.as_secs_f64()
        );
        if !self.complete {
            line += " incomplete";
        }
        if let Some(host) = &self.host {
            line += &format!(" host=\"{}\"", quotable(host));
        }
        if let Some(group) = self.group {
            line += &format!(" group={}", group.name());
        }
        if let Some(PathSeen { rtt, resumption, lost, delivered }) = self.seen {
            let (rtt, delivered) = (seconds("rtt", rtt), seconds("delivered", delivered));
            line += &format!("{rtt}{delivered} resumption={} lost={lost}", resumption.name());
        }
        for (field, value) in &self.fields {
            line += &format!(" {}=\"{}\"", field.name(), quotable(value));
        }
        line + "\n"
    }

    fn json(&self) -> String {
        let mut line = serde_json::json!({
            "time": rfc3339(self.time),
            "client": self.client,
            "host": self.host,
            "method": self.method.as_ref().map(Method::as_str),
            "path": self.path,
            "protocol": self.protocol(),
            "status": self.status.map(|status| status.as_u16()),
            "bytes": self.bytes,
            "seconds": self.duration.as_secs_f64(),
            "complete": self.complete,
        });
        if let Some(group) = self.group {
            line["group"] = group.name().into();
        }
        if let Some(PathSeen { rtt, resumption, lost, delivered }) = self.seen {
            line["rtt_s"] = rtt.map(Span::as_secs_f64).into();
            line["delivered_s"] = delivered.map(Span::as_secs_f64).into();
            line["resumption"] = resumption.name().into();
            line["packets_lost"] = lost.into();
        }
        for (field, value) in &self.fields {
            line[field.name()] = value.as_ref().into();
        }
        format!("{line}\n")
    }
}

/// Returns `text` so that it breaks neither a line nor its quotes.
fn quotable(text: &str) -> String {
    Printable(text).to_string().replace('"', "\\u{22}")
}

fn seconds(name: &str, span: Option<Span>) -> String {
    span.map_or_else(String::new, |span| format!(" {name}={:.3}", span.as_secs_f64()))
}

impl LogLine for AccessLine {
    fn format(&self, format: LogFormat) -> String {
        match format {
            LogFormat::Text => self.text(),
            LogFormat::Json => self.json(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> AccessLine {
        AccessLine {
            client: [192, 0, 2, 1].into(),
            time: SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600),
            host: None,
            method: Some(Method::GET),
            path: Some("/a".to_owned()),
            version: Version::HTTP_3,
            status: Some(StatusCode::OK),
            bytes: 1234,
            duration: Duration::from_millis(42),
            complete: true,
            fields: Vec::new(),
            seen: None,
            group: None,
        }
    }

    fn json(line: &AccessLine) -> serde_json::Value {
        let text = line.format(LogFormat::Json);
        assert_eq!(text.lines().count(), 1);
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn no_text_of_a_client_can_break_the_line() {
        let hostile = "a\n\"b";
        let line = AccessLine {
            path: Some(format!("/{hostile}")),
            host: Some(hostile.into()),
            fields: vec![(LogField::Agent, hostile.into())],
            ..line()
        };
        let text = line.format(LogFormat::Text);
        let quoted = "a\\u{a}\\u{22}b";
        assert!(text.starts_with("192.0.2.1 [2026-01-01"), "{text}");
        assert!(
            text.ends_with(&format!(
                "\"GET /{quoted} HTTP/3\" 200 1234 0.042 host=\"{quoted}\" agent=\"{quoted}\"\n"
            )),
            "{text}"
        );
        assert_eq!(text.lines().count(), 1);
        let json = json(&line);
        assert_eq!(
            (json["path"].as_str(), json["host"].as_str(), json["agent"].as_str()),
            (Some("/a\n\"b"), Some(hostile), Some(hostile))
        );
        assert!(json.get("group").is_none() && json.get("rtt_s").is_none());
    }

    #[test]
    fn a_line_says_what_the_connection_has_seen() {
        let seen = PathSeen {
            rtt: Some(Span::from_millis(600)),
            resumption: PathReport::Resumed,
            lost: 7,
            delivered: Some(Span::from_millis(1500)),
        };
        let (host, group) = (Some("a.test".into()), Some(Group::Holdback));
        let line = AccessLine { host, seen: Some(seen), group, ..line() };
        let text = line.format(LogFormat::Text);
        let end = " 1234 0.042 host=\"a.test\" group=holdback rtt=0.600 delivered=1.500 \
                   resumption=resumed lost=7\n";
        assert!(text.ends_with(end), "{text}");
        let json = json(&line);
        assert_eq!(
            (&json["group"], &json["rtt_s"], &json["delivered_s"]),
            (&"holdback".into(), &0.6.into(), &1.5.into())
        );
        assert_eq!(
            (&json["host"], &json["resumption"], &json["packets_lost"]),
            (&"a.test".into(), &"resumed".into(), &7.into())
        );
    }

    #[test]
    fn what_is_not_known_is_a_dash_or_null() {
        let line = AccessLine { method: None, path: None, status: None, ..line() };
        let text = line.format(LogFormat::Text);
        assert!(text.contains(" \"- - HTTP/3\" - 1234 "), "{text}");
        let json = json(&line);
        for key in ["method", "path", "status"] {
            assert_eq!(json.get(key), Some(&serde_json::Value::Null), "{key}");
        }
    }

    #[test]
    fn a_referrer_is_logged_without_its_query() {
        let long = "x".repeat(1000);
        let headers: HeaderMap = [
            (http::header::REFERER, "https://a.test/page?token=secret#part"),
            (http::header::USER_AGENT, long.as_str()),
        ]
        .into_iter()
        .map(|(name, value)| (name, value.parse().unwrap()))
        .collect();
        assert_eq!(LogField::Referrer.of(&headers).as_deref(), Some("https://a.test/page"));
        let agent = LogField::Agent.of(&headers).unwrap();
        assert_eq!(agent.len(), LONGEST_FIELD);
        assert_eq!(LogField::Agent.of(&HeaderMap::new()), None);
    }

    #[test]
    fn the_trace_of_a_request_is_logged_by_its_id() {
        let id = "4bf92f3577b34da6a3ce929d0e0e4736";
        let trace = |value: &str| {
            let headers = [("traceparent".parse().unwrap(), value.parse().unwrap())];
            LogField::Trace.of(&HeaderMap::from_iter(headers))
        };
        assert_eq!(trace(&format!("00-{id}-0123456789012345-01")).as_deref(), Some(id));
        assert_eq!(trace(&format!("cc-{id}-0123456789012345-01-more")).as_deref(), Some(id));
        let zeros = "0".repeat(32);
        for invalid in [
            String::new(),
            id.to_owned(),
            format!("00-{id}-0123456789012345-01-more"),
            format!("ff-{id}-0123456789012345-01"),
            format!("00-{}-0123456789012345-01", id.to_uppercase()),
            format!("00-{zeros}-0123456789012345-01"),
            format!("00-{id}-0000000000000000-01"),
            format!("00-{id}-0123456789012345"),
        ] {
            assert_eq!(trace(&invalid), None, "{invalid}");
        }
        let name: http::HeaderName = "traceparent".parse().unwrap();
        let one: http::HeaderValue = format!("00-{id}-0123456789012345-01").parse().unwrap();
        let mut twice = HeaderMap::from_iter([(name.clone(), one.clone())]);
        twice.append(name, one);
        assert_eq!(LogField::Trace.of(&twice), None);
    }
}

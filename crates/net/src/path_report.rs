//! A server's report on its use of a remembered path: `Server-Timing: path;desc="resumed"` after
//! the content.
//!
//! A response's head is sent before the RTT that Careful Resume waits for is confirmed (RFC 9959
//! §3.2), so the report is a trailer. Clients announce that they accept trailers (`TE: trailers`,
//! RFC 9110 §10.1.4).

use bentpipe_quic::congestion::ResumeHandle;
use bentpipe_quic::congestion::resume::Refusal;
use http::header::{HeaderMap, HeaderName, HeaderValue, TE};

/// The header field (W3C Server Timing, §3).
const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

/// What a server did with its memory of a connection's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathReport {
    /// It remembered nothing, or its memory was disabled.
    Unknown,
    /// It remembered the path and did not use that: the RTT differed, or there was too little to
    /// send.
    Known,
    /// It remembered the path, and another connection of the client's network used that.
    InUse,
    /// It jumped to a window that the path had carried before.
    Resumed,
    /// It jumped, and the path did not carry the window.
    Retreated,
}

impl PathReport {
    /// All reports.
    pub(crate) const ALL: [Self; 5] =
        [Self::Unknown, Self::Known, Self::InUse, Self::Resumed, Self::Retreated];

    /// Returns the report in one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Known => "known",
            Self::InUse => "in_use",
            Self::Resumed => "resumed",
            Self::Retreated => "retreated",
        }
    }

    /// Returns the report of a connection at present.
    pub(crate) fn of(resume: &ResumeHandle) -> Self {
        let offered = resume.resume_state().offered;
        match (resume.retreated(), resume.jumped(), resume.refusal(), offered) {
            (true, ..) => Self::Retreated,
            (_, true, ..) => Self::Resumed,
            (_, _, Some(Refusal::InUse), _) => Self::InUse,
            (.., Some(_)) => Self::Known,
            (.., None) => Self::Unknown,
        }
    }

    /// Returns the trailers with the report.
    pub(crate) fn trailers(self) -> HeaderMap {
        let value = HeaderValue::from_str(&format!("path;desc=\"{}\"", self.name()));
        value.into_iter().map(|value| (SERVER_TIMING, value)).collect()
    }

    /// Reads the report from trailers, if they have one.
    pub fn from_trailers(trailers: &HeaderMap) -> Option<Self> {
        let values = trailers.get_all(SERVER_TIMING).iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).find_map(|metric| {
            let word = metric.trim().strip_prefix("path;desc=")?.trim_matches('"');
            Self::ALL.into_iter().find(|known| known.name() == word)
        })
    }
}

/// Returns whether the client accepts trailers.
pub(crate) fn accepts_trailers(headers: &HeaderMap) -> bool {
    let values = headers.get_all(TE).iter().filter_map(|value| value.to_str().ok());
    values
        .flat_map(|value| value.split(','))
        .any(|coding| coding.trim().eq_ignore_ascii_case("trailers"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_reads_what_a_server_reports() {
        for report in PathReport::ALL {
            assert_eq!(PathReport::from_trailers(&report.trailers()), Some(report));
        }
        let trailers = |value: &'static str| {
            HeaderMap::from_iter([(SERVER_TIMING, HeaderValue::from_static(value))])
        };
        let among = trailers("cache;dur=1, path;desc=\"known\"");
        assert_eq!(PathReport::from_trailers(&among), Some(PathReport::Known));
        for other in ["path", "path;desc=\"elsewhere\"", "total;dur=3", ""] {
            assert_eq!(PathReport::from_trailers(&trailers(other)), None, "{other}");
        }
    }

    #[test]
    fn trailers_need_a_client_that_accepts_them() {
        let accepts = |value: &'static str| {
            accepts_trailers(&HeaderMap::from_iter([(TE, HeaderValue::from_static(value))]))
        };
        assert!(accepts("trailers") && accepts("gzip;q=0.5, Trailers"));
        assert!(!accepts("gzip") && !accepts("") && !accepts_trailers(&HeaderMap::new()));
    }
}

//! What a server says of the use it made of a remembered path: `Server-Timing: path;desc="resumed"`
//! after the content.
//!
//! A response's head leaves before the round trip is confirmed that Careful Resume waits for (RFC
//! 9959 §3.2), so that only a trailer can tell; clients that take trailers say so (`TE: trailers`,
//! RFC 9110 §10.1.4).

use bentpipe_quic::congestion::ResumeHandle;
use http::header::{HeaderMap, HeaderName, HeaderValue, TE};

/// The header field (W3C Server Timing, §3).
const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

/// What became of what a server remembered of a connection's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathReport {
    /// It remembered nothing, or was not to.
    Unknown,
    /// It remembered a path, and did not use that: the round trip differed, another connection used
    /// it, or there was too little to send.
    Known,
    /// It jumped to a window that the path has carried before.
    Resumed,
    /// It jumped, and the path did not carry it.
    Retreated,
}

impl PathReport {
    /// Every one.
    const ALL: [Self; 4] = [Self::Unknown, Self::Known, Self::Resumed, Self::Retreated];

    /// In one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Known => "known",
            Self::Resumed => "resumed",
            Self::Retreated => "retreated",
        }
    }

    /// What a connection's notes say now.
    pub(crate) fn of(notes: &ResumeHandle) -> Self {
        match (notes.retreated(), notes.jumped(), notes.resume_state().offered) {
            (true, _, _) => Self::Retreated,
            (_, true, _) => Self::Resumed,
            (_, _, Some(_)) => Self::Known,
            (_, _, None) => Self::Unknown,
        }
    }

    /// The trailers that tell it.
    pub(crate) fn trailers(self) -> HeaderMap {
        let value = HeaderValue::from_str(&format!("path;desc=\"{}\"", self.name()));
        value.into_iter().map(|value| (SERVER_TIMING, value)).collect()
    }

    /// What trailers tell; nothing where they say nothing of it.
    pub fn from_trailers(trailers: &HeaderMap) -> Option<Self> {
        let values = trailers.get_all(SERVER_TIMING).iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).find_map(|metric| {
            let word = metric.trim().strip_prefix("path;desc=")?.trim_matches('"');
            Self::ALL.into_iter().find(|known| known.name() == word)
        })
    }
}

/// Whether a request's sender takes trailers.
pub(crate) fn takes_trailers(headers: &HeaderMap) -> bool {
    let values = headers.get_all(TE).iter().filter_map(|value| value.to_str().ok());
    values
        .flat_map(|value| value.split(','))
        .any(|coding| coding.trim().eq_ignore_ascii_case("trailers"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_tells_is_what_a_client_reads() {
        for told in PathReport::ALL {
            assert_eq!(PathReport::from_trailers(&told.trailers()), Some(told));
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
    fn trailers_are_for_those_who_take_them() {
        let takes = |value: &'static str| {
            takes_trailers(&HeaderMap::from_iter([(TE, HeaderValue::from_static(value))]))
        };
        assert!(takes("trailers") && takes("gzip;q=0.5, Trailers"));
        assert!(!takes("gzip") && !takes("") && !takes_trailers(&HeaderMap::new()));
    }
}

//! Conditional requests (RFC 9110 §13).

use http::HeaderMap;
use http::header::{IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Identifies the version of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Validators {
    /// The strong entity tag (RFC 9110 §8.8.3), with its quotes.
    pub etag: String,
    /// Time of the last change, in whole seconds as in HTTP.
    pub modified: SystemTime,
}

/// The result of a request's conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// The conditions hold.
    Holds,
    /// The client has the current version: 304.
    NotModified,
    /// The client wanted another version: 412.
    Failed,
}

impl Validators {
    /// Returns the validators of a file of `length` bytes that was changed at `modified`.
    pub fn new(modified: SystemTime, length: u64) -> Self {
        let since = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        let whole = UNIX_EPOCH + Duration::from_secs(since.as_secs());
        Self { etag: format!("\"{:x}-{length:x}\"", since.as_nanos()), modified: whole }
    }

    /// Returns the validators of the same version in a content coding: each representation has an
    /// entity tag of its own (RFC 9110 §8.8.3.3).
    pub fn coded(mut self, coding: &str) -> Self {
        // Before the closing quote.
        self.etag.truncate(self.etag.len() - 1);
        self.etag.extend(["-", coding, "\""]);
        self
    }

    /// Checks the conditions of a GET or HEAD request in the order of RFC 9110 §13.2.2.
    pub fn check(&self, headers: &HeaderMap) -> Condition {
        if headers.contains_key(IF_MATCH) {
            if !self.is_listed(headers, &IF_MATCH, false) {
                return Condition::Failed;
            }
        } else if let Some(since) = date(headers, &IF_UNMODIFIED_SINCE)
            && self.modified > since
        {
            return Condition::Failed;
        }
        if headers.contains_key(IF_NONE_MATCH) {
            if self.is_listed(headers, &IF_NONE_MATCH, true) {
                return Condition::NotModified;
            }
        } else if let Some(since) = date(headers, &IF_MODIFIED_SINCE)
            && self.modified <= since
        {
            return Condition::NotModified;
        }
        Condition::Holds
    }

    /// Returns whether a range may be served (RFC 9110 §13.1.5): there is no condition, or it names
    /// this version. A date does not identify a version.
    pub fn allows_range(&self, headers: &HeaderMap) -> bool {
        let Some(condition) = headers.get(IF_RANGE) else { return true };
        condition.as_bytes() == self.etag.as_bytes()
    }

    /// Returns whether the entity tags of a header include this version. A weak comparison ignores
    /// `W/` (RFC 9110 §8.8.3.2).
    fn is_listed(&self, headers: &HeaderMap, name: &http::HeaderName, weakly: bool) -> bool {
        headers
            .get_all(name)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .any(|tag| {
                let tag = tag.trim();
                tag == "*"
                    || tag == self.etag
                    || (weakly && tag.strip_prefix("W/") == Some(&self.etag))
            })
    }
}

fn date(headers: &HeaderMap, name: &http::HeaderName) -> Option<SystemTime> {
    // An invalid date is ignored (RFC 9110 §13.1.3).
    httpdate::parse_http_date(headers.get(name)?.to_str().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_checked_by_rfc_9110() {
        let file = Validators::new(UNIX_EPOCH + Duration::new(1_000_000_000, 500), 16);
        assert_eq!(file.etag, "\"de0b6b3a76401f4-10\"");
        let date = |seconds: i64| {
            httpdate::fmt_http_date(
                UNIX_EPOCH + Duration::from_secs((1_000_000_000 + seconds) as u64),
            )
        };
        let etag = file.etag.clone();
        for (name, value, condition) in [
            (IF_NONE_MATCH, etag.clone(), Condition::NotModified),
            (IF_NONE_MATCH, format!("\"x\", W/{etag}"), Condition::NotModified),
            (IF_NONE_MATCH, "*".to_owned(), Condition::NotModified),
            (IF_NONE_MATCH, "\"x\"".to_owned(), Condition::Holds),
            (IF_MODIFIED_SINCE, date(0), Condition::NotModified),
            (IF_MODIFIED_SINCE, date(-1), Condition::Holds),
            (IF_MODIFIED_SINCE, "yesterday".to_owned(), Condition::Holds),
            (IF_MATCH, etag.clone(), Condition::Holds),
            (IF_MATCH, format!("W/{etag}"), Condition::Failed),
            (IF_UNMODIFIED_SINCE, date(0), Condition::Holds),
            (IF_UNMODIFIED_SINCE, date(-1), Condition::Failed),
        ] {
            let headers = HeaderMap::from_iter([(name.clone(), value.parse().unwrap())]);
            assert_eq!(file.check(&headers), condition, "{name}: {value}");
        }
    }

    #[test]
    fn a_range_needs_the_same_version() {
        let file = Validators::new(UNIX_EPOCH + Duration::from_secs(1_000_000_000), 16);
        let with = |value: &str| HeaderMap::from_iter([(IF_RANGE, value.parse().unwrap())]);
        assert!(file.allows_range(&HeaderMap::new()));
        assert!(file.allows_range(&with(&file.etag)));
        assert!(!file.allows_range(&with(&format!("W/{}", file.etag))));
        assert!(!file.allows_range(&with("Sun, 09 Sep 2001 01:46:40 GMT")));
    }
}

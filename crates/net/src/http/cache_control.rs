//! The Cache-Control field of responses (RFC 9111 §5.2).

use http::HeaderValue;
use std::str::FromStr;
use thiserror::Error;

/// Directives whose argument is a time in seconds (RFC 9111 §5.2.2, RFC 5861).
const SECONDS: [&str; 4] = ["max-age", "s-maxage", "stale-while-revalidate", "stale-if-error"];

/// Why a value of Cache-Control is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "{reason}; allowed: directives with commas between them, such as `no-cache` or \
     `public, max-age=3600`"
)]
pub struct CacheControlError {
    reason: String,
}

/// A value of Cache-Control: one or more directives.
///
/// Caches ignore what they do not understand, so a mistake would have no other effect than files
/// that are cached for a wrong time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheControl(HeaderValue);

impl CacheControl {
    /// Returns the value of the field.
    pub fn value(&self) -> HeaderValue {
        self.0.clone()
    }
}

impl FromStr for CacheControl {
    type Err = CacheControlError;

    fn from_str(text: &str) -> Result<Self, CacheControlError> {
        let wrong = |reason: String| CacheControlError { reason };
        for directive in directives(text) {
            let directive = directive.trim_matches([' ', '\t']);
            let (name, argument) = match directive.split_once('=') {
                Some((name, argument)) => (name, Some(argument)),
                None => (directive, None),
            };
            if !is_token(name) || argument.is_some_and(|text| !is_token(text) && !is_quoted(text)) {
                return Err(wrong(format!("`{}` is no directive", directive.escape_debug())));
            }
            let timed = SECONDS.iter().any(|timed| name.eq_ignore_ascii_case(timed));
            let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            if timed && !argument.is_some_and(is_number) {
                return Err(wrong(format!("`{directive}` is not a number of seconds")));
            }
        }
        let value = HeaderValue::from_str(text.trim_matches([' ', '\t']));
        value.map(Self).map_err(|_| wrong("it is no value of a header field".to_owned()))
    }
}

/// Splits `text` at its commas, except those between quotes.
fn directives(text: &str) -> impl Iterator<Item = &str> {
    let (mut quoted, mut escaped) = (false, false);
    text.split(move |c| {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ => {}
        }
        c == ',' && !quoted
    })
}

/// Returns whether `text` is a token (RFC 9110 §5.6.2).
fn is_token(text: &str) -> bool {
    let other = b"!#$%&'*+-.^_`|~";
    !text.is_empty() && text.bytes().all(|c| c.is_ascii_alphanumeric() || other.contains(&c))
}

/// Returns whether `text` is a quoted string of visible ASCII and spaces (RFC 9110 §5.6.4).
fn is_quoted(text: &str) -> bool {
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let mut escaped = false;
    let fine = inner.is_some_and(|inner| {
        inner.bytes().all(|byte| {
            let is_end = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            matches!(byte, b' '..=b'~') && !is_end
        })
    });
    fine && !escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_are_accepted_as_they_are() {
        for text in [
            "no-cache",
            "no-store",
            "public, max-age=3600",
            "Max-Age=0,must-revalidate",
            "public,max-age=31536000, immutable",
            "private=\"set-cookie, a\\\"b\", stale-if-error=60",
            "community=\"UCI\"",
        ] {
            let value = text.parse::<CacheControl>().map(|parsed| parsed.value());
            assert_eq!(value, Ok(HeaderValue::from_str(text).unwrap()), "{text}");
        }
        assert_eq!(" no-cache ".parse::<CacheControl>().unwrap().value(), "no-cache");
    }

    #[test]
    fn mistakes_are_refused_with_what_is_allowed() {
        for (text, reason) in [
            ("", "`` is no directive"),
            ("no-cache,", "`` is no directive"),
            ("max-age: 3600", "`max-age: 3600` is no directive"),
            ("max-age = 3600", "`max-age = 3600` is no directive"),
            ("public max-age=3600", "`public max-age=3600` is no directive"),
            ("max-age=1h", "`max-age=1h` is not a number of seconds"),
            ("max-age", "`max-age` is not a number of seconds"),
            ("S-MaxAge=-1", "`S-MaxAge=-1` is not a number of seconds"),
            ("max-age=", "`max-age=` is no directive"),
            ("private=\"a", "`private=\\\"a` is no directive"),
            ("private=\"a\\\"", "`private=\\\"a\\\\\\\"` is no directive"),
            ("private=\"a\"b\"", "`private=\\\"a\\\"b\\\"` is no directive"),
            ("no-cache\r\nx: y", "`no-cache\\r\\nx: y` is no directive"),
            ("a=\"é\"", "`a=\\\"é\\\"` is no directive"),
        ] {
            let error = text.parse::<CacheControl>().unwrap_err().to_string();
            assert!(error.starts_with(reason), "{text}: {error}");
            assert!(error.ends_with("or `public, max-age=3600`"), "{error}");
        }
    }
}

//! Name and password of clients of an explicit proxy. Only their digest is kept.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{Context, SHA256};
use std::fmt;

/// A name and a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials([u8; 32]);

impl Credentials {
    /// Parses a line `name:password`. The name has no colon (RFC 7617 §2), and both have 1 to 255
    /// bytes (RFC 1929 §2).
    pub fn parse(line: &str) -> Option<Self> {
        let (name, password) = line.trim_end_matches(['\r', '\n']).split_once(':')?;
        let fits = |text: &str| (1..=255).contains(&text.len()) && !text.contains(char::is_control);
        (fits(name) && fits(password)).then(|| Self(digest(name.as_bytes(), password.as_bytes())))
    }

    /// Returns whether name and password match. The comparison of digests does not reveal them by
    /// its duration.
    pub(super) fn matches(&self, name: &[u8], password: &[u8]) -> bool {
        // The digest of a name with a colon could be that of another name and password.
        !name.contains(&b':') && digest(name, password) == self.0
    }

    /// Returns whether a field of HTTP matches: `Basic` and `name:password` in base64 (RFC 7617
    /// §2).
    pub(super) fn match_basic(&self, field: &[u8]) -> bool {
        let Some((scheme, coded)) = field.split_at_checked(6) else { return false };
        let coded = coded.trim_ascii();
        if !scheme.eq_ignore_ascii_case(b"basic ") {
            return false;
        }
        let Ok(plain) = STANDARD.decode(coded) else { return false };
        let mut parts = plain.splitn(2, |byte| *byte == b':');
        let (name, password) = (parts.next().unwrap_or_default(), parts.next());
        password.is_some_and(|password| self.matches(name, password))
    }
}

fn digest(name: &[u8], password: &[u8]) -> [u8; 32] {
    let mut context = Context::new(&SHA256);
    context.update(name);
    context.update(b":");
    context.update(password);
    context.finish().as_ref().try_into().unwrap_or_default()
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_name_and_password_match() {
        let credentials = Credentials::parse("user:pass:word\n").unwrap();
        assert!(credentials.matches(b"user", b"pass:word"));
        assert!(!credentials.matches(b"user:pass", b"word"));
        assert!(!credentials.matches(b"user", b""));
        assert!(credentials.match_basic(b"basic dXNlcjpwYXNzOndvcmQ="));
        for wrong in
            [&b""[..], b"Basic", b"Basic !", b"Bearer dXNlcjpwYXNzOndvcmQ=", b"Basic dXNlcg=="]
        {
            assert!(!credentials.match_basic(wrong));
        }
        assert_eq!(format!("{credentials:?}"), "Credentials");
    }

    #[test]
    fn lines_without_name_or_password_are_refused() {
        for line in ["", "user", "user:", ":pass", "us\ter:pass", &format!("{}:x", "u".repeat(256))]
        {
            assert!(Credentials::parse(line).is_none(), "{line}");
        }
    }
}

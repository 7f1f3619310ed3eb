//! Names and passwords of clients of an explicit proxy. Only their digests are kept.

use crate::tls::open_to_others;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{Context, SHA256};
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Names, each with a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    digests: Vec<[u8; 32]>,
    /// Who else may read the file that they came from.
    warning: Option<String>,
}

/// A file has no credentials.
#[derive(Debug, Error)]
pub enum CredentialsError {
    /// It cannot be read.
    #[error("{}: {error}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// It has none, or a line that is none.
    #[error("{} has no valid credentials; allowed: lines NAME:PASSWORD", .0.display())]
    Invalid(PathBuf),
}

impl Credentials {
    /// Reads the lines of `file`.
    ///
    /// # Errors
    /// The file cannot be read, or [`Credentials::parse`] does not take what it holds.
    pub fn from_file(file: &Path) -> Result<Self, CredentialsError> {
        let fails = |error| CredentialsError::Unreadable { file: file.to_owned(), error };
        let mut opened = File::open(file).map_err(fails)?;
        // Of the open file, so that it describes what is read.
        let metadata = opened.metadata().map_err(fails)?;
        let mut text = String::new();
        opened.read_to_string(&mut text).map_err(fails)?;
        let invalid = || CredentialsError::Invalid(file.to_owned());
        let credentials = Self::parse(&text).ok_or_else(invalid)?;
        let warning = open_to_others(&metadata)
            .map(|why| format!("passwords in {}: {why} (chmod 640 {0})", file.display()));
        Ok(Self { warning, ..credentials })
    }

    /// Returns a warning, with what to do, if other users may read or change the file.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// Parses lines `name:password`, at least one. A name has no colon (RFC 7617 §2), and both have
    /// 1 to 255 bytes (RFC 1929 §2). Empty lines count for nothing.
    pub fn parse(text: &str) -> Option<Self> {
        let fits = |text: &str| (1..=255).contains(&text.len()) && !text.contains(char::is_control);
        let lines = text.lines().filter(|line| !line.is_empty()).map(|line| {
            let (name, password) = line.split_once(':')?;
            (fits(name) && fits(password)).then(|| digest(name.as_bytes(), password.as_bytes()))
        });
        let digests = lines.collect::<Option<Vec<_>>>().filter(|all| !all.is_empty())?;
        Some(Self { digests, warning: None })
    }

    /// Returns whether name and password match. The comparison of digests does not reveal them by
    /// its duration.
    pub(super) fn matches(&self, name: &[u8], password: &[u8]) -> bool {
        // The digest of a name with a colon could be that of another name and password.
        !name.contains(&b':') && self.digests.contains(&digest(name, password))
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
    fn each_line_has_a_name_and_its_password() {
        let credentials = Credentials::parse("anna:one\r\n\nben:two\n").unwrap();
        assert!(credentials.matches(b"anna", b"one") && credentials.matches(b"ben", b"two"));
        assert!(!credentials.matches(b"anna", b"two"));
        assert!(Credentials::parse("anna:one\nben\n").is_none(), "one line is wrong");
    }

    #[test]
    fn a_file_that_others_may_read_is_warned_of() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("credentials");
        std::fs::write(&file, "anna:one\n").unwrap();
        for (mode, warned) in [(0o600, false), (0o640, false), (0o644, true)] {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            let credentials = Credentials::from_file(&file).unwrap();
            let named = credentials.warning().is_some_and(|text| text.contains("mode 0644"));
            assert_eq!(named, warned, "{mode:o}");
        }
    }

    #[test]
    fn lines_without_name_or_password_are_refused() {
        for line in ["", "user", "user:", ":pass", "us\ter:pass", &format!("{}:x", "u".repeat(256))]
        {
            assert!(Credentials::parse(line).is_none(), "{line}");
        }
    }
}

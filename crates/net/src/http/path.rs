//! From a request's path to a file's name: percent-decoding, and nothing that leads out.

use percent_encoding::percent_decode_str;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Longest path of a request, bytes as sent: our choice, what Linux allows for a file's whole name
/// (PATH_MAX).
pub const MAX_PATH: usize = 4096;
/// Longest part of it, bytes decoded: NAME_MAX of the usual file systems.
const MAX_NAME: usize = 255;

/// A path that names no file that could be served. All are answered as what is not there, so that
/// nobody learns what is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PathError {
    /// It does not begin with a slash.
    #[error("the path does not begin with a slash")]
    Relative,
    /// It is too long.
    #[error("a path or name of {0} bytes; allowed: {MAX_PATH} and {MAX_NAME}")]
    Long(usize),
    /// What is decoded is no text, or holds control characters, a slash or a backslash.
    #[error("a name with bytes that no file name here has")]
    Name,
    /// A name that begins with a dot: `.`, `..`, and hidden files.
    #[error("a name that begins with a dot")]
    Dot,
}

/// A file's name below the root: parts without any meaning to the file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestPath {
    below: PathBuf,
    directory: bool,
}

impl RequestPath {
    /// Reads the path of a request's target, without its query (RFC 9110 §4.2.2). Repeated slashes
    /// count as one.
    ///
    /// # Errors
    /// Anything that is not a plain name below the root.
    pub fn parse(path: &str) -> Result<Self, PathError> {
        if path.len() > MAX_PATH {
            return Err(PathError::Long(path.len()));
        }
        let parts = path.strip_prefix('/').ok_or(PathError::Relative)?;
        let mut below = PathBuf::new();
        for part in parts.split('/').filter(|part| !part.is_empty()) {
            // Decoded once: what is still encoded then is a name with percent signs.
            let name = percent_decode_str(part).decode_utf8().map_err(|_| PathError::Name)?;
            if name.starts_with('.') {
                return Err(PathError::Dot);
            }
            if name.len() > MAX_NAME {
                return Err(PathError::Long(name.len()));
            }
            // A colon separates drives and streams of files on some systems.
            let refused =
                |c: char| c.is_control() || matches!(c, '/' | '\\') || (cfg!(windows) && c == ':');
            if name.contains(refused) {
                return Err(PathError::Name);
            }
            below.push(&*name);
        }
        Ok(Self { below, directory: path.ends_with('/') })
    }

    /// The name below the root; empty for the root itself.
    pub fn below(&self) -> &Path {
        &self.below
    }

    /// Whether the path ends as that of a directory does.
    pub const fn is_directory(&self) -> bool {
        self.directory
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::Component;

    #[test]
    fn plain_names_are_read() {
        for (path, below) in [
            ("/", ""),
            ("/a", "a"),
            ("//a///b/", "a/b"),
            ("/a%20b/%C3%A9", "a b/é"),
            ("/a%2525", "a%25"),
        ] {
            assert_eq!(RequestPath::parse(path).unwrap().below(), Path::new(below), "{path}");
        }
        assert!(RequestPath::parse("/a/").unwrap().is_directory());
        assert!(!RequestPath::parse("/a").unwrap().is_directory());
    }

    #[test]
    fn what_leads_out_or_hides_is_refused() {
        use PathError::{Dot, Long, Name, Relative};
        let long = format!("/{}", "a".repeat(256));
        for (path, error) in [
            ("/../etc/passwd", Dot),
            ("/a/../../b", Dot),
            ("/%2e%2e/b", Dot),
            ("/.%2e/b", Dot),
            ("/.git/config", Dot),
            ("/./a", Dot),
            ("/a%2fb", Name),
            ("/a%5c..%5cb", Name),
            ("/a\\b", Name),
            ("/a%00", Name),
            ("/%ff", Name),
            ("/a%0a", Name),
            ("a", Relative),
            ("*", Relative),
            ("", Relative),
            (long.as_str(), Long(256)),
        ] {
            assert_eq!(RequestPath::parse(path), Err(error), "{path}");
        }
        assert_eq!(RequestPath::parse(&"/a".repeat(2049)), Err(Long(4098)));
    }

    proptest! {
        #[test]
        fn any_text_gives_plain_names_or_an_error(path in "(/|%2e|%2E|\\.|%2f|%5c|\\\\|a|%00|%|\\PC){0,24}") {
            if let Ok(read) = RequestPath::parse(&path) {
                prop_assert!(read.below().components().all(|part| matches!(part, Component::Normal(_))));
                prop_assert!(read.below().is_relative());
            }
        }
    }
}

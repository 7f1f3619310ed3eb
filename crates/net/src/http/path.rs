//! Conversion of a request's path to a file name below the root.

use percent_encoding::percent_decode_str;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Longest path of a request as sent, bytes. Our choice: PATH_MAX of Linux.
pub const MAX_PATH: usize = 4096;
/// Longest decoded segment, bytes: NAME_MAX of common file systems.
const MAX_NAME: usize = 255;

/// Why a path cannot be served. Clients see all of these as absent files, so that they do not learn
/// which files exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PathError {
    /// It does not begin with a slash.
    #[error("the path does not begin with a slash")]
    Relative,
    /// It is too long.
    #[error("a path or name has {0} bytes; allowed: {MAX_PATH} and {MAX_NAME}")]
    Long(usize),
    /// A decoded name is not UTF-8, or has control characters, a slash or a backslash.
    #[error("a name is not UTF-8, or has a control character, a slash or a backslash")]
    Name,
    /// A name begins with a dot: `.`, `..` and hidden files.
    #[error("a name begins with a dot")]
    Dot,
}

/// A file name below the root, of segments without a special meaning to the file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestPath {
    below: PathBuf,
    directory: bool,
}

impl RequestPath {
    /// Parses the path of a request's target, without its query (RFC 9110 §4.2.2). Repeated slashes
    /// count as one.
    ///
    /// # Errors
    /// The path is not a plain name below the root.
    pub fn parse(path: &str) -> Result<Self, PathError> {
        if path.len() > MAX_PATH {
            return Err(PathError::Long(path.len()));
        }
        let parts = path.strip_prefix('/').ok_or(PathError::Relative)?;
        let mut below = PathBuf::new();
        for part in parts.split('/').filter(|part| !part.is_empty()) {
            // Decoded once. Further percent signs belong to the name.
            let name = percent_decode_str(part).decode_utf8().map_err(|_| PathError::Name)?;
            if name.starts_with('.') {
                return Err(PathError::Dot);
            }
            if name.len() > MAX_NAME {
                return Err(PathError::Long(name.len()));
            }
            // On Windows, a colon separates drives and file streams.
            let refused =
                |c: char| c.is_control() || matches!(c, '/' | '\\') || (cfg!(windows) && c == ':');
            if name.contains(refused) {
                return Err(PathError::Name);
            }
            below.push(&*name);
        }
        Ok(Self { below, directory: path.ends_with('/') })
    }

    /// Returns the name below the root. Empty for the root itself.
    pub fn below(&self) -> &Path {
        &self.below
    }

    /// Returns whether the path ends in a slash.
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
    fn plain_names_are_parsed() {
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
    fn names_outside_the_root_and_hidden_names_are_refused() {
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
        fn any_text_gives_plain_names_or_an_error(
            path in "(/|%2e|%2E|\\.|%2f|%5c|\\\\|a|%00|%|\\PC){0,24}",
        ) {
            if let Ok(parsed) = RequestPath::parse(&path) {
                let below = parsed.below();
                prop_assert!(below.components().all(|part| matches!(part, Component::Normal(_))));
                prop_assert!(below.is_relative());
            }
        }
    }
}

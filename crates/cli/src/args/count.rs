//! Parser for counts, which every build of the command needs.

use std::num::NonZeroUsize;

/// Parses a number of at least 1.
pub fn count(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "allowed: at least 1".to_owned())
}

//! Parser for numbers of runs.

use std::num::NonZeroUsize;

/// Parses a number of parallel runs or repeats.
pub fn count(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "allowed: at least 1".to_owned())
}

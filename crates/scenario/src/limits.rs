//! Checks of single values, shared by the sections of a scenario.

use crate::error::{Problem, quoted};
use bentpipe_units::Span;
use serde_spanned::Spanned;
use std::ops::Range;

/// Size of the IPv4 and UDP headers, in bytes.
pub const HEADERS: u64 = 28;
/// Result of a check.
pub type Check = Result<(), Problem>;

/// Returns an error if `value` is not within `low` and `high`.
pub fn between(key: &str, value: &Spanned<u64>, low: u64, high: u64) -> Check {
    if (low..=high).contains(value.get_ref()) {
        return Ok(());
    }
    Err(Problem::new(
        value.span(),
        format!("`{key}` of {value} is out of range; allowed: {low} to {high}"),
    ))
}

/// Returns an error if a time is zero.
pub fn above_zero(key: &str, value: &Spanned<Span>) -> Check {
    if !value.get_ref().is_zero() {
        return Ok(());
    }
    Err(Problem::new(value.span(), format!("`{key}` is {value}; allowed: above 0 s")))
}

/// Returns an error if none or several of `given` are set. `none` describes what is missing.
pub fn one_of(given: &[(&str, bool)], span: Range<usize>, none: &str) -> Check {
    let names: Vec<&str> = given.iter().map(|(name, _)| *name).collect();
    let found: Vec<&str> =
        given.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect();
    match found.len() {
        1 => Ok(()),
        0 => Err(Problem::new(span, format!("{none}; allowed: one of {}", quoted(&names)))),
        _ => Err(Problem::new(
            span,
            format!("{} exclude each other; allowed: one of {}", quoted(&found), quoted(&names)),
        )),
    }
}

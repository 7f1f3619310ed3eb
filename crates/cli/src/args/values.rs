//! Values of options, read so that what would make no sense is refused with what does.

use bentpipe_units::Span;

/// How many, where none would let nobody in.
pub fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|count| *count > 0).ok_or_else(|| "allowed: at least 1".to_owned())
}

/// A time that has to pass until something is given up.
pub fn some_time(text: &str) -> Result<Span, String> {
    let time: Span = text.parse().map_err(|error| format!("{error}"))?;
    if time.is_zero() { Err("allowed: more than 0 s".to_owned()) } else { Ok(time) }
}

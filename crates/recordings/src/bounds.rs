//! How much a file must have, and may have.

use crate::error::ImportError;
use crate::measured::RateBin;

const NANOS: i64 = 1_000_000_000;
/// Fewest values that a file must have.
const LEAST: usize = 20;
/// Longest time that a recording may have, as links take it, in nanoseconds: a week.
pub const LONGEST: i64 = 604_800 * NANOS;

/// Highest rate that a recording may have, as links take it, in bit/s.
const MAX_BPS: f64 = 1e15;
/// Most rows that a recording may have, as links take it.
pub const MAX_ROWS: usize = 2_000_000;

/// Returns an error if a file has more values than a recording may have rows.
pub fn many(name: &str, values: usize) -> Result<(), ImportError> {
    if values <= MAX_ROWS {
        return Ok(());
    }
    let problem = format!("it has {values} values; allowed: up to {MAX_ROWS}, a part of it");
    Err(ImportError::File { file: name.to_owned(), problem })
}

/// Returns an error if a file has too few values to say something.
pub fn few(name: &str, values: usize) -> Result<(), ImportError> {
    if values >= LEAST {
        return Ok(());
    }
    let remedy = format!("allowed: {LEAST} or more, of a longer measurement");
    let problem = format!("it has {values} values; {remedy}");
    Err(ImportError::File { file: name.to_owned(), problem })
}

/// Returns an error if a rate is none that a recording may have.
pub fn possible(name: &str, bins: &[RateBin]) -> Result<(), ImportError> {
    let Some(wrong) = bins.iter().find(|bin| !(0.0..=MAX_BPS).contains(&bin.bps)) else {
        return Ok(());
    };
    let problem = format!(
        "{:e} bit/s for {:.3} s; allowed: 0 to {MAX_BPS:e} bit/s",
        wrong.bps,
        wrong.end.saturating_sub(wrong.start) as f64 / NANOS as f64
    );
    Err(ImportError::File { file: name.to_owned(), problem })
}

/// Returns an error if times are further apart than a recording may be long.
pub fn short(name: &str, times: impl Iterator<Item = i64> + Clone) -> Result<(), ImportError> {
    let (first, last) = (times.clone().min().unwrap_or(0), times.max().unwrap_or(0));
    if last.saturating_sub(first) <= LONGEST {
        return Ok(());
    }
    let days = last.saturating_sub(first) as f64 / (86_400 * NANOS) as f64;
    let problem = format!("its times span {days:.1} days; allowed: a part of at most 7 days");
    Err(ImportError::File { file: name.to_owned(), problem })
}

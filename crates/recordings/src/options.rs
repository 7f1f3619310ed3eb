//! What the user knows and no file says.

use crate::bounds::LONGEST;
use crate::measured::Direction;
use bentpipe_units::{Rate, Span};

/// What the user knows and no file says.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Options {
    /// How much later than the rates the delays began.
    pub offset: Option<Span>,
    /// Time between pings of a file in which no line has a time.
    pub interval: Option<Span>,
    /// Direction of rates and losses of which neither a file nor its name says it.
    pub direction: Option<Direction>,
    /// Second of the UTC minute, modulo 15 s, at which the path reconfigures.
    pub phase: Option<Span>,
    /// Rate of directions for which no file has one.
    pub rate: Option<Rate>,
    /// Rates of transfers, up and down, for directions for which no file has one: lower bounds.
    pub transfers: [Option<Rate>; 2],
    /// Licence of the files.
    pub licence: Option<String>,
}

/// Reads a phase of reconfigurations: a time of the UTC minute, or `none`.
///
/// # Errors
/// What is allowed.
pub fn phase(text: &str) -> Result<Option<Span>, String> {
    if text == "none" {
        return Ok(None);
    }
    let span: Span = text.parse().map_err(|error| format!("{error}"))?;
    if span < Span::from_secs(60) {
        Ok(Some(span))
    } else {
        Err("allowed: 0 s to below 1 min, or none".to_owned())
    }
}

/// Reads how much later the delays began: within what a recording may be long.
///
/// # Errors
/// What is allowed.
pub fn offset(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|error| format!("{error}"))?;
    if span <= Span::from_nanos(LONGEST.unsigned_abs()) {
        Ok(span)
    } else {
        Err("allowed: 0 s to 7 days".to_owned())
    }
}

/// Reads the time between two pings.
///
/// # Errors
/// What is allowed.
pub fn interval(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|error| format!("{error}"))?;
    if (Span::from_millis(1)..=Span::from_secs(3600)).contains(&span) {
        Ok(span)
    } else {
        Err("allowed: 1 ms to 1 h".to_owned())
    }
}

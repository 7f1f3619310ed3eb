//! mahimahi's and LeoReplayer's files: a number on each line.

use crate::error::Fault;
use crate::format::Format;
use crate::measured::{Content, Measured, Times};
use crate::table::{bounded, number, shown};

/// Step of LeoReplayer's delays in milliseconds.
const STEP_MS: u32 = 10;

/// Returns true if a line is a number.
pub fn is_number(line: &str) -> bool {
    line.parse::<f64>().is_ok()
}

/// Returns true if the text is a trace: whole numbers that rise. A few that fall are mistakes that
/// [`opportunities`] refuses; delays fall as often as they rise.
pub fn is_trace(text: &str) -> bool {
    let (mut first, mut last, mut rise, mut fall) = (None, 0u32, 0usize, 0usize);
    for line in text.lines() {
        let Ok(at) = line.trim().parse::<u32>() else {
            // A trace with a damaged line is a trace up to there.
            break;
        };
        rise += usize::from(first.is_some() && at > last);
        fall += usize::from(first.is_some() && at < last);
        first = first.or(Some(at));
        last = at;
    }
    first.is_some_and(|first| first < last) && fall * 5 < rise
}

/// Reads a trace of delivery opportunities.
///
/// # Errors
/// A line is no time in milliseconds, or earlier than the one before it.
pub fn opportunities(text: &str) -> Result<Measured, Fault> {
    let mut millis: Vec<u32> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        bounded(millis.len(), index + 1)?;
        let at = line.trim().parse().map_err(|_| {
            let shown = shown(line);
            Fault::at(index + 1, format!("{shown} is no time; allowed: whole milliseconds"))
        })?;
        if millis.last().is_some_and(|last| at < *last) {
            let problem = format!("{at} comes before the line above; allowed: times that rise");
            return Err(Fault::at(index + 1, problem));
        }
        millis.push(at);
    }
    let last = millis.last().copied().unwrap_or_default();
    if last == 0 {
        return Err(Fault::whole("it ends at 0 ms; allowed: a last line above 0"));
    }
    let mbps = millis.len() as f64 * 12e-3 / (f64::from(last) / 1e3);
    let notes = vec![format!(
        "{} opportunities of 1500 B in {:.3} s: {mbps:.3} Mbps",
        millis.len(),
        f64::from(last) / 1e3
    )];
    let content = Content::Opportunities(millis);
    Ok(Measured { format: Format::Mahimahi, content, times: Times::Relative, notes })
}

/// Reads one-way delays.
///
/// # Errors
/// A line is no delay in milliseconds.
pub fn delays(text: &str) -> Result<Measured, Fault> {
    let mut delays_ms = Vec::new();
    for (index, line) in text.lines().enumerate() {
        bounded(delays_ms.len(), index + 1)?;
        delays_ms.push(number(line, index + 1, "delay in ms", (0.0, 3_600_000.0))?);
    }
    if delays_ms.is_empty() {
        return Err(Fault::whole("there is no delay in it"));
    }
    let seconds = delays_ms.len() as f64 * f64::from(STEP_MS) / 1e3;
    let notes = vec![format!("{} one-way delays, one each 10 ms: {seconds} s", delays_ms.len())];
    let content = Content::Delays { step_ms: STEP_MS, delays_ms };
    Ok(Measured { format: Format::LeoReplayer, content, times: Times::Relative, notes })
}

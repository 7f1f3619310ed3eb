//! A connection of a log, and when it began there.

use crate::event::CapturedConnection;
use bentpipe_units::{Span, Time};

/// Least number of seconds that counts from 1970, and not from a start of the trace's own: 1973.
const LEAST_EPOCH: f64 = 1e8;
/// Latest start in a file, in seconds.
const MAX_SECONDS: f64 = 1e6;

/// A connection with the time of its first event.
#[derive(Debug)]
pub struct Logged {
    /// In seconds since 1970, or since a point that the connections of its trace share.
    pub start: f64,
    /// Number of its trace in the file. Connections of a trace share its clock.
    pub trace: usize,
    pub connection: CapturedConnection,
}

/// Returns connections with their starts since that of the first. Traces that do not share a clock
/// start at zero each.
pub fn with_starts(logged: Vec<Logged>) -> Vec<(Time, CapturedConnection)> {
    let share_a_clock = logged.windows(2).all(|pair| pair[0].trace == pair[1].trace);
    let first = logged.iter().map(|one| one.start).reduce(f64::min).unwrap_or_default();
    let is_shared = share_a_clock || first >= LEAST_EPOCH;
    let start = |at: f64| {
        let since = if is_shared { at - first } else { 0.0 };
        Time::ZERO + Span::from_secs_f64(since.clamp(0.0, MAX_SECONDS))
    };
    logged.into_iter().map(|one| (start(one.start), one.connection)).collect()
}

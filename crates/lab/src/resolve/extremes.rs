//! The extremes of a path over a run, by which `auto` windows and timeouts are sized.

use bentpipe_units::Span;

/// Longest RTT and longest gap of a path.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Extremes {
    /// Longest RTT without queues.
    pub rtt: Span,
    /// Longest time in which nothing arrives: the sum of the gaps of links and routes, which can
    /// follow each other.
    pub gap: Span,
}

//! Thins acknowledgements on their way over a narrow return link (RFC 3449 §5.2.1).

use crate::segment::Segment;
use bentpipe_units::{Span, Time};

/// Holds pure acknowledgements of connections and lets only the newest of each pass, once an interval.
///
/// Call order: [`AckFilter::offer`] with each segment on its way; [`AckFilter::poll`] at [`AckFilter::next_timeout`], until `None`.
#[derive(Debug)]
pub struct AckFilter {}

#[allow(unused_variables, clippy::todo, reason = "the seam stands before what is behind it")]
impl AckFilter {
    /// A filter that passes one acknowledgement of each connection every `interval`.
    pub fn new(interval: Span) -> Self {
        todo!()
    }

    /// Takes a segment of `connection`. Returns it where it passes at once.
    pub fn offer(&mut self, now: Time, connection: u32, segment: Segment) -> Option<Segment> {
        todo!()
    }

    /// The next held segment that is due, with its connection.
    pub fn poll(&mut self, now: Time) -> Option<(u32, Segment)> {
        todo!()
    }

    /// When a held segment is due.
    pub fn next_timeout(&self) -> Option<Time> {
        todo!()
    }

    /// Acknowledgements that were not passed on.
    pub fn dropped(&self) -> u64 {
        todo!()
    }
}

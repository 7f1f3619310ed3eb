//! Frames at whose ends packets leave together.

use crate::random::Stream;
use bentpipe_units::{Span, Time};

/// Frames at whose ends packets leave together.
#[derive(Debug, Clone)]
pub(super) struct Frames {
    length: Span,
    /// End of the first frame.
    phase: Span,
}

impl Frames {
    /// Creates frames of `length` that begin at a random time.
    pub fn new(length: Span, random: &mut Stream) -> Self {
        Self { length, phase: Span::from_nanos(random.below(length.as_nanos())) }
    }

    /// Returns the end of the frame in which a transmission ended at `at`.
    pub fn end(&self, at: Time) -> Time {
        let first = Time::ZERO + self.phase;
        let into = at.since(first).as_nanos() % self.length.as_nanos();
        if at <= first {
            first
        } else if into == 0 {
            at
        } else {
            at + (self.length - Span::from_nanos(into))
        }
    }
}

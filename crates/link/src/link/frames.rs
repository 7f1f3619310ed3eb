//! Frames at whose ends packets leave together.

use crate::Service;
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

    /// Adds the wait for the end of its frame to the service of a packet that was offered at
    /// `sent`. It follows from the rest, so that packets inside the link need not carry it.
    #[inline]
    pub fn add_wait(frames: &Option<Self>, sent: Time, service: Service) -> Service {
        let Some(frames) = frames else { return service };
        let end = sent + service.queued + service.serialised();
        Service { framed: frames.end(end).since(end), ..service }
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

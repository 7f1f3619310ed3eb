//! Times at which frames are captured.

use bentpipe_units::{Span, Time};

/// Capture times of the frames of a stream: equal intervals without accumulated rounding.
#[derive(Debug, Clone, Copy)]
pub struct FrameClock {
    begun: Time,
    ends: Time,
    per_second: u32,
}

impl FrameClock {
    /// Creates the times from `begun` until before `ends`.
    pub fn new(begun: Time, ends: Time, per_second: u32) -> Self {
        Self { begun, ends, per_second: per_second.max(1) }
    }

    /// Returns when frame number `frame` is captured; `None` after the end of the call.
    pub fn captured(&self, frame: u32) -> Option<Time> {
        let nanos = u64::from(frame) * 1_000_000_000 / u64::from(self.per_second);
        Some(self.begun + Span::from_nanos(nanos)).filter(|&at| at < self.ends)
    }

    /// Returns the time between two frames.
    pub fn interval(&self) -> Span {
        Span::from_secs(1) / u64::from(self.per_second)
    }

    /// Returns the second of the call in which something was captured.
    pub fn second(&self, captured: Time) -> u64 {
        captured.since(self.begun).as_nanos() / 1_000_000_000
    }

    /// Returns the length of the call.
    pub fn duration(&self) -> Span {
        self.ends.since(self.begun)
    }

    /// Returns the end of the call.
    pub fn ends(&self) -> Time {
        self.ends
    }

    /// Returns the start of the call.
    pub fn begun(&self) -> Time {
        self.begun
    }
}

//! The clock of the recordings of a path.

use bentpipe_units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which part of its recordings a run replays. One clock serves all hops and both directions of a
/// path, so that what happened together happens together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayClock {
    /// Time in the recordings at which the run begins; below `length`.
    pub start: Span,
    /// Length that all recordings are cut to, in whole milliseconds above zero.
    pub length: Span,
    /// What follows the end.
    pub at_end: AtEnd,
    /// Times between which a delay is not interpolated: its multiples. `None` for no such times.
    pub period: Option<Span>,
}

impl ReplayClock {
    /// Creates a clock that begins at the start of recordings of `length`, and repeats.
    pub(crate) fn repeating(length: Span) -> Self {
        Self { start: Span::ZERO, length, at_end: AtEnd::Cut, period: None }
    }

    /// Returns true if the recordings begin again after their end.
    pub(crate) fn repeats(&self) -> bool {
        self.at_end == AtEnd::Cut
    }
}

/// What follows the end of the recordings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AtEnd {
    /// All are cut to a common length and begin again.
    #[default]
    Cut,
    /// The last values stay.
    Hold,
    /// No run may last longer.
    End,
}

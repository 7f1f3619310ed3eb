//! Recorded paths: rate, delay and loss as they were measured over time, replayed on one clock.

pub(crate) mod clock;
pub(crate) mod column;
pub(crate) mod columns;
pub(crate) mod file;
mod replay;
pub(crate) mod source;

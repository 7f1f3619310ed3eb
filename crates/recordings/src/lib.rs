//! Measurements of real paths, in the formats of the tools that made them.
//!
//! [`read`] recognises a file by its content and returns what was measured. [`Import`] puts several
//! files on one clock and makes a scenario of them: recordings as CSV, rate traces, what was
//! measured, what was inferred and what nobody knows. [`probing`] and [`instants`] turn our own
//! measurements into such files.
//!
//! Delay that a packet waits for a grant, in an outage or in a queue is in several measurements of
//! one path at once. An import counts each wait once; `waits.rs` has the rules.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read files as they need"))]

mod alignment;
mod bounds;
mod error;
mod format;
mod formats;
mod import;
pub mod instants;
mod list;
mod measured;
pub mod options;
mod origin;
mod outages;
pub mod probing;
mod rows;
mod scenario_text;
mod statistics;
mod summary;
mod table;
mod waits;

pub use error::ImportError;
pub use format::Format;
pub use formats::read;
pub use import::{Import, Input};
pub use measured::{Content, Direction, Measured, Probe, RateBin, Times};
pub use options::Options;
pub use outages::Outage;
pub use summary::Summary;

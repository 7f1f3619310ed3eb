//! Slow-start algorithms, which find the capacity of a path in front of any controller.
//!
//! A controller has its own slow start, called `standard` in scenarios. A [`SlowStart`] replaces
//! it: [`WithSlowStart`] sends by its window and pacing rate until it has found the capacity, then
//! restarts the controller from there.
//!
//! - [`hystart`], [`hystart_plus_plus`], [`search`]: slow starts that end before the queue is full;
//! - [`rapid_start`], [`suss`]: slow starts that grow faster than twofold while no queue builds up;
//! - [`long_path`]: bursts, for paths with the RTT of satellites.

mod algorithm;
pub mod hystart;
pub mod hystart_plus_plus;
mod layer;
pub mod long_path;
pub mod rapid_start;
pub mod search;
pub mod suss;

pub use algorithm::{CapacityEstimate, Progress, SlowStart};
pub use layer::{StartGuard, StartSlot, WithSlowStart};

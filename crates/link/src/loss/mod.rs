//! Losses on a link: one file per loss model.
//!
//! To add a model, write its file after the pattern of the others, declare and list it here, and
//! describe it in the book. `model.rs` defines the trait to implement.

mod bernoulli;
mod blockage;
pub mod bursts;
pub mod config;
mod fixed_count;
mod gilbert_elliott;
mod long_burst;
mod model;
mod periodic;
pub mod preset;
pub(crate) mod process;
mod recording;
mod registry;
mod table;
#[cfg(test)]
mod testing;
mod trace;

use crate::fields::{Field, Fields};
use crate::random::Stream;
use crate::{ConfigError, LinkError, ReadFiles};
use bentpipe_units::Time;
use model::{Model, Process};

registry::loss_models! {
    bernoulli::Bernoulli,
    blockage::Blockage,
    fixed_count::FixedCount,
    gilbert_elliott::GilbertElliott,
    long_burst::LongBurst,
    periodic::Periodic,
    recording::Recording,
    trace::Trace,
}

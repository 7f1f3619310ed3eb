//! The transmitter and its rate.

pub(crate) mod config;
pub(crate) mod delivery_trace;
pub(crate) mod demand;
pub(crate) mod model;
mod on_demand;
mod sent;
pub(crate) mod transmitter;

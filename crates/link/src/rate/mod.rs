//! The transmitter and its rate.

pub(crate) mod config;
pub(crate) mod delivery_trace;
pub(crate) mod model;
pub(crate) mod transmitter;

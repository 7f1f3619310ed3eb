//! The queue in front of the transmitter.

pub(crate) mod codel;
pub(crate) mod config;
pub(crate) mod fifo;
pub(crate) mod limit;
pub(crate) mod littles_law;

//! The queue in front of the transmitter.

pub(crate) mod accepted;
pub(crate) mod config;
pub mod disciplines;
pub(crate) mod limit;
pub(crate) mod link_queue;
pub(crate) mod littles_law;
mod table;
#[cfg(test)]
mod tests;

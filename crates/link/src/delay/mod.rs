//! Propagation delay.

pub(crate) mod config;
pub(crate) mod external;
pub(crate) mod line;
pub(crate) mod model;
mod wifi;

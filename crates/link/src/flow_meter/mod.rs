//! A meter of each flow: a flow that sends too much for too long goes on in a slower class.

pub(crate) mod config;
pub(crate) mod meter;

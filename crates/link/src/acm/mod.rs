//! Adaptive coding and modulation (ACM), by which the rate of a carrier follows a fade.
//!
//! The receiver measures Es/N0 and reports it. The transmitter selects the most efficient MODCOD
//! whose threshold plus margin is below the reported value, one loop delay after the measurement.
//! If the fade consumes the margin before the loop closes, the MODCOD in use cannot be decoded, and
//! packets are lost until the next one takes over. The most robust MODCOD stays in use below its
//! threshold plus margin, and loses packets below its threshold. There is no hysteresis: a MODCOD
//! returns as soon as its margin does.

pub(crate) mod config;
pub(crate) mod curve;
pub(crate) mod fade;
pub(crate) mod modcods;
pub(crate) mod recorded;
pub(crate) mod timeline;

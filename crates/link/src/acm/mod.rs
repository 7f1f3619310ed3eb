//! Adaptive coding and modulation (ACM): what a fade makes of a carrier's rate.
//!
//! The receiver measures Es/N0 and tells the transmitter, which takes the most efficient MODCOD whose threshold and margin lie below it; what it takes at
//! one time goes by the Es/N0 of one loop delay before. Where the fade eats the margin before the loop has closed, the MODCOD in use cannot be decoded, and
//! packets are lost until the next one is. Below the most robust MODCOD there is nothing to change to: it stays in use, and what its threshold says is lost.
//! There is no hysteresis: a MODCOD comes back as soon as the margin does.

pub(crate) mod config;
pub(crate) mod fade;
pub(crate) mod modcods;
mod timeline;

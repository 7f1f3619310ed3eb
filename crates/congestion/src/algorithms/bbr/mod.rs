//! BBR: a model of the path's rate and round-trip time decides how much to send.
//!
//! - [`v1`]: the original of 2016;
//! - [`v3`]: version 3 (draft-ietf-ccwg-bbr);
//! - `common`: what both versions use.

mod common;
pub mod v1;
pub mod v3;

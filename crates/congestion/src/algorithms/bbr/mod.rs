//! BBR: controllers that model the path's rate and RTT.
//!
//! - [`v1`]: the original of 2016;
//! - [`v3`]: version 3 (draft-ietf-ccwg-bbr);
//! - `common`: code shared by both versions.

mod common;
pub mod v1;
pub mod v3;

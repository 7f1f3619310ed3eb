//! The TCP proxy on the real kernel: over the loopback, and in network namespaces with the
//! emulator's path between them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]
#![allow(clippy::disallowed_methods, reason = "the tests run on the real clock")]

mod clients;
mod explicit;
#[path = "../kit/mod.rs"]
mod kit;
mod limits;
mod namespaces;
mod path;
mod tunnel;

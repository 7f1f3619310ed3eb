//! Interoperability tests: clients and servers of other projects over emulated paths.
//!
//! A [`Peer`] is described by `peers/NAME/peer.toml`: the files that show that it is installed, and
//! the commands of its client and its server. [`Matrix::run`] runs every client against every
//! server on the [real clock](bentpipe_emu), each download in its own namespaces and over its own
//! links. [`Outcome`] holds, for each pairing, whether the downloads completed, how well they
//! filled the link, and whether they met the targets of the path.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files as they need"))]

mod download;
mod html;
mod matrix;
mod outcome;
mod peer;
mod placeholders;
mod program;
mod protocol;
mod ready;
mod shared_files;

pub use matrix::{Matrix, Progress};
pub use outcome::{Cell, Outcome, Participant, RunOutcome, Verdict};
pub use peer::{Peer, Role, read_all};
pub use protocol::Protocol;

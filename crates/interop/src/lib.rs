//! Other people's clients and servers over an emulated path, every one against every other.
//!
//! A [`Peer`] is described by `peers/NAME/peer.toml`: how it is told that it is installed, and how
//! its client and its server are run. [`Matrix::play`] runs every client against every server on
//! the [wall clock](bentpipe_emu), each download in namespaces and on links of its own, and
//! [`Outcome`] says of each pairing whether it completed, how well it filled the link and whether
//! it met the path's targets.

mod download;
mod html;
mod matrix;
mod outcome;
mod peer;
mod placeholders;
mod program;
mod ready;
mod stage;

pub use matrix::{Matrix, Progress};
pub use outcome::{Cell, Outcome, Participant, RunOutcome, Verdict};
pub use peer::{Peer, Protocol, Role, read_all};

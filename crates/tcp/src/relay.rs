//! The split-connection proxy (RFC 3135 §3.1.1): what arrives on one connection is sent on another.

use crate::endpoint::{End, MakeController, Transmit};
use crate::segment::Segment;
use crate::settings::Settings;
use bentpipe_congestion::Probe;
use bentpipe_link::Ecn;
use bentpipe_units::{Bytes, Time};
use std::sync::Arc;

/// Which way a proxy looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Face {
    /// Towards the client, which opens.
    Client,
    /// Towards the server.
    Server,
}

/// One connection split in two, with a bounded buffer each way.
///
/// The client's SYN is answered here and now, and a connection towards the server is opened at the same time. A FIN or reset is passed on.
/// Call order as for [`crate::Endpoint`].
#[derive(Debug)]
pub struct Relay {}

#[allow(unused_variables, clippy::todo, reason = "the seam stands before what is behind it")]
impl Relay {
    /// A proxy that waits for the client's SYN. `settings` and `make` are of its two faces: towards the client, towards the server.
    /// `buffer`: bytes it holds at most in each direction, received and not yet acknowledged by where they go.
    pub fn new(
        now: Time,
        settings: [Arc<Settings>; 2],
        make: [MakeController; 2],
        probe: [Option<Probe>; 2],
        buffer: Bytes,
    ) -> Self {
        todo!()
    }

    /// Takes a segment that arrived at `face`.
    pub fn handle_segment(&mut self, now: Time, face: Face, segment: &Segment, ecn: Ecn) {
        todo!()
    }

    /// Does what is due by `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        todo!()
    }

    /// The next segment to send, and which way.
    pub fn poll_transmit(&mut self, now: Time) -> Option<(Face, Transmit)> {
        todo!()
    }

    /// When to call [`Self::handle_timeout`].
    pub fn next_timeout(&self) -> Option<Time> {
        todo!()
    }

    /// Bytes held that go out at `face`, now.
    pub fn held(&self, face: Face) -> u64 {
        todo!()
    }

    /// The most that were held.
    pub fn most_held(&self, face: Face) -> u64 {
        todo!()
    }

    /// How both connections ended, once both have.
    pub fn end(&self) -> Option<End> {
        todo!()
    }
}

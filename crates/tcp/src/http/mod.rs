//! What applications write: HTTP/1.1, HTTP/2 or bare requests, over TLS 1.3 or none.
//!
//! An [`Exchange`] plays both ends at once: it knows what each byte that it asks to be written means, and reads it from the
//! count of bytes that arrived in order at the other end. Proxies in between see counts alone.

use bentpipe_units::{Bytes, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What speaks above TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Version {
    /// HTTP/1.1 (RFC 9112).
    H1,
    /// HTTP/2 (RFC 9113).
    #[default]
    H2,
    /// A request of 17 bytes and the object, no TLS: shows what the rest costs.
    Raw,
}

/// How connections begin above TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Opening {
    /// A full TLS 1.3 handshake with a certificate.
    #[default]
    Full,
    /// Resumed with a ticket: a round trip, but no certificate.
    Resumed,
    /// Resumed, with the request in the first flight (RFC 8446 §2.3).
    EarlyData,
}

/// How the applications are tuned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// What is spoken.
    pub version: Version,
    /// Most connections at the same time: HTTP/1.1 has one exchange on each at a time (browsers: six). HTTP/2 has one connection.
    pub connections: usize,
    /// HTTP/2 window of a stream.
    pub stream_window: Bytes,
    /// HTTP/2 window of the connection.
    pub connection_window: Bytes,
}

/// Something to fetch or to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Size of its content.
    pub bytes: Bytes,
    /// Objects, by their place in the list, that must have arrived before it is asked for.
    pub after: Vec<usize>,
    /// Time between the last of those and the request: parsing, scripts.
    pub delay: Span,
}

/// One end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The one that asks.
    Client,
    /// The one that answers.
    Server,
}

/// What happened to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    /// TLS (or, without it, TCP) is ready at the client, on the first connection.
    Ready,
    /// It was asked for.
    Started(usize),
    /// So many bytes more of its content reached the application of the data's receiver.
    Received(usize, u64),
    /// The client knows it to be complete.
    Ended(usize),
}

/// The applications of both ends, over any number of connections.
///
/// # Order of calls
/// * [`Exchange::poll_open`] says that connection number so-and-so is to be opened by the client; ask after each event until `None`.
/// * [`Exchange::on_open`] when TCP is open at one side, [`Exchange::on_received`] when more bytes have arrived in order there.
/// * [`Exchange::to_write`] says how many bytes one side of a connection writes now; ask whenever its send buffer has room, after each event
///   on any connection until it says none.
/// * [`Exchange::poll_note`] tells what was achieved.
#[derive(Debug)]
pub struct Exchange {}

#[allow(unused_variables, clippy::todo, reason = "the seam stands before what is behind it")]
impl Exchange {
    /// Exchanges that have not begun. `upload`: objects go from the client to the server.
    pub fn new(settings: &Settings, opening: Opening, upload: bool, objects: Vec<Object>) -> Self {
        todo!()
    }

    /// The next connection to open, by number, from 0.
    pub fn poll_open(&mut self, now: Time) -> Option<usize> {
        todo!()
    }

    /// TCP is open at `side` of `connection`.
    pub fn on_open(&mut self, now: Time, connection: usize, side: Side) {
        todo!()
    }

    /// In all, `bytes` have arrived in order at `side` of `connection`.
    pub fn on_received(&mut self, now: Time, connection: usize, side: Side, bytes: u64) {
        todo!()
    }

    /// Bytes that `side` writes to `connection` now, at most `room`.
    pub fn to_write(&mut self, now: Time, connection: usize, side: Side, room: u64) -> u64 {
        todo!()
    }

    /// Does what is due by `now`: requests after a delay.
    pub fn handle_timeout(&mut self, now: Time) {
        todo!()
    }

    /// When to call [`Self::handle_timeout`].
    pub fn next_timeout(&self) -> Option<Time> {
        todo!()
    }

    /// What was achieved.
    pub fn poll_note(&mut self) -> Option<Note> {
        todo!()
    }

    /// Whether `side` of `connection` has more to write than its windows (not TCP's) let it.
    pub fn is_blocked(&self, connection: usize, side: Side) -> bool {
        todo!()
    }
}

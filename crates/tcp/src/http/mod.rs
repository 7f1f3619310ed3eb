//! Applications over TCP: HTTP/1.1, HTTP/2 or bare requests, over TLS 1.3 or without TLS.
//!
//! An [`Exchange`] models both ends at once. It knows the meaning of each byte that it has written,
//! and reads it from the count of bytes received in order at the other end. Proxies in between see
//! only counts.

mod annotations;
mod connection;
mod flow_control;
mod h2;
mod message;
mod page;
mod schedule;
mod serial;
#[cfg(test)]
mod tests;
mod tls;

pub use crate::http::flow_control::{
    FlowControlPreset, FlowControlPresetName, UnknownPreset, presets,
};
pub use crate::http::page::{PageObject, page};

use crate::http::connection::Connection;
use crate::http::schedule::Schedule;
use bentpipe_units::{Bytes, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The application protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Version {
    /// HTTP/1.1 (RFC 9112).
    H1,
    /// HTTP/2 (RFC 9113).
    #[default]
    H2,
    /// A request of 17 bytes and the object, without TLS: the baseline for protocol overhead.
    Raw,
}

/// How connections start above TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Opening {
    /// A full TLS 1.3 handshake with certificates.
    #[default]
    Full,
    /// Resumed with a ticket: one round trip, no certificate.
    Resumed,
    /// Resumed, with the request as early data in the first flight (0-RTT, RFC 8446 §2.3).
    EarlyData,
}

/// Settings of the applications.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The protocol.
    pub version: Version,
    /// Maximum number of concurrent connections. HTTP/1.1 has one exchange at a time on each
    /// (browsers: six connections). HTTP/2 uses one connection.
    pub connections: usize,
    /// HTTP/2 window of a stream.
    pub stream_window: Bytes,
    /// HTTP/2 window of the connection.
    pub connection_window: Bytes,
}

/// An object to download or upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Size of its content.
    pub bytes: Bytes,
    /// Indices of the objects that must be complete before this one is requested.
    pub after: Vec<usize>,
    /// Time between the last of those and the request: parsing, scripts.
    pub delay: Span,
}

/// One end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The client, which sends requests.
    Client,
    /// The server, which answers them.
    Server,
}

impl Role {
    /// Index into arrays with one element per side.
    const fn place(self) -> usize {
        match self {
            Self::Client => 0,
            Self::Server => 1,
        }
    }

    const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// Progress of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExchangeEvent {
    /// The client's TLS (or TCP, without TLS) is ready on the first connection.
    Ready,
    /// The object was requested.
    Started(usize),
    /// This many more bytes of its content reached the receiving application.
    Received(usize, u64),
    /// The client knows that it is complete.
    Ended(usize),
}

/// The applications of both ends, over any number of connections.
///
/// # Order of calls
/// * [`Exchange::poll_open`] returns the number of a connection for the client to open; call after
///   each event until `None`.
/// * [`Exchange::on_open`] when TCP is open at one side, [`Exchange::on_received`] when more bytes
///   have arrived in order there.
/// * [`Exchange::to_write`] returns how many bytes a side of a connection writes now; call whenever
///   its send buffer has space, and after each event on any connection, until it returns zero.
/// * [`Exchange::poll_event`] returns progress.
///
/// # Behaviour
/// * Connection 0 opens at once. HTTP/1.1 and [`Version::Raw`] open another one for each object
///   that can be requested and finds neither an idle connection nor one being opened, up to
///   [`Settings::connections`]. An object goes to the first free connection, in the order in which
///   objects became ready.
/// * After [`Opening::Full`], further connections are resumed once a ticket has arrived; otherwise
///   they open like the first.
/// * [`Object::delay`] of an object without dependencies counts from the first call with a time.
/// * Dependencies that can never be met are ignored: on objects outside the list, on itself, and,
///   in a cycle, those of its first object. Check lists beforehand.
#[derive(Debug)]
pub struct Exchange {
    settings: Settings,
    opening: Opening,
    upload: bool,
    schedule: Schedule,
    connections: Vec<Connection>,
    /// Connections that [`Self::poll_open`] has returned.
    announced: usize,
    ticket: bool,
}

impl Exchange {
    /// Exchanges before the first request. `upload`: objects go from the client to the server.
    pub fn new(settings: &Settings, opening: Opening, upload: bool, objects: Vec<Object>) -> Self {
        Self {
            settings: *settings,
            opening,
            upload,
            schedule: Schedule::new(objects),
            connections: vec![Connection::new(settings, opening, upload, true)],
            announced: 0,
            ticket: false,
        }
    }

    /// Number of the next connection to open, from 0.
    pub fn poll_open(&mut self, now: Time) -> Option<usize> {
        // The first call starts the clock. Later ones may come from the server's side: see
        // `on_received`.
        if !self.schedule.has_begun() {
            self.handle_timeout(now);
        }
        if self.announced == self.connections.len() {
            return None;
        }
        self.announced += 1;
        Some(self.announced - 1)
    }

    /// TCP is open at `side` of `connection`.
    pub fn on_open(&mut self, now: Time, connection: usize, side: Role) {
        if let Some(found) = self.connections.get_mut(connection) {
            found.opened(side, &mut self.schedule);
        }
        if side == Role::Client {
            self.handle_timeout(now);
        }
    }

    /// `bytes` in total have arrived in order at `side` of `connection`.
    pub fn on_received(&mut self, now: Time, connection: usize, side: Role, bytes: u64) {
        let Some(found) = self.connections.get_mut(connection) else { return };
        let news = found.read(now, side, bytes, &mut self.schedule);
        self.ticket |= news.tickets;
        // Most segments end within a record, and change nothing. What is due is the client's to do:
        // done on the occasion of something at the server, it would leave `next_timeout` before
        // anybody has asked the client what it writes.
        if news.any && side == Role::Client {
            self.handle_timeout(now);
        }
    }

    /// Bytes that `side` writes to `connection` now, at most `room`.
    pub fn to_write(&mut self, _now: Time, connection: usize, side: Role, room: u64) -> u64 {
        self.connections
            .get_mut(connection)
            .map_or(0, |found| found.write(side, room, &self.schedule))
    }

    /// Handles what is due by `now`: requests after a delay.
    pub fn handle_timeout(&mut self, now: Time) {
        self.schedule.advance(now);
        if self.schedule.waiting() > 0 {
            self.assign_objects();
        }
    }

    /// When to call [`Self::handle_timeout`].
    pub fn next_timeout(&self) -> Option<Time> {
        self.schedule.next_timeout()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<ExchangeEvent> {
        self.schedule.poll_event()
    }

    /// Whether HTTP/2 flow control (not TCP's) blocks `side` of `connection`.
    pub fn is_blocked(&self, connection: usize, side: Role) -> bool {
        self.connections.get(connection).is_some_and(|found| found.is_blocked(side))
    }

    /// Messages created and not yet read.
    #[cfg(test)]
    fn messages_underway(&self) -> usize {
        self.connections.iter().map(Connection::messages_underway).sum()
    }

    /// Assigns objects to free connections, and opens connections for the rest.
    fn assign_objects(&mut self) {
        for connection in &mut self.connections {
            while connection.is_available() {
                let Some(object) = self.schedule.take() else { return };
                connection.begin(object);
            }
        }
        let most = match self.settings.version {
            Version::H2 => 1,
            Version::H1 | Version::Raw => self.settings.connections.max(1),
        };
        let coming =
            self.connections.iter().filter(|connection| connection.is_connecting()).count();
        let wanted = self
            .schedule
            .waiting()
            .saturating_sub(coming)
            .min(most.saturating_sub(self.connections.len()));
        let opening = match self.opening {
            Opening::Full if self.ticket => Opening::Resumed,
            opening => opening,
        };
        for _ in 0..wanted {
            self.connections.push(Connection::new(&self.settings, opening, self.upload, false));
        }
    }
}

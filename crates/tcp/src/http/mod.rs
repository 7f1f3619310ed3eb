//! What applications write: HTTP/1.1, HTTP/2 or bare requests, over TLS 1.3 or none.
//!
//! An [`Exchange`] plays both ends at once: it knows what each byte that it asks to be written means, and reads it from the
//! count of bytes that arrived in order at the other end. Proxies in between see counts alone.

mod annotations;
mod connection;
mod flow_control;
mod h2;
mod page;
mod schedule;
mod serial;
#[cfg(test)]
mod tests;
mod tls;

pub use crate::http::flow_control::{FlowControlPreset, FlowControlPresetName, UnknownPreset, presets};
pub use crate::http::page::{PageObject, page};

use crate::http::connection::Connection;
use crate::http::schedule::Schedule;
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
pub enum Role {
    /// The one that asks.
    Client,
    /// The one that answers.
    Server,
}

impl Role {
    /// Its place where both sides have one.
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

/// What happened to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExchangeEvent {
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
/// * [`Exchange::poll_event`] tells what was achieved.
///
/// # What is chosen
/// * Connection 0 is opened at once. With HTTP/1.1 and [`Version::Raw`] another one is opened for each object that may be asked for and
///   finds neither an idle connection nor one on its way, up to [`Settings::connections`]. An object goes to the first connection that is free,
///   in the order in which objects became ready.
/// * After [`Opening::Full`], further connections are resumed once a ticket has arrived; otherwise they open as the first did.
/// * [`Object::delay`] of an object without dependencies counts from the first call with a time.
/// * Dependencies that can never be met are passed over: on objects that are not in the list, on itself, and, of objects that wait for one another
///   in a circle, those of the first of them. A list is better checked before.
#[derive(Debug)]
pub struct Exchange {
    settings: Settings,
    opening: Opening,
    upload: bool,
    schedule: Schedule,
    connections: Vec<Connection>,
    /// Connections of which the client was told.
    announced: usize,
    ticket: bool,
}

impl Exchange {
    /// Exchanges that have not begun. `upload`: objects go from the client to the server.
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

    /// The next connection to open, by number, from 0.
    pub fn poll_open(&mut self, now: Time) -> Option<usize> {
        // The first call starts the clock. Later ones may come from the server's side: see `on_received`.
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

    /// In all, `bytes` have arrived in order at `side` of `connection`.
    pub fn on_received(&mut self, now: Time, connection: usize, side: Role, bytes: u64) {
        let Some(found) = self.connections.get_mut(connection) else { return };
        let news = found.read(now, side, bytes, &mut self.schedule);
        self.ticket |= news.tickets;
        // Most segments end within a record, and change nothing. What is due is the client's to do: done on the occasion of something
        // at the server, it would leave `next_timeout` before anybody has asked the client what it writes.
        if news.any && side == Role::Client {
            self.handle_timeout(now);
        }
    }

    /// Bytes that `side` writes to `connection` now, at most `room`.
    pub fn to_write(&mut self, _now: Time, connection: usize, side: Role, room: u64) -> u64 {
        self.connections.get_mut(connection).map_or(0, |found| found.write(side, room, &self.schedule))
    }

    /// Does what is due by `now`: requests after a delay.
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

    /// What was achieved.
    pub fn poll_event(&mut self) -> Option<ExchangeEvent> {
        self.schedule.poll_event()
    }

    /// Whether `side` of `connection` has more to write than its windows (not TCP's) let it.
    pub fn is_blocked(&self, connection: usize, side: Role) -> bool {
        self.connections.get(connection).is_some_and(|found| found.is_blocked(side))
    }

    /// Messages that were made and not read yet.
    #[cfg(test)]
    fn messages_underway(&self) -> usize {
        self.connections.iter().map(Connection::messages_underway).sum()
    }

    /// Gives objects to connections that can take them, and adds connections for those that remain.
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
        let coming = self.connections.iter().filter(|connection| connection.is_connecting()).count();
        let wanted = self.schedule.waiting().saturating_sub(coming).min(most.saturating_sub(self.connections.len()));
        let opening = match self.opening {
            Opening::Full if self.ticket => Opening::Resumed,
            opening => opening,
        };
        for _ in 0..wanted {
            self.connections.push(Connection::new(&self.settings, opening, self.upload, false));
        }
    }
}

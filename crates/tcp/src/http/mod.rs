//! Applications over TCP: HTTP/1.1, HTTP/2 or bare requests, over TLS 1.3 or without TLS.
//!
//! An [`Exchange`] models both ends at once. It knows the meaning of each byte that it has written,
//! and reads it from the count of bytes received in order at the other end. Proxies in between only
//! see counts.

mod annotations;
mod connection;
mod echo;
mod flow_control;
mod h2;
mod message;
mod page;
mod schedule;
mod serial;
#[cfg(test)]
mod tests;
mod tls;
mod types;

pub use crate::http::flow_control::{
    FlowControlPreset, FlowControlPresetName, UnknownPreset, presets,
};
pub use crate::http::page::{Names, ObjectKind, Page, PageObject, page};
pub use crate::http::types::{ExchangeEvent, HttpSettings, Object, Opening, Role, Source, Version};
/// Priority of an object, for the types in this module's API.
pub use bentpipe_units::Priority;

use crate::http::connection::Connection;
use crate::http::schedule::Schedule;
use bentpipe_units::Time;

/// The applications of both ends, over any number of connections.
///
/// # Order of calls
///
/// * [`Exchange::poll_open`] returns the number of a connection for the client to open. Call it
///   after each event until `None`.
/// * [`Exchange::on_open`] when TCP is open at one side, [`Exchange::on_received`] when more bytes
///   have arrived in order there.
/// * [`Exchange::to_write`] returns how many bytes a side of a connection writes now. Call it
///   whenever its send buffer has space, and after each event on any connection, until it returns
///   zero.
/// * [`Exchange::next_answer`] returns when a server answers a request that it is still working on.
///   Call [`Exchange::release_answers`] then.
/// * [`Exchange::poll_event`] returns progress.
///
/// # Behaviour
///
/// * Connection 0, to the first origin, opens at once. Connections to another open once an object
///   of it can be requested and [`Exchange::hold_origin`] does not hold them back. HTTP/1.1 and
///   [`Version::Raw`] open another one for each object that can be requested and finds neither an
///   idle connection nor one being opened, up to [`HttpSettings::connections`]. An object goes to
///   the first free connection, in the order in which objects became ready.
/// * After [`Opening::Full`], further connections are resumed once a ticket has arrived; otherwise
///   they open like the first.
/// * [`Object::delay`] of an object without dependencies counts from the first call with a time.
/// * Dependencies that can never be met are ignored: on objects outside the list, on itself, and,
///   in a cycle, those of its first object. Callers should check lists beforehand.
#[derive(Debug)]
pub struct Exchange {
    settings: HttpSettings,
    origins: Vec<Origin>,
    upload: bool,
    schedule: Schedule,
    connections: Vec<Connection>,
    /// Connections that [`Self::poll_open`] has returned.
    announced: usize,
}

/// An origin, with connections of its own.
#[derive(Debug, Clone, Copy)]
struct Origin {
    opening: Opening,
    /// Whether it has sent a ticket.
    ticket: bool,
    /// Whether its connections must wait.
    held: bool,
}

impl Exchange {
    /// Creates the applications before the first request. With `upload`, objects go from the client
    /// to the server.
    pub fn new(
        settings: &HttpSettings,
        opening: Opening,
        upload: bool,
        objects: Vec<Object>,
    ) -> Self {
        let last = objects.iter().map(|object| object.source.origin).max().unwrap_or_default();
        Self {
            settings: *settings,
            origins: vec![Origin { opening, ticket: false, held: false }; last + 1],
            upload,
            schedule: Schedule::new(objects),
            connections: vec![Connection::new(settings, opening, upload, (true, 0))],
            announced: 0,
        }
    }

    /// Sets how connections to an origin other than the first open. Call it before the first event.
    pub fn set_opening(&mut self, origin: usize, opening: Opening) {
        if let Some(origin) = self.origins.get_mut(origin) {
            origin.opening = opening;
        }
    }

    /// Holds connections to an origin other than the first back until [`Self::release_origin`].
    pub fn hold_origin(&mut self, origin: usize) {
        if let Some(origin) = self.origins.get_mut(origin) {
            origin.held = true;
        }
    }

    /// Lets connections to an origin open.
    pub fn release_origin(&mut self, now: Time, origin: usize) {
        if let Some(origin) = self.origins.get_mut(origin) {
            origin.held = false;
        }
        self.handle_timeout(now);
    }

    /// Returns the origin of a connection.
    pub fn origin(&self, connection: usize) -> usize {
        self.connections.get(connection).map_or(0, |found| found.origin)
    }

    /// Returns true if an origin has sent a ticket in this exchange.
    pub fn has_ticket(&self, origin: usize) -> bool {
        self.origins.get(origin).is_some_and(|origin| origin.ticket)
    }

    /// Returns true if the client can send requests on a connection.
    pub fn is_ready(&self, connection: usize) -> bool {
        self.connections.get(connection).is_some_and(|found| !found.is_connecting())
    }

    /// Returns when a server answers a request that it is still working on.
    pub fn next_answer(&self) -> Option<Time> {
        self.connections.iter().filter_map(Connection::next_answer).min()
    }

    /// Lets the servers write the answers that are due `now`.
    pub fn release_answers(&mut self, now: Time) {
        self.connections.iter_mut().for_each(|connection| connection.release_answers(now));
    }

    /// Returns the number of the next connection to open, from 0.
    pub fn poll_open(&mut self, now: Time) -> Option<usize> {
        // The first call starts the clock. Later calls may come from the server's side: see
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

    /// Handles that TCP is open at `side` of `connection`.
    pub fn on_open(&mut self, now: Time, connection: usize, side: Role) {
        if let Some(found) = self.connections.get_mut(connection) {
            found.opened(side, &mut self.schedule);
        }
        if side == Role::Client {
            self.handle_timeout(now);
        }
    }

    /// Handles that `bytes` in total have arrived in order at `side` of `connection`.
    pub fn on_received(&mut self, now: Time, connection: usize, side: Role, bytes: u64) {
        let Some(found) = self.connections.get_mut(connection) else { return };
        let news = found.read(now, side, bytes, &mut self.schedule);
        if news.tickets
            && let Some(origin) = self.origins.get_mut(found.origin)
        {
            origin.ticket = true;
        }
        // Most segments end within a record and have no effect. Only client events advance the
        // schedule: if a server event did, `next_timeout` would no longer report objects that the
        // client has not been asked to write.
        if news.any && side == Role::Client {
            self.handle_timeout(now);
        }
    }

    /// Returns the bytes that `side` writes to `connection` now, at most `room`.
    pub fn to_write(&mut self, _now: Time, connection: usize, side: Role, room: u64) -> u64 {
        self.connections
            .get_mut(connection)
            .map_or(0, |found| found.write(side, room, &self.schedule))
    }

    /// Handles requests whose delay has expired by `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        self.schedule.advance(now);
        if self.schedule.has_waiting() {
            self.assign_objects();
        }
    }

    /// Holds an object back until [`Self::request`] releases it. Call it before the first event.
    pub fn hold(&mut self, object: usize) {
        self.schedule.hold(object);
    }

    /// Requests an object that was held back at `due`; [`Self::next_timeout`] says when to handle
    /// that.
    pub fn request(&mut self, object: usize, due: Time) {
        self.schedule.request(object, due);
    }

    /// Sets the size of an object that is requested now.
    pub fn set_size(&mut self, object: usize, bytes: u64) {
        self.schedule.set_size(object, bytes);
    }

    /// Returns when to call [`Self::handle_timeout`].
    pub fn next_timeout(&self) -> Option<Time> {
        self.schedule.next_timeout()
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<ExchangeEvent> {
        self.schedule.poll_event()
    }

    /// Returns true if HTTP/2 flow control (not TCP's) blocks `side` of `connection`.
    pub fn is_blocked(&self, connection: usize, side: Role) -> bool {
        self.connections.get(connection).is_some_and(|found| found.is_blocked(side))
    }

    /// Returns the number of messages created and not yet read.
    #[cfg(test)]
    fn messages_underway(&self) -> usize {
        self.connections.iter().map(Connection::messages_underway).sum()
    }

    /// Assigns objects to free connections, and opens connections for the rest.
    fn assign_objects(&mut self) {
        for origin in 0..self.origins.len() {
            if !self.origins[origin].held {
                self.assign_objects_of(origin);
            }
        }
    }

    fn assign_objects_of(&mut self, origin: usize) {
        let own = |connection: &&mut Connection| connection.origin == origin;
        for connection in self.connections.iter_mut().filter(own) {
            while connection.is_available() {
                let Some(object) = self.schedule.take(origin) else { return };
                connection.begin(object);
            }
        }
        let most = match self.settings.version {
            Version::H2 | Version::Echo => 1,
            Version::H1 | Version::Raw => self.settings.connections.max(1),
        };
        let own = self.connections.iter().filter(|connection| connection.origin == origin);
        let (mut open, mut coming) = (0, 0);
        for connection in own {
            open += 1;
            coming += usize::from(connection.is_connecting());
        }
        let wanted =
            self.schedule.waiting(origin).saturating_sub(coming).min(most.saturating_sub(open));
        let Origin { opening, ticket, .. } = self.origins[origin];
        let opening = match opening {
            Opening::Full if ticket => Opening::Resumed,
            opening => opening,
        };
        for _ in 0..wanted {
            let place = (false, origin);
            self.connections.push(Connection::new(&self.settings, opening, self.upload, place));
        }
    }
}

//! One connection: TLS and HTTP at both ends, and the messages in each direction.

use super::annotations::Annotations;
use super::echo::Echo;
use super::h2::Http2;
use super::message::Message;
use super::schedule::Schedule;
use super::serial::Serial;
use super::tls::{self, RECORD, RECORD_CONTENT, Tls};
use super::types::{ExchangeEvent, HttpSettings, Opening, Role, Version};
use bentpipe_units::Time;

/// An annotation: a TLS handshake message, or an application message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    Tls(tls::Message),
    App(Message),
}

/// Both ends of a connection.
#[derive(Debug)]
pub(super) struct Connection {
    /// True for the first connection, whose readiness is reported.
    first: bool,
    /// Number of its origin.
    pub(super) origin: usize,
    /// Whether TCP is open at each side, in the order of [`Role::place`].
    open: [bool; 2],
    tls: Option<Tls>,
    app: App,
    /// Data written by each side.
    annotations: [Annotations<Entry>; 2],
    /// Whether each side had nothing to write at the last check, with no event since. Saves work,
    /// since most segments end within a record.
    dry: [bool; 2],
}

#[derive(Debug)]
enum App {
    Echo(Echo),
    Serial(Serial),
    Http2(Box<Http2>),
}

/// Result of reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ReadOutcome {
    /// At least one message was complete.
    pub(super) any: bool,
    /// Session tickets arrived.
    pub(super) tickets: bool,
}

impl Connection {
    /// Creates a connection before TCP is open.
    pub(super) fn new(
        settings: &HttpSettings,
        opening: Opening,
        upload: bool,
        (first, origin): (bool, usize),
    ) -> Self {
        let version = settings.version;
        let http2 = version == Version::H2;
        Self {
            first,
            origin,
            open: [false; 2],
            tls: version.has_tls().then(|| Tls::new(opening, http2)),
            app: match version {
                Version::H2 => App::Http2(Box::new(Http2::new(settings, upload))),
                Version::Echo => App::Echo(Echo::default()),
                Version::H1 | Version::Raw => App::Serial(Serial::new(version, upload)),
            },
            annotations: [Annotations::default(), Annotations::default()],
            dry: [false; 2],
        }
    }

    /// Handles that TCP is open at `side`.
    pub(super) fn opened(&mut self, side: Role, schedule: &mut Schedule) {
        let open = &mut self.open[side.place()];
        if !*open && side == Role::Client && self.first && self.tls.is_none() {
            schedule.event(ExchangeEvent::Ready);
        }
        *open = true;
        self.dry = [false; 2];
    }

    /// Returns true if the client is still waiting for TCP or TLS.
    pub(super) fn is_connecting(&self) -> bool {
        !self.open[Role::Client.place()]
            || self.tls.as_ref().is_some_and(|tls| !tls.is_ready(Role::Client))
    }

    /// Returns true if the client can request an object now.
    pub(super) fn is_available(&self) -> bool {
        let place = match &self.app {
            App::Echo(_) => true,
            App::Serial(serial) => serial.is_idle(),
            App::Http2(http2) => http2.has_room(),
        };
        place && !self.is_connecting()
    }

    /// Requests an object.
    pub(super) fn begin(&mut self, object: usize) {
        self.dry = [false; 2];
        match &mut self.app {
            App::Echo(echo) => echo.begin(object),
            App::Serial(serial) => serial.begin(object),
            App::Http2(http2) => http2.begin(object),
        }
    }

    /// Writes up to `room` bytes of `side`. Returns their number.
    pub(super) fn write(&mut self, side: Role, room: u64, schedule: &Schedule) -> u64 {
        if !self.open[side.place()] {
            return 0;
        }
        let mut written = 0;
        loop {
            written += self.annotations[side.place()].write(room - written);
            if written == room || self.dry[side.place()] {
                return written;
            }
            let Some((bytes, entry)) = self.next(side, schedule) else {
                self.dry[side.place()] = true;
                return written;
            };
            self.annotations[side.place()].push(bytes, entry);
        }
    }

    fn next(&mut self, side: Role, schedule: &Schedule) -> Option<(u64, Entry)> {
        if let Some((bytes, message)) = self.tls.as_mut().and_then(|tls| tls.next(side)) {
            return Some((bytes, Entry::Tls(message)));
        }
        let most = self.tls.as_ref().map_or(RECORD_CONTENT, |tls| tls.allowance(side));
        if most == 0 {
            return None;
        }
        let (bytes, message) = match &mut self.app {
            App::Echo(echo) => echo.next(side, schedule),
            App::Serial(serial) => serial.next(side, most, schedule),
            App::Http2(http2) => http2.next(side, most, schedule),
        }?;
        let record = match &mut self.tls {
            Some(tls) => {
                tls.sent(side, bytes);
                RECORD
            }
            None => 0,
        };
        Some((bytes + record, Entry::App(message)))
    }

    /// Handles that `bytes` in total have arrived at `side`.
    pub(super) fn read(
        &mut self,
        now: Time,
        side: Role,
        bytes: u64,
        schedule: &mut Schedule,
    ) -> ReadOutcome {
        let mut news = ReadOutcome::default();
        let divisible = |entry: &Entry| matches!(entry, Entry::App(Message::Bare(_)));
        while let Some((entry, length)) =
            self.annotations[side.other().place()].read(bytes, divisible)
        {
            news.any = true;
            let message = match entry {
                Entry::Tls(message) => {
                    news.tickets |= message == tls::Message::Tickets;
                    if self.first && message == tls::Message::ServerFlight {
                        schedule.event(ExchangeEvent::Ready);
                    }
                    if let Some(tls) = &mut self.tls {
                        tls.read(message);
                    }
                    self.dry = [false; 2];
                    continue;
                }
                Entry::App(Message::Bare(object)) => Message::Content(object, length),
                Entry::App(message) => message,
            };
            let may_write = match &mut self.app {
                App::Echo(echo) => echo.read(now, message, schedule),
                App::Serial(serial) => serial.read(now, message, schedule),
                App::Http2(http2) => {
                    http2.read(now, side, message, schedule);
                    true
                }
            };
            if may_write {
                self.dry = [false; 2];
            }
        }
        news
    }

    /// Returns when the server answers a request that it is still working on.
    pub(super) fn next_answer(&self) -> Option<Time> {
        match &self.app {
            App::Echo(_) => None,
            App::Serial(serial) => serial.next_answer(),
            App::Http2(http2) => http2.next_answer(),
        }
    }

    /// Lets the server write answers that are due `now`.
    pub(super) fn release_answers(&mut self, now: Time) {
        let released = match &mut self.app {
            App::Echo(_) => false,
            App::Serial(serial) => serial.release_answer(now),
            App::Http2(http2) => http2.release_answers(now),
        };
        if released {
            self.dry[Role::Server.place()] = false;
        }
    }

    /// Returns true if HTTP/2 flow control blocks `side`. False while a record waits for TCP, which
    /// is then the limit.
    pub(super) fn is_blocked(&self, side: Role) -> bool {
        match &self.app {
            App::Echo(_) | App::Serial(_) => false,
            App::Http2(http2) => {
                self.annotations[side.place()].pending() == 0 && http2.is_blocked(side)
            }
        }
    }

    /// Returns the number of messages created and not yet read.
    #[cfg(test)]
    pub(super) fn messages_underway(&self) -> usize {
        self.annotations.iter().map(Annotations::len).sum()
    }
}

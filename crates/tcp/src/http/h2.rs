//! HTTP/2 (RFC 9113): concurrent streams on one connection, and flow control.
//!
//! Both ends are here: one sends content (the server, or the client in an upload), the other
//! returns window. Each frame has its own TLS record, except the connection preface, which is a
//! single record.

use super::message::Message;
use super::schedule::Schedule;
use super::tls::RECORD_CONTENT;
use super::types::{HttpSettings, Role};
use bentpipe_units::{Priority, Time};
use std::collections::VecDeque;

/// Header of a frame (RFC 9113 §4.1).
pub(super) const FRAME: u64 = 9;
/// Initial window of the connection and of streams (RFC 9113 §6.9.2).
const INITIAL_WINDOW: u64 = 65_535;
/// Largest window (RFC 9113 §6.9.1).
const MAX_WINDOW: u64 = (1 << 31) - 1;
/// Concurrent streams: the minimum that RFC 9113 §6.5.2 recommends, and Chrome's assumption before
/// the server's SETTINGS.
const MAX_STREAMS: usize = 100;
/// The client's connection preface (RFC 9113 §3.4).
const PREFACE: u64 = 24;
/// One setting (RFC 9113 §6.5.1).
const SETTING: u64 = 6;
/// SETTINGS as Chrome sends them: table size, push, initial window, header list.
const CLIENT_SETTINGS: u64 = FRAME + 4 * SETTING;
/// SETTINGS as nginx sends them: streams, initial window, frame size.
const SERVER_SETTINGS: u64 = FRAME + 3 * SETTING;
/// WINDOW_UPDATE (RFC 9113 §6.9).
const WINDOW_UPDATE: u64 = FRAME + 4;
/// HEADERS of the first request on a connection: about two thirds of its text remain after Huffman
/// coding (RFC 7541 appendix B).
const FIRST_REQUEST: u64 = FRAME + 5 + 280;
/// HEADERS of a later request: most of it is in the dynamic table (RFC 7541 §2.3); path, `accept`
/// and the like remain. Five bytes are the priority that browsers send.
const REQUEST: u64 = FRAME + 5 + 60;
/// HEADERS of the first response, estimated in the same way.
const FIRST_RESPONSE: u64 = FRAME + 170;
/// HEADERS of a later response: length, dates and tag differ.
const RESPONSE: u64 = FRAME + 70;

/// Both ends of a connection.
#[derive(Debug)]
pub(super) struct Http2 {
    upload: bool,
    stream_window: u64,
    connection_window: u64,
    /// Whether each side, in the order of [`Role::place`], has sent its preface.
    begun: [bool; 2],
    /// SETTINGS acknowledgements and WINDOW_UPDATEs that each side has to send.
    control: [VecDeque<Message>; 2],
    /// Request and response headers that wait to be written.
    heads: [VecDeque<usize>; 2],
    /// Requests on which the server still works, with the times of their responses.
    working: Vec<(Time, usize)>,
    /// Whether the first header was written, so that the dynamic table is filled.
    coded: [bool; 2],
    /// Number of open streams.
    open: usize,
    sending: Sending,
    /// Content received on streams, and window not yet returned.
    receiving: Vec<Receiving>,
    /// Window of the connection not yet returned.
    unreturned: u64,
}

/// State of the sender of content.
#[derive(Debug)]
struct Sending {
    /// Streams with content left, in the order of service.
    streams: VecDeque<Stream>,
    /// Window of the connection.
    window: u64,
    /// Initial window of streams.
    initial: u64,
    /// Whether streams are served by priority, and the number of those so far.
    priorities: bool,
    count: u64,
}

#[derive(Debug)]
struct Stream {
    object: usize,
    left: u64,
    /// Its place among the streams by [`Priority::place`]; the same for all without priorities.
    place: i32,
    /// Negative if the peer's settings arrived late with a smaller value (RFC 9113 §6.9.2).
    window: i64,
}

#[derive(Debug)]
struct Receiving {
    object: usize,
    got: u64,
    unreturned: u64,
}

impl Http2 {
    /// Creates a connection before its preface.
    pub(super) fn new(settings: &HttpSettings, upload: bool) -> Self {
        Self {
            upload,
            // A window of zero would never open.
            stream_window: settings.stream_window.get().clamp(1, MAX_WINDOW),
            // WINDOW_UPDATE can only increase it.
            connection_window: settings.connection_window.get().clamp(INITIAL_WINDOW, MAX_WINDOW),
            begun: [false; 2],
            control: [VecDeque::new(), VecDeque::new()],
            heads: [VecDeque::new(), VecDeque::new()],
            working: Vec::new(),
            coded: [false; 2],
            open: 0,
            sending: Sending {
                streams: VecDeque::new(),
                window: INITIAL_WINDOW,
                initial: INITIAL_WINDOW,
                priorities: settings.priorities,
                count: 0,
            },
            receiving: Vec::new(),
            unreturned: 0,
        }
    }

    /// Returns true if another stream may be opened.
    pub(super) fn has_room(&self) -> bool {
        self.open < MAX_STREAMS
    }

    /// Opens a stream.
    pub(super) fn begin(&mut self, object: usize) {
        self.open += 1;
        self.heads[Role::Client.place()].push_back(object);
    }

    /// Returns when the server answers a request that it is still working on.
    pub(super) fn next_answer(&self) -> Option<Time> {
        self.working.iter().map(|(due, _)| *due).min()
    }

    /// Lets the server write the answers that are due `now`. Returns true if there are any.
    pub(super) fn release_answers(&mut self, now: Time) -> bool {
        let before = self.working.len();
        while let Some(next) = (0..self.working.len()).min_by_key(|&index| self.working[index].0)
            && self.working[next].0 <= now
        {
            let (_, object) = self.working.remove(next);
            self.heads[Role::Server.place()].push_back(object);
        }
        self.working.len() < before
    }

    fn data_side(&self) -> Role {
        if self.upload { Role::Client } else { Role::Server }
    }

    /// Returns true if `side` has content to send but no window for it.
    pub(super) fn is_blocked(&self, side: Role) -> bool {
        let streams = &self.sending.streams;
        side == self.data_side()
            && !streams.is_empty()
            && (self.sending.window == 0 || streams.iter().all(|stream| stream.window <= 0))
    }

    /// Returns the next message of `side`, with at most `most` bytes, and its size in bytes.
    pub(super) fn next(
        &mut self,
        side: Role,
        most: u64,
        schedule: &Schedule,
    ) -> Option<(u64, Message)> {
        let place = side.place();
        if !self.begun[place] {
            let frames = match side {
                Role::Client => PREFACE + CLIENT_SETTINGS,
                Role::Server => SERVER_SETTINGS,
            };
            let bytes =
                frames + if self.connection_window > INITIAL_WINDOW { WINDOW_UPDATE } else { 0 };
            self.begun[place] = bytes <= most;
            return self.begun[place].then_some((bytes, Message::Begin));
        }
        if let Some(message) = self.control[place].front().copied() {
            let bytes = if message == Message::SettingsAck { FRAME } else { WINDOW_UPDATE };
            if bytes > most {
                return None;
            }
            self.control[place].pop_front();
            return Some((bytes, message));
        }
        if let Some(object) = self.heads[place].front().copied() {
            let (bytes, message) = match (side, self.coded[place]) {
                (Role::Client, false) => (FIRST_REQUEST, Message::Request(object)),
                (Role::Client, true) => (REQUEST, Message::Request(object)),
                (Role::Server, false) => (FIRST_RESPONSE, Message::Response(object)),
                (Role::Server, true) => (RESPONSE, Message::Response(object)),
            };
            if bytes > most {
                return None;
            }
            self.heads[place].pop_front();
            self.coded[place] = true;
            let left = schedule.bytes(object);
            if side == self.data_side() && left > 0 {
                self.sending.add(object, left, schedule.source(object).priority);
            }
            return Some((bytes, message));
        }
        if side != self.data_side() {
            return None;
        }
        let (object, content) =
            self.sending.next(most.min(RECORD_CONTENT).saturating_sub(FRAME))?;
        Some((FRAME + content, Message::Content(object, content)))
    }

    /// Handles a message that `side` has read.
    pub(super) fn read(
        &mut self,
        now: Time,
        side: Role,
        message: Message,
        schedule: &mut Schedule,
    ) {
        match message {
            Message::Begin => {
                self.control[side.place()].push_back(Message::SettingsAck);
                if side == self.data_side() {
                    self.sending.settings(self.stream_window);
                    self.sending.window += self.connection_window - INITIAL_WINDOW;
                }
            }
            Message::Request(object) => {
                if self.upload && schedule.bytes(object) > 0 {
                    self.receiving.push(Receiving { object, got: 0, unreturned: 0 });
                } else {
                    let server_time = schedule.source(object).server_time;
                    if server_time.is_zero() {
                        self.heads[Role::Server.place()].push_back(object);
                    } else {
                        self.working.push((now + server_time, object));
                    }
                }
            }
            Message::Response(object) if self.upload || schedule.bytes(object) == 0 => {
                self.ended(now, object, schedule)
            }
            Message::Response(object) => {
                self.receiving.push(Receiving { object, got: 0, unreturned: 0 })
            }
            Message::Content(object, content) => self.content(now, side, object, content, schedule),
            Message::StreamWindow(object, bytes) => {
                if let Some(stream) =
                    self.sending.streams.iter_mut().find(|stream| stream.object == object)
                {
                    stream.window += bytes.cast_signed();
                }
            }
            Message::ConnectionWindow(bytes) => self.sending.window += bytes,
            Message::SettingsAck | Message::Bare(_) => {}
        }
    }

    /// Handles content that `side` has read. Once more than half of a window is used, it is
    /// returned, as in Chrome (`SpdySession::IncreaseRecvWindowSize`,
    /// `SpdyStream::IncreaseRecvWindowSize`). Chrome's update by time, after 5 s, is not modelled.
    fn content(
        &mut self,
        now: Time,
        side: Role,
        object: usize,
        content: u64,
        schedule: &mut Schedule,
    ) {
        let Some(place) = self.receiving.iter().position(|stream| stream.object == object) else {
            return;
        };
        let stream = &mut self.receiving[place];
        stream.got += content;
        stream.unreturned += content;
        schedule.received(object, content);
        let all = stream.got == schedule.bytes(object);
        let control = &mut self.control[side.place()];
        // A stream that has ended needs no window.
        if !all && stream.unreturned > self.stream_window / 2 {
            control.push_back(Message::StreamWindow(object, stream.unreturned));
            stream.unreturned = 0;
        }
        self.unreturned += content;
        if self.unreturned > self.connection_window / 2 {
            control.push_back(Message::ConnectionWindow(self.unreturned));
            self.unreturned = 0;
        }
        if all {
            self.receiving.swap_remove(place);
            if self.upload {
                self.heads[Role::Server.place()].push_back(object);
            } else {
                self.ended(now, object, schedule);
            }
        }
    }

    fn ended(&mut self, now: Time, object: usize, schedule: &mut Schedule) {
        self.open -= 1;
        schedule.ended(now, object);
    }
}

impl Sending {
    /// Adds the stream of an object with `left` bytes.
    fn add(&mut self, object: usize, left: u64, priority: Priority) {
        self.count += 1;
        let place = if self.priorities { priority.place(self.count) } else { 0 };
        let window = self.initial.cast_signed();
        self.streams.push_back(Stream { object, left, place, window });
    }

    /// Returns the next stream with window, and the size of its content in a frame of at most
    /// `most`.
    fn next(&mut self, most: u64) -> Option<(usize, u64)> {
        let most = most.min(self.window);
        if most == 0 {
            return None;
        }
        let streams = self.streams.iter().enumerate().filter(|(_, stream)| stream.window > 0);
        // The first of several with the least place.
        let (next, _) = streams.min_by_key(|(_, stream)| stream.place)?;
        let mut stream = self.streams.remove(next)?;
        let content = most.min(stream.left).min(stream.window.cast_unsigned());
        stream.left -= content;
        stream.window -= content.cast_signed();
        self.window -= content;
        let object = stream.object;
        if stream.left > 0 {
            self.streams.push_back(stream);
        }
        Some((object, content))
    }

    /// Applies the peer's initial stream window: open streams change by the difference (RFC 9113
    /// §6.9.2).
    fn settings(&mut self, window: u64) {
        let difference = window.cast_signed() - self.initial.cast_signed();
        for stream in &mut self.streams {
            stream.window += difference;
        }
        self.initial = window;
    }
}

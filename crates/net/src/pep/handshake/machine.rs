//! The handshake with a client of an explicit proxy, without I/O.

use super::connect;
use super::credentials::Credentials;
use super::socks;
use crate::pep::refusal::Refusal;
use crate::pep::target::Target;
use std::fmt;

/// Largest size of a handshake, bytes. Our choice. Longer ones are refused.
pub const MAX_HANDSHAKE: usize = 8192;

/// The protocol of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// SOCKS version 5 (RFC 1928).
    Socks5,
    /// HTTP CONNECT (RFC 9110 §9.3.6).
    Connect,
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Socks5 => "socks5",
            Self::Connect => "connect",
        })
    }
}

/// The next step of a handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Receive more bytes from the client.
    NeedMore,
    /// Send these bytes to the client, and continue.
    Send(Vec<u8>),
    /// Connect to this target. [`ClientHandshake::grant`] or [`ClientHandshake::refuse`] is the
    /// reply.
    Connect(Target),
    /// Send these bytes to the client and close its connection, for this reason.
    Refused(Vec<u8>, &'static str),
}

/// The handshake of a client of an explicit proxy.
///
/// Call [`ClientHandshake::receive`] with received bytes, then [`ClientHandshake::next_event`]
/// until it needs more. After [`Event::Connect`], send the reply.
/// [`ClientHandshake::into_remainder`] returns what the client sent after its request.
#[derive(Debug)]
pub struct ClientHandshake {
    bytes: Vec<u8>,
    state: State,
    credentials: Option<Credentials>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Socks(socks::Stage),
    Http,
    Requested(Protocol),
    Refused,
}

impl ClientHandshake {
    /// Starts a handshake. The client needs `credentials` if there are some.
    pub fn new(credentials: Option<Credentials>) -> Self {
        Self { bytes: Vec::new(), state: State::Start, credentials }
    }

    /// Returns how many more bytes it accepts.
    pub fn capacity(&self) -> usize {
        MAX_HANDSHAKE.saturating_sub(self.bytes.len())
    }

    /// Adds received bytes, up to [`ClientHandshake::capacity`]. Further bytes are ignored.
    pub fn receive(&mut self, bytes: &[u8]) {
        let bytes = bytes.get(..self.capacity()).unwrap_or(bytes);
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next step.
    pub fn next_event(&mut self) -> Event {
        if self.state == State::Start {
            self.state = match self.bytes.first() {
                None => return Event::NeedMore,
                Some(&socks::VERSION) => State::Socks(socks::Stage::Methods),
                Some(_) => State::Http,
            };
        }
        let event = match self.state {
            State::Socks(stage) => {
                socks::read(stage, &self.bytes, self.credentials.as_ref()).map(|(read, used)| {
                    match read {
                        socks::Message::Next(answer, stage) => {
                            (Event::Send(answer.to_vec()), State::Socks(stage), used)
                        }
                        socks::Message::Request(target) => {
                            (Event::Connect(target), State::Requested(Protocol::Socks5), used)
                        }
                        socks::Message::Refused(answer, why) => {
                            (Event::Refused(answer, why), State::Refused, used)
                        }
                    }
                })
            }
            State::Http => {
                connect::read(&self.bytes, self.credentials.as_ref()).map(|(read, used)| match read
                {
                    connect::Message::Request(target) => {
                        (Event::Connect(target), State::Requested(Protocol::Connect), used)
                    }
                    connect::Message::Refused(status, why) => {
                        (Event::Refused(connect::refused(status), why), State::Refused, used)
                    }
                })
            }
            State::Start | State::Requested(_) | State::Refused => None,
        };
        match event {
            Some((event, state, used)) => {
                self.state = state;
                self.bytes.drain(..used.min(self.bytes.len()));
                event
            }
            None if self.capacity() == 0 && self.state == State::Http => {
                self.state = State::Refused;
                Event::Refused(connect::refused(431), "the request is too long")
            }
            None => Event::NeedMore,
        }
    }

    /// Returns the protocol, once the target is known.
    pub fn protocol(&self) -> Option<Protocol> {
        match self.state {
            State::Requested(protocol) => Some(protocol),
            _ => None,
        }
    }

    /// Returns the reply for a connection that is forwarded. Empty before [`Event::Connect`].
    pub fn grant(&self) -> Vec<u8> {
        match self.protocol() {
            Some(Protocol::Socks5) => socks::reply(0),
            Some(Protocol::Connect) => connect::granted(),
            None => Vec::new(),
        }
    }

    /// Returns the reply for a connection that is refused. Empty before [`Event::Connect`].
    pub fn refuse(&self, refusal: Refusal) -> Vec<u8> {
        match self.protocol() {
            Some(Protocol::Socks5) => socks::reply(socks::code(refusal)),
            Some(Protocol::Connect) => connect::refused(connect::status(refusal)),
            None => Vec::new(),
        }
    }

    /// Returns the bytes after the request, the first ones to forward.
    pub fn into_remainder(self) -> Vec<u8> {
        self.bytes
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

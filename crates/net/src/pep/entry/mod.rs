//! How a client tells an explicit proxy where it wants to go: SOCKS5 or HTTP CONNECT on one port,
//! told apart by the first byte.

mod connect;
mod credentials;
mod socks;

pub use credentials::Credentials;

use super::refusal::Refusal;
use super::target::Target;
use std::fmt;

/// The most that a client may say before it has said where it wants to go, bytes: our choice. What
/// is longer is refused.
pub const LONGEST: usize = 8192;

/// The protocol that a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// SOCKS version 5.
    Socks5,
    /// HTTP CONNECT.
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

/// What is to be done next with a client that enters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// More of its bytes are needed.
    More,
    /// These bytes are sent to it; then comes what is next.
    Send(Vec<u8>),
    /// It wants to go there; [`Entry::grant`] or [`Entry::refuse`] is the answer.
    Asked(Target),
    /// These bytes are sent to it, and then its connection ends, for this reason.
    Refused(Vec<u8>, &'static str),
}

/// What a client says before its connection is led on, as far as it has come.
///
/// Call order: [`Entry::take`] with what arrives, [`Entry::step`] until it wants more; after
/// [`Event::Asked`], the answer, and [`Entry::rest`], which is what the client sent behind its
/// request.
#[derive(Debug)]
pub struct Entry {
    bytes: Vec<u8>,
    state: State,
    credentials: Option<Credentials>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Begin,
    Socks(socks::Stage),
    Http,
    Asked(Protocol),
    Over,
}

impl Entry {
    /// A client that has said nothing. Where there are `credentials`, it has to know them.
    pub fn new(credentials: Option<Credentials>) -> Self {
        Self { bytes: Vec::new(), state: State::Begin, credentials }
    }

    /// How many more bytes it takes.
    pub fn room(&self) -> usize {
        LONGEST.saturating_sub(self.bytes.len())
    }

    /// Takes what has arrived, up to [`Entry::room`]; more than that is not looked at.
    pub fn take(&mut self, bytes: &[u8]) {
        let bytes = bytes.get(..self.room()).unwrap_or(bytes);
        self.bytes.extend_from_slice(bytes);
    }

    /// What is to be done.
    pub fn step(&mut self) -> Event {
        if self.state == State::Begin {
            self.state = match self.bytes.first() {
                None => return Event::More,
                Some(&socks::VERSION) => State::Socks(socks::Stage::Methods),
                Some(_) => State::Http,
            };
        }
        let event =
            match self.state {
                State::Socks(stage) => socks::read(stage, &self.bytes, self.credentials.as_ref())
                    .map(|(read, used)| match read {
                        socks::Read::Next(answer, stage) => {
                            (Event::Send(answer.to_vec()), State::Socks(stage), used)
                        }
                        socks::Read::Asked(target) => {
                            (Event::Asked(target), State::Asked(Protocol::Socks5), used)
                        }
                        socks::Read::Refused(answer, why) => {
                            (Event::Refused(answer, why), State::Over, used)
                        }
                    }),
                State::Http => {
                    connect::read(&self.bytes, self.credentials.as_ref()).map(|(read, used)| {
                        match read {
                            connect::Read::Asked(target) => {
                                (Event::Asked(target), State::Asked(Protocol::Connect), used)
                            }
                            connect::Read::Refused(status, why) => {
                                (Event::Refused(connect::refused(status), why), State::Over, used)
                            }
                        }
                    })
                }
                State::Begin | State::Asked(_) | State::Over => None,
            };
        match event {
            Some((event, state, used)) => {
                self.state = state;
                self.bytes.drain(..used.min(self.bytes.len()));
                event
            }
            None if self.room() == 0 && self.state == State::Http => {
                self.state = State::Over;
                Event::Refused(connect::refused(431), "a request that is too long")
            }
            None => Event::More,
        }
    }

    /// The protocol, once it is known where the client wants to go.
    pub fn protocol(&self) -> Option<Protocol> {
        match self.state {
            State::Asked(protocol) => Some(protocol),
            _ => None,
        }
    }

    /// What the client is told when its connection is led on; nothing before it has asked.
    pub fn grant(&self) -> Vec<u8> {
        match self.protocol() {
            Some(Protocol::Socks5) => socks::reply(0),
            Some(Protocol::Connect) => connect::granted(),
            None => Vec::new(),
        }
    }

    /// What it is told when that is not done; nothing before it has asked.
    pub fn refuse(&self, refusal: Refusal) -> Vec<u8> {
        match self.protocol() {
            Some(Protocol::Socks5) => socks::reply(socks::code(refusal)),
            Some(Protocol::Connect) => connect::refused(connect::status(refusal)),
            None => Vec::new(),
        }
    }

    /// What it sent behind its request: the beginning of what is to be led on.
    pub fn rest(self) -> Vec<u8> {
        self.bytes
    }
}

#[cfg(test)]
mod tests;

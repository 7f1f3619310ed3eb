//! SOCKS version 5 (RFC 1928): CONNECT, without authentication or with name and password (RFC
//! 1929).

use super::credentials::Credentials;
use crate::pep::refusal::Refusal;
use crate::pep::target::{Target, TargetError};

/// Protocol version (RFC 1928 §3).
pub(super) const VERSION: u8 = 5;
/// Version of the name and password negotiation (RFC 1929 §2).
const LOGIN_VERSION: u8 = 1;
const CONNECT: u8 = 1;
const NO_AUTHENTICATION: u8 = 0;
const NAME_AND_PASSWORD: u8 = 2;
const NO_METHOD: u8 = 0xff;

/// The next message of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Its authentication methods.
    Methods,
    /// Its name and password.
    Login,
    /// Its destination.
    Request,
}

/// A parsed message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// The reply, and the message that follows.
    Next(&'static [u8], Stage),
    /// The target.
    Request(Target),
    /// The reply that the client is refused with, and the reason.
    Refused(Vec<u8>, &'static str),
}

/// Reads one message from the start of `bytes`. Returns its length as well, or `None` if more bytes
/// are needed.
pub(super) fn read(
    stage: Stage,
    bytes: &[u8],
    credentials: Option<&Credentials>,
) -> Option<(Message, usize)> {
    match stage {
        Stage::Methods => methods(bytes, credentials.is_some()),
        Stage::Login => login(bytes, credentials),
        Stage::Request => request(bytes),
    }
}

fn refuse(answer: Vec<u8>, why: &'static str) -> Option<(Message, usize)> {
    Some((Message::Refused(answer, why), 0))
}

fn methods(bytes: &[u8], login: bool) -> Option<(Message, usize)> {
    let length = 2 + usize::from(*bytes.get(1)?);
    let offered = bytes.get(2..length)?;
    let (wanted, answer, next): (_, &[u8], _) = match login {
        true => (NAME_AND_PASSWORD, &[VERSION, NAME_AND_PASSWORD], Stage::Login),
        false => (NO_AUTHENTICATION, &[VERSION, NO_AUTHENTICATION], Stage::Request),
    };
    if !offered.contains(&wanted) {
        return refuse(vec![VERSION, NO_METHOD], "no common authentication method");
    }
    Some((Message::Next(answer, next), length))
}

fn login(bytes: &[u8], credentials: Option<&Credentials>) -> Option<(Message, usize)> {
    let refused = || vec![LOGIN_VERSION, 1];
    if *bytes.first()? != LOGIN_VERSION {
        return refuse(refused(), "the version of the name and password negotiation is not 1");
    }
    let name_end = 2 + usize::from(*bytes.get(1)?);
    let length = name_end + 1 + usize::from(*bytes.get(name_end)?);
    let (name, password) = (bytes.get(2..name_end)?, bytes.get(name_end + 1..length)?);
    if !credentials.is_some_and(|credentials| credentials.matches(name, password)) {
        return refuse(refused(), "wrong name or password");
    }
    Some((Message::Next(&[LOGIN_VERSION, 0], Stage::Request), length))
}

fn request(bytes: &[u8]) -> Option<(Message, usize)> {
    let refuse_with = |code, why| refuse(reply(code), why);
    if *bytes.first()? != VERSION {
        return refuse_with(1, "the version of the request is not 5");
    }
    if *bytes.get(1)? != CONNECT {
        return refuse_with(7, "the command is not CONNECT");
    }
    match Target::decode(bytes.get(3..)?) {
        Ok(None) => None,
        Ok(Some((target, used))) => Some((Message::Request(target), 3 + used)),
        Err(TargetError::Type(_)) => refuse_with(8, "unknown address type"),
        Err(_) => refuse_with(1, "invalid destination"),
    }
}

/// Returns the reply to a request (RFC 1928 §6). The bound address is hidden as zeros.
pub(super) fn reply(code: u8) -> Vec<u8> {
    vec![VERSION, code, 0, 1, 0, 0, 0, 0, 0, 0]
}

/// Returns the reply code for a refusal (RFC 1928 §6).
pub(super) fn code(refusal: Refusal) -> u8 {
    match refusal {
        Refusal::Busy | Refusal::Failed => 1,
        Refusal::NotAllowed => 2,
        Refusal::Unreachable => 3,
        Refusal::UnknownName | Refusal::TimedOut => 4,
        Refusal::Refused => 5,
    }
}

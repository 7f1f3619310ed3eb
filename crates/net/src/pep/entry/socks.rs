//! SOCKS version 5 (RFC 1928) as a server reads it: CONNECT, without authentication or with name
//! and password (RFC 1929).

use super::super::refusal::Refusal;
use super::super::target::{Target, TargetError};
use super::credentials::Credentials;

/// The version, RFC 1928 §3.
pub(super) const VERSION: u8 = 5;
/// The version of the exchange of name and password, RFC 1929 §2.
const LOGIN_VERSION: u8 = 1;
const CONNECT: u8 = 1;
const NO_AUTHENTICATION: u8 = 0;
const NAME_AND_PASSWORD: u8 = 2;
const NO_METHOD: u8 = 0xff;

/// What is read next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Which methods of authentication the client has.
    Methods,
    /// Its name and password.
    Login,
    /// Where it wants to go.
    Request,
}

/// What has been read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// An answer is due, and then this is read.
    Next(&'static [u8], Stage),
    /// Everything: the target.
    Asked(Target),
    /// The client is refused with this answer, and why.
    Refused(Vec<u8>, &'static str),
}

/// Reads one message from the beginning of `bytes` and says how many bytes it took; nothing where
/// some are still to come.
pub(super) fn read(
    stage: Stage,
    bytes: &[u8],
    credentials: Option<&Credentials>,
) -> Option<(Read, usize)> {
    match stage {
        Stage::Methods => methods(bytes, credentials.is_some()),
        Stage::Login => login(bytes, credentials),
        Stage::Request => request(bytes),
    }
}

fn refuse(answer: Vec<u8>, why: &'static str) -> Option<(Read, usize)> {
    Some((Read::Refused(answer, why), 0))
}

fn methods(bytes: &[u8], login: bool) -> Option<(Read, usize)> {
    let length = 2 + usize::from(*bytes.get(1)?);
    let offered = bytes.get(2..length)?;
    let (wanted, answer, next): (_, &[u8], _) = match login {
        true => (NAME_AND_PASSWORD, &[VERSION, NAME_AND_PASSWORD], Stage::Login),
        false => (NO_AUTHENTICATION, &[VERSION, NO_AUTHENTICATION], Stage::Request),
    };
    if !offered.contains(&wanted) {
        return refuse(vec![VERSION, NO_METHOD], "no method of authentication in common");
    }
    Some((Read::Next(answer, next), length))
}

fn login(bytes: &[u8], credentials: Option<&Credentials>) -> Option<(Read, usize)> {
    let refused = || vec![LOGIN_VERSION, 1];
    if *bytes.first()? != LOGIN_VERSION {
        return refuse(refused(), "a version of the name and password exchange that is not 1");
    }
    let name_end = 2 + usize::from(*bytes.get(1)?);
    let length = name_end + 1 + usize::from(*bytes.get(name_end)?);
    let (name, password) = (bytes.get(2..name_end)?, bytes.get(name_end + 1..length)?);
    if !credentials.is_some_and(|credentials| credentials.are(name, password)) {
        return refuse(refused(), "wrong name or password");
    }
    Some((Read::Next(&[LOGIN_VERSION, 0], Stage::Request), length))
}

fn request(bytes: &[u8]) -> Option<(Read, usize)> {
    let refuse_with = |code, why| refuse(reply(code), why);
    if *bytes.first()? != VERSION {
        return refuse_with(1, "a request whose version is not 5");
    }
    if *bytes.get(1)? != CONNECT {
        return refuse_with(7, "a command other than CONNECT");
    }
    match Target::decode(bytes.get(3..)?) {
        Ok(None) => None,
        Ok(Some((target, used))) => Some((Read::Asked(target), 3 + used)),
        Err(TargetError::Type(_)) => refuse_with(8, "an unknown type of address"),
        Err(_) => refuse_with(1, "an impossible destination"),
    }
}

/// The answer to a request (RFC 1928 §6). Where it is bound is nobody's business: zeroes.
pub(super) fn reply(code: u8) -> Vec<u8> {
    vec![VERSION, code, 0, 1, 0, 0, 0, 0, 0, 0]
}

/// What the answer calls a refusal, RFC 1928 §6.
pub(super) fn code(refusal: Refusal) -> u8 {
    match refusal {
        Refusal::Busy | Refusal::Failed => 1,
        Refusal::NotAllowed => 2,
        Refusal::Unreachable => 3,
        Refusal::Unknown | Refusal::TimedOut => 4,
        Refusal::Refused => 5,
    }
}

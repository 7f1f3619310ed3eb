//! The format of a token.

use crate::path_memory::SavedPath;
use bentpipe_units::{Bytes, Epoch, Span};
use noq_proto::VarInt;
use noq_proto::coding::{Decodable, Encodable};
use thiserror::Error;

/// Longest token that is accepted, in bytes.
pub const MAX_TOKEN: usize = 256;
/// Version, the first byte of a token.
pub(super) const VERSION: u8 = 1;
/// Length of a key identifier, in bytes.
pub(super) const KEY_ID: usize = 4;
/// Length of a nonce, in bytes (RFC 5116 §5.2).
pub(super) const NONCE: usize = 12;
/// Length of a tag, in bytes (RFC 5116 §5.2).
pub(super) const TAG: usize = 16;
/// Shortest seal, in bytes: an issue time of one byte, family, length and an IPv4 address, and the
/// tag.
pub(super) const MIN_SEAL: usize = 1 + 2 + 4 + TAG;

/// Bytes that are not a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{0} bytes are not a path token of version {VERSION}")]
pub struct Malformed(pub usize);

/// The part of a token that a client can read, to size its windows before the server's data
/// arrives.
///
/// It is not authenticated to the client beyond TLS: the server describes its own future behaviour.
/// A client applies its own limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadToken {
    /// Bytes in flight that the path carried.
    pub window: Bytes,
    /// Smallest RTT.
    pub rtt: Span,
    /// Time at which the token expires.
    pub expires: Epoch,
}

impl ReadToken {
    /// Parses the part before the seal.
    ///
    /// # Errors
    /// The bytes are not a token of this version.
    pub fn parse(token: &[u8]) -> Result<Self, Malformed> {
        Parts::of(token).map(|parts| parts.read)
    }
}

/// A parsed token, not authenticated.
pub(super) struct Parts<'a> {
    pub key: [u8; KEY_ID],
    pub nonce: [u8; NONCE],
    pub read: ReadToken,
    /// The bytes before the seal.
    pub clear: &'a [u8],
    pub seal: &'a [u8],
}

impl<'a> Parts<'a> {
    pub fn of(token: &'a [u8]) -> Result<Self, Malformed> {
        Self::read(token).ok_or(Malformed(token.len()))
    }

    fn read(token: &'a [u8]) -> Option<Self> {
        if token.len() > MAX_TOKEN {
            return None;
        }
        let (&[version], rest) = token.split_first_chunk()?;
        let (&key, rest) = rest.split_first_chunk()?;
        let (&nonce, mut rest) = rest.split_first_chunk()?;
        let mut value = || VarInt::decode(&mut rest).ok().map(VarInt::into_inner);
        let (window, rtt, expires) = (value()?, read_rtt(value()?)?, value()?);
        if version != VERSION || window == 0 || rtt.is_zero() || rest.len() < MIN_SEAL {
            return None;
        }
        let read = ReadToken {
            window: Bytes::new(window),
            rtt,
            expires: Epoch::from_unix_millis(expires),
        };
        let clear = &token[..token.len() - rest.len()];
        Some(Self { key, nonce, read, clear, seal: rest })
    }

    /// Returns the bytes before the seal for `path`. `None` if a value exceeds a QUIC integer.
    pub fn clear(key: [u8; KEY_ID], nonce: [u8; NONCE], path: &SavedPath) -> Option<Vec<u8>> {
        let mut bytes = Vec::with_capacity(MAX_TOKEN);
        bytes.push(VERSION);
        bytes.extend_from_slice(&key);
        bytes.extend_from_slice(&nonce);
        for value in [path.window.get(), write_rtt(path.rtt), path.expires.as_unix_millis()] {
            VarInt::from_u64(value).ok()?.encode(&mut bytes);
        }
        Some(bytes)
    }
}

/// Returns an RTT as tokens have it: in microseconds, rounded up, so that none becomes zero.
pub(super) fn write_rtt(rtt: Span) -> u64 {
    rtt.as_nanos().div_ceil(1000)
}

/// Returns the RTT of so many microseconds. `None` beyond what nanoseconds can count, though a
/// token may have up to 2^62; no RTT comes near.
pub(super) fn read_rtt(micros: u64) -> Option<Span> {
    Some(Span::from_nanos(micros.checked_mul(1000)?))
}

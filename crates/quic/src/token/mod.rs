//! Path tokens: what a server found out about a path, sealed by it and kept by the client.
//!
//! A server that issues tokens needs no store: the client brings back what was measured, and the
//! seal proves that the server wrote it, for that address, not long ago
//! (draft-kuhn-quic-bdpframe-extension-05 §2, "readable at the client"; the form is our own, since
//! no draft fixes one).
//!
//! - [`KeyRing`] holds the keys, [`PathTokens`] seals and opens, [`TokenCounts`] says what became
//!   of tokens;
//! - [`ReadToken`] is what the client can read, [`PathTokenStore`] keeps tokens by server;
//! - [`stream`] carries tokens in HTTP/3;
//! - [`TokenServer`] and [`TokenClient`] let connections exchange them, [`Tokens`] is one
//!   connection's part.
//!
//! # Form
//!
//! Integers marked `(i)` are variable-length (RFC 9000 §16), those with a width are in network byte
//! order.
//!
//! | bytes | field | |
//! |---|---|---|
//! | 1 | version | 1 |
//! | 4 | key | which key sealed it; drawn from the key, says nothing else |
//! | 12 | nonce | random; also the token's identity |
//! | 1 to 8 | window (i) | saved_cwnd in bytes, above zero |
//! | 1 to 8 | rtt (i) | saved_rtt in microseconds, rounded up, above zero |
//! | 1 to 8 | expiry (i) | milliseconds since 1970 |
//! | the rest | seal | AES-256-GCM (RFC 5116 §5.2) of the table below, with its tag of 16 bytes; all before is associated data |
//!
//! | sealed bytes | field | |
//! |---|---|---|
//! | 1 to 8 | issued (i) | milliseconds since 1970 |
//! | 1 | family | 4 or 6 |
//! | 1 | length | bits of the address that count |
//! | 4 or 16 | address | network that may use the token |
//!
//! With the dates of this century that is 57 to 83 bytes; readers refuse more than [`MAX_TOKEN`],
//! which leaves later versions room. The measurements stand once, before the seal, where the client
//! can size its windows by them; as associated data they are proven like what is inside. The
//! address is sealed, so that whoever sees a token does not learn who may use it.
//!
//! # What an observer sees
//!
//! Tokens travel only inside QUIC's encryption and are used once, so no two connections show the
//! same one. Nonce and seal of two tokens have nothing in common, whatever is in them.

mod exchange;
mod jar;
mod open;
mod ring;
mod sides;
pub mod stream;
mod used;

pub(crate) use exchange::{exchange, receive};
pub use jar::{MemoryPathTokenStore, PathTokenStore};
pub use open::{PathTokens, SealError, TokenCounts, TokenError};
pub use ring::{KeyRing, KeyRingError, MIN_PERIOD, Secret};

pub use sides::{ClientWindows, TokenClient, TokenOutcome, TokenServer, Tokens};

use crate::memory::SavedPath;
use bentpipe_units::{Bytes, Epoch, Span};
use noq_proto::VarInt;
use noq_proto::coding::{Decodable, Encodable};
use thiserror::Error;

/// Longest token that is read or carried, bytes.
pub const MAX_TOKEN: usize = 256;
/// The version in a token's first byte.
const VERSION: u8 = 1;
/// Bytes of a key's identity.
const KEY_ID: usize = 4;
/// Bytes of a nonce (RFC 5116 §5.2).
const NONCE: usize = 12;
/// Bytes of a tag (RFC 5116 §5.2).
const TAG: usize = 16;
/// Least bytes of a seal: an issue time of one byte, family, length and an IPv4 address, and the
/// tag.
const MIN_SEAL: usize = 1 + 2 + 4 + TAG;

/// Bytes that are no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{0} bytes are no path token of version {VERSION}")]
pub struct Malformed(pub usize);

/// What a client can read in a token: enough to size its windows before the server's data comes.
///
/// Nothing here is proven to the client: it is what a server said that it reached over TLS, about
/// its own future behaviour. A client keeps to its own limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadToken {
    /// What the server saw the path carry, bytes in flight.
    pub window: Bytes,
    /// The smallest round trip it saw.
    pub rtt: Span,
    /// When the token ends.
    pub expires: Epoch,
}

impl ReadToken {
    /// Reads what stands in front of the seal.
    ///
    /// # Errors
    /// What is no token of this version.
    pub fn parse(token: &[u8]) -> Result<Self, Malformed> {
        Parts::of(token).map(|parts| parts.read)
    }
}

/// A token taken apart, nothing proven.
struct Parts<'a> {
    key: [u8; KEY_ID],
    nonce: [u8; NONCE],
    read: ReadToken,
    /// All before the seal.
    clear: &'a [u8],
    seal: &'a [u8],
}

impl<'a> Parts<'a> {
    fn of(token: &'a [u8]) -> Result<Self, Malformed> {
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
        let (window, rtt_us, expires) = (value()?, value()?, value()?);
        // Up to 2^62 microseconds, which do not fit nanoseconds: no round trip comes near.
        let rtt = Span::from_nanos(rtt_us.checked_mul(1000)?);
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

    /// All before the seal, for `path`; nothing where a value is no QUIC integer.
    fn clear(key: [u8; KEY_ID], nonce: [u8; NONCE], path: &SavedPath) -> Option<Vec<u8>> {
        let mut bytes = Vec::with_capacity(MAX_TOKEN);
        bytes.push(VERSION);
        bytes.extend_from_slice(&key);
        bytes.extend_from_slice(&nonce);
        let rtt_us = path.rtt.as_nanos().div_ceil(1000);
        for value in [path.window.get(), rtt_us, path.expires.as_unix_millis()] {
            VarInt::from_u64(value).ok()?.encode(&mut bytes);
        }
        Some(bytes)
    }
}

#[cfg(test)]
mod tests;

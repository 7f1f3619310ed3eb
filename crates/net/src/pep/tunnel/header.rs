//! Header and reply of a tunnel's stream.
//!
//! Each TCP connection has a stream. The ingress sends a header: version 1, its initial limit (4
//! bytes, network order) and the target as in SOCKS5 (RFC 1928 §4: type, address, port). The bytes
//! of the client follow, up to 32 kB ([`INITIAL_LIMIT`]) until the ingress learns a higher limit.
//! The egress replies with the byte 0 if it has reached the server, its limit, and the bytes of the
//! server. Otherwise it replies with the code of a [`Refusal`] only.

use crate::pep::refusal::Refusal;
use crate::pep::target::{Target, TargetError};
use thiserror::Error;

/// Version of the protocol.
const VERSION: u8 = 1;
/// First byte of a reply if the server was reached.
const REACHED: u8 = 0;
/// Bytes that every egress accepts before its reply: the smallest buffer of a proxy.
pub(super) const INITIAL_LIMIT: u32 = 32 * 1024;
/// Longest header, bytes: version, window, type, length, longest name, port.
pub(super) const MAX_HEADER: usize = 1 + 4 + 1 + 1 + 255 + 2;
/// Longest reply, bytes: code and window.
pub(super) const MAX_REPLY: usize = 1 + 4;

/// Why a header is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum HeaderError {
    /// The version is not supported.
    #[error("tunnel version {0} is not supported; allowed: {VERSION}")]
    Version(u8),
    /// The target is invalid.
    #[error(transparent)]
    Target(#[from] TargetError),
}

/// Returns the header of a stream.
pub fn write_header(window: u32, target: &Target) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    bytes.extend(window.to_be_bytes());
    target.encode(&mut bytes);
    bytes
}

/// The header of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Initial limit of the ingress, bytes.
    pub window: u32,
    /// Target of the connection.
    pub target: Target,
    /// Length of the header, bytes.
    pub length: usize,
}

/// Reads a header from the start of `bytes`. `None` if more bytes are needed.
///
/// # Errors
/// The bytes are invalid, whatever follows.
pub fn read_header(bytes: &[u8]) -> Result<Option<Header>, HeaderError> {
    let Some((&version, rest)) = bytes.split_first() else { return Ok(None) };
    if version != VERSION {
        return Err(HeaderError::Version(version));
    }
    let Some((window, rest)) = rest.split_first_chunk() else { return Ok(None) };
    let decoded = Target::decode(rest)?;
    Ok(decoded.map(|(target, used)| Header {
        window: u32::from_be_bytes(*window),
        target,
        length: 1 + 4 + used,
    }))
}

/// Returns the reply of an egress that has reached the server, with its limit.
pub(super) fn write_reply(window: u32) -> Vec<u8> {
    let mut bytes = vec![REACHED];
    bytes.extend(window.to_be_bytes());
    bytes
}

/// Reads a reply from the start of `bytes`: the limit of the egress, or `None` if more bytes are
/// needed.
pub(super) fn read_reply(bytes: &[u8]) -> Result<Option<u32>, Refusal> {
    match bytes.split_first() {
        None => Ok(None),
        Some((&REACHED, rest)) => Ok(rest.first_chunk().map(|window| u32::from_be_bytes(*window))),
        Some((&code, _)) => Err(Refusal::from_code(code)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_header_is_read_back_and_other_versions_are_refused() {
        let target = Target::from_authority("example.org:443").unwrap();
        let mut bytes = write_header(70_000, &target);
        let length = bytes.len();
        for end in 0..length {
            assert_eq!(read_header(&bytes[..end]), Ok(None));
        }
        bytes.extend(b"GET");
        assert_eq!(read_header(&bytes), Ok(Some(Header { window: 70_000, target, length })));
        bytes[0] = 2;
        assert_eq!(read_header(&bytes), Err(HeaderError::Version(2)));
    }

    #[test]
    fn a_reply_is_a_window_or_a_refusal() {
        let bytes = write_reply(70_000);
        assert_eq!(bytes.len(), MAX_REPLY);
        assert_eq!((read_reply(&bytes[..4]), read_reply(&bytes)), (Ok(None), Ok(Some(70_000))));
        assert_eq!(read_reply(&[Refusal::Refused.code()]), Err(Refusal::Refused));
    }

    proptest! {
        #[test]
        fn no_header_is_longer_than_the_longest(
            mut bytes in prop::collection::vec(any::<u8>(), MAX_HEADER..MAX_HEADER + 9),
            kind in 0u8..5,
        ) {
            (bytes[0], bytes[5]) = (VERSION, kind);
            prop_assert!(!matches!(read_header(&bytes), Ok(None)), "more bytes are needed");
        }
    }
}

//! What stands at the beginning of a stream of the tunnel: where the connection wants to go, and
//! what became of that.
//!
//! A stream for each TCP connection. The entrance begins it with a version, 1, how many bytes it
//! can take at first (4 bytes, network order), and the target as SOCKS5 has it (RFC 1928 §4: type,
//! address, port). It goes on with what the client says, up to 32 kB ([`FIRST`]) until it hears
//! more. The exit begins with one byte: 0 where the server has been reached, then how many bytes it
//! can take in all, and what the server says; otherwise the number of a [`Refusal`], and that is
//! all.

use super::super::refusal::Refusal;
use super::super::target::{Target, TargetError};
use thiserror::Error;

/// The version of this.
const VERSION: u8 = 1;
/// What the exit begins with where all is well.
const REACHED: u8 = 0;
/// What every exit can take before it has said so, bytes: the least that a proxy's buffers are.
pub(super) const FIRST: u32 = 32 * 1024;
/// The longest header: version, window, type, length, the longest name that a length can say, port.
pub(super) const LONGEST: usize = 1 + 4 + 1 + 1 + 255 + 2;
/// The longest answer: code and window.
pub(super) const LONGEST_ANSWER: usize = 1 + 4;

/// A header that this version cannot read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum HeaderError {
    /// Another version.
    #[error("version {0} of the tunnel; allowed: {VERSION}")]
    Version(u8),
    /// No destination.
    #[error(transparent)]
    Target(#[from] TargetError),
}

/// The beginning of a stream.
pub fn write_header(window: u32, target: &Target) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    bytes.extend(window.to_be_bytes());
    target.encode(&mut bytes);
    bytes
}

/// What a header says, and how many bytes it took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// How many bytes the entrance can take at first.
    pub window: u32,
    /// Where the connection wants to go.
    pub target: Target,
    /// Bytes of the header.
    pub length: usize,
}

/// Reads a header from the beginning of `bytes`; nothing where some are still to come.
///
/// # Errors
/// What no byte that follows can mend.
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

/// What an exit begins with that has reached the server, and can take so many bytes.
pub(super) fn write_answer(window: u32) -> Vec<u8> {
    let mut bytes = vec![REACHED];
    bytes.extend(window.to_be_bytes());
    bytes
}

/// Reads that from the beginning of `bytes`: how many bytes the exit can take; nothing where some
/// are still to come.
pub(super) fn read_answer(bytes: &[u8]) -> Result<Option<u32>, Refusal> {
    match bytes.split_first() {
        None => Ok(None),
        Some((&REACHED, rest)) => Ok(rest.first_chunk().map(|window| u32::from_be_bytes(*window))),
        Some((&number, _)) => Err(Refusal::from_number(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_header_comes_back_and_another_version_does_not() {
        let target = Target::from_authority("example.org:443").unwrap();
        let mut bytes = write_header(70_000, &target);
        let length = bytes.len();
        for most in 0..length {
            assert_eq!(read_header(&bytes[..most]), Ok(None));
        }
        bytes.extend(b"GET");
        assert_eq!(read_header(&bytes), Ok(Some(Header { window: 70_000, target, length })));
        bytes[0] = 2;
        assert_eq!(read_header(&bytes), Err(HeaderError::Version(2)));
    }

    #[test]
    fn an_answer_is_a_window_or_a_refusal() {
        let bytes = write_answer(70_000);
        assert_eq!(bytes.len(), LONGEST_ANSWER);
        assert_eq!((read_answer(&bytes[..4]), read_answer(&bytes)), (Ok(None), Ok(Some(70_000))));
        assert_eq!(read_answer(&[Refusal::Refused.number()]), Err(Refusal::Refused));
    }

    proptest! {
        #[test]
        fn no_header_is_longer_than_the_longest(mut bytes in prop::collection::vec(any::<u8>(), LONGEST..LONGEST + 9), kind in 0u8..5) {
            (bytes[0], bytes[5]) = (VERSION, kind);
            prop_assert!(!matches!(read_header(&bytes), Ok(None)), "it asks for more");
        }
    }
}

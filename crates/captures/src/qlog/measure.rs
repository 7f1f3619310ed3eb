//! Sizes and packet numbers, bounded.

use crate::json::{Scalar, from_object};
use bentpipe_units::Span;

/// Largest packet, and so the most data of a frame, in bytes (RFC 768). The account and the
/// simulation take as long as the data that a file names, so that it must not name any amount.
const MAX_PACKET: u64 = 65_535;
/// Bits of packet numbers. With several paths, which number their packets each by itself, the bits
/// above have the number of the path.
const NUMBER_BITS: u32 = 48;
/// Most paths of a connection.
pub const MAX_PATHS: u64 = 256;

/// Returns the number of a packet of a path, which no packet of another path has.
pub fn number_on_path(path: u64, number: u64) -> u64 {
    if path == 0 {
        return number;
    }
    (path.min(MAX_PATHS) << NUMBER_BITS) | (number & ((1 << NUMBER_BITS) - 1))
}

/// Returns the first of `numbers` that is one, unless no packet has this size.
pub fn size_of<const N: usize>(numbers: [&Scalar; N]) -> Option<u64> {
    numbers.into_iter().find_map(Scalar::integer).filter(|size| *size <= MAX_PACKET)
}

/// Sizes of a packet or frame.
#[derive(Debug, Clone, Default)]
pub struct RawSize {
    pub length: Scalar,
    pub payload_length: Scalar,
}

from_object!(RawSize {
    "length" => length: get,
    "payload_length" => payload_length: get,
});

/// Longest span that counts as one, in seconds: a day.
const MAX_SPAN: f64 = 86_400.0;

/// Returns a span of time that is written in units of so many seconds.
pub fn span(value: &Scalar, unit: f64) -> Option<Span> {
    let seconds = value.float()? * unit;
    (0.0..=MAX_SPAN).contains(&seconds).then(|| Span::from_secs_f64(seconds))
}

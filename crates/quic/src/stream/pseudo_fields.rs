//! A check of the pseudo-header fields in an encoded field section (RFC 9114 §4.3), which the `h3`
//! crate does not make: it accepts them after other fields, and the last of several.

use std::ops::Range;
use thiserror::Error;

/// Why a field section is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum MalformedSection {
    /// A pseudo-header field follows another field.
    #[error("a pseudo-header field after other fields")]
    Late,
    /// A pseudo-header field occurs twice.
    #[error("a pseudo-header field twice")]
    Repeated,
    /// A pseudo-header field in trailers.
    #[error("a pseudo-header field in trailers")]
    InTrailers,
    /// A pseudo-header field of responses in a request, or of requests in a response.
    #[error("a pseudo-header field of the other direction")]
    OtherDirection,
}

/// What the fields of a section belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    /// A request.
    Request,
    /// A response.
    Response,
    /// The end of either.
    Trailers,
}

/// Pseudo-header fields (RFC 9114 §4.3, RFC 9220 §3).
const NAMES: [&[u8]; 6] =
    [b":authority", b":method", b":path", b":protocol", b":scheme", b":status"];

/// The index of `:status` there, the only one of responses.
const STATUS: usize = 5;
/// The index of `:protocol` there.
const PROTOCOL: usize = 3;

/// Huffman codes of the characters in these names and in the protocols that are known here, with
/// their lengths in bits (RFC 7541, appendix B).
const CODES: [(u8, u32, u32); 21] = [
    (b'-', 0x16, 6),
    (b':', 0x5c, 7),
    (b'a', 0x3, 5),
    (b'b', 0x23, 6),
    (b'c', 0x4, 5),
    (b'd', 0x24, 6),
    (b'e', 0x5, 5),
    (b'h', 0x27, 6),
    (b'i', 0x6, 5),
    (b'k', 0x75, 7),
    (b'l', 0x28, 6),
    (b'm', 0x29, 6),
    (b'n', 0x2a, 6),
    (b'o', 0x7, 5),
    (b'p', 0x2b, 6),
    (b'r', 0x2c, 6),
    (b's', 0x8, 5),
    (b't', 0x9, 5),
    (b'u', 0x2d, 6),
    (b'w', 0x78, 7),
    (b'y', 0x7a, 7),
];

/// Characters of the longest text that is decoded: no name or protocol here is longer.
const MAX_TEXT: usize = 16;

/// Bits that the bytes of an integer after the first may have, in the `h3` crate.
const MAX_SHIFT: u32 = 63;

/// Checks a field section encoded by QPACK (RFC 9204 §4.5) without a dynamic table, which we do
/// not offer. A section that cannot be parsed is left to the library. Returns where the value of
/// `:protocol` is in `fields`, as it is encoded, if it has one.
///
/// # Errors
/// A pseudo-header field is late, repeated, in trailers, or of the other direction.
pub(super) fn check(
    fields: &[u8],
    section: Section,
) -> Result<Option<Range<usize>>, MalformedSection> {
    let mut reader = Reader(fields);
    let (mut seen, mut others, mut protocol) = ([false; NAMES.len()], false, None);
    // Required Insert Count and Base.
    if reader.integer(8).is_none() || reader.integer(7).is_none() {
        return Ok(None);
    }
    while let Some((name, value)) = reader.field_line() {
        let Some(pseudo) = name else {
            others = true;
            continue;
        };
        match section {
            Section::Trailers => return Err(MalformedSection::InTrailers),
            Section::Request if pseudo == STATUS => return Err(MalformedSection::OtherDirection),
            Section::Response if pseudo != STATUS => return Err(MalformedSection::OtherDirection),
            Section::Request | Section::Response => {}
        }
        if others {
            return Err(MalformedSection::Late);
        }
        if std::mem::replace(&mut seen[pseudo], true) {
            return Err(MalformedSection::Repeated);
        }
        if pseudo == PROTOCOL {
            let end = fields.len() - reader.0.len();
            protocol = Some(end - value..end);
        }
    }
    Ok(protocol)
}

/// Returns the text of an encoded string whose length has 7 bits (RFC 9204 §4.1.2). `None` if it is
/// longer than 16 characters, or has others than those of protocols that are known here.
pub(super) fn short_text(encoded: &[u8]) -> Option<Vec<u8>> {
    let (huffman, text) = Reader(encoded).string(7)?;
    if !huffman {
        return (text.len() <= MAX_TEXT).then(|| text.to_vec());
    }
    let (name, bits, count) = decode(text);
    // What is left is padding: less than a byte, of ones (RFC 7541 §5.2).
    (count < 8 && bits == (1 << count) - 1).then_some(name)
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Reads an integer whose first `bits` bits end the next byte (RFC 7541 §5.1), of as many bytes
    /// as the library accepts: what only the library could read would pass unchecked.
    fn integer(&mut self, bits: u32) -> Option<usize> {
        let (first, mut rest) = self.0.split_first()?;
        let mask = (1u64 << bits) - 1;
        let mut value = u64::from(*first) & mask;
        if value == mask {
            let mut shift = 0;
            loop {
                let (byte, after) = rest.split_first()?;
                rest = after;
                value += u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte & 0x80 == 0 {
                    break;
                }
                if shift >= MAX_SHIFT {
                    return None;
                }
            }
        }
        self.0 = rest;
        usize::try_from(value).ok()
    }

    /// Reads a string whose length has `bits` bits in the next byte, after the Huffman bit.
    fn string(&mut self, bits: u32) -> Option<(bool, &'a [u8])> {
        let huffman = self.0.first()? & (1 << bits) != 0;
        let length = self.integer(bits)?;
        let text = self.0.get(..length)?;
        self.0 = &self.0[length..];
        Some((huffman, text))
    }

    /// Reads a field line. Returns the pseudo-header field that it is, if it is one, and the bytes
    /// of its encoded value. `None` at the end, and at lines that are invalid without a dynamic
    /// table.
    fn field_line(&mut self) -> Option<(Option<usize>, usize)> {
        let first = *self.0.first()?;
        if first & 0x80 != 0 {
            let index = self.integer(6)?;
            return (first & 0x40 != 0).then(|| (of_static_table(index), 0));
        }
        let name = if first & 0x40 != 0 {
            let index = self.integer(4)?;
            (first & 0x10 != 0).then(|| of_static_table(index))?
        } else if first & 0x20 != 0 {
            let (huffman, name) = self.string(3)?;
            position(huffman, name)
        } else {
            return None;
        };
        let before = self.0.len();
        self.string(7)?;
        Some((name, before - self.0.len()))
    }
}

/// Returns the pseudo-header field of an entry of the static table (RFC 9204, appendix A).
fn of_static_table(index: usize) -> Option<usize> {
    let name: &[u8] = match index {
        0 => b":authority",
        1 => b":path",
        15..=21 => b":method",
        22 | 23 => b":scheme",
        24..=28 | 63..=71 => b":status",
        _ => return None,
    };
    position(false, name)
}

/// Returns the index of `name` in [`NAMES`].
fn position(huffman: bool, name: &[u8]) -> Option<usize> {
    let decoded = huffman.then(|| decode(name).0);
    let name = decoded.as_deref().unwrap_or(name);
    NAMES.iter().position(|known| *known == name)
}

/// Decodes a text of the characters in [`CODES`]. Any other text is cut off. Returns the bits that
/// are left, and their number, too.
fn decode(mut encoded: &[u8]) -> (Vec<u8>, u32, u32) {
    let (mut name, mut bits, mut count) = (Vec::new(), 0u32, 0);
    'characters: while name.len() < MAX_TEXT {
        while count < 7 {
            let Some((byte, rest)) = encoded.split_first() else { break };
            (bits, count, encoded) = (bits << 8 | u32::from(*byte), count + 8, rest);
        }
        for (character, code, length) in CODES {
            if count >= length && bits >> (count - length) == code {
                name.push(character);
                count -= length;
                bits &= (1 << count) - 1;
                continue 'characters;
            }
        }
        break;
    }
    (name, bits, count + 8 * u32::try_from(encoded.len()).unwrap_or(u32::MAX / 16))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A section with these lines.
    fn section(lines: &[&[u8]]) -> Vec<u8> {
        [&[&[0, 0][..]], lines].concat().concat()
    }

    /// A literal name and the value `v`.
    fn literal(name: &[u8]) -> Vec<u8> {
        let length = match name.len() {
            short @ 0..7 => vec![0x20 | short as u8],
            long => vec![0x27, long as u8 - 7],
        };
        [&length[..], name, &[1, b'v']].concat()
    }

    #[test]
    fn pseudo_fields_come_once_and_first() {
        let (get, https, path) = ([0xc0 | 17], [0xc0 | 23], [0x51, 2, b'/', b'a']);
        let authority = literal(b":authority");
        let other = literal(b"accept");
        let whole = section(&[&get, &https, &path, &authority, &other]);
        assert_eq!(check(&whole, Section::Request), Ok(None));
        assert_eq!(check(&whole, Section::Trailers), Err(MalformedSection::InTrailers));
        assert_eq!(check(&section(&[&other]), Section::Trailers), Ok(None));
        let late = section(&[&get, &other, &path]);
        assert_eq!(check(&late, Section::Request), Err(MalformedSection::Late));
        // Entry 95 of the static table is user-agent.
        let late = section(&[&get, &[0xff, 32], &path]);
        assert_eq!(check(&late, Section::Request), Err(MalformedSection::Late));
        for twice in [section(&[&get, &path, &path]), section(&[&get, &path, &literal(b":path")])] {
            assert_eq!(check(&twice, Section::Request), Err(MalformedSection::Repeated));
        }
    }

    #[test]
    fn padded_integers_hide_nothing() {
        let (get, path) = ([0xc0 | 17], [0x51, 2, b'/', b'a']);
        for zeros in 0..9 {
            // The longest encodings of an integer that add nothing to its first byte.
            let padding = [&[0x80].repeat(zeros)[..], &[0]].concat();
            let lines = [&get[..], &path, &path].concat();
            let base = [&[0, 0x7f], &padding[..], &lines].concat();
            assert_eq!(check(&base, Section::Request), Err(MalformedSection::Repeated), "{zeros}");
            let count = [&[0xff], &padding[..], &[0], &lines].concat();
            assert_eq!(check(&count, Section::Request), Err(MalformedSection::Repeated), "{zeros}");
            let name = [&[0x27], &padding[..], b"x-other", &[1, b'v']].concat();
            let late = section(&[&get, &name, &path]);
            assert_eq!(check(&late, Section::Request), Err(MalformedSection::Late), "{zeros}");
        }
    }

    #[test]
    fn pseudo_fields_have_a_direction() {
        let (get, ok) = (section(&[&[0xc0 | 17]]), section(&[&[0xc0 | 25]]));
        assert_eq!(check(&get, Section::Request), Ok(None));
        assert_eq!(check(&ok, Section::Response), Ok(None));
        for (fields, of) in [(&get, Section::Response), (&ok, Section::Request)] {
            assert_eq!(check(fields, of), Err(MalformedSection::OtherDirection));
        }
    }

    #[test]
    fn the_value_of_a_protocol_is_found_and_read() {
        let (connect, https) = ([0xc0 | 15], [0xc0 | 23]);
        let value = |text: &[u8]| [&[text.len() as u8][..], text].concat();
        // As Python's hpack 4 encodes them.
        let websocket = [0x87, 0xf0, 0x58, 0xd0, 0x72, 0x75, 0x2a, 0x7f];
        let connect_udp = [0x88, 0x21, 0xea, 0xa8, 0xa4, 0x4a, 0xd6, 0xc9, 0x5f];
        for (encoded, text) in [
            (value(b"websocket"), &b"websocket"[..]),
            (websocket.to_vec(), b"websocket"),
            (connect_udp.to_vec(), b"connect-udp"),
        ] {
            let line = [&[0x27, 2][..], b":protocol", &encoded].concat();
            let fields = section(&[&connect, &line, &https, &literal(b"accept")]);
            let found = check(&fields, Section::Request).unwrap().unwrap();
            assert_eq!(&fields[found.clone()], encoded);
            assert_eq!(short_text(&fields[found]).as_deref(), Some(text));
        }
        assert_eq!(check(&section(&[&connect, &https]), Section::Request), Ok(None));
        // Characters of others, no padding, padding of a byte and more.
        for wrong in [&[0x81, 0xff][..], &[0x81, 0x00], &[0x83, 0xf0, 0xff, 0xff], &[0x85, 0xf0]] {
            assert_eq!(short_text(wrong).filter(|text| !text.is_empty()), None, "{wrong:x?}");
        }
    }

    #[test]
    fn encoded_names_are_recognized() {
        // As Python's hpack 4 encodes them.
        for (name, encoded) in [
            (&b":authority"[..], &[0xb8, 0x3b, 0x53, 0x39, 0xec, 0x32, 0x7d, 0x7f][..]),
            (b":method", &[0xb9, 0x49, 0x53, 0x39, 0xe4]),
            (b":path", &[0xb9, 0x58, 0xd3, 0x3f]),
            (b":protocol", &[0xb9, 0x5d, 0x87, 0x49, 0xc8, 0x7a, 0x3f]),
            (b":scheme", &[0xb8, 0x82, 0x4e, 0x5a, 0x4b]),
            (b":status", &[0xb8, 0x84, 0x8d, 0x36, 0xa3]),
        ] {
            let index = NAMES.iter().position(|known| *known == name);
            assert_eq!(position(true, encoded), index, "{}", name.escape_ascii());
            assert_eq!(position(false, name), index);
        }
        assert_eq!(position(true, &[0x1c, 0x64, 0x53]), None);
        assert_eq!(position(true, &[]), None);
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_checked(bytes: Vec<u8>) {
            for section in [Section::Request, Section::Response, Section::Trailers] {
                let found = check(&bytes, section);
                if let Ok(Some(value)) = found {
                    let _ = short_text(&bytes[value]);
                }
            }
        }
    }
}

//! Versions of QUIC: 1 (RFC 9000 and RFC 9001), 2 (RFC 9369), and drafts 27 to 32.

use std::fmt;

/// What a packet with a long header is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Initial.
    Initial,
    /// 0-RTT.
    ZeroRtt,
    /// Handshake.
    Handshake,
    /// Retry.
    Retry,
}

/// Labels with which keys are derived from secrets.
#[derive(Debug)]
pub struct Labels {
    /// Of the key of the AEAD.
    pub key: &'static str,
    /// Of its IV.
    pub iv: &'static str,
    /// Of the key of header protection.
    pub header: &'static str,
    /// Of the secret of the next key phase.
    pub update: &'static str,
}

/// A version.
#[derive(Debug)]
pub struct Version {
    /// The smallest and the largest of its numbers in long headers.
    numbers: (u32, u32),
    /// Salt of the secrets of Initial packets.
    pub salt: [u8; 20],
    /// Its labels.
    pub labels: Labels,
    /// What the two bits of the type mean.
    kinds: [Kind; 4],
}

const KINDS: [Kind; 4] = [Kind::Initial, Kind::ZeroRtt, Kind::Handshake, Kind::Retry];
/// RFC 9369 §3.2.
const KINDS_2: [Kind; 4] = [Kind::Retry, Kind::Initial, Kind::ZeroRtt, Kind::Handshake];
const LABELS: Labels =
    Labels { key: "quic key", iv: "quic iv", header: "quic hp", update: "quic ku" };
/// RFC 9369 §3.3.2.
const LABELS_2: Labels =
    Labels { key: "quicv2 key", iv: "quicv2 iv", header: "quicv2 hp", update: "quicv2 ku" };

/// The versions that are read, the most frequent first.
pub static VERSIONS: [Version; 4] = [
    Version {
        numbers: (1, 1),
        salt: [
            0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8,
            0x0c, 0xad, 0xcc, 0xbb, 0x7f, 0x0a,
        ],
        labels: LABELS,
        kinds: KINDS,
    },
    Version {
        numbers: (0x6b33_43cf, 0x6b33_43cf),
        salt: [
            0x0d, 0xed, 0xe3, 0xde, 0xf7, 0x00, 0xa6, 0xdb, 0x81, 0x93, 0x81, 0xbe, 0x6e, 0x26,
            0x9d, 0xcb, 0xf9, 0xbd, 0x2e, 0xd9,
        ],
        labels: LABELS_2,
        kinds: KINDS_2,
    },
    // draft-ietf-quic-tls-29 to -32, §5.2.
    Version {
        numbers: (0xff00_001d, 0xff00_0020),
        salt: [
            0xaf, 0xbf, 0xec, 0x28, 0x99, 0x93, 0xd2, 0x4c, 0x9e, 0x97, 0x86, 0xf1, 0x9c, 0x61,
            0x11, 0xe0, 0x43, 0x90, 0xa8, 0x99,
        ],
        labels: LABELS,
        kinds: KINDS,
    },
    // draft-ietf-quic-tls-23 to -28, §5.2, of which the packets of 27 and 28 are as those here.
    Version {
        numbers: (0xff00_001b, 0xff00_001c),
        salt: [
            0xc3, 0xee, 0xf7, 0x12, 0xc7, 0x2e, 0xbb, 0x5a, 0x11, 0xa7, 0xd2, 0x43, 0x2b, 0xb4,
            0x63, 0x65, 0xbe, 0xf9, 0xf5, 0x02,
        ],
        labels: LABELS,
        kinds: KINDS,
    },
];

/// The number of a version that is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unread(u32);

impl Unread {
    /// Returns that of a packet with a long header (RFC 8999 §5.1), if it is one of those that have
    /// been in use: drafts, Google QUIC and Facebook's.
    pub fn of(packet: &[u8]) -> Option<Self> {
        let [first, a, b, c, d, ..] = *packet else { return None };
        let number = u32::from_be_bytes([a, b, c, d]);
        let is_google = matches!(a, b'Q' | b'T') && [b, c, d].iter().all(u8::is_ascii_digit);
        let is_used = matches!(number, 0xff00_0001..=0xff00_00ff | 0xface_b000..=0xface_b00f);
        let is_unread = first & 0x80 != 0 && Version::of(number).is_none();
        (is_unread && (is_used || is_google)).then_some(Self(number))
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.to_be_bytes() {
            [0xff, 0, 0, draft] => write!(formatter, "QUIC of draft {draft}"),
            [kind @ (b'Q' | b'T'), rest @ ..] => {
                let digits = rest.map(char::from).iter().collect::<String>();
                write!(formatter, "Google QUIC {}{digits}", char::from(kind))
            }
            _ => write!(formatter, "QUIC of version {:#x}", self.0),
        }
    }
}

impl Version {
    /// What is read, as a user knows it.
    pub const READ: &str = "versions 1 and 2 and drafts 27 to 32 are read";

    /// Returns the version with this number; `None` if it is not read.
    pub fn of(number: u32) -> Option<&'static Self> {
        VERSIONS.iter().find(|one| (one.numbers.0..=one.numbers.1).contains(&number))
    }

    /// Returns what a packet is whose first byte is `first`.
    pub fn kind(&self, first: u8) -> Kind {
        self.kinds[usize::from(first >> 4 & 3)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_that_are_not_read_are_named() {
        let name = |first, number: [u8; 4]| {
            let [a, b, c, d] = number;
            Unread::of(&[first, a, b, c, d, 8]).map(|version| version.to_string())
        };
        let is = |name: &str| Some(name.to_owned());
        assert_eq!(name(0xff, [0xff, 0, 0, 18]), is("QUIC of draft 18"));
        assert_eq!(name(0xc3, *b"Q050"), is("Google QUIC Q050"));
        assert_eq!(name(0xc0, [0xfa, 0xce, 0xb0, 2]), is("QUIC of version 0xfaceb002"));
        assert_eq!(name(0xc0, [0xff, 0, 0, 29]), None, "it is read");
        assert_eq!(name(0xc0, [0, 0, 0, 1]), None, "it is read");
        assert_eq!(name(0x40, [0xff, 0, 0, 18]), None, "a short header");
        assert_eq!(name(0x80, [9, 9, 9, 9]), None, "anything");
        assert_eq!(Unread::of(&[0xc0, 0xff]), None);
    }
}

//! Packet protection of one direction (RFC 9001 §5 and §6).

use super::version::{Labels, Version};
use ring::aead::quic::HeaderProtectionKey;
use ring::aead::{Aad, LessSafeKey, Nonce, UnboundKey};
use ring::{aead, hkdf};

/// Algorithms of a cipher suite of TLS 1.3.
#[derive(Debug)]
pub struct Suite {
    hash: hkdf::Algorithm,
    aead: &'static aead::Algorithm,
    header: &'static aead::quic::Algorithm,
    /// Length of secrets in bytes.
    secret_length: usize,
}

/// The suites of QUIC, the most frequent first (RFC 9001 §5.3). That with AES-CCM is
/// hardly used.
pub static SUITES: [Suite; 3] = [
    Suite {
        hash: hkdf::HKDF_SHA256,
        aead: &aead::AES_128_GCM,
        header: &aead::quic::AES_128,
        secret_length: 32,
    },
    Suite {
        hash: hkdf::HKDF_SHA256,
        aead: &aead::CHACHA20_POLY1305,
        header: &aead::quic::CHACHA20,
        secret_length: 32,
    },
    Suite {
        hash: hkdf::HKDF_SHA384,
        aead: &aead::AES_256_GCM,
        header: &aead::quic::AES_256,
        secret_length: 48,
    },
];

/// Bytes from the packet number to the sample of header protection (RFC 9001 §5.4.2).
const SAMPLE: usize = 4;
/// Bit of the first byte that says that a header is long, and the key phase of a short one.
const LONG: u8 = 0x80;
const KEY_PHASE: u8 = 0x04;

struct Length(usize);

impl hkdf::KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// HKDF-Expand-Label without context (RFC 8446 §7.1).
fn expand(suite: &Suite, secret: &[u8], label: &str, length: usize) -> Option<Vec<u8>> {
    expand_from(&hkdf::Prk::new_less_safe(suite.hash, secret), label, length)
}

fn expand_from(secret: &hkdf::Prk, label: &str, length: usize) -> Option<Vec<u8>> {
    let name = format!("tls13 {label}");
    let info = [
        &u16::try_from(length).ok()?.to_be_bytes(),
        &[u8::try_from(name.len()).ok()?][..],
        name.as_bytes(),
        &[0],
    ];
    let mut bytes = vec![0; length];
    secret.expand(&info, Length(length)).and_then(|expanded| expanded.fill(&mut bytes)).ok()?;
    Some(bytes)
}

/// Key and IV of a key phase.
struct PhaseKey {
    key: LessSafeKey,
    iv: [u8; 12],
}

impl PhaseKey {
    fn new(suite: &Suite, labels: &Labels, secret: &[u8]) -> Option<Self> {
        let key = expand(suite, secret, labels.key, suite.aead.key_len())?;
        let iv = expand(suite, secret, labels.iv, 12)?;
        Some(Self {
            key: LessSafeKey::new(UnboundKey::new(suite.aead, &key).ok()?),
            iv: iv.try_into().ok()?,
        })
    }

    fn nonce(&self, number: u64) -> Nonce {
        let mut nonce = self.iv;
        for (byte, of_number) in nonce[4..].iter_mut().zip(number.to_be_bytes()) {
            *byte ^= of_number;
        }
        Nonce::assume_unique_for_key(nonce)
    }

    fn open(&self, number: u64, header: &[u8], payload: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = payload.to_vec();
        let opened = self.key.open_in_place(self.nonce(number), Aad::from(header), &mut bytes);
        let length = opened.ok()?.len();
        bytes.truncate(length);
        Some(bytes)
    }
}

/// The keys of one direction.
pub struct Keys {
    suite: &'static Suite,
    labels: &'static Labels,
    secret: Vec<u8>,
    header: HeaderProtectionKey,
    phase: bool,
    current: PhaseKey,
    /// Those of the key phase before, for packets that were reordered.
    previous: Option<PhaseKey>,
    /// Packet number that is expected next.
    expected: u64,
}

impl Keys {
    /// Creates the keys from a secret of TLS; `None` if it is none of the suite.
    pub fn new(version: &'static Version, suite: &'static Suite, secret: &[u8]) -> Option<Self> {
        if secret.len() != suite.secret_length {
            return None;
        }
        let labels = &version.labels;
        let header = expand(suite, secret, labels.header, suite.header.key_len())?;
        Some(Self {
            suite,
            labels,
            secret: secret.to_vec(),
            header: HeaderProtectionKey::new(suite.header, &header).ok()?,
            phase: false,
            current: PhaseKey::new(suite, labels, secret)?,
            previous: None,
            expected: 0,
        })
    }

    /// Returns the keys of the client's and the server's Initial packets, which follow from the
    /// connection ID that the client chose for the server (RFC 9001 §5.2): anyone can derive them.
    pub fn initial(version: &'static Version, server_id: &[u8]) -> Option<[Self; 2]> {
        let suite = &SUITES[0];
        let secret = hkdf::Salt::new(suite.hash, &version.salt).extract(server_id);
        let of = |label| {
            let secret = expand_from(&secret, label, suite.secret_length)?;
            Self::new(version, suite, &secret)
        };
        Some([of("client in")?, of("server in")?])
    }

    /// Continues the packet numbers of `other` keys: those of 0-RTT and 1-RTT are the same.
    pub fn continue_after(&mut self, other: &Self) {
        self.expected = self.expected.max(other.expected);
    }

    /// Opens a packet whose number begins at `number_at`. Returns its number and frames.
    pub fn open(&mut self, packet: &[u8], number_at: usize) -> Option<(u64, Vec<u8>)> {
        let sample = packet.get(number_at + SAMPLE..)?.get(..self.suite.header.sample_len())?;
        let mask = self.header.new_mask(sample).ok()?;
        let is_long = packet.first()? & LONG != 0;
        let first = packet.first()? ^ mask[0] & if is_long { 0x0f } else { 0x1f };
        let length = usize::from(first & 3) + 1;
        let (header, payload) = packet.split_at_checked(number_at + length)?;
        let mut header = header.to_vec();
        *header.first_mut()? = first;
        let mut truncated = 0;
        for (byte, mask) in header.get_mut(number_at..)?.iter_mut().zip(&mask[1..]) {
            *byte ^= mask;
            truncated = truncated << 8 | u64::from(*byte);
        }
        let number = full_number(self.expected, truncated, 8 * length as u32);
        let frames = if is_long || (first & KEY_PHASE != 0) == self.phase {
            self.current.open(number, &header, payload)?
        } else {
            self.open_other_phase(number, &header, payload)?
        };
        self.expected = self.expected.max(number + 1);
        Some((number, frames))
    }

    /// Protects a packet for tests: `header` is its header up to the packet number, which has two
    /// bytes.
    #[cfg(test)]
    pub fn seal(&self, header: &[u8], number: u64, frames: &[u8]) -> Vec<u8> {
        let number_at = header.len();
        let mut packet = [header, &(number as u16).to_be_bytes()].concat();
        let mut payload = frames.to_vec();
        let aad = Aad::from(&packet);
        let nonce = self.current.nonce(number);
        if self.current.key.seal_in_place_append_tag(nonce, aad, &mut payload).is_err() {
            return Vec::new();
        }
        packet.extend(payload);
        let sample = &packet[number_at + SAMPLE..][..self.suite.header.sample_len()];
        let mask = self.header.new_mask(sample).unwrap_or_default();
        packet[0] ^= mask[0] & if packet[0] & LONG != 0 { 0x0f } else { 0x1f };
        packet[number_at] ^= mask[1];
        packet[number_at + 1] ^= mask[2];
        packet
    }

    /// Opens a packet of another key phase: of the next one, which then is the current one, or of
    /// the one before.
    fn open_other_phase(&mut self, number: u64, header: &[u8], payload: &[u8]) -> Option<Vec<u8>> {
        if let Some(previous) = &self.previous
            && let Some(frames) = previous.open(number, header, payload)
        {
            return Some(frames);
        }
        let length = self.suite.secret_length;
        let secret = expand(self.suite, &self.secret, self.labels.update, length)?;
        let next = PhaseKey::new(self.suite, self.labels, &secret)?;
        let frames = next.open(number, header, payload)?;
        self.previous = Some(std::mem::replace(&mut self.current, next));
        (self.secret, self.phase) = (secret, !self.phase);
        Some(frames)
    }
}

/// Returns the packet number that is nearest to `expected` and ends with the `bits` of `truncated`
/// (RFC 9000 §A.3).
fn full_number(expected: u64, truncated: u64, bits: u32) -> u64 {
    let window = 1_u64 << bits;
    let candidate = expected & !(window - 1) | truncated;
    if candidate + window / 2 <= expected && candidate < (1 << 62) - window {
        candidate + window
    } else if candidate > expected + window / 2 && candidate >= window {
        candidate - window
    } else {
        candidate
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::pcap::quic::version::VERSIONS;

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<char> = hex.chars().filter(char::is_ascii_hexdigit).collect();
        let byte = |pair: &[char]| u8::from_str_radix(&String::from_iter(pair), 16).unwrap();
        digits.chunks(2).map(byte).collect()
    }

    /// RFC 9001 §A.5: a short packet with ChaCha20-Poly1305, whose number is 654360564.
    #[test]
    fn the_example_of_the_standard_is_opened() {
        let secret = bytes("9ac312a7f877468ebe69422748ad00a1 5443f18203a07d6060f688f30f21632b");
        let mut keys = Keys::new(&VERSIONS[0], &SUITES[1], &secret).unwrap();
        keys.expected = 654_360_560;
        let packet = bytes("4cfe4189655e5cd55c41f69080575d7999c25a5bfb");
        assert_eq!(keys.open(&packet, 1), Some((654_360_564, vec![1])));
        let of_another = Keys::new(&VERSIONS[0], &SUITES[2], &secret);
        assert!(of_another.is_none(), "its secrets are longer");
        let mut wrong = packet;
        wrong[20] ^= 1;
        assert_eq!(keys.open(&wrong, 1), None);
    }

    /// RFC 9000 §A.3.
    #[test]
    fn truncated_numbers_are_the_nearest() {
        assert_eq!(full_number(0xa82f_30eb, 0x9b32, 16), 0xa82f_9b32);
        assert_eq!(full_number(0, 255, 8), 255);
        assert_eq!(full_number(256, 250, 8), 250);
        assert_eq!(full_number(255, 3, 8), 259);
    }
}

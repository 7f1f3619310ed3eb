//! The first messages of TLS of both ends, out of the frames of packets of the handshake: the
//! ClientHello and the server's EncryptedExtensions (RFC 8446 §4.1.2 and §4.3.1).

use super::parameters::Parameters;
use std::collections::BTreeMap;

/// Types of the messages.
const CLIENT_HELLO: u8 = 1;
const ENCRYPTED_EXTENSIONS: u8 = 8;
/// Most bytes of it that are kept. Browsers send less than 2 kB, with key shares of ML-KEM.
const MAX_SIZE: usize = 64 * 1024;
/// Extension with the name of the server (RFC 6066 §3), and the type of a host's name.
const SERVER_NAME: usize = 0;
const HOST_NAME: u8 = 0;
/// Extension with the transport parameters (RFC 9001 §8.2), and that of drafts up to 32.
const PARAMETERS: [usize; 2] = [0x39, 0xffa5];
/// Longest name of a host (RFC 1035 §3.1).
const MAX_NAME: usize = 253;

/// Parts of the message, which come in any order and may overlap.
#[derive(Debug, Default)]
pub struct Parts {
    parts: BTreeMap<u64, Vec<u8>>,
    size: usize,
}

/// What the message says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientHello {
    /// The client's random number, by which key logs name the connection.
    pub random: [u8; 32],
    /// Name of the server, if it is one that hosts have.
    pub name: Option<String>,
    /// The client's transport parameters.
    pub parameters: Option<Parameters>,
}

impl Parts {
    /// Adds a part.
    pub fn add(&mut self, offset: u64, bytes: &[u8]) {
        let known = self.parts.get(&offset).map_or(0, Vec::len);
        if bytes.len() > known && self.size + bytes.len() - known <= MAX_SIZE {
            self.size += bytes.len() - known;
            self.parts.insert(offset, bytes.to_vec());
        }
    }

    /// Returns the ClientHello; `None` before its random number is complete.
    pub fn client_hello(&self) -> Option<ClientHello> {
        let bytes = self.joined();
        if bytes.first() != Some(&CLIENT_HELLO) {
            return None;
        }
        let random = *bytes.get(6..)?.first_chunk()?;
        let extensions = extensions(&bytes[38..]).unwrap_or_default();
        let parameters = parameters(extensions);
        Some(ClientHello { random, name: name(extensions), parameters })
    }

    /// Returns the server's transport parameters; `None` before its EncryptedExtensions.
    pub fn server_parameters(&self) -> Option<Parameters> {
        let bytes = self.joined();
        if bytes.first() != Some(&ENCRYPTED_EXTENSIONS) {
            return None;
        }
        parameters(vector(bytes.get(4..)?, 2)?.0)
    }

    /// Returns the message as far as it is complete.
    fn joined(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = Vec::new();
        for (offset, part) in &self.parts {
            let known = (bytes.len() as u64).checked_sub(*offset);
            let Some(known) = known.and_then(|known| usize::try_from(known).ok()) else { break };
            bytes.extend(part.get(known..).unwrap_or_default());
        }
        bytes
    }
}

/// Returns the number in the first `width` bytes, and what follows.
fn number(bytes: &[u8], width: usize) -> Option<(usize, &[u8])> {
    let (field, rest) = bytes.split_at_checked(width)?;
    Some((field.iter().fold(0, |value, byte| value << 8 | usize::from(*byte)), rest))
}

/// Returns the bytes whose length is in the `width` bytes before them, and what follows.
fn vector(bytes: &[u8], width: usize) -> Option<(&[u8], &[u8])> {
    let (length, rest) = number(bytes, width)?;
    rest.split_at_checked(length)
}

/// Returns the extensions, out of what follows the random number, as far as they are there.
fn extensions(bytes: &[u8]) -> Option<&[u8]> {
    let (_session, rest) = vector(bytes, 1)?;
    let (_suites, rest) = vector(rest, 2)?;
    let (_compression, rest) = vector(rest, 1)?;
    Some(number(rest, 2)?.1)
}

/// Returns the content of the first extension of one of these kinds.
fn extension<'a>(mut extensions: &'a [u8], kinds: &[usize]) -> Option<&'a [u8]> {
    loop {
        let (kind, rest) = number(extensions, 2)?;
        let (content, rest) = vector(rest, 2)?;
        if kinds.contains(&kind) {
            return Some(content);
        }
        extensions = rest;
    }
}

fn parameters(extensions: &[u8]) -> Option<Parameters> {
    extension(extensions, &PARAMETERS).map(Parameters::read)
}

/// Returns the name of the server.
fn name(extensions: &[u8]) -> Option<String> {
    let (names, _) = vector(extension(extensions, &[SERVER_NAME])?, 2)?;
    let (&kind, rest) = names.split_first()?;
    let (name, _) = vector(rest, 2)?;
    // Whatever a client writes here is printed: only what names of hosts consist of.
    let is_plain = name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(byte));
    let is_name = kind == HOST_NAME && is_plain && (1..=MAX_NAME).contains(&name.len());
    is_name.then(|| String::from_utf8_lossy(name).into_owned())
}

/// Returns a message for tests.
#[cfg(test)]
pub fn message_for_tests(random: [u8; 32], name: &[u8], padding: usize) -> Vec<u8> {
    let with_length = |content: &[u8]| {
        [&u16::try_from(content.len()).unwrap_or(u16::MAX).to_be_bytes()[..], content].concat()
    };
    let names = with_length(&[&[HOST_NAME][..], &with_length(name)].concat());
    let extensions = [
        &[0xfa, 0xfa, 0, 1, 0][..],
        // Padding (RFC 7685) in place of a large key share.
        &[0, 21],
        &with_length(&vec![0; padding]),
        &[0, 0],
        &with_length(&names),
        &[0, 0x39, 0, 3, 4, 1, 9],
    ]
    .concat();
    let body =
        [&[3, 3][..], &random, &[0, 0, 2, 0x13, 1, 1, 0], &with_length(&extensions)].concat();
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX).to_be_bytes();
    [&[1], &length[1..], &body].concat()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn parts_in_any_order_that_overlap_make_the_message() {
        let message = message_for_tests([7; 32], b"example.org", 1500);
        let mut parts = Parts::default();
        parts.add(900, &message[900..]);
        parts.add(20, &message[20..700]);
        assert_eq!(parts.client_hello(), None);
        parts.add(0, &message[..38]);
        let first = ClientHello { random: [7; 32], name: None, parameters: None };
        assert_eq!(parts.client_hello(), Some(first));
        parts.add(650, &message[650..1000]);
        let name = Some("example.org".to_owned());
        let parameters = Some(Parameters::read(&[4, 1, 9]));
        assert_eq!(parts.client_hello(), Some(ClientHello { random: [7; 32], name, parameters }));
        parts.add(1 << 61, &[0; MAX_SIZE]);
        assert!(parts.size <= MAX_SIZE);
    }

    #[test]
    fn names_that_no_host_has_are_left_out() {
        for name in
            [&b"\x1b[31mexample.org"[..], b"", b"a b", "ex\u{e4}mple.org".as_bytes(), &[b'a'; 254]]
        {
            let mut parts = Parts::default();
            parts.add(0, &message_for_tests([1; 32], name, 0));
            assert_eq!(parts.client_hello().unwrap().name, None, "{name:?}");
        }
    }
}

//! HTTP/3 as bytes (RFC 9114 §7, RFC 9204 §4.5), well and badly formed.

use super::steps::Content;

/// Encodes what a step says.
pub fn encode(content: &Content) -> Vec<u8> {
    match content {
        Content::Get(kilobytes) => headers(0xd1, &format!("/{kilobytes}")),
        Content::Put => headers(0xd5, "/"),
        Content::Data { declared, sent } => {
            let mut bytes = header(0x00, u64::from(*declared));
            bytes.resize(bytes.len() + usize::from(*sent), b'd');
            bytes
        }
        Content::Frame { kind, declared, sent } => {
            let mut bytes = header(*kind, *declared);
            bytes.resize(bytes.len() + usize::from(*sent), 0);
            bytes
        }
        // Control, push, QPACK encoder and decoder, reserved: only the first goes on as it should.
        Content::StreamType(0..128) => vec![0x00, 0x04, 0x00],
        Content::StreamType(kind) => vec![kind % 34],
        Content::Raw(bytes) => bytes.clone(),
    }
}

/// A HEADERS frame: method by its index in the static table, `https`, authority and path.
fn headers(method: u8, path: &str) -> Vec<u8> {
    let mut section = vec![0, 0, method, 0xd7];
    for (name, value) in [(0x50, "server.test"), (0x51, path)] {
        section.push(name);
        section.push(value.len() as u8);
        section.extend_from_slice(value.as_bytes());
    }
    let mut bytes = header(0x01, section.len() as u64);
    bytes.extend(section);
    bytes
}

/// Type and length of a frame.
fn header(kind: u64, length: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint(kind, &mut bytes);
    varint(length, &mut bytes);
    bytes
}

/// Appends a variable-length integer (RFC 9000 §16).
fn varint(value: u64, bytes: &mut Vec<u8>) {
    match value {
        0..0x40 => bytes.push(value as u8),
        0x40..0x4000 => bytes.extend((value as u16 | 0x4000).to_be_bytes()),
        0x4000..0x4000_0000 => bytes.extend((value as u32 | 0x8000_0000).to_be_bytes()),
        _ => bytes.extend((value & (u64::MAX >> 2) | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}

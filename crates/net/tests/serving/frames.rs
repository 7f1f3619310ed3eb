//! HTTP/3 frames, written and read byte by byte.

/// Frame types (RFC 9114 §7.2). `UNKNOWN` is one of those in §7.2.8.
pub const DATA: u8 = 0x0;
pub const HEADERS: u8 = 0x1;
pub const SETTINGS: u8 = 0x4;
pub const GOAWAY: u8 = 0x7;
pub const UNKNOWN: u8 = 0x21;

/// Returns the start of a frame of `length` bytes.
pub fn frame(kind: u8, length: u32) -> Vec<u8> {
    [&[kind][..], &(0x8000_0000 | length).to_be_bytes()].concat()
}

/// Returns a HEADERS frame. Fields refer to QPACK's static table (RFC 9204, appendix A).
pub fn headers(fields: &[u8]) -> Vec<u8> {
    let block = [&[0, 0], fields].concat();
    [frame(HEADERS, block.len() as u32), block].concat()
}

/// Returns a field whose name is entry `name` of the static table, below 15 (RFC 9204 §4.5.4).
pub fn field(name: u8, value: &[u8]) -> Vec<u8> {
    let length = match value.len() {
        short @ 0..127 => vec![short as u8],
        long => {
            let rest = long - 127;
            let mut bytes = vec![127];
            bytes.extend((0..3).map(|digit| {
                (rest >> (7 * digit)) as u8 & 0x7f | if digit < 2 { 0x80 } else { 0 }
            }));
            bytes
        }
    };
    [&[0x50 | name][..], &length, value].concat()
}

/// Returns a request for `path`. Entry 17 is `:method GET`, 20 is `:method POST`, 23 is `:scheme
/// https`.
pub fn request(method: u8, path: &str, more: &[u8]) -> Vec<u8> {
    headers(
        &[
            &[0xc0 | method, 0xc0 | 23][..],
            &field(1, path.as_bytes()),
            &field(0, b"localhost"),
            more,
        ]
        .concat(),
    )
}

pub fn get(path: &str) -> Vec<u8> {
    request(17, path, &[])
}

/// Returns the content of the DATA frames in a complete response.
pub fn data(mut frames: &[u8]) -> Vec<u8> {
    let integer = |frames: &mut &[u8]| {
        let length = 1 << (frames[0] >> 6);
        let value = frames[1..length]
            .iter()
            .fold(usize::from(frames[0] & 0x3f), |sum, byte| sum << 8 | usize::from(*byte));
        *frames = &frames[length..];
        value
    };
    let mut content = Vec::new();
    while !frames.is_empty() {
        let (kind, length) = (integer(&mut frames), integer(&mut frames));
        let (payload, rest) = frames.split_at(length);
        if kind == usize::from(DATA) {
            content.extend_from_slice(payload);
        }
        frames = rest;
    }
    content
}

//! Pseudo-header fields in the trailers of HTTP/2 requests, which make a request malformed (RFC
//! 9113 §8.1). The HTTP library drops them and carries on.
//!
//! [`TrailerCheck`] passes a client's bytes on, and holds each HEADERS frame until it is complete.
//! If trailers contain a pseudo-header field, it removes the frame's END_STREAM flag. The library
//! then sees trailers that do not end their stream, which are malformed too, and resets the stream
//! (PROTOCOL_ERROR).
//!
//! Of HPACK (RFC 7541) this needs only which fields are pseudo-header fields: for entries of the
//! dynamic table their order of insertion, and no text.

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Length of the connection preface of a client (RFC 9113 §3.4).
const PREFACE: usize = 24;
/// Length of a frame's header (RFC 9113 §4.1).
const FRAME_HEADER: usize = 9;
/// Largest payload of a frame that a client may send, unless the server allows more (RFC 9113
/// §4.2), which this one does not.
const MAX_PAYLOAD: usize = 16_384;
/// Types and flags of frames (RFC 9113 §6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 0x1;
const END_HEADERS: u8 = 0x4;
const PADDED: u8 = 0x8;
const PRIORITY: u8 = 0x20;
/// Entries of the static table: the first 14 are pseudo-header fields (RFC 7541 appendix A).
const STATIC: usize = 61;
const STATIC_PSEUDO: usize = 14;
/// Most entries of the dynamic table: 4,096 bytes, of which each entry takes at least 32 (RFC 7541
/// §4.1, §6.5.2 of RFC 9113).
const DYNAMIC: usize = 128;
/// Most requests whose end is awaited, more than a client may have open. Beyond them the oldest are
/// forgotten, and their trailers pass unchecked.
const MAX_OPEN: usize = 1024;
/// Largest header block that is scanned, bytes. The library refuses those beyond its own limit,
/// which is lower.
const MAX_BLOCK: usize = 1 << 20;

/// The byte stream of a client, with the trailers of its HTTP/2 requests checked.
pub(super) struct TrailerCheck<S> {
    stream: S,
    scan: Scan,
    /// Bytes that were checked and not yet read.
    checked: VecDeque<u8>,
}

impl<S> TrailerCheck<S> {
    /// Checks nothing unless the client speaks HTTP/2.
    pub fn new(stream: S, http2: bool) -> Self {
        let scan =
            if http2 { Scan::default() } else { Scan { pass: usize::MAX, ..Scan::default() } };
        Self { stream, scan, checked: VecDeque::new() }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TrailerCheck<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { stream, scan, checked } = self.get_mut();
        loop {
            if !checked.is_empty() {
                let count = checked.len().min(buffer.remaining());
                let (front, back) = checked.as_slices();
                let first = front.len().min(count);
                buffer.put_slice(&front[..first]);
                buffer.put_slice(&back[..count - first]);
                checked.drain(..count);
                return Poll::Ready(Ok(()));
            }
            let before = buffer.filled().len();
            ready!(Pin::new(&mut *stream).poll_read(cx, buffer))?;
            let bytes = &buffer.filled()[before..];
            if bytes.is_empty() || scan.passes(bytes.len()) {
                return Poll::Ready(Ok(()));
            }
            scan.take(bytes, checked);
            buffer.set_filled(before);
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TrailerCheck<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, data)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, data)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

/// The frames of a client.
struct Scan {
    /// Bytes to pass on before the next frame.
    pass: usize,
    /// The beginning of a frame: its header, and its payload if that is needed.
    frame: Vec<u8>,
    /// The header block so far, if it has not ended.
    block: Vec<u8>,
    /// Streams that the client has opened and not ended: their next block is of trailers. On other
    /// streams it is a request, or an error that the library finds.
    open: BTreeSet<u32>,
    fields: Fields,
}

impl Default for Scan {
    fn default() -> Self {
        Self {
            pass: PREFACE,
            frame: Vec::new(),
            block: Vec::new(),
            open: BTreeSet::new(),
            fields: Fields::default(),
        }
    }
}

impl Scan {
    /// Returns true, and counts the bytes, if the next `bytes` need no check.
    fn passes(&mut self, bytes: usize) -> bool {
        let passes = self.frame.is_empty() && bytes <= self.pass;
        if passes {
            self.pass -= bytes;
        }
        passes
    }

    /// Takes the client's next bytes, and adds what has been checked to `checked`.
    fn take(&mut self, mut bytes: &[u8], checked: &mut VecDeque<u8>) {
        while !bytes.is_empty() {
            if self.frame.is_empty() && self.pass > 0 {
                let count = self.pass.min(bytes.len());
                checked.extend(&bytes[..count]);
                (self.pass, bytes) = (self.pass - count, &bytes[count..]);
                continue;
            }
            let count = self.missing().min(bytes.len());
            self.frame.extend_from_slice(&bytes[..count]);
            bytes = &bytes[count..];
            if self.missing() == 0 {
                self.end_frame();
                checked.extend(self.frame.drain(..));
            }
        }
    }

    /// Returns the length of the frame's payload and the frame's type, once its header is complete.
    fn head(&self) -> Option<(usize, u8)> {
        let head = self.frame.first_chunk::<FRAME_HEADER>()?;
        Some((u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize, head[3]))
    }

    /// Returns how many bytes of the frame are still needed.
    fn missing(&self) -> usize {
        let needed = match self.head() {
            Some((length, HEADERS | CONTINUATION)) if length <= MAX_PAYLOAD => {
                FRAME_HEADER + length
            }
            _ => FRAME_HEADER,
        };
        needed.saturating_sub(self.frame.len())
    }

    /// Checks a frame, of which all that is needed has arrived.
    fn end_frame(&mut self) {
        let Some((length, kind)) = self.head() else { return };
        self.pass = length - (self.frame.len() - FRAME_HEADER);
        let flags = self.frame[4];
        let [a, b, c, d] = [5, 6, 7, 8].map(|at| self.frame[at]);
        let stream = u32::from_be_bytes([a & 0x7f, b, c, d]);
        let trailers = kind == HEADERS && self.open.contains(&stream);
        match kind {
            HEADERS | DATA if flags & END_STREAM != 0 => _ = self.open.remove(&stream),
            RST_STREAM => _ = self.open.remove(&stream),
            HEADERS => _ = self.open.insert(stream),
            _ => {}
        }
        if self.open.len() > MAX_OPEN {
            self.open.pop_first();
        }
        if !matches!(kind, HEADERS | CONTINUATION) || self.pass > 0 {
            return;
        }
        let fragment =
            fragment(&self.frame[FRAME_HEADER..], if kind == HEADERS { flags } else { 0 });
        if self.block.len() + fragment.len() <= MAX_BLOCK {
            self.block.extend_from_slice(fragment);
        }
        let mut pseudo = false;
        if flags & END_HEADERS != 0 {
            pseudo = self.fields.scan(&self.block);
            self.block = Vec::new();
        }
        // Trailers that do not fit into one frame are refused unseen.
        if trailers && (pseudo || flags & END_HEADERS == 0) {
            self.frame[4] &= !END_STREAM;
        }
    }
}

/// Returns the part of a HEADERS frame's payload that is of the header block (RFC 9113 §6.2).
fn fragment(payload: &[u8], flags: u8) -> &[u8] {
    let mut rest = payload;
    let mut padding = 0;
    if flags & PADDED != 0 {
        let Some((length, others)) = rest.split_first() else { return &[] };
        (padding, rest) = (usize::from(*length), others);
    }
    if flags & PRIORITY != 0 {
        rest = rest.get(5..).unwrap_or_default();
    }
    &rest[..rest.len().saturating_sub(padding)]
}

/// Which of the fields of a client's header blocks are pseudo-header fields.
#[derive(Default)]
struct Fields {
    /// Whether the entries of the dynamic table are pseudo-header fields, the newest first. Some
    /// may have been evicted; the library refuses references to those.
    dynamic: VecDeque<bool>,
}

impl Fields {
    /// Returns whether a header block has a pseudo-header field. Stops at the first error, which
    /// the library treats as one of the connection (RFC 7541 §2.3.3).
    fn scan(&mut self, mut block: &[u8]) -> bool {
        let mut any = false;
        while let Some(pseudo) = self.field(&mut block) {
            any |= pseudo;
        }
        any
    }

    /// Reads the next field or instruction (RFC 7541 §6). `None` at the end or at an error.
    fn field(&mut self, block: &mut &[u8]) -> Option<bool> {
        let first = *block.first()?;
        if first & 0x80 != 0 {
            let index = integer(block, 7)?;
            return self.is_pseudo(index);
        }
        if first & 0xe0 == 0x20 {
            integer(block, 5)?;
            return Some(false);
        }
        let indexed = first & 0x40 != 0;
        let name = integer(block, if indexed { 6 } else { 4 })?;
        let pseudo = match name {
            0 => string(block)?,
            index => self.is_pseudo(index)?,
        };
        string(block)?;
        if indexed {
            self.dynamic.push_front(pseudo);
            self.dynamic.truncate(DYNAMIC);
        }
        Some(pseudo)
    }

    fn is_pseudo(&self, index: usize) -> Option<bool> {
        match index {
            0 => None,
            1..=STATIC => Some(index <= STATIC_PSEUDO),
            _ => self.dynamic.get(index - STATIC - 1).copied(),
        }
    }
}

/// Reads an integer with a prefix of `bits` (RFC 7541 §5.1). `None` if it is incomplete or beyond
/// 32 bits.
fn integer(block: &mut &[u8], bits: u32) -> Option<usize> {
    let (first, mut rest) = block.split_first()?;
    let limit = (1usize << bits) - 1;
    let mut value = usize::from(*first) & limit;
    if value == limit {
        for shift in [0, 7, 14, 21] {
            let (next, others) = rest.split_first()?;
            rest = others;
            value += usize::from(next & 0x7f) << shift;
            if next & 0x80 == 0 {
                *block = rest;
                return Some(value);
            }
        }
        return None;
    }
    *block = rest;
    Some(value)
}

/// Reads a string (RFC 7541 §5.2), and returns whether its first letter is a colon.
fn string(block: &mut &[u8]) -> Option<bool> {
    let huffman = block.first()? & 0x80 != 0;
    let length = integer(block, 7)?;
    let (text, rest) = block.split_at_checked(length)?;
    *block = rest;
    let first = text.first().copied().unwrap_or_default();
    // The code of the colon is 1011100 (RFC 7541 appendix B).
    Some(if huffman { first >> 1 == 0x5c } else { first == b':' })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
        frame.extend([kind, flags, 0, 0, 0, stream]);
        frame.extend(payload);
        frame
    }

    /// Feeds the frames after a preface in pieces, and returns the frames that come out.
    fn checked(frames: &[Vec<u8>], piece: usize) -> Vec<u8> {
        let mut bytes = vec![b'P'; PREFACE];
        bytes.extend(frames.concat());
        let (mut scan, mut out) = (Scan::default(), VecDeque::new());
        for piece in bytes.chunks(piece) {
            if scan.passes(piece.len()) {
                out.extend(piece);
            } else {
                scan.take(piece, &mut out);
            }
        }
        assert_eq!(out.len(), bytes.len());
        out.make_contiguous()[PREFACE..].to_vec()
    }

    /// Returns whether the trailers `block`, after a request with `head`, lose END_STREAM.
    fn refused(head: &[u8], block: &[u8]) -> bool {
        let sent = [
            frame(HEADERS, END_HEADERS, 1, head),
            frame(DATA, 0, 1, &[7; 300]),
            frame(HEADERS, END_HEADERS | END_STREAM, 1, block),
            frame(HEADERS, END_HEADERS | END_STREAM, 3, head),
        ];
        let at = sent[0].len() + sent[1].len() + 4;
        let mut expected = sent.concat();
        let verdicts = [1, 2, 9, 100, 10_000].map(|piece| {
            let out = checked(&sent, piece);
            let refused = out[at] & END_STREAM == 0;
            expected[at] = END_HEADERS | if refused { 0 } else { END_STREAM };
            assert!(out == expected, "nothing else changes: pieces of {piece}");
            refused
        });
        assert!(verdicts.iter().all(|verdict| *verdict == verdicts[0]));
        verdicts[0]
    }

    /// A literal with a new name.
    fn literal(kind: u8, name: &[u8], value: &[u8]) -> Vec<u8> {
        [&[kind, name.len() as u8], name, &[value.len() as u8], value].concat()
    }

    #[test]
    fn trailers_with_pseudo_header_fields_do_not_end_their_stream() {
        // `:method: GET` and `:path: /`, and then a header field that enters the dynamic table.
        let head = [&[0x82, 0x84][..], &literal(0x40, b"x-a", b"1")].concat();
        assert!(!refused(&head, &literal(0, b"x-b", b"2")));
        assert!(!refused(&head, &[0xbe]), "x-a of the dynamic table");
        assert!(refused(&head, &[0x82]), "indexed");
        assert!(refused(&head, &literal(0, b":path", b"/")), "literal, never in the table");
        assert!(refused(&head, &literal(0x10, b":x", b"")), "never indexed");
        assert!(refused(&head, &[literal(0, b"x-b", b"2"), vec![0x84]].concat()), "not the first");
        assert!(refused(&head, &[0x44, 1, b'/']), "a literal with an indexed name");
        // `:path` in Huffman codes (RFC 7541 appendix B), and one that is no pseudo-header.
        let huffman = |code: &[u8]| [&[0x40, 0x80 | code.len() as u8], code, &[1, b'/']].concat();
        assert!(refused(&head, &huffman(&[0xb9, 0x58, 0xd3, 0x3f])));
        assert!(!refused(&head, &huffman(&[0xf2, 0xb2, 0xd3, 0x3f])));
        // A table size update before a pseudo-header field that the request has put in the table.
        let head = [&[0x82][..], &[0x44, 2, b'/', b'a']].concat();
        assert!(refused(&head, &[0x3f, 0xe1, 0x1f, 0xbe]));
        assert!(!refused(&head, &[0x20]), "an update alone");
    }

    #[test]
    fn padding_and_priority_are_not_of_the_block() {
        let padded = |flags, payload: &[u8]| {
            let sent = [
                frame(HEADERS, END_HEADERS, 1, &[0x82]),
                frame(HEADERS, END_HEADERS | END_STREAM | flags, 1, payload),
            ];
            checked(&sent, 7)[sent[0].len() + 4] & END_STREAM == 0
        };
        let field = literal(0, b"x", b"y");
        assert!(!padded(PADDED, &[&[2][..], &field, &[0x82, 0x82]].concat()));
        assert!(padded(PADDED, &[&[2][..], &field, &[0x82, 0, 0]].concat()));
        assert!(!padded(PRIORITY, &[&[0x82; 5][..], &field].concat()));
        assert!(padded(PRIORITY | PADDED, &[1, 0, 0, 0, 0, 1, 0x82, 0]));
        assert!(!padded(PADDED, &[]), "an error that the library finds");
    }

    #[test]
    fn blocks_in_several_frames_keep_the_table_right() {
        let entry = literal(0x40, b":path", b"/aaaaaaaaaa");
        let (begin, end) = entry.split_at(5);
        let sent = [
            frame(HEADERS, 0, 1, begin),
            frame(CONTINUATION, END_HEADERS, 1, end),
            frame(HEADERS, END_HEADERS | END_STREAM, 1, &[0xbe]),
        ];
        let at = sent[0].len() + sent[1].len() + 4;
        assert_eq!(checked(&sent, 3)[at], END_HEADERS);
        let long = [
            frame(HEADERS, END_HEADERS, 1, &[0x82]),
            frame(HEADERS, END_STREAM, 1, &literal(0, b"x", b"y")),
            frame(CONTINUATION, END_HEADERS, 1, &literal(0, b"z", b"y")),
        ];
        assert_eq!(checked(&long, 1000)[long[0].len() + 4], 0, "trailers of two frames");
    }

    #[test]
    fn headers_after_the_end_of_a_stream_are_the_librarys_error() {
        for end in [
            frame(DATA, END_STREAM, 1, b"data"),
            frame(HEADERS, END_HEADERS | END_STREAM, 1, &literal(0, b"x", b"y")),
            frame(RST_STREAM, 0, 1, &[0; 4]),
        ] {
            let sent = [
                frame(HEADERS, END_HEADERS, 1, &[0x82]),
                end,
                frame(HEADERS, END_HEADERS | END_STREAM, 1, &[0x82]),
            ];
            assert!(checked(&sent, 20) == sent.concat());
        }
    }

    #[test]
    fn frames_that_are_too_long_pass_unchanged() {
        let mut long = frame(HEADERS, END_HEADERS | END_STREAM, 1, &vec![0x82; MAX_PAYLOAD + 1]);
        long.extend(frame(DATA, 0, 1, b"data"));
        assert!(checked(&[long.clone()], 5000) == long);
    }
}

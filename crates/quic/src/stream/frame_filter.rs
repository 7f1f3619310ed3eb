//! A check of the frames of an HTTP/3 stream (RFC 9114 §7) before the `h3` crate parses them.
//!
//! h3 0.0.8 buffers any frame but DATA until it is complete, whatever length it declares, and
//! parses the buffer again with each piece that arrives. It also accepts a stream that ends inside
//! a DATA frame as complete. This filter therefore checks the type and length of each frame as soon
//! as they arrive: a frame that is too long or not allowed is an error at once, unknown frames are
//! dropped as they arrive, short frames are passed on when complete, and the content of DATA frames
//! passes without a copy. It also checks what h3 leaves unchecked: the order of the frames of a
//! message, and the payloads of control frames. It changes one thing: the names of protocols that
//! h3 does not know, see [`protocol`].

use super::frame_log::FrameLog;
use super::message_order::MessageOrder;
use super::priority::{MAX_PRIORITY_FIELD, PriorityField};
use super::protocol;
use super::pseudo_fields::{self, MalformedSection, Section};
use bentpipe_qlog::Initiator;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use h3::error::Code;
use noq_proto::Side;
use std::collections::VecDeque;
use thiserror::Error;

/// Longest HEADERS frame that a client accepts in a response, in bytes. Our choice, as in Chromium.
pub const MAX_HEADER_FRAME: u64 = 256 * 1024;
/// Longest SETTINGS frame, in bytes. Our choice: room for 256 settings of 16 bytes.
const MAX_SETTINGS_FRAME: u64 = 4096;
/// Longest PRIORITY_UPDATE frame, in bytes: an identifier and a field.
const MAX_PRIORITY_UPDATE: u64 = MAX_INTEGER + MAX_PRIORITY_FIELD as u64;
/// Longest payload of a frame with one variable-length integer, in bytes (RFC 9000 §16).
const MAX_INTEGER: u64 = 8;

/// Frame types (RFC 9114 §11.2.1).
mod frame {
    pub const DATA: u64 = 0x0;
    pub const HEADERS: u64 = 0x1;
    pub const CANCEL_PUSH: u64 = 0x3;
    pub const SETTINGS: u64 = 0x4;
    pub const PUSH_PROMISE: u64 = 0x5;
    pub const GOAWAY: u64 = 0x7;
    pub const MAX_PUSH_ID: u64 = 0xd;
    /// For a request, and for a push (RFC 9218 §7.2).
    pub const PRIORITY_UPDATE: u64 = 0xf0700;
    pub const PRIORITY_UPDATE_PUSH: u64 = 0xf0701;
    /// Types of HTTP/2, whose receipt is an error (RFC 9114 §7.2.8).
    pub const OF_HTTP2: [u64; 4] = [0x2, 0x6, 0x8, 0x9];
}

/// Type of the control stream (RFC 9114 §6.2.1).
const CONTROL_STREAM: u64 = 0x0;
/// Type of push streams, which only servers open (RFC 9114 §6.2.2).
const PUSH_STREAM: u64 = 0x1;

/// A violation of HTTP/3's framing. The connection is closed with [`FrameError::code`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FrameError {
    /// A frame is longer than its receiver accepts.
    #[error("a frame of type {kind:#x} declares {length} bytes; allowed: at most {max}")]
    TooLong {
        /// Type of the frame.
        kind: u64,
        /// Declared length, in bytes.
        length: u64,
        /// Longest length accepted, in bytes.
        max: u64,
    },
    /// The payload of a frame of one integer, or of SETTINGS, is longer or shorter than its
    /// integers.
    #[error("a frame of type {kind:#x} has {length} bytes, not those of its integers")]
    Malformed {
        /// Type of the frame.
        kind: u64,
        /// Declared length, in bytes.
        length: u64,
    },
    /// A frame whose type is not allowed on its stream.
    #[error("a frame of type {kind:#x} is not allowed on this stream")]
    Unexpected {
        /// Type of the frame.
        kind: u64,
    },
    /// A push was named that cannot exist, or the limit of pushes fell (RFC 9114 §7.2.3, §7.2.7).
    #[error("a frame of type {kind:#x} names push {push}, which is not allowed")]
    Push {
        /// Type of the frame.
        kind: u64,
        /// Identifier of the push.
        push: u64,
    },
    /// A priority is that of a stream that is no request (RFC 9218 §7.2).
    #[error("a frame of type {kind:#x} names stream {stream}, which is no request")]
    NoRequest {
        /// Type of the frame.
        kind: u64,
        /// Identifier of the stream.
        stream: u64,
    },
    /// A client opened a stream that only servers open.
    #[error("a client opened a push stream")]
    PushStream,
    /// A field section is malformed (RFC 9114 §4.1.2). The connection ends, and not only the
    /// stream, because only a peer that attacks or is broken sends it.
    #[error(transparent)]
    Section(#[from] MalformedSection),
    /// The stream ended cleanly inside a frame (RFC 9114 §7.1).
    #[error("the stream ended inside a frame, {missing} bytes before its end")]
    Truncated {
        /// Number of missing bytes, at least.
        missing: u64,
    },
}

impl FrameError {
    /// Returns the code to close the connection with (RFC 9114 §8.1).
    pub const fn code(&self) -> Code {
        match self {
            Self::TooLong { .. } => Code::H3_EXCESSIVE_LOAD,
            Self::Malformed { .. } | Self::Truncated { .. } => Code::H3_FRAME_ERROR,
            Self::Unexpected { .. } => Code::H3_FRAME_UNEXPECTED,
            Self::Push { .. } | Self::NoRequest { .. } => Code::H3_ID_ERROR,
            Self::PushStream => Code::H3_STREAM_CREATION_ERROR,
            Self::Section(_) => Code::H3_MESSAGE_ERROR,
        }
    }
}

/// The element to which the next byte of the stream belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    /// The type of a unidirectional stream (RFC 9114 §6.2).
    StreamType,
    /// A frame's type or length.
    FrameHeader,
    /// The payload of a DATA frame, and the bytes left of it.
    Data(u64),
    /// The payload of a frame that is buffered, and the bytes left of it.
    Collect(u64),
    /// The payload of an unknown frame, and the bytes left of it.
    Discard(u64),
    /// A stream without frames.
    Unframed,
}

/// Filters the bytes of one stream. Call [`FrameFilter::push`] with bytes in order, take the bytes
/// that pass with [`FrameFilter::pop`], and call [`FrameFilter::end`] at the stream's clean end.
#[derive(Debug)]
pub(super) struct FrameFilter {
    position: Position,
    /// Whether the stream is a control stream rather than a request stream.
    is_control: bool,
    /// The side that receives the stream.
    side: Side,
    order: MessageOrder,
    /// What the fields of the next complete HEADERS frame are.
    section: Section,
    /// The largest push that the client permits.
    max_push: Option<u64>,
    max_header_frame: u64,
    /// Type and length read so far, then the frame that is buffered.
    partial: BytesMut,
    passed: VecDeque<Bytes>,
    /// Priorities that arrived, by the identifier of the request stream.
    priorities: Vec<(u64, PriorityField)>,
    /// Writes frames to a trace.
    log: Option<FrameLog>,
}

impl FrameFilter {
    /// For a request stream that `side` receives, whose HEADERS frames have at most
    /// `max_header_frame` bytes.
    pub fn request(side: Side, max_header_frame: u64) -> Self {
        Self::new(Position::FrameHeader, side, max_header_frame)
    }

    /// For a unidirectional stream that `side` receives, which begins with its type.
    pub fn unidirectional(side: Side, max_header_frame: u64) -> Self {
        Self::new(Position::StreamType, side, max_header_frame)
    }

    fn new(position: Position, side: Side, max_header_frame: u64) -> Self {
        let (partial, passed) = (BytesMut::new(), VecDeque::new());
        Self {
            position,
            is_control: false,
            side,
            order: MessageOrder::new(side),
            section: Section::Request,
            max_push: None,
            max_header_frame,
            partial,
            passed,
            priorities: Vec::new(),
            log: None,
        }
    }

    /// Writes the frames to `log`.
    pub fn set_log(&mut self, log: Option<FrameLog>) {
        self.log = log;
    }

    /// Returns the number of bytes held until their frame is complete.
    pub fn held(&self) -> u64 {
        self.partial.len() as u64
    }

    /// Removes and returns the next bytes that pass.
    pub fn pop(&mut self) -> Option<Bytes> {
        self.passed.pop_front()
    }

    /// Removes and returns the priorities that have arrived, in order, each with the identifier of
    /// its request stream.
    pub fn take_priorities(&mut self) -> Vec<(u64, PriorityField)> {
        std::mem::take(&mut self.priorities)
    }

    /// Takes the next bytes of the stream.
    ///
    /// # Errors
    /// The peer violated the framing. Read no further.
    pub fn push(&mut self, mut bytes: Bytes) -> Result<(), FrameError> {
        while !bytes.is_empty() {
            match self.position {
                Position::Unframed => self.passed.push_back(std::mem::take(&mut bytes)),
                Position::StreamType => self.read_stream_type(&mut bytes)?,
                Position::FrameHeader => self.read_frame_header(&mut bytes)?,
                Position::Data(left) => {
                    let piece = take(&mut bytes, left);
                    let left = left - piece.len() as u64;
                    self.passed.push_back(piece);
                    self.position =
                        if left == 0 { Position::FrameHeader } else { Position::Data(left) };
                }
                Position::Collect(left) => {
                    let piece = take(&mut bytes, left);
                    self.partial.extend_from_slice(&piece);
                    self.collected(left - piece.len() as u64)?;
                }
                Position::Discard(left) => {
                    let left = left - take(&mut bytes, left).len() as u64;
                    self.position =
                        if left == 0 { Position::FrameHeader } else { Position::Discard(left) };
                }
            }
        }
        Ok(())
    }

    /// Handles the clean end of the stream.
    ///
    /// # Errors
    /// The stream ended inside a frame.
    pub fn end(&self) -> Result<(), FrameError> {
        let missing = match self.position {
            Position::StreamType | Position::Unframed => 0,
            Position::FrameHeader => u64::from(!self.partial.is_empty()),
            Position::Data(left) | Position::Collect(left) | Position::Discard(left) => left,
        };
        if missing == 0 { Ok(()) } else { Err(FrameError::Truncated { missing }) }
    }

    fn read_stream_type(&mut self, bytes: &mut Bytes) -> Result<(), FrameError> {
        let Some(kind) = self.read_integers::<1>(bytes) else { return Ok(()) };
        if let Some(log) = &self.log {
            log.stream_type(Initiator::Remote, kind[0]);
        }
        if kind == [PUSH_STREAM] && self.side == Side::Server {
            return Err(FrameError::PushStream);
        }
        self.is_control = kind == [CONTROL_STREAM];
        self.position = if self.is_control { Position::FrameHeader } else { Position::Unframed };
        self.pass_partial();
        Ok(())
    }

    fn read_frame_header(&mut self, bytes: &mut Bytes) -> Result<(), FrameError> {
        let Some([kind, length]) = self.read_integers::<2>(bytes) else { return Ok(()) };
        match self.payload_of(kind)? {
            Payload::Pass => {
                self.log_frame(kind, length, 0);
                self.pass_partial();
                self.position =
                    if length == 0 { Position::FrameHeader } else { Position::Data(length) };
            }
            Payload::Discard => {
                self.log_frame(kind, length, 0);
                self.partial.clear();
                self.position =
                    if length == 0 { Position::FrameHeader } else { Position::Discard(length) };
            }
            Payload::Collect { max } if length <= max => self.collected(length)?,
            Payload::Collect { max: MAX_INTEGER } => {
                return Err(FrameError::Malformed { kind, length });
            }
            Payload::Collect { max } => return Err(FrameError::TooLong { kind, length, max }),
        }
        Ok(())
    }

    /// Returns how to handle the payload of a frame of type `kind` (RFC 9114 §7.2, table 1).
    fn payload_of(&mut self, kind: u64) -> Result<Payload, FrameError> {
        let unexpected = FrameError::Unexpected { kind };
        let on_request = !self.is_control;
        match kind {
            frame::DATA if on_request && self.order.content() => Ok(Payload::Pass),
            frame::HEADERS if on_request => {
                self.section = self.order.section().ok_or(unexpected)?;
                Ok(Payload::Collect { max: self.max_header_frame })
            }
            frame::PUSH_PROMISE if on_request && self.side == Side::Client => {
                Ok(Payload::Collect { max: self.max_header_frame })
            }
            frame::SETTINGS if self.is_control => Ok(Payload::Collect { max: MAX_SETTINGS_FRAME }),
            frame::CANCEL_PUSH | frame::GOAWAY if self.is_control => {
                Ok(Payload::Collect { max: MAX_INTEGER })
            }
            frame::MAX_PUSH_ID if self.is_control && self.side == Side::Server => {
                Ok(Payload::Collect { max: MAX_INTEGER })
            }
            frame::PRIORITY_UPDATE | frame::PRIORITY_UPDATE_PUSH
                if self.is_control && self.side == Side::Server =>
            {
                Ok(Payload::Collect { max: MAX_PRIORITY_UPDATE })
            }
            frame::DATA | frame::HEADERS | frame::PUSH_PROMISE => Err(unexpected),
            frame::PRIORITY_UPDATE | frame::PRIORITY_UPDATE_PUSH => Err(unexpected),
            frame::CANCEL_PUSH | frame::SETTINGS | frame::GOAWAY | frame::MAX_PUSH_ID => {
                Err(unexpected)
            }
            kind if frame::OF_HTTP2.contains(&kind) => Err(unexpected),
            _ => Ok(Payload::Discard),
        }
    }

    /// Continues the frame that is buffered, with `left` bytes missing.
    fn collected(&mut self, left: u64) -> Result<(), FrameError> {
        if left > 0 {
            self.position = Position::Collect(left);
            return Ok(());
        }
        if let Some([kind, length]) = integers(&self.partial) {
            self.log_frame(kind, length, length);
            let start = self.partial.len().saturating_sub(length as usize);
            if matches!(kind, frame::PRIORITY_UPDATE | frame::PRIORITY_UPDATE_PUSH) {
                self.read_priority(kind, start)?;
                // The library does not know it.
                self.partial.clear();
                self.position = Position::FrameHeader;
                return Ok(());
            }
            if let Some(changed) = self.check_payload(kind, start)? {
                self.partial.clear();
                put_integer(&mut self.partial, kind);
                put_integer(&mut self.partial, changed.len() as u64);
                self.partial.extend_from_slice(&changed);
            }
        }
        self.pass_partial();
        self.position = Position::FrameHeader;
        Ok(())
    }

    /// Checks the complete payload of a frame, which begins at `start` of what is buffered. Returns
    /// what is passed on instead, if it is not the same.
    fn check_payload(&mut self, kind: u64, start: usize) -> Result<Option<BytesMut>, FrameError> {
        let payload = &self.partial[start..];
        let malformed = FrameError::Malformed { kind, length: payload.len() as u64 };
        match kind {
            frame::HEADERS => {
                let protocol = pseudo_fields::check(payload, self.section)?;
                return Ok(protocol.and_then(|value| protocol::renamed(payload, value)));
            }
            frame::SETTINGS => {
                let count = count_integers(payload).ok_or(malformed)?;
                if count % 2 == 1 {
                    return Err(malformed);
                }
            }
            frame::GOAWAY | frame::CANCEL_PUSH | frame::MAX_PUSH_ID => {
                let (Some([push]), Some(1)) = (integers(payload), count_integers(payload)) else {
                    return Err(malformed);
                };
                let falls = self.max_push.is_some_and(|max| push < max);
                // No push is ever promised here, nor permitted.
                if kind == frame::CANCEL_PUSH || (kind == frame::MAX_PUSH_ID && falls) {
                    return Err(FrameError::Push { kind, push });
                }
                if kind == frame::MAX_PUSH_ID {
                    self.max_push = Some(push);
                }
            }
            _ => {}
        }
        Ok(None)
    }

    /// Reads a PRIORITY_UPDATE frame, whose payload begins at `start` of what is buffered. A field
    /// that is malformed says nothing.
    fn read_priority(&mut self, kind: u64, start: usize) -> Result<(), FrameError> {
        let payload = &self.partial[start..];
        let Some([id]) = integers(payload) else {
            return Err(FrameError::Malformed { kind, length: payload.len() as u64 });
        };
        // No push is ever promised here.
        if kind == frame::PRIORITY_UPDATE_PUSH {
            return Err(FrameError::Push { kind, push: id });
        }
        // Requests are the client's bidirectional streams (RFC 9000 §2.1).
        if id & 3 != 0 {
            return Err(FrameError::NoRequest { kind, stream: id });
        }
        let field = &payload[1 << (payload[0] >> 6)..];
        self.priorities.extend(PriorityField::parse(field).map(|field| (id, field)));
        Ok(())
    }

    /// Writes a frame to the trace. `held`: bytes of its payload that are held after its header.
    fn log_frame(&self, kind: u64, length: u64, held: u64) {
        let Some(log) = &self.log else { return };
        let header = self.partial.len().saturating_sub(held as usize);
        let (header, content) = self.partial.split_at(header);
        log.parsed(kind, header.len() as u64, length, content);
    }

    fn pass_partial(&mut self) {
        let whole = self.partial.split().freeze();
        self.passed.push_back(whole);
    }

    /// Moves bytes to `partial` until `N` integers are complete there (RFC 9000 §16).
    fn read_integers<const N: usize>(&mut self, bytes: &mut Bytes) -> Option<[u64; N]> {
        loop {
            if let Some(integers) = integers(&self.partial) {
                return Some(integers);
            }
            if bytes.is_empty() {
                return None;
            }
            self.partial.extend_from_slice(&bytes[..1]);
            bytes.advance(1);
        }
    }
}

/// How to handle a frame's payload.
enum Payload {
    /// Pass it on as it arrives.
    Pass,
    /// Pass the frame on whole, if it has at most `max` bytes.
    Collect { max: u64 },
    /// Drop it as it arrives.
    Discard,
}

/// Removes at most `max` bytes from the front of `bytes`.
fn take(bytes: &mut Bytes, max: u64) -> Bytes {
    bytes.split_to(usize::try_from(max).unwrap_or(usize::MAX).min(bytes.len()))
}

/// Parses the first `N` variable-length integers of `bytes`, if they are complete.
fn integers<const N: usize>(mut bytes: &[u8]) -> Option<[u64; N]> {
    let mut integers = [0; N];
    for integer in &mut integers {
        let first = *bytes.first()?;
        let length = 1usize << (first >> 6);
        let encoded = bytes.get(..length)?;
        *integer = encoded[1..]
            .iter()
            .fold(u64::from(first & 0x3f), |sum, byte| sum << 8 | u64::from(*byte));
        bytes = &bytes[length..];
    }
    Some(integers)
}

/// Appends a variable-length integer below 2^62, in eight bytes (RFC 9000 §16).
fn put_integer(bytes: &mut BytesMut, value: u64) {
    bytes.put_u64(value | 3 << 62);
}

/// Returns the number of variable-length integers in `bytes`. `None` if the last one is cut.
fn count_integers(mut bytes: &[u8]) -> Option<usize> {
    let mut count = 0;
    while let Some(first) = bytes.first() {
        bytes = bytes.get(1usize << (first >> 6)..)?;
        count += 1;
    }
    Some(count)
}

#[cfg(test)]
mod tests;

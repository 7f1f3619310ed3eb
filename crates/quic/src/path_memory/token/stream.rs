//! Tokens in HTTP/3: frames on a unidirectional stream of their own type.
//!
//! A server sends tokens on such a stream as it measures the path, a client sends its token as soon
//! as the connection begins; peers that do not know the type ignore the stream (RFC 9114 §6.2).
//!
//! Frames follow the stream's type: type `(i)`, length `(i)`, content. [`PATH_TOKEN`] is the only
//! type defined; frames of other types are skipped, for later extensions. The last token on a
//! stream replaces those before.

use super::format::MAX_TOKEN;
use noq_proto::VarInt;
use noq_proto::coding::{Decodable, Encodable};
use thiserror::Error;

/// Type of the stream. HTTP/3 has no range for private use (RFC 9114 §11.2.4), so it was chosen as
/// RFC 9000 §22.1.2 asks for experiments, at random among the values of eight bytes: the low 62
/// bits of the first eight bytes of SHA-256 of `bentpipe path token`. It is not of the reserved
/// form 0x1f·N + 0x21 (RFC 9114 §6.2.3), and IANA had assigned 0x00 to 0x03 and 0x54, nothing of
/// eight bytes, when it was chosen.
pub const STREAM_TYPE: u64 = 0x2b45_560f_8850_2680;
/// Type of the frame with a token.
pub const PATH_TOKEN: u8 = 0x01;
/// Longest frame of another type that is skipped, in bytes.
pub const MAX_SKIPPED: u64 = 65_536;
/// Longest header of a frame, in bytes: two integers of eight bytes.
const MAX_HEADER: usize = 16;

/// Invalid framing by the peer. The stream must be abandoned; the connection may continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum StreamError {
    /// A token that is too long.
    #[error("a path token has {0} bytes; allowed: at most {MAX_TOKEN}")]
    Token(u64),
    /// A frame of another type that is too long to skip.
    #[error("a frame has {0} bytes; allowed: at most {MAX_SKIPPED}")]
    Skipped(u64),
}

/// Appends the type of the stream, which is sent once at its start.
pub fn encode_type(out: &mut Vec<u8>) {
    // An integer of eight bytes has both first bits set (RFC 9000 §16).
    out.extend_from_slice(&(STREAM_TYPE | 0b11 << 62).to_be_bytes());
}

/// Appends a frame with `token`.
///
/// # Errors
/// A token longer than [`MAX_TOKEN`].
pub fn encode(token: &[u8], out: &mut Vec<u8>) -> Result<(), StreamError> {
    let length = u32::try_from(token.len()).ok().filter(|_| token.len() <= MAX_TOKEN);
    let length = length.ok_or(StreamError::Token(token.len() as u64))?;
    VarInt::from_u32(PATH_TOKEN.into()).encode(out);
    VarInt::from_u32(length).encode(out);
    out.extend_from_slice(token);
    Ok(())
}

/// The element being read.
#[derive(Debug)]
enum State {
    /// Header bytes so far.
    Header(Vec<u8>),
    /// A token: bytes so far, and its length.
    Token(Vec<u8>, usize),
    /// Bytes left of a frame that is skipped.
    Skip(u64),
    /// Reading has failed for good.
    Failed(StreamError),
}

/// Decodes frames from pieces of any size; holds at most one token.
///
/// Call [`Decoder::next`] with the bytes after the stream's type until it returns `None`.
#[derive(Debug)]
pub struct Decoder(State);

impl Default for Decoder {
    fn default() -> Self {
        Self(State::Header(Vec::new()))
    }
}

impl Decoder {
    /// Returns the next token, if `input` completes one. Advances `input`, which is empty when
    /// `None` is returned.
    ///
    /// # Errors
    /// A frame is too long; from then on always.
    pub fn next(&mut self, input: &mut &[u8]) -> Result<Option<Vec<u8>>, StreamError> {
        loop {
            match &mut self.0 {
                State::Failed(error) => return Err(*error),
                State::Header(header) => {
                    let Some((&byte, rest)) = input.split_first() else { return Ok(None) };
                    *input = rest;
                    header.push(byte);
                    debug_assert!(
                        header.len() <= MAX_HEADER,
                        "two integers are complete with their last byte"
                    );
                    if let Some((kind, length)) = read_header(header) {
                        self.0 = begin(kind, length);
                    }
                }
                State::Token(token, length) => {
                    let (piece, rest) = input.split_at(input.len().min(*length - token.len()));
                    *input = rest;
                    token.extend_from_slice(piece);
                    if token.len() < *length {
                        return Ok(None);
                    }
                    let token = std::mem::take(token);
                    self.0 = State::Header(Vec::new());
                    return Ok(Some(token));
                }
                State::Skip(left) => {
                    let now =
                        usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
                    *input = &input[now..];
                    *left -= now as u64;
                    if *left > 0 {
                        return Ok(None);
                    }
                    self.0 = State::Header(Vec::new());
                }
            }
        }
    }
}

fn read_header(mut bytes: &[u8]) -> Option<(u64, u64)> {
    let kind = VarInt::decode(&mut bytes).ok()?;
    let length = VarInt::decode(&mut bytes).ok()?;
    Some((kind.into_inner(), length.into_inner()))
}

fn begin(kind: u64, length: u64) -> State {
    if kind != u64::from(PATH_TOKEN) {
        return if length > MAX_SKIPPED {
            State::Failed(StreamError::Skipped(length))
        } else {
            State::Skip(length)
        };
    }
    match usize::try_from(length) {
        Ok(bytes) if bytes <= MAX_TOKEN => State::Token(Vec::with_capacity(bytes), bytes),
        _ => State::Failed(StreamError::Token(length)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Decodes `pieces`: the tokens, and the result.
    fn tokens<'a>(
        pieces: impl IntoIterator<Item = &'a [u8]>,
    ) -> (Vec<Vec<u8>>, Result<(), StreamError>) {
        let (mut decoder, mut tokens) = (Decoder::default(), Vec::new());
        for mut piece in pieces {
            loop {
                match decoder.next(&mut piece) {
                    Ok(Some(token)) => tokens.push(token),
                    Ok(None) => break,
                    Err(error) => return (tokens, Err(error)),
                }
            }
            assert!(piece.is_empty(), "everything is read");
        }
        (tokens, Ok(()))
    }

    #[test]
    fn the_stream_type_has_eight_bytes_and_is_not_reserved() {
        let mut bytes = Vec::new();
        encode_type(&mut bytes);
        assert_eq!(bytes, [0xeb, 0x45, 0x56, 0x0f, 0x88, 0x50, 0x26, 0x80]);
        assert_ne!((STREAM_TYPE - 0x21) % 0x1f, 0);
        let digest = ring::digest::digest(&ring::digest::SHA256, b"bentpipe path token");
        let drawn = u64::from_be_bytes(digest.as_ref()[..8].try_into().unwrap());
        assert_eq!(drawn & (u64::MAX >> 2), STREAM_TYPE);
        assert_eq!(VarInt::decode(&mut &bytes[..]).unwrap().into_inner(), STREAM_TYPE);
    }

    #[test]
    fn frames_of_other_types_are_skipped() {
        let mut bytes = vec![0x21, 0x03, 1, 2, 3, 0x40, 0x99, 0x00];
        encode(b"token", &mut bytes).unwrap();
        assert_eq!(tokens([&bytes[..]]), (vec![b"token".to_vec()], Ok(())));
    }

    #[test]
    fn frames_out_of_bounds_end_the_stream_before_their_content_is_read() {
        let long = vec![0; MAX_TOKEN + 1];
        assert_eq!(encode(&long, &mut Vec::new()), Err(StreamError::Token(257)));
        assert_eq!(tokens([&[0x01, 0x41, 0x01][..]]).1, Err(StreamError::Token(257)));
        assert_eq!(
            tokens([&[0x02, 0x80, 0x01, 0x00, 0x01][..]]).1,
            Err(StreamError::Skipped(65_537))
        );
        let mut decoder = Decoder::default();
        let mut bytes: &[u8] =
            &[0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x01, 7];
        let refused = decoder.next(&mut bytes);
        assert!(refused.is_err());
        assert_eq!(decoder.next(&mut bytes), refused, "for good");
    }

    proptest! {
        #[test]
        fn tokens_are_decoded_from_pieces_of_any_size(
            sent in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..=MAX_TOKEN), 0..5),
            size in 1usize..300,
        ) {
            let mut bytes = Vec::new();
            for token in &sent {
                encode(token, &mut bytes).unwrap();
            }
            prop_assert_eq!(tokens(bytes.chunks(size)), (sent, Ok(())));
        }

        #[test]
        fn the_size_of_pieces_does_not_matter(
            bytes in prop::collection::vec(prop_oneof![Just(1u8), Just(2u8), any::<u8>()], 0..600),
            size in 1usize..50,
        ) {
            prop_assert_eq!(tokens(bytes.chunks(size)), tokens([&bytes[..]]));
        }
    }
}

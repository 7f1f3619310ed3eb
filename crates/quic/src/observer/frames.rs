//! The frames of a packet by purpose (RFC 9000 §19, draft-ietf-quic-ack-frequency §4 and
//! §5).

use crate::varint::Reader;

/// Bytes of a packet's frames by purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Frames {
    /// ACK frames.
    pub ack: u32,
    /// MAX_DATA and MAX_STREAM_DATA.
    pub flow_control: u32,
    /// PADDING.
    pub padding: u32,
    /// STREAM frames with their headers.
    pub stream: u32,
    /// All other frames.
    pub other: u32,
    /// Whether the packet is ack-eliciting (RFC 9000 §13.2).
    pub eliciting: bool,
    /// Largest packet number that its ACK frame acknowledges.
    pub acknowledges: Option<u64>,
    /// Ranges of that ACK frame.
    pub ranges: u32,
    /// Packets with a CE mark that its ACK frame reports, since the start of the connection; `None`
    /// without ECN counts.
    pub marked: Option<u64>,
    /// Whether it requests an ACK at once (IMMEDIATE_ACK).
    pub immediate: bool,
    /// Limit of the last MAX_DATA frame.
    pub max_data: Option<u64>,
}

impl Frames {
    /// Returns the bytes of all frames.
    pub fn bytes(&self) -> u32 {
        self.ack + self.flow_control + self.padding + self.stream + self.other
    }
}

/// Parses `payload`, which may come from anyone: what cannot be parsed counts, with all that
/// follows it, as other frames.
pub(super) fn walk(payload: &[u8]) -> Frames {
    let mut frames = Frames::default();
    let mut rest = Reader(payload);
    while !rest.0.is_empty() {
        let before = rest.0.len();
        let kind = frame(&mut rest, &mut frames);
        let known = kind.is_some();
        let bytes = if known { before - rest.0.len() } else { before } as u32;
        match kind.unwrap_or(Kind::Other) {
            Kind::Padding => frames.padding += bytes,
            Kind::Ack => frames.ack += bytes,
            Kind::FlowControl => frames.flow_control += bytes,
            Kind::Stream => frames.stream += bytes,
            Kind::Other => frames.other += bytes,
            Kind::Close => {
                frames.other += bytes;
                continue;
            }
        }
        frames.eliciting |= !matches!(kind, Some(Kind::Padding | Kind::Ack));
        if !known {
            break;
        }
    }
    frames
}

/// Calls `take` with the purpose and the bytes of each frame of `payload`, up to one that cannot be
/// parsed.
pub(crate) fn split(payload: &[u8], mut take: impl FnMut(Kind, &[u8])) {
    let (mut rest, mut unused) = (Reader(payload), Frames::default());
    while !rest.0.is_empty() {
        let from = rest.0;
        let Some(kind) = frame(&mut rest, &mut unused) else { break };
        take(kind, &from[..from.len() - rest.0.len()]);
    }
}

/// Reads the ranges of an ACK frame, from the field ACK Range Count on, and calls `each` with the
/// first and last packet number of each. `None` if it is truncated, or if a packet number would be
/// negative, which is a FRAME_ENCODING_ERROR (RFC 9000 §19.3.1).
pub(super) fn ack_ranges(
    rest: &mut Reader<'_>,
    largest: u64,
    mut each: impl FnMut(u64, u64),
) -> Option<()> {
    let more = rest.varint()?;
    let mut first = largest.checked_sub(rest.varint()?)?;
    each(first, largest);
    // Each takes at least two bytes, so a wrong count ends soon.
    for _ in 0..more {
        let last = first.checked_sub(rest.varint()?)?.checked_sub(2)?;
        first = last.checked_sub(rest.varint()?)?;
        each(first, last);
    }
    Some(())
}

/// The purpose of a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Padding,
    Ack,
    FlowControl,
    Stream,
    Other,
    /// CONNECTION_CLOSE, which is not ack-eliciting.
    Close,
}

/// Skips one frame. `None` if it is unknown or truncated.
pub(super) fn frame(rest: &mut Reader<'_>, frames: &mut Frames) -> Option<Kind> {
    let kind = rest.varint()?;
    Some(match kind {
        0x00 => {
            let padding = rest.0.iter().take_while(|&&byte| byte == 0).count();
            rest.skip(padding as u64)?;
            Kind::Padding
        }
        0x02 | 0x03 => {
            let largest = rest.varint()?;
            rest.varint()?;
            let mut ranges = 0u32;
            ack_ranges(rest, largest, |_, _| ranges = ranges.saturating_add(1))?;
            if kind == 0x03 {
                rest.varints(2)?;
                frames.marked = Some(rest.varint()?);
            }
            frames.acknowledges = Some(largest);
            frames.ranges = frames.ranges.saturating_add(ranges);
            Kind::Ack
        }
        0x10 => {
            frames.max_data = Some(rest.varint()?);
            Kind::FlowControl
        }
        0x11 => {
            rest.varints(2)?;
            Kind::FlowControl
        }
        0x08..=0x0f => {
            rest.varint()?;
            if kind & 0x04 != 0 {
                rest.varint()?;
            }
            let bytes = if kind & 0x02 != 0 { rest.varint()? } else { rest.0.len() as u64 };
            rest.skip(bytes)?;
            Kind::Stream
        }
        other => {
            match other {
                0x01 | 0x1e => {}
                0x1f => frames.immediate = true,
                0x12..=0x14 | 0x16 | 0x17 | 0x19 => rest.varints(1)?,
                0x05 | 0x15 => rest.varints(2)?,
                0x04 => rest.varints(3)?,
                0xaf => rest.varints(4)?,
                0x06 => {
                    rest.varint()?;
                    rest.text()?;
                }
                0x07 | 0x31 => drop(rest.text()?),
                0x30 => rest.skip(rest.0.len() as u64)?,
                0x18 => {
                    rest.varints(2)?;
                    let bytes = *rest.0.first()?;
                    rest.skip(1 + u64::from(bytes) + 16)?;
                }
                0x1a | 0x1b => rest.skip(8)?,
                0x1c | 0x1d => {
                    rest.varints(if other == 0x1c { 2 } else { 1 })?;
                    rest.text()?;
                    return Some(Kind::Close);
                }
                _ => return None,
            }
            Kind::Other
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ack_is_parsed() {
        // Largest 10, delay 1, one more range; first range 2, gap 0, length 1. Then MAX_DATA of 64
        // and padding.
        let frames = walk(&[0x02, 10, 1, 1, 2, 0, 1, 0x10, 0x40, 64, 0, 0]);
        let expected = Frames {
            ack: 7,
            flow_control: 3,
            padding: 2,
            eliciting: true,
            acknowledges: Some(10),
            ranges: 2,
            max_data: Some(64),
            ..Frames::default()
        };
        assert_eq!(frames, expected);
        assert_eq!(frames.bytes(), 12);
    }

    #[test]
    fn an_ack_with_padding_is_not_ack_eliciting() {
        let frames = walk(&[0x03, 10, 1, 0, 2, 1, 0, 5, 0]);
        assert!(!frames.eliciting);
        assert_eq!(frames.marked, Some(5));
        assert_eq!((frames.ack, frames.padding, frames.ranges), (8, 1, 1));
    }

    #[test]
    fn an_ack_of_negative_packet_numbers_is_malformed_with_all_that_follows() {
        // Largest 3 with a first range of 4; then a STREAM frame. Largest 3, first range 0, gap 2.
        for payload in [&[0x02, 3, 1, 0, 4, 0x08, 4, 1][..], &[0x02, 3, 1, 1, 0, 2, 0, 0x08, 4]] {
            let frames = walk(payload);
            assert_eq!((frames.ack, frames.stream, frames.acknowledges), (0, 0, None));
            assert_eq!(frames.other as usize, payload.len());
        }
    }

    #[test]
    fn a_stream_without_length_reaches_the_end() {
        let frames = walk(&[0x01, 0x08, 4, 1, 2, 3]);
        assert_eq!((frames.other, frames.stream), (1, 5));
    }

    #[test]
    fn every_byte_is_counted() {
        use proptest::prelude::*;
        proptest!(|(payload in prop::collection::vec(any::<u8>(), 0..200))| {
            prop_assert_eq!(walk(&payload).bytes() as usize, payload.len());
        });
    }
}

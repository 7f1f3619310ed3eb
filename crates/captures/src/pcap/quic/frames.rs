//! The frames of a packet (RFC 9000 §19), as far as they matter here.

use super::header::integer;
use crate::event::{EcnCounts, Packet, StreamEnd, StreamPart};
use bentpipe_units::Span;

/// Messages of TLS in a packet: their offset, and the bytes.
pub type Crypto<'a> = Vec<(u64, &'a [u8])>;

/// PADDING, ACK, CONNECTION_CLOSE (RFC 9002 §2) and TIMESTAMP: what calls for no acknowledgement.
const NOT_ELICITING: [u64; 6] = [0, 2, 3, 0x1c, 0x1d, 0x02f5];

/// Adds the frames to `packet`, and their messages of TLS to `crypto`. Returns `None` at a frame
/// that is not known or cut off: nothing is known of what follows it.
pub fn add_frames<'a>(
    mut frames: &'a [u8],
    packet: &mut Packet,
    crypto: &mut Crypto<'a>,
) -> Option<()> {
    while !frames.is_empty() {
        let (kind, rest) = integer(frames)?;
        packet.is_eliciting |= !NOT_ELICITING.contains(&kind);
        frames = match kind {
            // PADDING, PING, IMMEDIATE_ACK of current and older drafts.
            0 | 1 | 0x1f | 0xac => rest,
            2 | 3 => acknowledgement(rest, kind == 3, packet)?,
            6 => {
                let (offset, rest) = integer(rest)?;
                let (length, rest) = integer(rest)?;
                let (bytes, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
                crypto.push((offset, bytes));
                rest
            }
            // RESET_STREAM, STOP_SENDING, NEW_TOKEN.
            4 | 5 => {
                let end = if kind == 4 { StreamEnd::Reset } else { StreamEnd::Stopped };
                packet.details.stream_ends.push((integer(rest)?.0, end));
                skip_integers(rest, if kind == 4 { 3 } else { 2 })?
            }
            7 => skip_bytes(rest)?,
            8..=0xf => stream(rest, kind, packet)?,
            0x10 => {
                let (limit, rest) = integer(rest)?;
                packet.max_data = packet.max_data.max(Some(limit));
                rest
            }
            0x11 => {
                let (stream, rest) = integer(rest)?;
                let (limit, rest) = integer(rest)?;
                packet.details.max_stream_data.push((stream, limit));
                rest
            }
            // MAX_STREAMS, STREAMS_BLOCKED, RETIRE_CONNECTION_ID.
            0x12 | 0x13 | 0x16 | 0x17 | 0x19 => skip_integers(rest, 1)?,
            0x14 | 0x15 => {
                packet.is_blocked = true;
                skip_integers(rest, if kind == 0x14 { 1 } else { 2 })?
            }
            // NEW_CONNECTION_ID, and PATH_CHALLENGE and PATH_RESPONSE.
            0x18 => {
                let rest = skip_integers(rest, 2)?;
                rest.get(1 + usize::from(*rest.first()?) + 16..)?
            }
            0x1a | 0x1b => rest.get(8..)?,
            // CONNECTION_CLOSE of transport and application.
            0x1c => skip_bytes(skip_integers(rest, 2)?)?,
            0x1d => skip_bytes(skip_integers(rest, 1)?)?,
            0x1e => {
                packet.handshake_done = true;
                rest
            }
            // DATAGRAM (RFC 9221), the first without a length.
            0x30 => &[],
            0x31 => skip_bytes(rest)?,
            // TIMESTAMP (draft-huitema-quic-ts).
            0x02f5 => skip_integers(rest, 1)?,
            // RESET_STREAM_AT (draft-ietf-quic-reliable-stream-reset), ACK_FREQUENCY
            // (draft-ietf-quic-ack-frequency).
            0x24 | 0xaf => skip_integers(rest, 4)?,
            _ => return None,
        };
    }
    Some(())
}

fn skip_integers(mut bytes: &[u8], count: usize) -> Option<&[u8]> {
    for _ in 0..count {
        bytes = integer(bytes)?.1;
    }
    Some(bytes)
}

/// Skips bytes that have their length before them.
fn skip_bytes(bytes: &[u8]) -> Option<&[u8]> {
    let (length, rest) = integer(bytes)?;
    rest.get(usize::try_from(length).ok()?..)
}

/// Exponent of ACK delays by default (RFC 9000 §18.2), with which they are read: what an end
/// announced may stand behind them.
pub const DELAY_EXPONENT: u32 = 3;
/// Longest delay that is taken for one, in units of the exponent: max_ack_delay is below 2^14 ms.
const MAX_DELAY: u64 = 1 << 24;

fn acknowledgement<'a>(bytes: &'a [u8], has_ecn: bool, packet: &mut Packet) -> Option<&'a [u8]> {
    let (largest, rest) = integer(bytes)?;
    let (delay, rest) = integer(rest)?;
    packet.details.ack_delay = Some(Span::from_micros(delay.min(MAX_DELAY) << DELAY_EXPONENT));
    let (count, rest) = integer(rest)?;
    let (first, mut rest) = integer(rest)?;
    let mut smallest = largest.checked_sub(first)?;
    packet.acknowledged.push((smallest, largest));
    for _ in 0..count {
        let (gap, after) = integer(rest)?;
        let (length, after) = integer(after)?;
        let largest = smallest.checked_sub(gap.checked_add(2)?)?;
        smallest = largest.checked_sub(length)?;
        packet.acknowledged.push((smallest, largest));
        rest = after;
    }
    if has_ecn {
        let (ect0, after) = integer(rest)?;
        let (ect1, after) = integer(after)?;
        let (ce, after) = integer(after)?;
        packet.details.ecn = EcnCounts::of([Some(ect0), Some(ect1), Some(ce)]);
        rest = after;
    }
    Some(rest)
}

fn stream<'a>(bytes: &'a [u8], kind: u64, packet: &mut Packet) -> Option<&'a [u8]> {
    let (stream, rest) = integer(bytes)?;
    let (offset, rest) = if kind & 4 != 0 { integer(rest)? } else { (0, rest) };
    let (length, rest) = if kind & 2 != 0 { integer(rest)? } else { (rest.len() as u64, rest) };
    let after = rest.get(usize::try_from(length).ok()?..)?;
    packet.data.push(StreamPart { stream, offset, length });
    if kind & 1 != 0 {
        packet.details.stream_ends.push((stream, StreamEnd::Fin));
    }
    Some(after)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::event::{Details, PacketDetails};

    #[test]
    fn frames_of_all_kinds_are_read_or_skipped() {
        let bytes = [
            &[0, 1][..],
            // Packets 90 to 100 and 80 to 85, with ECN counts.
            &[3, 0x40, 100, 8, 1, 10, 3, 5, 7, 0, 2],
            &[4, 0, 0, 0, 5, 0, 0, 6, 0, 2, 1, 1, 7, 1, 1],
            // Stream 4, offset 9, two bytes.
            &[0x0e, 4, 9, 2, 1, 1],
            &[0x10, 50, 0x11, 4, 60, 0x12, 1, 0x14, 50, 0x18, 1, 0, 1, 7],
            &[0; 16],
            &[0x19, 0, 0x1a, 0, 0, 0, 0, 0, 0, 0, 0, 0x1e, 0x31, 1, 1],
            &[0x40, 0xaf, 0, 1, 2, 3, 0x42, 0xf5, 9, 0x40, 0xac, 0x24, 0, 0, 9, 9],
            &[0x1d, 0, 2, 1, 1],
            // Stream 8 up to the end of the packet.
            &[0x09, 8, 1, 1, 1],
        ]
        .concat();
        let mut packet = Packet::default();
        let mut crypto = Vec::new();
        assert_eq!(add_frames(&bytes, &mut packet, &mut crypto), Some(()));
        assert_eq!(crypto, [(0, &[1, 1][..])]);
        let expected = Packet {
            acknowledged: vec![(90, 100), (80, 85)].into(),
            data: vec![
                StreamPart { stream: 4, offset: 9, length: 2 },
                StreamPart { stream: 8, offset: 0, length: 3 },
            ]
            .into(),
            max_data: Some(50),
            is_blocked: true,
            is_eliciting: true,
            handshake_done: true,
            details: Details::from(PacketDetails {
                ack_delay: Some(Span::from_micros(64)),
                max_stream_data: vec![(4, 60)],
                stream_ends: vec![
                    (0, StreamEnd::Reset),
                    (0, StreamEnd::Stopped),
                    (8, StreamEnd::Fin),
                ],
                ecn: Some(EcnCounts { ect0: 7, ect1: 0, ce: 2 }),
                ..PacketDetails::default()
            }),
            ..Packet::default()
        };
        assert_eq!(packet, expected);
        for wrong in [&[0x2f][..], &[6, 0, 9, 1], &[2, 5, 0, 0, 9], &[0x0e, 4, 9, 50, 1]] {
            let mut packet = Packet::default();
            assert_eq!(add_frames(wrong, &mut packet, &mut Vec::new()), None, "{wrong:?}");
            assert!(packet.data.is_empty(), "a frame has the data that it declares: {wrong:?}");
        }
    }
}

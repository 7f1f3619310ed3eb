//! The frames of a packet one by one, for its trace (RFC 9000 §19).

use super::frames::ack_ranges;
use crate::varint::Reader;
use bentpipe_qlog::{Ack, EcnCounts, Frame};
use bentpipe_units::Span;

/// Calls `each` with the frames of `payload`. What cannot be parsed is, with all that follows it,
/// one unknown frame.
///
/// `exponent`: that of the ACK delays (ack_delay_exponent, RFC 9000 §18.2). `ranges` is kept for
/// its memory.
pub fn each_frame(
    payload: &[u8],
    exponent: u32,
    ranges: &mut Vec<(u64, u64)>,
    mut each: impl FnMut(&Frame<'_>),
) {
    let mut rest = payload;
    while !rest.is_empty() {
        let bytes = match frame(rest, exponent, ranges) {
            Some((frame, bytes)) => {
                each(&frame);
                bytes
            }
            None => {
                let frame_type = Reader(rest).varint().unwrap_or(u64::from(rest[0]));
                each(&Frame::Unknown { frame_type, length: rest.len() as u64 });
                rest.len()
            }
        };
        rest = &rest[bytes..];
    }
}

/// Parses the first frame. Returns it and its bytes. `None` if it is malformed, or unknown so that
/// its end is.
fn frame<'a>(
    payload: &'a [u8],
    exponent: u32,
    ranges: &'a mut Vec<(u64, u64)>,
) -> Option<(Frame<'a>, usize)> {
    let rest = &mut Reader(payload);
    let kind = rest.varint()?;
    let frame = match kind {
        0x00 => {
            let more = rest.0.iter().take_while(|&&byte| byte == 0).count() as u64;
            rest.skip(more)?;
            Frame::Padding { length: more + 1 }
        }
        0x01 => Frame::Ping,
        0x02 | 0x03 => Frame::Ack(ack(rest, kind == 0x03, exponent, ranges)?),
        0x04 => Frame::ResetStream {
            stream_id: rest.varint()?,
            error_code: rest.varint()?,
            final_size: rest.varint()?,
        },
        0x05 => Frame::StopSending { stream_id: rest.varint()?, error_code: rest.varint()? },
        0x06 => Frame::Crypto { offset: rest.varint()?, length: rest.text()?.len() as u64 },
        0x07 => Frame::NewToken { length: rest.text()?.len() as u64 },
        0x08..=0x0f => {
            let stream_id = rest.varint()?;
            let offset = if kind & 0x04 != 0 { rest.varint()? } else { 0 };
            let length = if kind & 0x02 != 0 { rest.varint()? } else { rest.0.len() as u64 };
            rest.skip(length)?;
            Frame::Stream { stream_id, offset, length, fin: kind & 0x01 != 0 }
        }
        0x10 => Frame::MaxData { maximum: rest.varint()? },
        0x11 => Frame::MaxStreamData { stream_id: rest.varint()?, maximum: rest.varint()? },
        0x12 | 0x13 => Frame::MaxStreams { bidirectional: kind == 0x12, maximum: rest.varint()? },
        0x14 => Frame::DataBlocked { limit: rest.varint()? },
        0x15 => Frame::StreamDataBlocked { stream_id: rest.varint()?, limit: rest.varint()? },
        0x16 | 0x17 => Frame::StreamsBlocked { bidirectional: kind == 0x16, limit: rest.varint()? },
        0x18 => {
            let (sequence_number, retire_prior_to) = (rest.varint()?, rest.varint()?);
            let length = *rest.bytes(1)?.first()?;
            let connection_id = rest.bytes(u64::from(length))?;
            // The stateless reset token.
            rest.bytes(16)?;
            Frame::NewConnectionId { sequence_number, retire_prior_to, connection_id }
        }
        0x19 => Frame::RetireConnectionId { sequence_number: rest.varint()? },
        0x1a => Frame::PathChallenge { data: rest.bytes(8)? },
        0x1b => Frame::PathResponse { data: rest.bytes(8)? },
        0x1c | 0x1d => {
            let error_code = rest.varint()?;
            if kind == 0x1c {
                rest.varint()?;
            }
            let reason = std::str::from_utf8(rest.text()?).ok().filter(|text| !text.is_empty());
            Frame::ConnectionClose { application: kind == 0x1d, error_code, reason }
        }
        0x1e => Frame::HandshakeDone,
        0x30 => Frame::Datagram { length: rest.bytes(rest.0.len() as u64)?.len() as u64 },
        0x31 => Frame::Datagram { length: rest.text()?.len() as u64 },
        // IMMEDIATE_ACK and ACK_FREQUENCY (draft-ietf-quic-ack-frequency §4 and §5), which qlog has
        // no names for.
        0x1f | 0xaf => {
            rest.varints(if kind == 0xaf { 4 } else { 0 })?;
            Frame::Unknown { frame_type: kind, length: (payload.len() - rest.0.len()) as u64 }
        }
        _ => return None,
    };
    Some((frame, payload.len() - rest.0.len()))
}

fn ack<'a>(
    rest: &mut Reader<'_>,
    with_ecn: bool,
    exponent: u32,
    ranges: &'a mut Vec<(u64, u64)>,
) -> Option<Ack<'a>> {
    ranges.clear();
    let largest = rest.varint()?;
    let delay = rest.varint()?.checked_shl(exponent)?;
    ack_ranges(rest, largest, |first, last| ranges.push((first, last)))?;
    let ecn = if with_ecn {
        Some(EcnCounts { ect0: rest.varint()?, ect1: rest.varint()?, ce: rest.varint()? })
    } else {
        None
    };
    let delay = Span::from_nanos(delay.saturating_mul(1000));
    Some(Ack { delay, ranges, ecn })
}

#[cfg(test)]
mod tests {
    use super::super::frames::walk;
    use super::*;
    use bentpipe_qlog::check::{check, check_qvis};
    use bentpipe_qlog::{Form, Forms, Packet, PacketType, QlogSink, Side, Transport};
    use proptest::prelude::*;

    fn frames(payload: &[u8], exponent: u32) -> Vec<String> {
        let mut all = Vec::new();
        each_frame(payload, exponent, &mut Vec::new(), |frame| all.push(format!("{frame:?}")));
        all
    }

    #[test]
    fn ranges_and_delay_of_an_ack_are_absolute() {
        // Largest 10, delay 5, one more range; first range 2, gap 0, length 1; then ECN counts.
        let payload = [0x03, 10, 5, 1, 2, 0, 1, 7, 0, 1];
        let mut ranges = Vec::new();
        let mut seen = 0;
        each_frame(&payload, 3, &mut ranges, |frame| {
            seen += 1;
            let Frame::Ack(ack) = frame else { panic!("{frame:?}") };
            assert_eq!(ack.delay, Span::from_nanos(40_000));
            assert_eq!(ack.ranges, [(8, 10), (5, 6)]);
            assert_eq!(ack.ecn, Some(EcnCounts { ect0: 7, ect1: 0, ce: 1 }));
        });
        assert_eq!(seen, 1);
    }

    #[test]
    fn the_rest_after_an_unknown_frame_is_one_frame() {
        let all = frames(&[0x01, 0x40, 0xff, 1, 2], 3);
        assert_eq!(all.len(), 2);
        assert!(all[1].contains("frame_type: 255, length: 4"), "{all:?}");
    }

    /// Returns the trace of one packet in both forms.
    fn trace(payload: &[u8]) -> [Vec<u8>; 2] {
        let sink = QlogSink::new("t", Forms::BOTH);
        sink.begin(Side::Client, Transport::Quic, "00");
        let mut packets = sink.packets();
        let packet =
            Packet { kind: PacketType::OneRtt, number: 0, connection_ids: None, length: 1200 };
        let mut writer = packets.begin(&packet);
        each_frame(payload, 3, &mut Vec::new(), |frame| writer.frame(frame));
        writer.end();
        sink.packet_received(packets.get(0).unwrap());
        [sink.take(Form::Current), sink.take(Form::Qvis)]
    }

    proptest! {
        #[test]
        fn the_trace_of_any_payload_has_no_defect(
            payload in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let [current, qvis] = trace(&payload);
            prop_assert!(check(&current).is_ok(), "{:?}", check(&current));
            prop_assert!(check_qvis(&qvis).is_ok(), "{:?}", check_qvis(&qvis));
        }

        /// Both parsers agree on where frames end, whatever arrives. Types are small, so that more
        /// than one frame of most payloads can be parsed.
        #[test]
        fn any_payload_is_parsed(
            payload in prop::collection::vec(prop_oneof![any::<u8>(), 0u8..0x32], 0..200),
            exponent in 0u32..21,
        ) {
            let all = frames(&payload, exponent);
            prop_assert_eq!(all.is_empty(), payload.is_empty());
            let streams = all.iter().filter(|frame| frame.starts_with("Stream {")).count();
            prop_assert_eq!(streams > 0, walk(&payload).stream > 0);
        }
    }
}

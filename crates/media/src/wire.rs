//! How QUIC carries the packets and frames of a call.
//!
//! A DATAGRAM frame (RFC 9221) has a header of eight bytes and the payload of one packet. A stream
//! begins with [`STREAM_TYPE`] and has frames one after the other, each behind a header of eight
//! bytes. Neither carries times: frames are captured at equal intervals.

use crate::packet::Packet;
use crate::settings::MediaKind;
use bentpipe_units::Time;

/// Size of the header of a packet, and of a frame on a stream, in bytes.
pub const HEADER_BYTES: u32 = 8;
/// First byte of a stream with media, which other streams do not have.
pub const STREAM_TYPE: u8 = 0x4d;
/// A keyframe request: a DATAGRAM frame with this byte alone.
pub const KEYFRAME_REQUEST: [u8; 1] = [0xc0];
/// Most frames of a stream of media: their numbers have 25 bits, 38 hours of 240 a second.
const MAX_FRAMES: u32 = 1 << 25;
/// Most frames of which a header can say that they were skipped, in four bits.
pub(crate) const MAX_SKIPPED: u8 = 15;

const VIDEO: u32 = 1 << 31;
const KEYFRAME: u32 = 1 << 30;

/// The header of a packet or of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Kind of media.
    pub kind: MediaKind,
    /// True if the frame depends on no other.
    pub keyframe: bool,
    /// Number of the frame.
    pub frame: u32,
    /// Number of frames before it that the encoder has skipped.
    pub skipped: u8,
    /// What follows.
    pub rest: u32,
}

impl Header {
    /// Returns the header of a packet of a DATAGRAM frame.
    pub fn of_packet(packet: &Packet) -> Self {
        let rest = u32::from(packet.index) << 16 | u32::from(packet.packets);
        Self { rest, ..Self::of_frame(packet, 0) }
    }

    /// Returns the header of the frame of `packet`, of `bytes`, on a stream.
    pub fn of_frame(packet: &Packet, bytes: u32) -> Self {
        let &Packet { kind, keyframe, frame, skipped, .. } = packet;
        Self { kind, keyframe, frame: frame % MAX_FRAMES, skipped, rest: bytes }
    }

    /// Returns the packet that has arrived with this header: one of a number of packets of a frame
    /// captured at a time, with a payload. Headers do not have its place among all packets.
    pub fn to_packet(&self, captured: Time, (index, packets): (u16, u16), payload: u32) -> Packet {
        let &Self { kind, keyframe, frame, skipped, .. } = self;
        let sequence = 0;
        Packet { kind, frame, keyframe, index, packets, payload, captured, sequence, skipped }
    }

    /// Returns the number of a packet within its frame, and the number of its packets.
    pub fn packet(&self) -> (u16, u16) {
        ((self.rest >> 16) as u16, self.rest as u16)
    }

    /// Returns its bytes.
    pub fn encode(&self) -> [u8; HEADER_BYTES as usize] {
        let video = if self.kind == MediaKind::Video { VIDEO } else { 0 };
        let keyframe = if self.keyframe { KEYFRAME } else { 0 };
        let skipped = u32::from(self.skipped.min(MAX_SKIPPED)) * MAX_FRAMES;
        let first = video | keyframe | skipped | (self.frame % MAX_FRAMES);
        (u64::from(first) << 32 | u64::from(self.rest)).to_be_bytes()
    }

    /// Reads the header at the start of `data`; `None` if it is too short.
    pub fn decode(data: &[u8]) -> Option<Self> {
        let word = u64::from_be_bytes(*data.first_chunk()?);
        let first = (word >> 32) as u32;
        Some(Self {
            kind: if first & VIDEO == 0 { MediaKind::Audio } else { MediaKind::Video },
            keyframe: first & KEYFRAME != 0,
            frame: first % MAX_FRAMES,
            skipped: (first / MAX_FRAMES) as u8 & MAX_SKIPPED,
            rest: word as u32,
        })
    }
}

/// Reads the frames of a stream, whose bytes arrive in pieces.
#[derive(Debug, Default)]
pub struct FrameReader {
    /// True once the type of the stream was read.
    is_media: bool,
    /// Bytes of a header that is not complete.
    head: Vec<u8>,
    /// The frame that arrives, and how much of it is missing.
    frame: Option<(Header, u32)>,
}

/// The stream begins with another byte than [`STREAM_TYPE`]: it has no media.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoMedia(pub u8);

impl FrameReader {
    /// Takes the next bytes, and passes the header of each frame to `complete` with its last byte.
    /// Returns the bytes of frames among them.
    ///
    /// # Errors
    /// The stream has no media.
    pub fn push(
        &mut self,
        mut data: &[u8],
        mut complete: impl FnMut(Header),
    ) -> Result<usize, NoMedia> {
        let mut payload = 0;
        if let (false, Some((&first, rest))) = (self.is_media, data.split_first()) {
            if first != STREAM_TYPE {
                return Err(NoMedia(first));
            }
            (self.is_media, data) = (true, rest);
        }
        while !data.is_empty() {
            let Some((header, missing)) = &mut self.frame else {
                let (head, rest) = data.split_at(data.len().min(self.head_missing()));
                self.head.extend_from_slice(head);
                data = rest;
                self.begin(&mut complete);
                continue;
            };
            let taken = data.len().min(*missing as usize);
            (*missing, data, payload) = (*missing - taken as u32, &data[taken..], payload + taken);
            if *missing == 0 {
                complete(*header);
                self.frame = None;
            }
        }
        Ok(payload)
    }

    fn head_missing(&self) -> usize {
        HEADER_BYTES as usize - self.head.len()
    }

    /// Begins a frame once its header is complete.
    fn begin(&mut self, complete: &mut impl FnMut(Header)) {
        let Some(header) = Header::decode(&self.head) else { return };
        self.head.clear();
        if header.rest == 0 {
            complete(header);
        } else {
            self.frame = Some((header, header.rest));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_units::Time;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn headers_are_read_as_written(
            video: bool,
            keyframe: bool,
            frame in 0..MAX_FRAMES,
            skipped in 0..=15u8,
            index: u16,
            packets: u16,
        ) {
            let kind = if video { MediaKind::Video } else { MediaKind::Audio };
            let captured = Time::ZERO;
            let (payload, sequence) = (1, 0);
            let packet = Packet {
                kind,
                frame,
                keyframe,
                index,
                packets,
                payload,
                captured,
                sequence,
                skipped,
            };
            let header = Header::of_packet(&packet);
            let read = Header::decode(&header.encode()).unwrap();
            prop_assert_eq!(read, header);
            prop_assert_eq!(read.packet(), (index, packets));
            prop_assert_eq!((read.kind, read.keyframe, read.frame), (kind, keyframe, frame));
            prop_assert_eq!(read.skipped, skipped);
        }

        #[test]
        fn frames_are_complete_with_their_last_byte_however_a_stream_is_cut(
            sizes in prop::collection::vec(0..3_000u32, 1..20),
            cut in 1..1_500usize,
        ) {
            let header = |(frame, rest): (u32, u32)| {
                Header { kind: MediaKind::Video, keyframe: frame == 0, frame, skipped: 0, rest }
            };
            let headers: Vec<Header> = (0..).zip(sizes.iter().copied()).map(header).collect();
            let mut stream = vec![STREAM_TYPE];
            for header in &headers {
                stream.extend(header.encode());
                stream.resize(stream.len() + header.rest as usize, 0);
            }
            let (mut reader, mut found, mut payload) = (FrameReader::default(), Vec::new(), 0);
            for piece in stream.chunks(cut) {
                payload += reader.push(piece, |header| found.push(header)).unwrap();
            }
            prop_assert_eq!(found, headers);
            prop_assert_eq!(payload as u32, sizes.iter().sum::<u32>());
        }

        #[test]
        fn whatever_arrives_is_read_or_too_short(data: Vec<u8>) {
            prop_assert_eq!(Header::decode(&data).is_some(), data.len() >= 8);
            let read = FrameReader::default().push(&data, |_| ());
            let other = data.first().filter(|&&first| first != STREAM_TYPE);
            prop_assert_eq!(read.err(), other.map(|&first| NoMedia(first)));
        }
    }
}

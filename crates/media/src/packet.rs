//! The packets of a call.

use crate::settings::MediaKind;
use bentpipe_units::Time;

/// A packet of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// Kind of media.
    pub kind: MediaKind,
    /// Number of the frame, from 0.
    pub frame: u32,
    /// True if the frame depends on no other.
    pub keyframe: bool,
    /// Number of the packet within the frame, from 0.
    pub index: u16,
    /// Number of packets of the frame.
    pub packets: u16,
    /// Payload above the headers in bytes.
    pub payload: u32,
    /// Capture time of the frame.
    pub captured: Time,
    /// Number of the packet among all of a direction that adapts, from 0.
    pub sequence: u32,
    /// Frames before this one that the encoder has skipped: no packets of theirs exist.
    pub skipped: u8,
}

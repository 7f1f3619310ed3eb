//! Packets as an observer sees them.

use super::frames::Frames;

/// A packet-number space (RFC 9000 §12.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    /// Initial packets.
    Initial,
    /// Handshake packets.
    Handshake,
    /// 0-RTT and 1-RTT packets.
    Data,
}

/// A packet, observed inside its protection. Sizes are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketInfo {
    /// The packet-number space.
    pub space: Space,
    /// The packet number, in full.
    pub number: u64,
    /// Size of the header with the packet number.
    pub header: u32,
    /// Size of the authentication tag.
    pub tag: u32,
    /// The frames between header and tag.
    pub frames: Frames,
}

impl PacketInfo {
    /// Returns the size of the packet.
    pub fn bytes(&self) -> u32 {
        self.header + self.tag + self.frames.bytes()
    }

    /// Returns true if it only acknowledges: its loss needs no repair, and a later ACK replaces it.
    pub fn is_ack_only(&self) -> bool {
        // CONNECTION_CLOSE is not ack-eliciting either, so `eliciting` would not do.
        self.frames.ack > 0 && self.frames.ack + self.frames.padding == self.frames.bytes()
    }
}

//! What passes a connection's packet protection: the number, the layers and the frames of every
//! packet.
//!
//! The stack tells nobody packet numbers or frames. It does hand each packet, in the clear, to the
//! cryptography that is configured: a [`PacketObserver`] stands around that and looks, without
//! touching a byte. So a receiver's policy knows gaps exactly, an account of the return path is
//! exact by layer, and a page can draw packet numbers.
//!
//! Order of calls: wrap the configuration with [`PacketObserver::client`] or
//! [`PacketObserver::server`] before the connection begins, and give the same watch to
//! [`Attached`](crate::Attached). The [`Endpoint`](crate::Endpoint) takes what was seen after every
//! datagram and every transmission, so that little waits here at any time.

mod frames;
mod keys;

pub use frames::Frames;
use frames::walk;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most packets that wait here in each direction: more than one call of the stack can produce.
const MOST: usize = 1024;

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

/// A packet, seen inside its protection. Sizes are bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketInfo {
    /// The space that its number counts in.
    pub space: Space,
    /// Its packet number, in full.
    pub number: u64,
    /// Header with packet number.
    pub header: u32,
    /// Authentication tag.
    pub tag: u32,
    /// What it holds between the two.
    pub frames: Frames,
}

impl PacketInfo {
    /// All of it.
    pub fn bytes(&self) -> u32 {
        self.header + self.tag + self.frames.bytes()
    }

    /// True where it acknowledges and does nothing else: its loss needs no repair, and a later one
    /// replaces it.
    pub fn is_ack_only(&self) -> bool {
        // A close elicits nothing either.
        self.frames.ack > 0 && self.frames.ack + self.frames.padding == self.frames.bytes()
    }
}

/// Watches one end of one connection. Clones share what was seen.
#[derive(Clone, Default)]
pub struct PacketObserver(Arc<Mutex<ObservedPackets>>);

#[derive(Default)]
struct ObservedPackets {
    sent: Vec<PacketInfo>,
    received: Vec<PacketInfo>,
}

impl std::fmt::Debug for PacketObserver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Watch")
    }
}

impl PacketObserver {
    fn seen(&self) -> MutexGuard<'_, ObservedPackets> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sent(&self, space: Space, number: u64, header: usize, tag: usize, payload: &[u8]) {
        let packet = PacketInfo {
            space,
            number,
            header: header as u32,
            tag: tag as u32,
            frames: walk(payload),
        };
        put(&mut self.seen().sent, packet);
    }

    fn received(&self, space: Space, number: u64, header: usize, tag: usize, payload: &[u8]) {
        let packet = PacketInfo {
            space,
            number,
            header: header as u32,
            tag: tag as u32,
            frames: walk(payload),
        };
        put(&mut self.seen().received, packet);
    }

    /// Moves the packets protected since the last call to `into`, in their order. They need not
    /// have left: whoever transmits may drop them.
    pub fn take_sent(&self, into: &mut Vec<PacketInfo>) {
        into.append(&mut self.seen().sent);
    }

    /// Moves the packets whose protection was removed since the last call to `into`, in their
    /// order. Some may be duplicates.
    pub fn take_received(&self, into: &mut Vec<PacketInfo>) {
        into.append(&mut self.seen().received);
    }
}

/// Where nobody takes what was seen, the latest is left out.
fn put(packets: &mut Vec<PacketInfo>, packet: PacketInfo) {
    if packets.len() < MOST {
        packets.push(packet);
    }
}

//! The observer of a connection's packets.

use super::frames::walk;
use super::packet_info::{PacketInfo, Space};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most packets that wait in each direction: more than one call of the stack can produce.
const MAX_PENDING: usize = 1024;

/// Observes the packets of one end of one connection. Clones share them.
#[derive(Clone, Default)]
pub struct PacketObserver(Arc<Mutex<ObservedPackets>>);

#[derive(Default)]
struct ObservedPackets {
    sent: Vec<PacketInfo>,
    received: Vec<PacketInfo>,
}

impl std::fmt::Debug for PacketObserver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PacketObserver").finish_non_exhaustive()
    }
}

impl PacketObserver {
    fn lock(&self) -> MutexGuard<'_, ObservedPackets> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn on_sent(
        &self,
        space: Space,
        number: u64,
        header: usize,
        tag: usize,
        payload: &[u8],
    ) {
        put(&mut self.lock().sent, packet(space, number, header, tag, payload));
    }

    pub(super) fn on_received(
        &self,
        space: Space,
        number: u64,
        header: usize,
        tag: usize,
        payload: &[u8],
    ) {
        put(&mut self.lock().received, packet(space, number, header, tag, payload));
    }

    /// Moves the packets protected since the last call to `into`, in their order. They may not have
    /// left: the caller may hold or drop them.
    pub fn take_sent(&self, into: &mut Vec<PacketInfo>) {
        into.append(&mut self.lock().sent);
    }

    /// Moves the packets whose protection was removed since the last call to `into`, in their
    /// order, possibly with duplicates.
    pub fn take_received(&self, into: &mut Vec<PacketInfo>) {
        into.append(&mut self.lock().received);
    }
}

/// Drops `packet` if too many wait because nobody takes them.
fn put(packets: &mut Vec<PacketInfo>, packet: PacketInfo) {
    if packets.len() < MAX_PENDING {
        packets.push(packet);
    }
}

fn packet(space: Space, number: u64, header: usize, tag: usize, payload: &[u8]) -> PacketInfo {
    PacketInfo { space, number, header: header as u32, tag: tag as u32, frames: walk(payload) }
}

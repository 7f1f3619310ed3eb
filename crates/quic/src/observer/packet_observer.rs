//! The observer of a connection's packets.

use super::frames::walk;
use super::packet_info::{PacketInfo, Space};
use super::packet_log::PacketLog;
use bentpipe_qlog::{PacketTexts, PacketType, QlogSink, Side};
use noq_proto::transport_parameters::TransportParameters;
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
    /// Most packets with a CE mark that the peer has reported, of 1-RTT and 0-RTT packets.
    marked: u64,
    /// Writes packets to a trace.
    log: Option<PacketLog>,
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

    /// Writes the packets to `sink` as well.
    pub fn set_qlog(&self, sink: QlogSink) {
        self.lock().log = Some(PacketLog::new(sink));
    }

    pub(super) fn on_sent(
        &self,
        space: Space,
        number: u64,
        header: &[u8],
        tag: usize,
        payload: &[u8],
    ) {
        let packets = &mut *self.lock();
        let room = put(&mut packets.sent, packet(space, number, header.len(), tag, payload));
        if let Some(log) = &mut packets.log
            && room
        {
            log.on_sent(space, number, header, tag, payload);
        }
    }

    pub(super) fn on_received(
        &self,
        space: Space,
        number: u64,
        header: &[u8],
        tag: usize,
        payload: &[u8],
    ) {
        let packets = &mut *self.lock();
        let packet = packet(space, number, header.len(), tag, payload);
        // Reports that arrive late have smaller counts.
        if let (Space::Data, Some(marked)) = (space, packet.frames.marked) {
            packets.marked = packets.marked.max(marked);
        }
        put(&mut packets.received, packet);
        if let Some(log) = &mut packets.log {
            log.on_received(space, number, header, tag, payload);
        }
    }

    /// Takes a server's first packet, which its endpoint opens before the connection exists. It is
    /// for the trace only.
    pub(super) fn log_first(&self, number: u64, header: &[u8], tag: usize, payload: &[u8]) {
        if let Some(log) = &mut self.lock().log {
            log.on_received(Space::Initial, number, header, tag, payload);
        }
    }

    /// Takes the client's first destination connection ID, at the client.
    pub(super) fn log_connection_id(&self, connection_id: &[u8]) {
        if let Some(log) = &self.lock().log {
            log.begin(Side::Client, connection_id);
        }
    }

    pub(super) fn log_local_parameters(&self, parameters: &TransportParameters) {
        if let Some(log) = &mut self.lock().log {
            log.on_local_parameters(parameters);
        }
    }

    pub(super) fn log_remote_parameters(&self, parameters: &TransportParameters, restored: bool) {
        if let Some(log) = &mut self.lock().log {
            log.on_remote_parameters(parameters, restored);
        }
    }

    /// Returns the number of packets that the peer has reported as marked CE (RFC 9000 §19.3.2).
    /// The stack keeps it private.
    pub(crate) fn marked(&self) -> u64 {
        self.lock().marked
    }

    /// Returns the type of the packet that was protected last, if there is a trace.
    pub(crate) fn last_sent(&self) -> Option<PacketType> {
        self.lock().log.as_ref().map(|log| log.last_sent)
    }

    /// Moves the text of the packets that [`Self::take_sent`] returns to `into`, which is cleared.
    pub(crate) fn take_texts(&self, into: &mut PacketTexts) {
        if let Some(log) = &mut self.lock().log {
            log.take_sent(into);
        }
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

/// Adds `packet`. Drops it and returns false if too many wait because nobody takes them.
fn put(packets: &mut Vec<PacketInfo>, packet: PacketInfo) -> bool {
    let room = packets.len() < MAX_PENDING;
    if room {
        packets.push(packet);
    }
    room
}

fn packet(space: Space, number: u64, header: usize, tag: usize, payload: &[u8]) -> PacketInfo {
    PacketInfo { space, number, header: header as u32, tag: tag as u32, frames: walk(payload) }
}

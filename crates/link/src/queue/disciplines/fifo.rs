//! Packets in the order of arrival, within a limit.

use crate::counters::PacketTotals;
use crate::queue::accepted::Accepted;
use crate::queue::limit::ResolvedLimit;
use std::collections::VecDeque;

/// Packets in the order of arrival.
#[derive(Debug, Clone)]
pub(crate) struct Fifo<P> {
    packets: VecDeque<Accepted<P>>,
    bytes: u64,
    limit: ResolvedLimit,
}

impl<P> Fifo<P> {
    /// Creates an empty queue of at most `limit`.
    pub fn new(limit: ResolvedLimit) -> Self {
        Self { packets: VecDeque::new(), bytes: 0, limit }
    }

    /// Returns the bytes that wait.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the packets and bytes that wait.
    pub fn waiting(&self) -> PacketTotals {
        PacketTotals { packets: self.packets.len() as u64, bytes: self.bytes }
    }

    /// Returns true if one more packet of `bytes` is within the limit.
    #[inline]
    pub fn has_room(&self, bytes: u32) -> bool {
        self.limit.has_room(self.waiting(), bytes)
    }

    /// Returns true if a packet of `bytes` is within the limit when no other waits.
    pub fn fits(&self, bytes: u32) -> bool {
        self.limit.has_room(PacketTotals::default(), bytes)
    }

    /// Appends a packet. Returns it if it exceeds the limit.
    #[inline]
    pub fn push(&mut self, packet: Accepted<P>) -> Result<(), Accepted<P>> {
        if !self.has_room(packet.packet.bytes) {
            return Err(packet);
        }
        self.bytes += u64::from(packet.packet.bytes);
        self.packets.push_back(packet);
        Ok(())
    }

    /// Returns the first packet.
    pub fn first(&self) -> Option<&Accepted<P>> {
        self.packets.front()
    }

    /// Removes the first packet.
    #[inline]
    pub fn pop(&mut self) -> Option<Accepted<P>> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.packet.bytes);
        if self.packets.is_empty() {
            // Starts again at the front of the buffer, which is in the CPU's cache.
            self.packets.clear();
        }
        Some(packet)
    }

    /// Removes the packets of `port`, in their order.
    pub fn withdraw(&mut self, port: u32) -> Vec<Accepted<P>> {
        let all = std::mem::take(&mut self.packets);
        let (removed, kept): (Vec<_>, _) = all.into_iter().partition(|packet| packet.port == port);
        self.packets = kept.into();
        self.bytes -= removed.iter().map(|packet| u64::from(packet.packet.bytes)).sum::<u64>();
        removed
    }

    /// Calls `see` with each packet in its order.
    pub fn for_each(&self, see: impl FnMut(&Accepted<P>)) {
        self.packets.iter().for_each(see);
    }
}

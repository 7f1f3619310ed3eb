//! The queue in front of the transmitter.

use crate::counters::PacketTotals;
use crate::queue::codel::Codel;
use crate::queue::limit::ResolvedLimit;
use crate::queue::littles_law::{QueueTime, QueueTimeMeter};
use crate::{CodelConfig, Ecn, Packet, Service};
use bentpipe_units::Time;
use std::collections::VecDeque;

/// A packet that the link has accepted.
#[derive(Debug, Clone)]
pub(crate) struct Accepted<P> {
    pub sent: Time,
    pub port: u32,
    pub packet: Packet<P>,
    /// Complete once the packet has left the transmitter. Before, `blocked` is the link's total at
    /// the offer.
    pub service: Service,
}

/// A first-in, first-out queue with a limit, and with CoDel at its head if configured.
///
/// The packet in transmission stays at the front, which saves a move. It counts neither as queued
/// nor against the limit.
#[derive(Debug, Clone)]
pub(crate) struct Queue<P> {
    packets: VecDeque<Accepted<P>>,
    /// True if the front is being sent.
    sending: bool,
    /// Bytes queued.
    bytes: u64,
    limit: ResolvedLimit,
    codel: Option<Box<Codel>>,
    waits: QueueTimeMeter,
}

/// The packet to send next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    pub port: u32,
    pub bytes: u32,
    /// True if CoDel has just marked it.
    pub marked: bool,
}

impl<P> Queue<P> {
    pub fn new(limit: ResolvedLimit, codel: Option<CodelConfig>) -> Self {
        Self {
            packets: VecDeque::new(),
            sending: false,
            bytes: 0,
            limit,
            codel: codel.map(|codel| Box::new(Codel::new(codel))),
            waits: QueueTimeMeter::default(),
        }
    }

    /// Returns the totals of queued packets.
    pub fn waiting(&self) -> PacketTotals {
        PacketTotals {
            packets: (self.packets.len() - usize::from(self.sending)) as u64,
            bytes: self.bytes,
        }
    }

    /// Returns true if the queue accepts one more packet of `bytes`.
    pub fn has_room(&self, bytes: u32) -> bool {
        self.limit.has_room(self.waiting(), bytes)
    }

    /// Appends a packet at the time at which it was offered. The queue must have room for it.
    pub fn push(&mut self, held: Accepted<P>) {
        self.waits.change(held.sent, self.waiting());
        self.bytes += u64::from(held.packet.bytes);
        self.packets.push_back(held);
    }

    /// Adds a packet to the empty queue that is sent at once.
    pub fn pass(&mut self, held: Accepted<P>) {
        debug_assert!(self.packets.is_empty(), "only an empty queue can be passed");
        self.packets.push_back(held);
        self.sending = true;
    }

    /// Starts to send the next packet at `now`. Passes packets that CoDel drops before it to
    /// `drop`.
    pub fn begin(&mut self, now: Time, mut drop: impl FnMut(Accepted<P>)) -> Option<Head> {
        loop {
            self.waits.change(now, self.waiting());
            let Some(held) = self.packets.front_mut() else {
                if let Some(codel) = &mut self.codel {
                    codel.emptied();
                }
                return None;
            };
            let mut head = Head { port: held.port, bytes: held.packet.bytes, marked: false };
            self.waits.leave(now, held.sent, head.bytes);
            self.bytes -= u64::from(head.bytes);
            self.sending = true;
            let Some(codel) = &mut self.codel else {
                return Some(head);
            };
            if !codel.signals(now, now.since(held.sent), head.bytes, self.bytes) {
                return Some(head);
            }
            if codel.marks() && held.packet.ecn.is_capable() {
                // A packet that another queue has already marked carries the signal.
                head.marked = held.packet.ecn != Ecn::Ce;
                held.packet.ecn = Ecn::Ce;
                return Some(head);
            }
            if let Some(held) = self.end() {
                drop(held);
            }
        }
    }

    /// Returns the number of packets, including the one in transmission.
    pub fn held(&self) -> u64 {
        self.packets.len() as u64
    }

    /// Returns both sides of Little's law until `now`, which must not be earlier than the last
    /// change.
    pub fn time(&self, now: Time) -> QueueTime {
        let waiting = self.packets.iter().skip(usize::from(self.sending));
        self.waits.at(now, self.waiting(), waiting.map(|held| (held.sent, held.packet.bytes)))
    }

    /// Returns true if CoDel manages the queue.
    pub fn is_managed(&self) -> bool {
        self.codel.is_some()
    }

    /// Returns the port of the packet in transmission.
    pub fn sending(&self) -> Option<u32> {
        self.packets.front().filter(|_| self.sending).map(|held| held.port)
    }

    /// Removes the queued packets of `port` at `now`.
    pub fn withdraw(&mut self, now: Time, port: u32, mut taken: impl FnMut(Accepted<P>)) {
        self.waits.change(now, self.waiting());
        // Each packet rotates once behind the one in transmission, so that the others keep their
        // order.
        let first = usize::from(self.sending);
        for _ in first..self.packets.len() {
            let Some(held) = self.packets.remove(first) else { break };
            if held.port == port {
                self.waits.leave(now, held.sent, held.packet.bytes);
                self.bytes -= u64::from(held.packet.bytes);
                taken(held);
            } else {
                self.packets.push_back(held);
            }
        }
    }

    /// Removes and returns the packet whose transmission has ended.
    pub fn end(&mut self) -> Option<Accepted<P>> {
        self.sending = false;
        let held = self.packets.pop_front();
        if self.packets.is_empty() {
            // Starts again at the front of the buffer, which is in the CPU's cache.
            self.packets.clear();
        }
        held
    }
}

//! The queue in front of the transmitter, with the packet in transmission.

use crate::DropCause;
use crate::counters::PacketTotals;
use crate::queue::accepted::Accepted;
use crate::queue::disciplines::{DisciplineQueue, Effects, Refused};
use crate::queue::littles_law::{QueueTime, QueueTimeMeter};
use bentpipe_units::Time;

/// A queue of any discipline, and the packet in transmission, which counts neither as queued nor
/// against the limit.
#[derive(Debug, Clone)]
pub(crate) struct Queue<P> {
    /// The packet in transmission.
    sending: Option<Accepted<P>>,
    packets: DisciplineQueue<P>,
    /// See [`Self::acts_on_dequeue`].
    acts_on_dequeue: bool,
    /// Totals of queued packets.
    waiting: PacketTotals,
    waits: QueueTimeMeter,
    /// With the packets that have been dropped, until [`Self::take_dropped`].
    effects: Effects<P>,
}

/// The packet to send next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    pub port: u32,
    pub bytes: u32,
    /// True if it has just been marked.
    pub marked: bool,
}

impl<P> Queue<P> {
    /// Creates an empty queue. `acts_on_dequeue` is that of the discipline.
    pub fn new(packets: DisciplineQueue<P>, acts_on_dequeue: bool) -> Self {
        Self {
            sending: None,
            packets,
            acts_on_dequeue,
            waiting: PacketTotals::default(),
            waits: QueueTimeMeter::default(),
            effects: Effects::new(),
        }
    }

    /// Returns the totals of queued packets.
    #[inline]
    pub fn waiting(&self) -> PacketTotals {
        self.waiting
    }

    /// Offers a packet at the time at which it was sent. Returns true if it was accepted and
    /// marked. [`Self::take_dropped`] then returns the others that were dropped for it.
    #[inline]
    pub fn enqueue(&mut self, packet: Accepted<P>) -> Result<bool, Refused<P>> {
        let (now, bytes) = (packet.sent, packet.packet.bytes);
        self.waits.change(now, self.waiting);
        let enqueued = self.packets.enqueue(now, packet, &mut self.effects);
        if enqueued.is_ok() {
            self.waiting.add(bytes);
        }
        self.count_dropped(now);
        enqueued.map(|()| self.effects.take_marked())
    }

    /// Sends a packet at once, without queueing. Nothing may be queued or in transmission.
    #[inline]
    pub fn pass(&mut self, packet: Accepted<P>) {
        debug_assert!(self.is_empty(), "only an empty queue can be passed");
        self.sending = Some(packet);
    }

    /// Starts to send the next packet at `now`. [`Self::take_dropped`] then returns those that were
    /// dropped before it.
    #[inline]
    pub fn begin(&mut self, now: Time) -> Option<Head> {
        self.waits.change(now, self.waiting);
        self.sending = self.packets.dequeue(now, &mut self.effects);
        self.count_dropped(now);
        let packet = self.sending.as_ref()?;
        let marked = self.effects.take_marked();
        let head = Head { port: packet.port, bytes: packet.packet.bytes, marked };
        self.waits.leave(now, packet.sent, head.bytes);
        self.waiting.remove(head.bytes);
        Some(head)
    }

    /// Removes and returns the packet whose transmission has ended.
    #[inline]
    pub fn end(&mut self) -> Option<Accepted<P>> {
        self.sending.take()
    }

    /// Ends the waits of packets that have just been dropped at `now`.
    #[inline]
    fn count_dropped(&mut self, now: Time) {
        for (_, packet) in self.effects.dropped() {
            self.waits.leave(now, packet.sent, packet.packet.bytes);
            self.waiting.remove(packet.packet.bytes);
        }
    }

    /// Returns true if [`Self::take_dropped`] returns packets.
    #[inline]
    pub fn has_dropped(&self) -> bool {
        !self.effects.dropped().is_empty()
    }

    /// Returns the packets that the last call of [`Self::enqueue`] or [`Self::begin`] has dropped
    /// although they had been accepted.
    pub fn take_dropped(&mut self) -> impl Iterator<Item = (DropCause, Accepted<P>)> {
        self.effects.take_dropped()
    }

    /// Returns true if no packet is queued or in transmission.
    pub fn is_empty(&self) -> bool {
        self.waiting.packets == 0 && self.sending.is_none()
    }

    /// Returns the number of packets, including the one in transmission, counted where they are.
    pub fn held(&self) -> u64 {
        let mut held = u64::from(self.sending.is_some());
        self.packets.for_each(|_| held += 1);
        held
    }

    /// Returns both sides of Little's law until `now`, which must not be earlier than the last
    /// change.
    pub fn time(&self, now: Time) -> QueueTime {
        let mut time = self.waits.at(now, self.waiting);
        self.packets.for_each(|packet| time.waited(packet.packet.bytes, now.since(packet.sent)));
        time
    }

    /// Returns true if [`Self::begin`] may drop or mark packets.
    #[inline]
    pub fn acts_on_dequeue(&self) -> bool {
        self.acts_on_dequeue
    }

    /// Returns the port of the packet in transmission.
    #[inline]
    pub fn sending(&self) -> Option<u32> {
        self.sending.as_ref().map(|packet| packet.port)
    }

    /// Removes the queued packets of `port` at `now`.
    pub fn withdraw(&mut self, now: Time, port: u32) -> Vec<Accepted<P>> {
        self.waits.change(now, self.waiting);
        let removed = self.packets.withdraw(port);
        for packet in &removed {
            self.waits.leave(now, packet.sent, packet.packet.bytes);
            self.waiting.remove(packet.packet.bytes);
        }
        removed
    }
}

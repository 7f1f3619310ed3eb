//! First in, first out, dropping the oldest packets of a full queue.

use super::discipline::{Discipline, Effects, PacketQueue, QueueContext, Refused};
use super::fifo::Fifo;
use crate::fields::{Field, Fields};
use crate::queue::accepted::Accepted;
use crate::random::Stream;
use crate::{ConfigError, DropCause};
use bentpipe_units::Time;

/// First in, first out: a packet that arrives at a full queue is accepted, and the oldest packets
/// are dropped for it, as in Linux's `pfifo_head_drop`.
///
/// It loses as much as [`DropTail`](super::DropTail), but receivers learn of a loss earlier by the
/// time that the queue takes to drain. A packet that is larger than the whole limit is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadDrop;

impl Discipline for HeadDrop {
    const NAME: &'static str = "head-drop";
    const ABOUT: &'static str = "First in, first out. If the queue is full, the packets that have \
        waited longest are dropped for the one that arrives.";
    const FIELDS: &'static [Field] = &[];
    const ACTS_ON_DEQUEUE: bool = false;
    type Queue<P> = HeadDropQueue<P>;

    fn from_fields(_: &Fields) -> Result<Self, ConfigError> {
        Ok(Self)
    }

    fn queue<P>(&self, context: QueueContext, _: impl FnOnce() -> Stream) -> HeadDropQueue<P> {
        HeadDropQueue(Fifo::new(context.limit))
    }
}

/// The packets of a [`HeadDrop`] queue.
#[derive(Debug, Clone)]
pub(crate) struct HeadDropQueue<P>(Fifo<P>);

impl<P> PacketQueue<P> for HeadDropQueue<P> {
    #[inline]
    fn enqueue(
        &mut self,
        _: Time,
        packet: Accepted<P>,
        effects: &mut Effects<P>,
    ) -> Result<(), Refused<P>> {
        let Self(fifo) = self;
        let bytes = packet.packet.bytes;
        while fifo.fits(bytes)
            && !fifo.has_room(bytes)
            && let Some(oldest) = fifo.pop()
        {
            effects.drop(DropCause::QueueFull, oldest);
        }
        fifo.push(packet).map_err(|packet| (DropCause::QueueFull, packet))
    }

    #[inline]
    fn dequeue(&mut self, _: Time, _: &mut Effects<P>) -> Option<Accepted<P>> {
        self.0.pop()
    }

    fn withdraw(&mut self, port: u32) -> Vec<Accepted<P>> {
        self.0.withdraw(port)
    }

    fn for_each(&self, see: impl FnMut(&Accepted<P>)) {
        self.0.for_each(see);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::limit::ResolvedLimit;
    use crate::{Ecn, Packet};
    use bentpipe_units::Span;

    fn packet(payload: u64, bytes: u32) -> Accepted<u64> {
        Accepted {
            sent: Time::from_millis(payload),
            port: 0,
            packet: Packet::new(bytes, Ecn::NotEct, payload),
            queued: Span::ZERO,
            blocked: Span::ZERO,
            serialised_ns: 0,
        }
    }

    #[test]
    fn a_packet_that_arrives_at_a_full_queue_displaces_the_oldest() {
        let mut queue = HeadDropQueue(Fifo::new(ResolvedLimit::Bytes(3000)));
        let mut effects = Effects::new();
        let mut offer = |number, bytes| {
            let enqueued = queue.enqueue(Time::ZERO, packet(number, bytes), &mut effects);
            let oldest =
                effects.take_dropped().map(|(cause, packet)| (cause, packet.packet.payload));
            (enqueued.is_ok(), oldest.collect::<Vec<_>>())
        };
        let full = |number| (DropCause::QueueFull, number);
        assert_eq!(offer(0, 1000), (true, vec![]));
        assert_eq!(offer(1, 1000), (true, vec![]));
        assert_eq!(offer(2, 1000), (true, vec![]));
        // Two must go for a larger one, and none for one that would never fit.
        assert_eq!(offer(3, 1500), (true, vec![full(0), full(1)]));
        assert_eq!(offer(4, 3001), (false, vec![]));
        assert_eq!(offer(5, 3000), (true, vec![full(2), full(3)]));
    }
}

//! First in, first out, dropping packets that arrive at a full queue.

use super::discipline::{Discipline, Effects, PacketQueue, QueueContext, Refused};
use super::fifo::Fifo;
use crate::fields::{Field, Fields};
use crate::queue::accepted::Accepted;
use crate::random::Stream;
use crate::{ConfigError, DropCause};
use bentpipe_units::Time;

/// First in, first out: a packet that arrives at a full queue is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DropTail;

impl Discipline for DropTail {
    const NAME: &'static str = "drop-tail";
    const ABOUT: &'static str =
        "First in, first out. A packet that arrives at a full queue is dropped.";
    const FIELDS: &'static [Field] = &[];
    const ACTS_ON_DEQUEUE: bool = false;
    type Queue<P> = DropTailQueue<P>;

    fn from_fields(_: &Fields) -> Result<Self, ConfigError> {
        Ok(Self)
    }

    fn queue<P>(&self, context: QueueContext, _: impl FnOnce() -> Stream) -> DropTailQueue<P> {
        DropTailQueue(Fifo::new(context.limit))
    }
}

/// The packets of a [`DropTail`] queue.
#[derive(Debug, Clone)]
pub(crate) struct DropTailQueue<P>(Fifo<P>);

impl<P> PacketQueue<P> for DropTailQueue<P> {
    #[inline]
    fn enqueue(
        &mut self,
        _: Time,
        packet: Accepted<P>,
        _: &mut Effects<P>,
    ) -> Result<(), Refused<P>> {
        self.0.push(packet).map_err(|packet| (DropCause::QueueFull, packet))
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

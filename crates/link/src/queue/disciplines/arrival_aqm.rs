//! The frame of disciplines that keep packets in order, and drop or mark some as they arrive.

use super::discipline::{Effects, PacketQueue, Refused};
use super::fifo::Fifo;
use crate::queue::accepted::Accepted;
use crate::{DropCause, PacketTotals};
use bentpipe_units::{Span, Time};

/// Decides about packets that arrive at a queue in the order of arrival.
pub(super) trait ArrivalAqm {
    /// True to mark ECN-capable packets where [`Decision::Signal`] would drop them.
    fn marks(&self) -> bool;

    /// Decides about a packet that arrives at `now` behind `waiting` packets. `has_room` is false
    /// if it exceeds the limit: the queue refuses it then, whatever is decided.
    fn arrives(&mut self, now: Time, waiting: PacketTotals, has_room: bool) -> Decision;

    /// Records that a packet has been accepted.
    fn accepted(&mut self) {}

    /// Records that the next packet is about to be taken at `now`, with `waiting` in the queue.
    fn before_dequeue(&mut self, now: Time, waiting: PacketTotals) {
        let _ = (now, waiting);
    }

    /// Records that a packet has left at `now` after `waited`, before `left` others.
    fn dequeued(&mut self, now: Time, waited: Span, left: PacketTotals);
}

/// What happens to a packet that arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    /// It waits.
    Accept,
    /// It is dropped, or marked if it can be and the discipline marks.
    Signal,
    /// It is dropped.
    Drop,
}

/// The packets of a discipline with the state `S`.
#[derive(Debug, Clone)]
pub(crate) struct ArrivalAqmQueue<P, S> {
    fifo: Fifo<P>,
    /// Boxed, since few of a network's many links have it.
    pub(super) state: Box<S>,
}

impl<P, S> ArrivalAqmQueue<P, S> {
    /// Creates an empty queue.
    pub(super) fn new(fifo: Fifo<P>, state: S) -> Self {
        Self { fifo, state: Box::new(state) }
    }
}

impl<P, S: ArrivalAqm> PacketQueue<P> for ArrivalAqmQueue<P, S> {
    fn enqueue(
        &mut self,
        now: Time,
        mut packet: Accepted<P>,
        effects: &mut Effects<P>,
    ) -> Result<(), Refused<P>> {
        let Self { fifo, state } = self;
        let has_room = fifo.has_room(packet.packet.bytes);
        match state.arrives(now, fifo.waiting(), has_room) {
            Decision::Drop => return Err((DropCause::Aqm, packet)),
            _ if !has_room => return Err((DropCause::QueueFull, packet)),
            Decision::Accept => {}
            Decision::Signal if state.marks() && packet.packet.ecn.is_capable() => {
                effects.mark(&mut packet);
            }
            Decision::Signal => return Err((DropCause::Aqm, packet)),
        }
        fifo.push(packet).map_err(|packet| (DropCause::QueueFull, packet))?;
        state.accepted();
        Ok(())
    }

    fn dequeue(&mut self, now: Time, _: &mut Effects<P>) -> Option<Accepted<P>> {
        let Self { fifo, state } = self;
        state.before_dequeue(now, fifo.waiting());
        let packet = fifo.pop()?;
        state.dequeued(now, now.since(packet.sent), fifo.waiting());
        Some(packet)
    }

    fn withdraw(&mut self, port: u32) -> Vec<Accepted<P>> {
        self.fifo.withdraw(port)
    }

    fn for_each(&self, see: impl FnMut(&Accepted<P>)) {
        self.fifo.for_each(see);
    }
}

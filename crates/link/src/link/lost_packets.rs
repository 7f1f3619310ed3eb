//! Packets that a link has lost and not returned yet.

use crate::DropCause;
use crate::queue::accepted::Accepted;
use crate::queue::link_queue::Queue;
use bentpipe_units::{Span, Time};
use std::collections::VecDeque;

/// A loss: when, why, and the packet.
pub(super) type Loss<P> = (Time, DropCause, Accepted<P>);

/// Lost packets in the order of time.
#[derive(Debug, Clone)]
pub(super) struct LostPackets<P> {
    losses: VecDeque<Loss<P>>,
    /// Time of the first loss.
    due: Time,
}

impl<P> LostPackets<P> {
    pub fn new() -> Self {
        Self { losses: VecDeque::new(), due: Time::MAX }
    }

    /// Returns the time of the first loss; [`Time::MAX`] if there is none.
    #[inline]
    pub fn due(&self) -> Time {
        self.due
    }

    /// Returns the number of losses.
    pub fn count(&self) -> u64 {
        self.losses.len() as u64
    }

    /// Adds a loss at its place in time: a queue may drop a packet behind a frame's end before an
    /// earlier loss is returned.
    pub fn insert(&mut self, at: Time, cause: DropCause, packet: Accepted<P>) {
        let later = self.losses.iter().rev().take_while(|(other, ..)| *other > at).count();
        self.losses.insert(self.losses.len() - later, (at, cause, packet));
        self.due = self.first();
    }

    /// Adds the packets that `queue` has dropped at `now`. Calls `left` with port and size of each.
    #[inline]
    pub fn take_dropped(&mut self, queue: &mut Queue<P>, now: Time, left: impl FnMut(u32, u32)) {
        if queue.has_dropped() {
            self.add_dropped(queue, now, left);
        }
    }

    #[cold]
    fn add_dropped(&mut self, queue: &mut Queue<P>, now: Time, mut left: impl FnMut(u32, u32)) {
        for (cause, packet) in queue.take_dropped() {
            left(packet.port, packet.packet.bytes);
            let packet = Accepted { blocked: Span::ZERO, ..packet.before_meter() };
            self.insert(now, cause, packet);
        }
    }

    /// Removes and returns the first loss.
    pub fn pop(&mut self) -> Option<Loss<P>> {
        let loss = self.losses.pop_front();
        self.due = self.first();
        loss
    }

    fn first(&self) -> Time {
        self.losses.front().map_or(Time::MAX, |(at, ..)| *at)
    }
}

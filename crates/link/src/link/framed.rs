//! Transmission on a link with capacity allocation: frame by frame, each terminal in its part of
//! the frame.

use super::{Link, TransmitterState, nanos};
use crate::capacity_allocation::frames::{Allocation, FrameShare};
use crate::counters::PacketTotals;
use crate::queue::accepted::Accepted;
use crate::{DropCause, Enqueue, QueueTime};
use bentpipe_units::Time;

impl<P> Link<P> {
    /// Starts to record the terminals' shares of frames for [`Self::take_frame_shares`]. Returns
    /// false, without effect, if capacity is not allocated.
    pub fn record_frame_shares(&mut self) -> bool {
        self.allocation.as_mut().map(|allocation| allocation.start_recording()).is_some()
    }

    /// Returns the shares of the frames that have started by `now`, by frame and port, each once.
    ///
    /// Call it after every event: beyond 65,536 shares the oldest are dropped.
    pub fn take_frame_shares(&mut self, now: Time) -> impl Iterator<Item = FrameShare> {
        self.advance(now);
        self.catch_up(now);
        self.allocation.iter_mut().flat_map(|allocation| allocation.take_recorded())
    }

    /// Enqueues a packet that has passed the policer.
    #[cold]
    pub(super) fn enqueue_framed(&mut self, held: Accepted<P>) -> Enqueue<P> {
        self.catch_up(self.now);
        let (now, port, bytes) = (held.sent, held.port, held.packet.bytes);
        let Some(allocation) = &mut self.allocation else {
            return Enqueue::Dropped(DropCause::QueueFull, held.packet);
        };
        let enqueued = allocation.enqueue(held);
        let Allocation { terminals, waiting, .. } = &mut **allocation;
        let queue = &mut terminals[port as usize].queue;
        self.lost_packets.take_dropped(queue, now, |_, bytes| waiting.remove(bytes));
        let (all, own) = (*waiting, queue.waiting());
        let marked = match enqueued {
            Ok(marked) => marked,
            Err((cause, held)) => {
                self.count(port, |counters| counters.refused(cause, bytes));
                return Enqueue::Dropped(cause, held.packet);
            }
        };
        self.counters.accepted(bytes, marked, all);
        if let Some(counters) = self.ports.get_mut(port as usize) {
            counters.accepted(bytes, marked, own);
        }
        if matches!(self.state, TransmitterState::Idle) {
            self.wait_for_frame();
        }
        Enqueue::Queued
    }

    /// Skips the frames that have started by `now` while nothing was queued.
    pub(super) fn catch_up(&mut self, now: Time) {
        while let Some(allocation) =
            self.allocation.as_mut().filter(|_| matches!(self.state, TransmitterState::Idle))
        {
            let begin = allocation.due();
            if begin > now || allocation.skip(now) {
                break;
            }
            self.frame(begin);
        }
    }

    /// Starts the frame at `begin` and sends queued packets, each at its position in its terminal's
    /// part.
    ///
    /// Parts follow one another with their allocated lengths. The first terminal changes from frame
    /// to frame.
    pub(super) fn frame(&mut self, begin: Time) {
        let Some(mut allocation) = self.allocation.take() else { return };
        allocation.plan(begin);
        let ports = allocation.terminals.len();
        let first = (allocation.frame() % ports.max(1) as u64) as usize;
        let mut place = 0;
        for port in (first..ports).chain(0..first) {
            place = self.part(&mut allocation, begin, port, place);
        }
        allocation.close(begin);
        let waits = !allocation.is_empty();
        self.allocation = Some(allocation);
        if waits {
            self.wait_for_frame();
        }
    }

    /// Waits for the next frame, forever if the rate has fallen to zero for good.
    fn wait_for_frame(&mut self) {
        let Some(allocation) = &self.allocation else { return };
        let due = allocation.due();
        let due = if self.transmitter.begin(due, false) == Time::MAX { Time::MAX } else { due };
        self.set(TransmitterState::Framed, due);
    }

    /// Sends the packets that terminal `port` may send in its part, which starts `place` bytes into
    /// the frame. Returns the end of the part.
    fn part(
        &mut self,
        allocation: &mut Allocation<P>,
        begin: Time,
        port: usize,
        place: u64,
    ) -> u64 {
        let Allocation { terminals, grants, waiting, .. } = allocation;
        let (Some(terminal), Some(grant)) = (terminals.get_mut(port), grants.get_mut(port)) else {
            return place;
        };
        while grant.used < grant.allocated {
            let left = match terminal.left {
                Some(left) => left,
                None => {
                    if terminal.queue.waiting().packets == 0 {
                        break;
                    }
                    let head = terminal.queue.begin(begin);
                    let queue = &mut terminal.queue;
                    self.lost_packets.take_dropped(queue, begin, |_, bytes| waiting.remove(bytes));
                    let Some(head) = head else { break };
                    waiting.remove(head.bytes);
                    if head.marked {
                        self.count(head.port, |counters| counters.marked_ce += 1);
                    }
                    head.bytes
                }
            };
            let sent = u64::from(left).min(grant.allocated - grant.used);
            grant.used += sent;
            if sent < u64::from(left) {
                terminal.left = Some(left - sent as u32);
                break;
            }
            terminal.left = None;
            let end = self.after(begin, place + grant.used);
            if let Some(mut held) = terminal.queue.end() {
                // The rest is the wait for capacity, which has been allocated frame by frame.
                let bytes = u64::from(held.packet.bytes);
                let serialised = self.after(begin, bytes).since(begin);
                let queued = end.since(held.sent).saturating_sub(serialised);
                (held.queued, held.blocked) = (queued, queued);
                held.serialised_ns = nanos(serialised);
                self.depart(end, held);
            }
        }
        if grant.used > 0 {
            let busy = self.after(begin, place + grant.used).since(self.after(begin, place));
            self.count(port as u32, |counters| counters.busy += busy);
        }
        place + grant.allocated
    }

    /// Returns when the first `bytes` of the frame that starts at `begin` have been sent.
    fn after(&mut self, begin: Time, bytes: u64) -> Time {
        match u32::try_from(bytes) {
            Ok(0) => begin,
            // The configuration rejects larger frames.
            bytes => self.transmitter.finish(begin, bytes.unwrap_or(u32::MAX), 0),
        }
    }

    /// Removes the packets queued at terminal `port` and, if `in_flight`, the one that is partly
    /// sent.
    pub(super) fn withdraw_framed(
        &mut self,
        now: Time,
        port: u32,
        in_flight: bool,
        all: &mut Vec<Accepted<P>>,
    ) {
        let Some(allocation) = &mut self.allocation else { return };
        let Allocation { terminals, waiting, .. } = &mut **allocation;
        let Some(terminal) = terminals.get_mut(port as usize) else { return };
        if in_flight && terminal.left.take().is_some() {
            all.extend(terminal.queue.end());
        }
        for held in terminal.queue.withdraw(now, port) {
            waiting.remove(held.packet.bytes);
            all.push(held);
        }
        if allocation.is_empty() {
            self.set(TransmitterState::Idle, Time::MAX);
        }
    }

    /// Returns the totals over the queues of all terminals.
    pub(super) fn framed_waiting(&self) -> Option<PacketTotals> {
        self.allocation.as_ref().map(|allocation| allocation.waiting)
    }

    /// Returns both sides of Little's law, summed over terminals.
    pub(super) fn framed_time(&self, now: Time) -> Option<QueueTime> {
        let allocation = self.allocation.as_ref()?;
        let mut sum = QueueTime::default();
        for terminal in &allocation.terminals {
            sum += terminal.queue.time(now);
        }
        Some(sum)
    }
}

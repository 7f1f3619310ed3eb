//! Packets of flows that exceed the flow meter of a link.

use super::{Link, TransmitterState};
use crate::queue::accepted::Accepted;
use crate::{Enqueue, PacketTotals};
use bentpipe_units::{Span, Time};

impl<P> Link<P> {
    /// Meters a packet. Returns it if it may go on to the queue at once; otherwise what has become
    /// of it.
    #[cold]
    pub(super) fn metered(&mut self, held: Accepted<P>) -> Result<Accepted<P>, Enqueue<P>> {
        let (now, port, bytes) = (held.sent, held.port, held.packet.bytes);
        let Self { meter, lost_packets, waiting, .. } = self;
        let Some(meter) = meter else { return Ok(held) };
        if !meter.exceeds(now, held.packet.flow) || meter.passes(now, bytes) {
            return Ok(held);
        }
        let enqueued = meter.class.enqueue(held);
        if let (Ok(_), Some(tally)) = (&enqueued, waiting.get_mut(port as usize)) {
            tally.add(bytes);
        }
        lost_packets.take_dropped(&mut meter.class, now, |port, bytes| {
            if let Some(tally) = waiting.get_mut(port as usize) {
                tally.remove(bytes);
            }
        });
        self.meter_due = meter.due();
        if let Err((cause, held)) = enqueued {
            self.count(port, |counters| counters.refused(cause, bytes));
            return Err(Enqueue::Dropped(cause, held.packet));
        }
        let all = self.waiting();
        self.counters.accepted(bytes, false, all);
        if let (Some(counters), Some(tally)) =
            (self.ports.get_mut(port as usize), self.waiting.get(port as usize))
        {
            counters.accepted(bytes, false, *tally);
        }
        Err(Enqueue::Queued)
    }

    /// Moves the oldest packet of the meter's class to the queue at `at`.
    #[cold]
    pub(super) fn release_metered(&mut self, at: Time) {
        let Some(meter) = &mut self.meter else { return };
        let released = meter.release(at);
        self.meter_due = meter.due();
        let Some(mut held) = released else { return };
        // Until it leaves the link, `sent` is the time at which it entered the queue.
        (held.queued, held.sent) = (at.since(held.sent), at);
        held.blocked = self.blocked_until(at);
        let (port, bytes) = (held.port, held.packet.bytes);
        let mut begin = None;
        if matches!(self.state, TransmitterState::Idle) {
            let soonest = self.transmitter.begin(at, true);
            if soonest == at {
                self.tally_left(port, bytes);
                self.queue.pass(held);
                return self.send(at, bytes);
            }
            begin = Some(soonest);
        }
        let enqueued = self.queue.enqueue(held);
        let Self { queue, lost_packets, waiting, .. } = self;
        lost_packets.take_dropped(queue, at, |port, bytes| {
            if let Some(tally) = waiting.get_mut(port as usize) {
                tally.remove(bytes);
            }
        });
        match enqueued {
            Ok(marked) => {
                if marked {
                    self.count(port, |counters| counters.marked_ce += 1);
                }
                if let Some(begin) = begin {
                    self.wait_until(at, begin);
                }
            }
            Err((cause, held)) => {
                self.tally_left(port, bytes);
                let held = Accepted { blocked: Span::ZERO, ..held.before_meter() };
                self.lost_packets.insert(at, cause, held);
            }
        }
    }

    fn tally_left(&mut self, port: u32, bytes: u32) {
        if let Some(tally) = self.waiting.get_mut(port as usize) {
            tally.remove(bytes);
        }
    }

    /// Removes the packets of `port` that wait in the meter's class.
    pub(super) fn withdraw_metered(&mut self, now: Time, port: u32, all: &mut Vec<Accepted<P>>) {
        let Some(meter) = &mut self.meter else { return };
        let withdrawn = meter.class.withdraw(now, port);
        self.meter_due = meter.due();
        for held in withdrawn {
            self.tally_left(port, held.packet.bytes);
            all.push(held);
        }
    }

    /// Returns the totals of the meter's class.
    #[inline]
    pub(super) fn metered_waiting(&self) -> PacketTotals {
        self.meter.as_ref().map_or_else(PacketTotals::default, |meter| meter.class.waiting())
    }
}

//! Packets that wait for the transmitter.

use crate::codel::Codel;
use crate::counters::Tally;
use crate::model::ResolvedLimit;
use crate::{CodelConfig, Ecn, Packet};
use bentpipe_units::Time;
use std::collections::VecDeque;

/// A packet inside a link.
#[derive(Debug, Clone)]
pub(crate) struct Held<P> {
    pub sent: Time,
    pub port: u32,
    pub packet: Packet<P>,
}

/// A first-in-first-out queue with a limit, and CoDel at its head if configured.
#[derive(Debug, Clone)]
pub(crate) struct Queue<P> {
    waiting: VecDeque<Held<P>>,
    bytes: u64,
    limit: ResolvedLimit,
    codel: Option<Codel>,
}

/// A packet taken from the queue, and whether it was marked on leaving.
pub(crate) struct Taken<P> {
    pub held: Held<P>,
    pub marked: bool,
}

impl<P> Queue<P> {
    pub fn new(limit: ResolvedLimit, codel: Option<CodelConfig>) -> Self {
        Self { waiting: VecDeque::new(), bytes: 0, limit, codel: codel.map(Codel::new) }
    }

    /// What waits.
    pub fn tally(&self) -> Tally {
        Tally { packets: self.waiting.len() as u64, bytes: self.bytes }
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// True where one more packet of `bytes` may wait.
    pub fn has_room(&self, bytes: u32) -> bool {
        match self.limit {
            ResolvedLimit::Bytes(limit) => self.bytes + u64::from(bytes) <= limit,
            ResolvedLimit::Packets(limit) => (self.waiting.len() as u64) < limit,
        }
    }

    /// Appends a packet for which there is room.
    pub fn push(&mut self, held: Held<P>) {
        self.bytes += u64::from(held.packet.bytes);
        self.waiting.push_back(held);
    }

    /// The next packet to send at `now`; `drop` gets those that CoDel drops before it.
    pub fn take(&mut self, now: Time, mut drop: impl FnMut(Held<P>)) -> Option<Taken<P>> {
        loop {
            let Some(mut held) = self.waiting.pop_front() else {
                if let Some(codel) = &mut self.codel {
                    codel.emptied();
                }
                return None;
            };
            let bytes = held.packet.bytes;
            self.bytes -= u64::from(bytes);
            let Some(codel) = &mut self.codel else {
                return Some(Taken { held, marked: false });
            };
            if !codel.signals(now, now.since(held.sent), bytes, self.bytes) {
                return Some(Taken { held, marked: false });
            }
            if codel.marks() && held.packet.ecn.is_capable() {
                // One that another queue has marked already carries the signal all the same.
                let marked = held.packet.ecn != Ecn::Ce;
                held.packet.ecn = Ecn::Ce;
                return Some(Taken { held, marked });
            }
            drop(held);
        }
    }
}

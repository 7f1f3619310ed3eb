//! What a link has counted and holds.

use super::Link;
use crate::QueueTime;
use crate::counters::{Counters, PacketTotals};
use bentpipe_units::{Rate, Time};

impl<P> Link<P> {
    /// Returns the counters of the whole link.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns the counters of one port. Queue maxima are those of its own packets. Ports of a link
    /// with external delay share the link's counters.
    ///
    /// # Panics
    ///
    /// If the link does not have this port.
    pub fn port_counters(&self, port: usize) -> &Counters {
        self.check_port(port);
        self.ports.get(port).unwrap_or(&self.counters)
    }

    /// Returns the number of ports.
    pub fn port_count(&self) -> usize {
        self.line.ports().unwrap_or(self.ports.len().max(1))
    }

    /// Returns the totals lost by each loss process, in the order of the scenario.
    pub fn loss_tallies(&self) -> impl Iterator<Item = PacketTotals> {
        self.losses.iter().map(|(_, tally)| *tally)
    }

    /// Returns the bytes in the queue, not counting the packet being sent.
    pub fn queue_bytes(&self) -> u64 {
        self.waiting().bytes
    }

    /// Returns the packets in the queue, not counting the one being sent.
    pub fn queue_packets(&self) -> u64 {
        self.waiting().packets
    }

    #[inline]
    pub(super) fn waiting(&self) -> PacketTotals {
        let metered = self.metered_waiting();
        let PacketTotals { packets, bytes } =
            self.framed_waiting().unwrap_or_else(|| self.queue.waiting());
        PacketTotals { packets: packets + metered.packets, bytes: bytes + metered.bytes }
    }

    /// Returns the queue of one port.
    ///
    /// # Panics
    ///
    /// If the link does not have this port.
    pub fn port_queue(&self, port: usize) -> PacketTotals {
        self.check_port(port);
        if let Some(allocation) = &self.allocation {
            return allocation
                .terminals
                .get(port)
                .map(|terminal| terminal.queue.waiting())
                .unwrap_or_default();
        }
        self.waiting.get(port).copied().unwrap_or_else(|| self.waiting())
    }

    /// Returns both sides of Little's law for the queue, from the start of the run to `now`, which
    /// must not be earlier than the last call.
    ///
    /// The waits of packets still queued count until `now`. If each terminal has its own queue,
    /// both sides are sums over them.
    pub fn queue_time(&self, now: Time) -> QueueTime {
        let now = now.max(self.now);
        let mut time = self.framed_time(now).unwrap_or_else(|| self.queue.time(now));
        if let Some(meter) = &self.meter {
            time += meter.class.time(now);
        }
        time
    }

    /// Returns the packets inside, counted where they are: queued, in transmission, in propagation,
    /// or lost and not returned yet. It equals [`Counters::in_flight`].
    pub fn held(&self) -> u64 {
        let terminals = self.allocation.as_ref().map_or(0, |allocation| allocation.held());
        let metered = self.metered_waiting().packets;
        self.queue.held() + metered + terminals + self.lost_packets.count() + self.line.held()
    }

    /// Returns the rate in force at `now`; for a trace, the rate of the opportunities in the
    /// following 100 ms.
    pub fn rate_at(&self, now: Time) -> Rate {
        self.transmitter.rate_at(now)
    }
}

//! Delays that the caller sets per port, for links whose far ends move.

use bentpipe_units::{LinearDelay, Span, Time};

/// The delay towards one port, and the arrival of the last packet sent to it.
type PortDelay = (LinearDelay, Time);

/// The delay of a port before it is set: zero.
const UNSET: PortDelay = (LinearDelay::constant(Span::ZERO), Time::ZERO);

/// The delays towards each port.
#[derive(Debug, Clone)]
pub(crate) struct PortDelays {
    /// The first port is stored inline, since most links have only one, and memory accesses
    /// dominate the run time.
    first: PortDelay,
    others: Vec<PortDelay>,
    count: usize,
}

impl PortDelays {
    /// Creates a value without ports.
    pub const fn new() -> Self {
        Self { first: UNSET, others: Vec::new(), count: 0 }
    }

    /// Returns the number of ports.
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Sets the delay of `port`. Adds the port, and unset ports before it, if it does not exist.
    pub fn set_delay(&mut self, port: usize, delay: LinearDelay) {
        if port >= self.count {
            self.count = port + 1;
            self.others.resize(port, UNSET);
        }
        self.port_mut(port as u32).0 = delay;
    }

    #[inline]
    fn port_mut(&mut self, port: u32) -> &mut PortDelay {
        if port == 0 { &mut self.first } else { &mut self.others[port as usize - 1] }
    }

    /// Returns the time at which a packet that leaves the transmitter at `at` reaches `port`.
    /// Packets to the same port never overtake.
    #[inline]
    pub fn arrival(&self, port: u32, at: Time) -> Time {
        let (delay, last) = if port == 0 { &self.first } else { &self.others[port as usize - 1] };
        (at + delay.at(at)).max(*last)
    }

    /// Records that a packet will reach `port` at `due`.
    #[inline]
    pub fn sent(&mut self, port: u32, due: Time) {
        self.port_mut(port).1 = due;
    }
}

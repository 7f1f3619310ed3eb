//! Delays that the link's user sets, one per port: for links whose far ends move.

use bentpipe_units::{LinearDelay, Span, Time};

/// The delay towards one port, and when the last packet sent to it arrives.
type PortDelay = (LinearDelay, Time);

/// The delay of a port before it is set: zero.
const UNSET: PortDelay = (LinearDelay::constant(Span::ZERO), Time::ZERO);

/// What leads to each port of a steered link.
#[derive(Debug, Clone)]
pub(crate) struct PortDelays {
    /// The first port lies in the link itself: most links have one only, and a run waits for memory more than for anything else.
    first: PortDelay,
    others: Vec<PortDelay>,
    count: usize,
}

impl PortDelays {
    /// No port yet.
    pub const fn new() -> Self {
        Self { first: UNSET, others: Vec::new(), count: 0 }
    }

    /// How many ends there are.
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Steers port `end`; those before it that nobody has steered have no delay until somebody does.
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

    /// When a packet that leaves the transmitter at `at` reaches `end`. No packet to the same port overtakes another.
    #[inline]
    pub fn arrival(&self, port: u32, at: Time) -> Time {
        let (delay, last) = if port == 0 { &self.first } else { &self.others[port as usize - 1] };
        (at + delay.at(at)).max(*last)
    }

    /// A packet will reach `end` at `due`.
    #[inline]
    pub fn sent(&mut self, port: u32, due: Time) {
        self.port_mut(port).1 = due;
    }
}

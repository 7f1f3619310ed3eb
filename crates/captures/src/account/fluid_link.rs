//! A link of constant rate that carries what a trace shows.

use bentpipe_units::{Bytes, Rate, Span, Time};
use std::collections::VecDeque;

/// A link with a queue, of constant rate.
#[derive(Debug, Clone, Copy)]
pub struct FluidLink {
    rate: Rate,
    /// Time at which its queue is empty.
    busy_until: Time,
    /// Time spent on packets.
    pub busy: Span,
}

impl FluidLink {
    /// Creates a link that is idle from `start` on.
    pub fn new(rate: Rate, start: Time) -> Self {
        Self { rate, busy_until: start, busy: Span::ZERO }
    }

    /// Adds a packet. Returns since when the link had been idle, and for how long.
    pub fn add(&mut self, now: Time, bytes: u64) -> (Time, Span) {
        let idle = (self.busy_until, now.since(self.busy_until));
        let took = self.rate.time_for(Bytes::new(bytes));
        self.busy_until = self.busy_until.max(now) + took;
        self.busy += took;
        idle
    }

    /// Returns how long a packet that comes at `now` waits.
    pub fn queue(&self, now: Time) -> Span {
        self.busy_until.since(now)
    }

    /// Returns the time at which its queue is empty.
    pub fn busy_until(&self) -> Time {
        self.busy_until
    }
}

/// Share of a round trip that a full link may be idle.
const IDLE: f64 = 0.02;

/// Tells when a link has been full: busy for a round trip but for 2 %.
#[derive(Debug)]
pub struct FullLink {
    rtt: Span,
    /// Idle times that ended within the last round trip, and their sum.
    idle: VecDeque<(Time, Span)>,
    sum: Span,
}

impl FullLink {
    /// Creates it for a path of this round-trip time.
    pub fn new(rtt: Span) -> Self {
        Self { rtt, idle: VecDeque::new(), sum: Span::ZERO }
    }

    /// Adds an idle time that ends now.
    pub fn idle(&mut self, now: Time, idle: Span) {
        self.idle.push_back((now, idle));
        self.sum += idle;
    }

    /// Returns true if the link was full in the round trip that ends now, and carried data from
    /// `first` on.
    pub fn is_full(&mut self, first: Time, now: Time) -> bool {
        while let Some(&(at, idle)) = self.idle.front()
            && now.since(at) > self.rtt
        {
            self.sum -= idle;
            self.idle.pop_front();
        }
        now.since(first) >= self.rtt && self.sum <= self.rtt.mul_f64(IDLE)
    }
}

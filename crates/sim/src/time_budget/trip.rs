//! What a packet meets on its way.

use bentpipe_link::Service;
use bentpipe_units::{Span, Time};

/// The way of a packet from the node that sent it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Trip {
    /// Time at which it was sent.
    pub sent: Time,
    /// Time that it has waited for packets before it.
    pub queued: Span,
    /// Time that it has waited for a link at rate zero, or for the end of a handover.
    pub outage: Span,
    /// Time that it has waited for allocated capacity or an opportunity.
    pub capacity: Span,
    /// What the acknowledgement or request before it had waited for on its way.
    pub ack: AckWait,
    /// Time at which a node began to hold it until the end of a handover.
    held_since: Option<Time>,
}

/// How long an acknowledgement or a request has waited on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AckWait {
    /// For whatever reason.
    pub whole: Span,
    /// The part of it for a link at rate zero, or for the end of a handover.
    pub outage: Span,
    /// Time at which it arrived.
    pub arrival: Time,
}

impl AckWait {
    /// Returns how much of the time between `from` and `to` an outage has kept it from arriving.
    pub fn held(&self, from: Time, to: Time) -> Span {
        let begin = self.arrival.saturating_sub(self.outage);
        to.min(self.arrival).since(from.max(begin))
    }

    /// Returns how long it has waited for anything but an outage.
    pub fn without_outage(&self) -> Span {
        self.whole.saturating_sub(self.outage)
    }
}

impl Trip {
    /// Starts at `now`, after an acknowledgement or request that had waited for `ack`.
    pub fn start(now: Time, ack: AckWait) -> Self {
        Self { sent: now, ack, ..Self::default() }
    }

    /// Adds the time on a link that was served as `service` says. `by_outage` tells why the link
    /// could not send while it was blocked.
    pub fn add(&mut self, service: Service, by_outage: bool) {
        self.queued += service.queued.saturating_sub(service.blocked);
        if by_outage {
            self.outage += service.blocked;
        } else {
            self.capacity += service.blocked;
        }
    }

    /// Handles that a node holds it until the end of a handover.
    pub fn hold(&mut self, now: Time) {
        self.held_since = Some(now);
    }

    /// Handles that the node that held it has released it.
    pub fn release(&mut self, now: Time) {
        if let Some(since) = self.held_since.take() {
            self.outage += now.since(since);
        }
    }

    /// Returns the time that it has waited for whatever reason.
    pub fn waited(&self) -> Span {
        self.queued + self.outage + self.capacity
    }
}

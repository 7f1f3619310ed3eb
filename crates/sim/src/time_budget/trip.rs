//! What a packet meets on its way.

use bentpipe_link::Service;
use bentpipe_timeseries::TimePart;
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
    /// Time that it has waited for allocated capacity, an opportunity, or a rate that grew.
    pub capacity: Span,
    /// Time that it has waited for the ends of frames.
    pub framed: Span,
    /// How long its sender, or a filter on its way, has held it back: of an acknowledgement.
    pub held: Span,
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
    /// The part of it for the ends of frames.
    pub framed: Span,
    /// How long it was held back besides, before it was sent or by a filter.
    pub held: Span,
    /// Time at which it arrived.
    pub arrival: Time,
}

impl AckWait {
    /// Returns why it was not there between `from` and `to`, while the sender was idle by `limit`,
    /// and for how much of that time: an outage; or, if the sender's timer expired meanwhile, that
    /// it was held back or waited for the end of a frame.
    pub fn absence(&self, limit: TimePart, from: Time, to: Time) -> (TimePart, Span) {
        let kept = |wait: Span| {
            let begin = self.arrival.saturating_sub(wait);
            to.min(self.arrival).since(from.max(begin))
        };
        let outage = (TimePart::Outage, kept(self.outage));
        if limit != TimePart::Timeout {
            return outage;
        }
        let others = [(TimePart::HeldAcks, self.held), (TimePart::Capacity, self.framed)];
        let others = others.into_iter().map(|(part, wait)| (part, kept(wait)));
        others.fold(outage, longer)
    }

    /// Returns the longest [`AckWait::absence`] of several acknowledgements.
    pub fn longest_absence(
        all: &[Self],
        limit: TimePart,
        from: Time,
        to: Time,
    ) -> (TimePart, Span) {
        let absences = all.iter().map(|ack| ack.absence(limit, from, to));
        absences.fold((TimePart::Outage, Span::ZERO), longer)
    }

    /// Returns how much later than on an empty path without outages it has arrived.
    pub fn late(&self) -> Span {
        self.framed + self.held + self.on_link()
    }

    /// Returns how long it has waited for the transmitter: behind other packets, or for allocated
    /// capacity.
    pub fn on_link(&self) -> Span {
        self.whole.saturating_sub(self.outage + self.framed)
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
        self.capacity += service.growing;
        let blocked = service.blocked.saturating_sub(service.growing);
        if by_outage {
            self.outage += blocked;
        } else {
            self.capacity += blocked;
        }
        self.framed += service.framed;
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
        self.queued + self.outage + self.capacity + self.framed
    }
}

/// Returns the longer of two times, the first if they are equal.
fn longer(a: (TimePart, Span), b: (TimePart, Span)) -> (TimePart, Span) {
    if b.1 > a.1 { b } else { a }
}

//! Controlled delay (CoDel) active queue management, RFC 8289.

use super::control_law::{ControlLaw, ControlState};
use super::discipline::{Discipline, Effects, PacketQueue, QueueContext, Refused};
use super::fifo::Fifo;
use crate::fields::{Field, Fields, Kind};
use crate::queue::accepted::Accepted;
use crate::random::Stream;
use crate::{ConfigError, DropCause};
use bentpipe_units::{Span, Time};

/// Controlled delay (RFC 8289): drops or marks packets once the queueing delay has exceeded the
/// target for an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoDel {
    /// Acceptable standing queueing delay (5 ms in RFC 8289 §4).
    pub target: Span,
    /// Time for which the delay may exceed the target before CoDel acts.
    ///
    /// About the longest usual RTT: 100 ms in RFC 8289 §4 for terrestrial paths; set it for a
    /// satellite path.
    pub interval: Span,
    /// True to mark ECN-capable packets instead of dropping them (RFC 3168).
    pub ecn: bool,
}

impl Default for CoDel {
    fn default() -> Self {
        Self { target: Span::from_millis(5), interval: Span::from_millis(100), ecn: false }
    }
}

impl Discipline for CoDel {
    const NAME: &'static str = "codel";
    const ABOUT: &'static str = "Controlled delay (RFC 8289): first in, first out, and packets \
        are dropped or marked at the head once the queueing delay has exceeded the target for an \
        interval.";
    const FIELDS: &'static [Field] = &[Self::TARGET, Self::INTERVAL, Self::ECN];
    type Queue<P> = CoDelQueue<P>;

    fn from_fields(fields: &Fields) -> Result<Self, ConfigError> {
        Ok(Self::with_default(fields, Self::default()))
    }

    fn to_fields(&self) -> Fields {
        self.add_fields(Fields::new(Self::NAME))
    }

    fn check(&self) -> Result<(), ConfigError> {
        let Self { target, interval, .. } = *self;
        if target.is_zero() {
            let value = format!("target = {target}");
            return Err(ConfigError::refused(value, "allows no queueing", "above 0 s"));
        }
        if interval <= target {
            let problem = format!("is no longer than the target of {target}");
            let allowed = format!("above {target}");
            return Err(ConfigError::refused(format!("interval = {interval}"), problem, allowed));
        }
        Ok(())
    }

    fn queue<P>(&self, context: QueueContext, _: impl FnOnce() -> Stream) -> CoDelQueue<P> {
        let Self { ecn, .. } = *self;
        let control = Control { law: self.law(), state: ControlState::default(), max_packet: 0 };
        CoDelQueue { fifo: Fifo::new(context.limit), control: Box::new(control), ecn }
    }
}

impl CoDel {
    pub(super) const TARGET: Field = Field {
        name: "target",
        kind: Kind::Span,
        about: "Queueing delay that it aims at. Default: \"5 ms\", for PIE and DualPI2 \"15 ms\".",
    };
    pub(super) const INTERVAL: Field = Field {
        name: "interval",
        kind: Kind::Span,
        about: "CoDel: interval. Default: \"100 ms\".",
    };
    pub(super) const ECN: Field = Field {
        name: "ecn",
        kind: Kind::Flag,
        about: "Mark ECN-capable packets instead of dropping them. Default: false, but true for \
            FQ-CoDel.",
    };

    /// Reads the keys, with the values of `default` for those that are not set.
    pub(super) fn with_default(fields: &Fields, default: Self) -> Self {
        Self {
            target: fields.span("target").unwrap_or(default.target),
            interval: fields.span("interval").unwrap_or(default.interval),
            ecn: fields.flag("ecn").unwrap_or(default.ecn),
        }
    }

    /// Adds the keys to `fields`.
    pub(super) fn add_fields(&self, fields: Fields) -> Fields {
        let Self { target, interval, ecn } = *self;
        fields.with("target", target).with("interval", interval).with("ecn", ecn)
    }

    /// Returns the parameters of the control law.
    pub(super) fn law(&self) -> ControlLaw {
        ControlLaw { target: self.target, interval: self.interval }
    }
}

/// The packets of a [`CoDel`] queue.
#[derive(Debug, Clone)]
pub(crate) struct CoDelQueue<P> {
    fifo: Fifo<P>,
    /// Boxed, since few of a network's many links have it.
    control: Box<Control>,
    ecn: bool,
}

#[derive(Debug, Clone)]
struct Control {
    law: ControlLaw,
    state: ControlState,
    /// Largest packet seen. If no more than that is queued, the queue does not cause the delay.
    max_packet: u64,
}

impl<P> PacketQueue<P> for CoDelQueue<P> {
    #[inline]
    fn enqueue(
        &mut self,
        _: Time,
        packet: Accepted<P>,
        _: &mut Effects<P>,
    ) -> Result<(), Refused<P>> {
        self.fifo.push(packet).map_err(|packet| (DropCause::QueueFull, packet))
    }

    fn dequeue(&mut self, now: Time, effects: &mut Effects<P>) -> Option<Accepted<P>> {
        let Control { law, state, max_packet } = &mut *self.control;
        while let Some(mut packet) = self.fifo.pop() {
            *max_packet = (*max_packet).max(packet.packet.bytes.into());
            let few = self.fifo.bytes() <= *max_packet;
            if !state.signals(*law, now, now.since(packet.sent), few) {
                return Some(packet);
            }
            if self.ecn && packet.packet.ecn.is_capable() {
                effects.mark(&mut packet);
                return Some(packet);
            }
            effects.drop(DropCause::Aqm, packet);
        }
        state.emptied();
        None
    }

    fn withdraw(&mut self, port: u32) -> Vec<Accepted<P>> {
        self.fifo.withdraw(port)
    }

    fn for_each(&self, see: impl FnMut(&Accepted<P>)) {
        self.fifo.for_each(see);
    }
}

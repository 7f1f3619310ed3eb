//! Controlled delay (CoDel) active queue management, RFC 8289.

use super::discipline::{Discipline, Effects, PacketQueue, Refused};
use super::fifo::Fifo;
use crate::fields::{Field, Fields, Kind};
use crate::queue::accepted::Accepted;
use crate::queue::limit::ResolvedLimit;
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
    const FIELDS: &'static [Field] = &[
        Field {
            name: "target",
            kind: Kind::Span,
            about: "CoDel: target delay. Default: \"5 ms\".",
        },
        Field {
            name: "interval",
            kind: Kind::Span,
            about: "CoDel: interval. Default: \"100 ms\".",
        },
        Field {
            name: "ecn",
            kind: Kind::Flag,
            about: "CoDel: mark ECN-capable packets instead of dropping them. Default: false.",
        },
    ];
    type Queue<P> = CoDelQueue<P>;

    fn from_fields(fields: &Fields) -> Result<Self, ConfigError> {
        let default = Self::default();
        Ok(Self {
            target: fields.span("target").unwrap_or(default.target),
            interval: fields.span("interval").unwrap_or(default.interval),
            ecn: fields.flag("ecn").unwrap_or(default.ecn),
        })
    }

    fn to_fields(&self) -> Fields {
        let Self { target, interval, ecn } = *self;
        Fields::new(Self::NAME).with("target", target).with("interval", interval).with("ecn", ecn)
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

    fn queue<P>(&self, limit: ResolvedLimit, _: impl FnOnce() -> Stream) -> CoDelQueue<P> {
        CoDelQueue { fifo: Fifo::new(limit), law: Box::new(ControlLaw::new(self)), ecn: self.ecn }
    }
}

/// The packets of a [`CoDel`] queue.
#[derive(Debug, Clone)]
pub(crate) struct CoDelQueue<P> {
    fifo: Fifo<P>,
    /// Boxed, since few of a network's many links have it.
    law: Box<ControlLaw>,
    ecn: bool,
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
        while let Some(mut packet) = self.fifo.pop() {
            let waited = now.since(packet.sent);
            if !self.law.signals(now, waited, packet.packet.bytes, self.fifo.bytes()) {
                return Some(packet);
            }
            if self.ecn && packet.packet.ecn.is_capable() {
                effects.mark(&mut packet);
                return Some(packet);
            }
            effects.drop(DropCause::Aqm, packet);
        }
        self.law.emptied();
        None
    }

    fn withdraw(&mut self, port: u32) -> Vec<Accepted<P>> {
        self.fifo.withdraw(port)
    }

    fn for_each(&self, see: impl FnMut(&Accepted<P>)) {
        self.fifo.for_each(see);
    }
}

/// CoDel's state (RFC 8289 §5), updated with each packet that leaves the queue.
///
/// The pseudocode of §5 loops over packets within one dequeue; here the queue loops and calls
/// [`Self::signals`] for each packet. Decisions are the same, except that the drop state ends one
/// packet sooner if the first packet after a drop has not waited too long.
#[derive(Debug, Clone)]
struct ControlLaw {
    target: Span,
    interval: Span,
    /// Time at which the sojourn time will have exceeded the target for an interval.
    first_above: Option<Time>,
    /// In the drop state: time of the next drop.
    drop_next: Time,
    /// Drops since the drop state started.
    count: u32,
    /// `count` when the previous drop state ended.
    last_count: u32,
    dropping: bool,
    /// Largest packet seen. If no more than that is queued, the queue does not cause the delay.
    max_packet: u64,
}

impl ControlLaw {
    fn new(config: &CoDel) -> Self {
        Self {
            target: config.target,
            interval: config.interval,
            first_above: None,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
            dropping: false,
            max_packet: 0,
        }
    }

    /// Records that the queue has become empty.
    fn emptied(&mut self) {
        self.first_above = None;
        self.dropping = false;
    }

    /// Returns true if CoDel drops or marks the packet of `bytes` that leaves the queue at `now`
    /// after `waited`, with `behind` bytes still queued.
    fn signals(&mut self, now: Time, waited: Span, bytes: u32, behind: u64) -> bool {
        self.max_packet = self.max_packet.max(bytes.into());
        let late = self.is_late(now, waited, behind);
        if self.dropping {
            if !late {
                self.dropping = false;
                return false;
            }
            if now < self.drop_next {
                return false;
            }
            self.count += 1;
            self.drop_next = self.after(self.drop_next);
            return true;
        }
        if late {
            self.dropping = true;
            // Soon after the last drop state, its drop rate is about right (§5).
            let delta = self.count.saturating_sub(self.last_count);
            let recently = now.since(self.drop_next) < self.interval * 16;
            self.count = if delta > 1 && recently { delta } else { 1 };
            self.drop_next = self.after(now);
            self.last_count = self.count;
        }
        late
    }

    /// Returns true if the sojourn time has exceeded the target for an interval (§5, `dodequeue`).
    fn is_late(&mut self, now: Time, waited: Span, behind: u64) -> bool {
        if waited < self.target || behind <= self.max_packet {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            Some(first_above) => now >= first_above,
            None => {
                self.first_above = Some(now + self.interval);
                false
            }
        }
    }

    /// Returns the control law (§5): the interval between drops decreases with the square root of
    /// their number.
    fn after(&self, at: Time) -> Time {
        at + Span::from_nanos(
            (self.interval.as_nanos() as f64 / libm::sqrt(f64::from(self.count))) as u64,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signals(law: &mut ControlLaw, ms: u64, waited: u64, behind: u64) -> bool {
        law.signals(Time::from_millis(ms), Span::from_millis(waited), 1500, behind)
    }

    #[test]
    fn it_waits_an_interval_and_then_drops_at_shrinking_intervals() {
        let mut law = ControlLaw::new(&CoDel::default());
        let drops: Vec<u64> = (0..1000).filter(|ms| signals(&mut law, *ms, 50, 100_000)).collect();
        // After 100 ms above target, intervals of 100, 70.7, 57.7, 50 … ms; a packet arrives every
        // millisecond.
        assert_eq!(drops[..6], [100, 200, 271, 329, 379, 424]);
    }

    #[test]
    fn a_short_wait_ends_the_drop_state() {
        let mut law = ControlLaw::new(&CoDel::default());
        assert!((0..=100).any(|ms| signals(&mut law, ms, 50, 100_000)));
        assert!(!signals(&mut law, 101, 4, 100_000));
        assert!((102..=201).all(|ms| !signals(&mut law, ms, 50, 100_000)));
        assert!(signals(&mut law, 202, 50, 100_000));
    }

    #[test]
    fn a_packet_with_at_most_one_behind_it_passes() {
        let mut law = ControlLaw::new(&CoDel::default());
        assert!((0..1000).all(|ms| !signals(&mut law, ms, 50, 1500)));
    }
}

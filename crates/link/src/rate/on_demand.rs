//! The transmitter of a rate that grows on demand.

use super::demand::Demand;
use super::sent::sent;
use crate::schedule::Segment;
use bentpipe_units::{Bytes, Rate, Span, Time};
use std::sync::Arc;

/// Distance of two points of a rate that grows or falls.
const POINT_STEP: Span = Span::from_millis(10);
/// Most points that wait for [`OnDemand::take_points`].
const MAX_POINTS: usize = 4096;

/// A rate that grows from the base while packets wait, and falls when they no longer do.
///
/// Whether they wait is decided when each packet starts, which then has one rate up to its end: at
/// 30 Mbps, a packet of 1500 bytes takes 0.4 ms of a growth that lasts hundreds.
#[derive(Debug, Clone)]
pub(crate) struct OnDemand {
    demand: Arc<Demand>,
    /// Step of the timeline that [`Self::seek`] saw last.
    segment: Segment,
    /// True while packets wait.
    pressed: bool,
    /// Time and rate at which growth or fall began.
    since: Time,
    from: Rate,
    /// Points of the rate, if they are recorded.
    points: Option<Vec<(Time, Rate)>>,
    /// Time up to which there are points.
    recorded: Time,
}

impl OnDemand {
    /// Creates a transmitter at the base rate.
    pub fn new(demand: &Arc<Demand>) -> Self {
        Self {
            demand: Arc::clone(demand),
            segment: demand.timeline.segment(Time::ZERO),
            pressed: false,
            since: Time::ZERO,
            from: demand.base,
            points: None,
            recorded: Time::ZERO,
        }
    }

    /// Follows the timeline to `at`: each new step begins at the base rate.
    fn seek(&mut self, at: Time) {
        let mut shown = if self.points.is_some() { MAX_POINTS } else { 0 };
        while at >= self.segment.to {
            self.record(self.segment.to);
            // Steps that were skipped leave nothing behind but points.
            let next = if shown > 0 { self.segment.to } else { at };
            shown = shown.saturating_sub(1);
            self.segment = self.demand.timeline.segment(next);
            (self.pressed, self.since, self.from) = (false, self.segment.from, self.demand.base);
            self.point(self.segment.from);
        }
    }

    /// Returns the rate at `at`, within the current step or after it.
    fn rate(&self, at: Time) -> Rate {
        let Demand { base, ceiling, rise, hold, fall, .. } = *self.demand;
        if !self.demand.is_open[self.segment.index] {
            return Rate::ZERO;
        }
        let range = u128::from(ceiling.as_bps() - base.as_bps());
        let part = |time: Span, whole: Span| {
            let change = range * u128::from(time.as_nanos()) / u128::from(whole.as_nanos().max(1));
            u64::try_from(change).unwrap_or(u64::MAX)
        };
        let time = at.since(self.since);
        let from = self.from.as_bps();
        if self.pressed {
            Rate::from_bps(from.saturating_add(part(time, rise)).min(ceiling.as_bps()))
        } else {
            let fallen = part(time.saturating_sub(hold), fall);
            Rate::from_bps(from.saturating_sub(fallen).max(base.as_bps()))
        }
    }

    /// Returns the start of a packet that is ready at `now`: now, or after the outage.
    pub fn begin(&mut self, now: Time) -> Time {
        self.seek(now);
        if self.demand.is_open[self.segment.index] { now } else { self.segment.to }
    }

    /// Returns the end of the packet of `bytes` that starts at `begin`, with `waiting` bytes behind
    /// it.
    pub fn finish(&mut self, begin: Time, bytes: u32, waiting: u64) -> Time {
        self.seek(begin);
        let rate = self.rate(begin);
        let needed = sent(rate, self.demand.pressure);
        let pressed = waiting > 0 && u128::from(waiting) * 8_000_000_000 >= needed;
        if pressed != self.pressed {
            self.record(begin);
            (self.pressed, self.since, self.from) = (pressed, begin, rate);
        }
        let end = begin + rate.time_for(Bytes::new(bytes.into()));
        if end <= self.segment.to { end } else { self.finish_across(begin, rate, bytes) }
    }

    /// Returns the end of a packet that is not sent before the next step begins.
    fn finish_across(&mut self, begin: Time, mut rate: Rate, bytes: u32) -> Time {
        let mut left = u128::from(bytes) * 8_000_000_000;
        let mut at = begin;
        loop {
            let sends = sent(rate, self.segment.to.since(at));
            if left <= sends {
                let nanos = left.div_ceil(u128::from(rate.as_bps().max(1)));
                return at + Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
            }
            if self.segment.to == Time::MAX {
                return Time::MAX;
            }
            left -= sends;
            at = self.segment.to;
            // A slow packet may cross more periods than can be gone through one by one.
            if let Some((period, sends)) = self.demand.period.filter(|(_, sends)| left > *sends) {
                let whole = (left - 1) / sends.max(1);
                left -= whole * sends;
                let skipped = u128::from(period.as_nanos()).saturating_mul(whole);
                at += Span::from_nanos(u64::try_from(skipped).unwrap_or(u64::MAX));
                if at == Time::MAX {
                    return at;
                }
            }
            self.seek(at);
            rate = self.rate(at);
        }
    }

    /// Returns the time at rate zero from `begin` to `end`.
    pub fn outage(&self, begin: Time, end: Time) -> Span {
        if end == Time::MAX { Span::ZERO } else { self.demand.outage(begin, end) }
    }

    /// Returns how much longer the packet of `bytes` took that was sent in `busy`, outages left
    /// out, than it takes at the ceiling. Zero if the rate did not grow meanwhile.
    pub fn growth_wait(&self, busy: Span, bytes: u32) -> Span {
        if !self.pressed {
            return Span::ZERO;
        }
        busy.saturating_sub(self.demand.ceiling.time_for(Bytes::new(bytes.into())))
    }

    /// Returns the rate in force at `at`, which is no earlier than the last packet.
    pub fn rate_at(&self, at: Time) -> Rate {
        let segment = self.demand.timeline.segment(at);
        match (self.demand.is_open[segment.index], segment == self.segment) {
            (false, _) => Rate::ZERO,
            (true, false) => self.demand.base,
            (true, true) => self.rate(at),
        }
    }

    /// Records the rate over time from now on, for [`Self::take_points`].
    pub fn start_recording(&mut self) {
        self.points = Some(Vec::new());
        self.point(self.since);
    }

    /// Returns the points of the rate that are known up to `now`, each once: a time and the rate
    /// from then on.
    pub fn take_points(&mut self, now: Time) -> Vec<(Time, Rate)> {
        if self.points.is_none() {
            return Vec::new();
        }
        self.seek(now);
        self.record(now);
        self.points.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Adds points up to `until`, within the current step.
    fn record(&mut self, until: Time) {
        if self.points.is_none() || until == Time::MAX {
            return;
        }
        // After that nothing changes.
        let Demand { rise, hold, fall, .. } = *self.demand;
        let settled = self.since + if self.pressed { rise } else { hold + fall };
        let last = until.min(settled);
        while self.recorded + POINT_STEP <= last {
            self.point(self.recorded + POINT_STEP);
        }
        if until >= settled && self.recorded < settled {
            self.point(settled);
        }
    }

    fn point(&mut self, at: Time) {
        let rate = self.rate(at);
        self.recorded = at.max(self.recorded);
        if let Some(points) = self.points.as_mut().filter(|points| points.len() < MAX_POINTS)
            && points.last().is_none_or(|(_, last)| *last != rate)
        {
            points.push((at, rate));
        }
    }
}

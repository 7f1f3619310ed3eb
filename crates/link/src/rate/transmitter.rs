//! The transmitter, which determines when each packet starts and ends.

use crate::Service;
use crate::rate::delivery_trace::DeliveryTrace;
use crate::rate::model::RateModel;
use crate::rate::on_demand::OnDemand;
use crate::rate::sent::sent;
use crate::schedule::{Segment, Timeline};
use bentpipe_units::{Bytes, Rate, Span, Time};
use std::sync::Arc;

/// Sends one packet at a time.
#[derive(Debug, Clone)]
pub(crate) enum Transmitter {
    Constant(Constant),
    Schedule(Schedule),
    Trace(Opportunities),
    Demand(Box<OnDemand>),
}

impl Transmitter {
    pub fn new(model: &RateModel) -> Self {
        match model {
            RateModel::Constant(rate) => {
                Self::Constant(Constant { rate: *rate, bytes: 0, span: Span::ZERO })
            }
            RateModel::Schedule { timeline, rates, .. } => Self::Schedule(Schedule {
                current: timeline.segment(Time::ZERO),
                timeline: Arc::clone(timeline),
                rates: Arc::clone(rates),
                has_outages: model.has_outages(),
                per_period: timeline
                    .lengths()
                    .zip(rates.iter())
                    .map(|(span, rate)| sent(*rate, span))
                    .sum(),
            }),
            RateModel::Trace(trace) => Self::Trace(Opportunities {
                trace: Arc::clone(trace),
                cycle: Time::ZERO,
                next: 0,
                credit: 0,
            }),
            RateModel::Demand(demand) => Self::Demand(Box::new(OnDemand::new(demand))),
        }
    }

    /// Returns the start of a packet that is ready at `now`: now, after an outage, or at the next
    /// opportunity; [`Time::MAX`] for never.
    ///
    /// `idle` is true if nothing was sent or queued before.
    #[inline]
    pub fn begin(&mut self, now: Time, idle: bool) -> Time {
        match self {
            Self::Constant(_) => now,
            Self::Schedule(schedule) => schedule.begin(now),
            Self::Trace(opportunities) => opportunities.begin(now, idle),
            Self::Demand(demand) => demand.begin(now),
        }
    }

    /// Returns the end of the transmission that starts at `begin`, as returned by [`Self::begin`],
    /// with `waiting` bytes behind it.
    #[inline]
    pub fn finish(&mut self, begin: Time, bytes: u32, waiting: u64) -> Time {
        match self {
            Self::Constant(constant) => begin + constant.span(bytes),
            Self::Schedule(schedule) => schedule.finish(begin, bytes),
            Self::Trace(opportunities) => opportunities.finish(begin, bytes),
            Self::Demand(demand) => demand.finish(begin, bytes, waiting),
        }
    }

    /// Returns how long a packet of `bytes`, sent from `begin` to `end`, kept the transmitter busy.
    #[inline]
    pub fn busy(&self, begin: Time, end: Time, bytes: u32) -> Span {
        match self {
            Self::Constant(_) | Self::Schedule(_) | Self::Demand(_) => end.since(begin),
            Self::Trace(opportunities) => {
                opportunities.trace.mean_rate().time_for(Bytes::new(bytes.into()))
            }
        }
    }

    /// Returns the time at rate zero within a transmission from `begin` to `end`.
    #[inline]
    pub fn suspended(&self, begin: Time, end: Time) -> Span {
        match self {
            Self::Schedule(schedule)
                if schedule.has_outages && end < Time::MAX && !schedule.current.holds(begin) =>
            {
                schedule.outage(begin, end)
            }
            Self::Demand(demand) => demand.outage(begin, end),
            _ => Span::ZERO,
        }
    }

    /// Returns the rate in force at `at`; for a trace, the rate of the opportunities in the
    /// following 100 ms.
    pub fn rate_at(&self, at: Time) -> Rate {
        match self {
            Self::Constant(constant) => constant.rate,
            Self::Schedule(schedule) => schedule.rates[schedule.timeline.segment(at).index],
            Self::Trace(opportunities) => opportunities.rate_at(at),
            Self::Demand(demand) => demand.rate_at(at),
        }
    }

    /// Returns how much longer the last packet, of `bytes` and sent in `busy`, took than at the
    /// highest rate, because the rate grows on demand.
    #[inline]
    pub fn growth_wait(&self, busy: Span, bytes: u32) -> Span {
        match self {
            Self::Demand(demand) => demand.growth_wait(busy, bytes),
            _ => Span::ZERO,
        }
    }

    /// Returns the part of the blocked time of a packet, offered at `sent`, in which the rate grew.
    #[inline]
    pub fn growing(&self, sent: Time, service: &Service) -> Span {
        match self {
            Self::Demand(demand) if !service.blocked.is_zero() => {
                let end = sent + service.queued + service.serialised();
                service.blocked.saturating_sub(demand.outage(sent, end))
            }
            _ => Span::ZERO,
        }
    }

    /// Returns the transmitter of a rate that grows on demand.
    pub fn on_demand(&mut self) -> Option<&mut OnDemand> {
        match self {
            Self::Demand(demand) => Some(demand),
            _ => None,
        }
    }
}

/// A constant rate. It caches the time of the last packet size: most packets of a flow have one
/// size, and a division would dominate the cost.
#[derive(Debug, Clone)]
pub(crate) struct Constant {
    rate: Rate,
    bytes: u32,
    span: Span,
}

impl Constant {
    #[inline]
    fn span(&mut self, bytes: u32) -> Span {
        if bytes != self.bytes {
            self.bytes = bytes;
            self.span = self.rate.time_for(Bytes::new(bytes.into()));
        }
        self.span
    }
}

/// A rate that changes in steps, also during a packet.
#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    timeline: Arc<Timeline>,
    rates: Arc<[Rate]>,
    current: Segment,
    /// True if a step has rate zero.
    has_outages: bool,
    /// What a period sends, in units of 10⁻⁹ bits.
    per_period: u128,
}

impl Schedule {
    fn seek(&mut self, at: Time) -> Segment {
        if !self.current.holds(at) {
            self.current = self.timeline.segment(at);
        }
        self.current
    }

    fn begin(&mut self, now: Time) -> Time {
        let mut at = now;
        // At most one period, since every schedule has a step above zero.
        for _ in 0..=self.rates.len() {
            let segment = self.seek(at);
            if !self.rates[segment.index].is_zero() {
                return at;
            }
            if segment.to == Time::MAX {
                break;
            }
            at = segment.to;
        }
        Time::MAX
    }

    fn finish(&mut self, begin: Time, bytes: u32) -> Time {
        let segment = self.seek(begin);
        let end = begin + self.rates[segment.index].time_for(Bytes::new(bytes.into()));
        if end <= segment.to { end } else { self.finish_across(begin, bytes) }
    }

    /// Returns the time at rate zero from `begin` to `end`.
    fn outage(&self, begin: Time, end: Time) -> Span {
        self.timeline.time_in(begin, end, |step| self.rates[step].is_zero())
    }

    /// Sums what each step sends in units of 10⁻⁹ bits (rate times nanoseconds), so that only the
    /// end is rounded.
    fn finish_across(&mut self, begin: Time, bytes: u32) -> Time {
        let mut left = u128::from(bytes) * 8_000_000_000;
        let mut at = begin;
        if let Some(period) = self.timeline.repeat() {
            // Skips whole periods at once: a packet may take thousands of short ones.
            let periods = left.saturating_sub(1) / self.per_period.max(1);
            left -= periods * self.per_period;
            at += Span::from_nanos(
                u64::try_from(u128::from(period.as_nanos()) * periods).unwrap_or(u64::MAX),
            );
        }
        loop {
            let segment = self.seek(at);
            let rate = self.rates[segment.index];
            let sends = sent(rate, segment.to.since(at));
            if left <= sends {
                // A step of rate zero sends nothing and leaves a rest, so that the rate is above
                // zero here.
                let nanos = left.div_ceil(u128::from(rate.as_bps().max(1)));
                return at + Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
            }
            if segment.to == Time::MAX {
                return Time::MAX;
            }
            left -= sends;
            at = segment.to;
        }
    }
}

/// The opportunities of a mahimahi trace: see [`crate::DirectionConfig::load`].
#[derive(Debug, Clone)]
pub(crate) struct Opportunities {
    trace: Arc<DeliveryTrace>,
    /// Start of the current cycle of the trace.
    cycle: Time,
    /// Index of the next opportunity.
    next: usize,
    /// Bytes left of the current opportunity.
    credit: u32,
}

impl Opportunities {
    fn next_time(&self) -> Time {
        self.cycle + Span::from_millis(self.trace.millis[self.next].into())
    }

    /// Uses the next opportunity.
    fn open(&mut self) -> Time {
        let at = self.next_time();
        self.credit = DeliveryTrace::OPPORTUNITY;
        self.next += 1;
        if self.next == self.trace.millis.len() {
            self.next = 0;
            self.cycle += self.trace.period();
        }
        at
    }

    /// Skips all opportunities up to and including `now`.
    fn skip(&mut self, now: Time) {
        self.credit = 0;
        if self.next_time() > now {
            return;
        }
        let period = self.trace.period().as_nanos();
        let within = now.as_nanos() % period;
        self.cycle = Time::from_nanos(now.as_nanos() - within);
        self.next = self.trace.millis.partition_point(|ms| u64::from(*ms) * 1_000_000 <= within);
        if self.next == self.trace.millis.len() {
            self.next = 0;
            self.cycle += self.trace.period();
        }
    }

    fn begin(&mut self, now: Time, idle: bool) -> Time {
        if idle {
            self.skip(now);
        }
        // The rest belongs to the opportunity at which the previous packet ended, which is now.
        if self.credit > 0 { now } else { self.next_time() }
    }

    fn finish(&mut self, begin: Time, bytes: u32) -> Time {
        let mut left = bytes.saturating_add(DeliveryTrace::OVERHEAD);
        let mut at = begin;
        loop {
            if self.credit == 0 {
                at = self.open();
            }
            let used = left.min(self.credit);
            self.credit -= used;
            left -= used;
            if left == 0 {
                return at;
            }
        }
    }

    fn rate_at(&self, at: Time) -> Rate {
        let period = self.trace.period().as_nanos();
        let millis = &self.trace.millis;
        // Counts opportunities before `nanos` in the infinitely repeated trace.
        let before = |nanos: u64| {
            let within = nanos % period;
            (nanos / period) * millis.len() as u64
                + millis.partition_point(|ms| u64::from(*ms) * 1_000_000 < within) as u64
        };
        let window = Span::from_millis(100);
        let from = at.as_nanos();
        DeliveryTrace::rate(before(from.saturating_add(window.as_nanos())) - before(from), window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(steps: &[(u64, u64)], repeat: Option<u64>) -> Transmitter {
        let starts = steps.iter().map(|(ms, _)| Span::from_millis(*ms));
        Transmitter::new(&RateModel::Schedule {
            timeline: Arc::new(Timeline::new(starts, repeat.map(Span::from_millis))),
            nominal: Rate::ZERO,
            rates: steps.iter().map(|(_, mbps)| Rate::from_mbps(*mbps)).collect(),
            modcods: Arc::default(),
        })
    }
    fn trace(millis: &[u32]) -> Transmitter {
        let period_ms = millis.last().copied().unwrap_or_default();
        let trace = DeliveryTrace { millis: millis.to_vec(), period_ms };
        Transmitter::new(&RateModel::Trace(Arc::new(trace)))
    }
    fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    #[test]
    fn a_packet_across_a_step_is_sent_at_both_rates() {
        // 1500 bytes: half in 1 ms at 6 Mbps, the rest in 0.5 ms at 12 Mbps.
        let mut link = schedule(&[(0, 6), (10, 12)], None);
        assert_eq!(link.finish(ms(9), 1500, 0), Time::from_nanos(10_500_000));
        assert_eq!(link.finish(ms(10), 1500, 0), ms(11));
    }

    #[test]
    fn an_outage_suspends_transmission_and_a_final_one_ends_it() {
        let mut link = schedule(&[(0, 12), (10, 0), (20, 12)], None);
        assert_eq!(link.begin(ms(15), true), ms(20));
        assert_eq!(link.finish(Time::from_nanos(9_500_000), 1500, 0), Time::from_nanos(20_500_000));
        let mut link = schedule(&[(0, 12), (10, 0)], None);
        assert_eq!(link.begin(ms(15), true), Time::MAX);
        assert_eq!(link.finish(Time::from_nanos(9_500_000), 1500, 0), Time::MAX);
    }

    #[test]
    fn a_slow_packet_crosses_many_periods() {
        // 1 Mbps during 1 ms of every 2 ms: 125 bytes per period.
        let mut link = schedule(&[(0, 1), (1, 0)], Some(2));
        assert_eq!(link.finish(ms(0), 125, 0), ms(1));
        assert_eq!(link.finish(ms(0), 125_000, 0), ms(1999));
        assert_eq!(link.begin(ms(1999), false), ms(2000));
    }

    #[test]
    fn an_opportunity_carries_one_full_packet_or_several_small_ones() {
        let mut link = trace(&[1, 2, 2, 5]);
        assert_eq!(link.begin(ms(0), true), ms(1));
        assert_eq!(link.finish(ms(1), 1500, 0), ms(1));
        assert_eq!(link.begin(ms(1), false), ms(2));
        // 100 bytes cost 104: fourteen packets fit in one opportunity, and the fifteenth ends in
        // the next, also at 2 ms.
        for _ in 0..15 {
            assert_eq!(link.begin(ms(2), false), ms(2));
            assert_eq!(link.finish(ms(2), 100, 0), ms(2));
        }
        // A full packet starts in the rest and ends at the next opportunity.
        assert_eq!(link.begin(ms(2), false), ms(2));
        assert_eq!(link.finish(ms(2), 1500, 0), ms(5));
    }

    #[test]
    fn unused_opportunities_are_lost_and_the_trace_repeats() {
        let mut link = trace(&[1, 2, 2, 5]);
        assert_eq!(link.begin(ms(2), true), ms(5), "too late for the opportunities at 2 ms");
        assert_eq!(link.finish(ms(5), 1500, 0), ms(5));
        assert_eq!(link.begin(ms(5), true), ms(6));
        assert_eq!(link.begin(ms(5_000_003), true), ms(5_000_005));
        assert_eq!(link.begin(ms(5_000_005), true), ms(5_000_006));
    }

    #[test]
    fn the_rate_of_a_trace_is_that_of_the_next_100_ms() {
        let link =
            trace(&(1..=200).map(|n| if n <= 100 { n } else { 2 * n - 100 }).collect::<Vec<u32>>());
        assert_eq!(link.rate_at(Time::from_nanos(500_000)), Rate::from_mbps(12));
        assert_eq!(link.rate_at(Time::from_nanos(150_500_000)), Rate::from_mbps(6));
    }
}

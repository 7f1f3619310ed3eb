//! A rate whose trace is read.

use super::delivery_trace::DeliveryTrace;
use super::demand::Demand;
use super::sent::sent;
use crate::schedule::Timeline;
use bentpipe_units::{Bytes, Rate, Span, Time};
use std::sync::Arc;

/// Interval over which [`RateModel::changes`] averages the rate of a trace.
const TRACE_BIN: Span = Span::from_millis(100);

/// The rate of a link over time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RateModel {
    Constant(Rate),
    Schedule {
        timeline: Arc<Timeline>,
        rates: Arc<[Rate]>,
        /// Rate that sizes the link: the highest or, of a recording, the mean.
        nominal: Rate,
        /// Name of the MODCOD of each step; empty if the rates have other reasons.
        modcods: Arc<[&'static str]>,
    },
    Trace(Arc<DeliveryTrace>),
    Demand(Arc<Demand>),
}

impl RateModel {
    /// See [`DirectionModel::capacity`].
    pub fn capacity(&self, from: Time, to: Time) -> Bytes {
        let bytes = match self {
            _ if to < from => 0,
            Self::Constant(rate) => sent(*rate, to.since(from)) / 8_000_000_000,
            Self::Schedule { timeline, rates, .. } => {
                let before = |at: Time| timeline.sum(at, |index, span| sent(rates[index], span));
                (before(to) - before(from)) / 8_000_000_000
            }
            Self::Trace(trace) => {
                u128::from(trace.opportunities(from, to)) * u128::from(DeliveryTrace::OPPORTUNITY)
            }
            Self::Demand(demand) => {
                let open = to.since(from).saturating_sub(demand.outage(from, to));
                sent(demand.ceiling, open) / 8_000_000_000
            }
        };
        Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX))
    }

    /// See [`DirectionModel::sending_time`](crate::DirectionModel::sending_time).
    pub fn sending_time(&self, from: Time, to: Time) -> Span {
        let Self::Trace(trace) = self else { return to.since(from) };
        let passed = trace.opportunities(from + Span::from_nanos(1), to);
        let full = DeliveryTrace::OPPORTUNITY - DeliveryTrace::OVERHEAD;
        trace.mean_rate().time_for(Bytes::new(passed.saturating_mul(full.into())))
    }

    /// See [`DirectionModel::has_outages`](crate::DirectionModel::has_outages).
    pub fn has_outages(&self) -> bool {
        match self {
            Self::Schedule { rates, .. } => rates.iter().any(|rate| rate.is_zero()),
            Self::Demand(demand) => demand.has_outages(),
            Self::Constant(_) | Self::Trace(_) => false,
        }
    }

    /// See [`DirectionModel::rate_changes`](crate::DirectionModel::rate_changes).
    pub fn changes(&self, end: Time) -> impl Iterator<Item = (Time, Rate)> {
        let first = (!matches!(self, Self::Constant(_))).then_some(Time::ZERO);
        let times = std::iter::successors(first, move |at| self.change_after(*at));
        let mut last = None;
        times.take_while(move |at| *at <= end).filter_map(move |at| {
            let rate = self.rate_from(at);
            (last.replace(rate) != Some(rate)).then_some((at, rate))
        })
    }

    fn change_after(&self, at: Time) -> Option<Time> {
        let next = match self {
            Self::Constant(_) => Time::MAX,
            Self::Schedule { timeline, .. } => timeline.segment(at).to,
            Self::Trace(_) => at + TRACE_BIN,
            Self::Demand(demand) => demand.timeline.segment(at).to,
        };
        (next < Time::MAX).then_some(next)
    }

    /// Returns the rate at `at`; of a trace, the mean of the 100 ms from then on; on demand, the
    /// highest one.
    pub fn rate_from(&self, at: Time) -> Rate {
        match self {
            Self::Constant(rate) => *rate,
            Self::Schedule { timeline, rates, .. } => {
                rates.get(timeline.segment(at).index).copied().unwrap_or_default()
            }
            Self::Trace(trace) => {
                let last = at + TRACE_BIN.saturating_sub(Span::from_nanos(1));
                DeliveryTrace::rate(trace.opportunities(at, last), TRACE_BIN)
            }
            Self::Demand(demand) => demand.most_at(at),
        }
    }
}

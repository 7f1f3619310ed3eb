//! A rate whose trace is read.

use super::delivery_trace::DeliveryTrace;
use crate::schedule::Timeline;
use bentpipe_units::{Bytes, Rate, Span, Time};
use std::sync::Arc;

/// The rate of a link over time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RateModel {
    Constant(Rate),
    Schedule { timeline: Arc<Timeline>, rates: Arc<[Rate]> },
    Trace(Arc<DeliveryTrace>),
}

impl RateModel {
    /// See [`DirectionModel::capacity`].
    pub fn capacity(&self, from: Time, to: Time) -> Bytes {
        let bytes = match self {
            _ if to < from => 0,
            Self::Constant(rate) => sent(*rate, to.since(from)) / 8_000_000_000,
            Self::Schedule { timeline, rates } => {
                let before = |at: Time| timeline.sum(at, |index, span| sent(rates[index], span));
                (before(to) - before(from)) / 8_000_000_000
            }
            Self::Trace(trace) => {
                u128::from(trace.opportunities(from, to)) * u128::from(DeliveryTrace::OPPORTUNITY)
            }
        };
        Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

/// Returns what `rate` sends in `span`, in units of 10⁻⁹ bits (exact).
pub(crate) fn sent(rate: Rate, span: Span) -> u128 {
    u128::from(rate.as_bps()) * u128::from(span.as_nanos())
}

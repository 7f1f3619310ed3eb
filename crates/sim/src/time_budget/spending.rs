//! Time as it is spent, gap by gap.

use bentpipe_quic::congestion::SendLimit;
use bentpipe_timeseries::{TimeBudget, TimePart};
use bentpipe_units::Span;

/// A budget, with what was spent on the last gap.
#[derive(Debug, Default)]
pub(super) struct Spending {
    pub(super) budget: TimeBudget,
    gap: Vec<(TimePart, Span)>,
}

impl Spending {
    /// Starts the next gap.
    #[inline]
    pub(super) fn next_gap(&mut self) {
        self.gap.clear();
    }

    /// Spends `span` of the gap on `part`.
    #[inline]
    pub(super) fn spend(&mut self, part: TimePart, span: Span) {
        if !span.is_zero() {
            self.budget.add(part, span);
            self.gap.push((part, span));
        }
    }

    /// Returns what was spent on the gap. A part may come several times.
    pub(super) fn gap(&self) -> &[(TimePart, Span)] {
        &self.gap
    }
}

/// Returns the part that idle time counts as while `limit` held the sender back.
pub(super) fn part_of(limit: SendLimit) -> TimePart {
    match limit {
        SendLimit::Application => TimePart::Application,
        SendLimit::FlowControl => TimePart::FlowControl,
        SendLimit::SlowStart => TimePart::SlowStart,
        SendLimit::CongestionWindow => TimePart::CongestionWindow,
        SendLimit::Pacing => TimePart::Pacing,
        SendLimit::AddressValidation => TimePart::AddressValidation,
        SendLimit::LossDetection => TimePart::LossDetection,
        SendLimit::Timeout => TimePart::Timeout,
    }
}

/// Moves the fraction `share` / `whole` of `all`, the serialisation, to `part`.
pub(super) fn move_share(
    budget: &mut TimeBudget,
    all: Span,
    (share, whole): (u64, u64),
    part: TimePart,
) {
    let nanos = u128::from(all.as_nanos()) * u128::from(share) / u128::from(whole.max(1));
    let moved = Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
        .min(budget.get(TimePart::Serialisation));
    budget.transfer(TimePart::Serialisation, part, moved);
}

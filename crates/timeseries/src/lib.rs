//! What both clocks record over time, in time series whose size does not grow with the length of a
//! run.
//!
//! A [`BoundedSeries`] keeps every point until it reaches its [`SeriesLimit`]. From then on it
//! keeps the first, lowest, highest and last point of each bin of consecutive points, and doubles
//! the bins whenever it is full. [`BinnedSum`] turns amounts, such as bytes, into a series of sums
//! over intervals of a fixed width. [`RunSeries`] holds the series of a run, [`SpanHistogram`] has
//! the quantiles of times, [`TimeBudget`] the time that a transfer spent on each [`TimePart`], and
//! [`LossTimes`] what of it losses cost.

mod binned_sum;
mod bounded;
mod extremes;
mod loss_times;
mod rate;
mod run_series;
mod span_histogram;
mod tenth_counts;
mod time_budget;

pub use binned_sum::BinnedSum;
pub use bounded::{BoundedSeries, Points};
pub use extremes::extremes;
pub use loss_times::{LossPlace, LossTimes};
pub use rate::rate_series;
pub use run_series::{LinkSeries, RouteChange, RunSeries, Series, VisitSeries};
pub use span_histogram::SpanHistogram;
pub use tenth_counts::TenthCounts;
pub use time_budget::{TimeBudget, TimePart};

/// Maximum number of points of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeriesLimit(usize);

/// Points that the series of all flows of a run may have together by default: 16 MB.
const RUN_POINTS: usize = 1 << 20;
/// Points that the series of all flows of all runs may have together by default: 48 MB in a file.
const TOTAL_POINTS: usize = 4 << 20;
/// Minimum of a share: enough for an overview.
const MIN_SHARE: usize = 256;
/// Number of series that a flow has, about: 19 of QUIC, 17 of TCP.
const SERIES_PER_FLOW: usize = 16;

impl SeriesLimit {
    /// Minimum limit.
    pub const MIN: Self = Self(64);
    /// Limit of a series by default: several points for each column of a screen.
    pub const DEFAULT: Self = Self(8192);
    /// Limit of a series that is to keep every point: 64 MB.
    pub const FULL: Self = Self(4 << 20);
    /// Number of flows of a run with time series, the first ones.
    pub const MAX_FLOWS: usize = 256;

    /// Creates a limit of `points`, at least [`SeriesLimit::MIN`].
    pub fn new(points: usize) -> Self {
        Self(points.max(Self::MIN.0))
    }

    /// Returns the default limit in each of `runs` runs of `flows` flows. Up to 32 runs, and up to
    /// eight flows of a run, have the whole limit; more share the memory of these.
    pub fn shared_by(runs: usize, flows: usize) -> Self {
        let flows = flows.clamp(1, Self::MAX_FLOWS);
        let share = RUN_POINTS.min(TOTAL_POINTS / runs.max(1)) / SERIES_PER_FLOW / flows;
        Self(share.clamp(MIN_SHARE, Self::DEFAULT.0))
    }

    /// Returns the number of points.
    #[inline]
    pub fn points(self) -> usize {
        self.0
    }
}

impl Default for SeriesLimit {
    fn default() -> Self {
        Self::DEFAULT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_flows_and_many_runs_share_memory() {
        let shares = [
            ((0, 0), 8192),
            ((1, 8), 8192),
            ((1, 16), 4096),
            ((1, 5000), 256),
            ((32, 1), 8192),
            ((128, 1), 2048),
            ((128, 4), 512),
            ((5000, 5000), 256),
        ];
        for ((runs, flows), points) in shares {
            let limit = SeriesLimit::shared_by(runs, flows);
            assert_eq!(limit.points(), points, "{runs} runs of {flows} flows");
        }
    }
}

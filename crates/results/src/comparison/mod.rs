//! Comparison of two sets of runs of the same cases, as a gate against regressions.
//!
//! [`Samples`] holds the values of the compared metrics; [`compare_samples`] matches the cases of
//! two of them and tests each for a change. [`ComparisonReport`] is the result.
//!
//! # Method
//!
//! Completion times over a lossy path are tight for most runs and have a long tail: one lost tail
//! or one timeout makes a run much slower. With 20 runs, the normal approximation of the mean (a
//! t-test) is unreliable at the small significance levels that many comparisons at once require,
//! and the mean hides a change of every run behind the noise of a few. Therefore:
//!
//! - A permutation test decides. If both variants are equal, every assignment of the values to the
//!   two sides was equally probable, so that its error rate is exact for any distribution and any
//!   number of runs (Fisher 1935; Pitman 1937).
//! - Its statistic is the larger of two standardised differences: of the means (studentised, so
//!   that unequal variances do not mislead it for larger samples; Janssen 1997) and of the ranks
//!   (Wilcoxon 1945), which sees a change of the typical run despite outliers. One test with both
//!   has the error rate of one test.
//! - Runs of equal seed and number are pairs, because they draw the same losses. The permutations
//!   then swap the sides within pairs.
//! - The family-wise error over all cases and metrics is controlled by Holm's method (1979).

mod change;
mod counts;
mod estimate;
mod holm;
mod judge;
mod permutation;
mod samples;
#[cfg(test)]
mod tests;

pub use change::{
    Change, ComparisonReport, Estimate, Finding, Method, MissingCase, Origin, SampleSummary, Side,
    percent,
};
pub use judge::{CompareOptions, compare_samples};
pub use samples::{Case, CaseSamples, MAX_CASES, Samples, SamplesError};

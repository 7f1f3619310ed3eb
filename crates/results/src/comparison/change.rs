//! The result of a comparison.

use super::samples::{Case, Samples};
use crate::metrics::Better;
use crate::run::Clock;
use serde::Serialize;

/// How a case was tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Permutation test of runs paired by number.
    Paired,
    /// Permutation test of independent runs.
    Unpaired,
    /// McNemar's exact test of the number of completed runs, paired by number.
    McNemar,
    /// Fisher's exact test of the number of completed runs.
    Fisher,
    /// No test: nothing is random, so that any difference is a change.
    Exact,
}

/// What a comparison found for a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// Worse, significantly and by more than the tolerance.
    Regression,
    /// Better, significantly and by more than the tolerance.
    Improvement,
    /// Changed, significantly and by more than the tolerance, in a metric of which neither
    /// direction is better.
    Changed,
    /// Changed significantly, by no more than the tolerance.
    WithinTolerance,
    /// No change was found.
    Unchanged,
    /// All values are equal.
    Identical,
    /// Not tested; [`Change::note`] says why.
    Untested,
}

/// An estimate of a relative change.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The change as a fraction: 0.03 is 3 % more.
    pub change: f64,
    /// Lower end of the confidence interval; `null` if there are too few runs for one.
    pub low: Option<f64>,
    /// Upper end of the confidence interval.
    pub high: Option<f64>,
}

impl Estimate {
    pub(super) fn new(change: f64, interval: Option<(f64, f64)>) -> Self {
        Self { change, low: interval.map(|ends| ends.0), high: interval.map(|ends| ends.1) }
    }
}

/// The values of one side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SampleSummary {
    /// Number of runs.
    pub runs: usize,
    /// Number of runs with a value, or of completed ones for `completed`.
    pub n: usize,
    /// Arithmetic mean; the fraction of completed runs for `completed`.
    pub mean: Option<f64>,
    /// Standard deviation; `null` for fewer than two values.
    pub deviation: Option<f64>,
}

/// One metric of one case on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// Name of the case.
    #[serde(flatten)]
    pub case: Case,
    /// Name of the metric, or `completed` for the number of completed runs.
    pub metric: String,
    /// Unit of the metric; empty for ratios.
    pub unit: &'static str,
    /// Whether smaller or larger values are better.
    pub better: Better,
    /// Values of the first side.
    pub before: SampleSummary,
    /// Values of the second side.
    pub after: SampleSummary,
    /// Relative change of the mean; `null` if the mean before is not positive.
    pub mean: Option<Estimate>,
    /// Relative change of a typical run; `null` if a value is not positive.
    pub typical: Option<Estimate>,
    /// How the case was tested.
    pub method: Method,
    /// Probability of such a difference if both sides are equal; `null` without a test.
    pub p: Option<f64>,
    /// The same, adjusted for the number of tests.
    pub p_adjusted: Option<f64>,
    /// What was found.
    pub finding: Finding,
    /// Relative change that the finding is about, that of the mean or of a typical run.
    pub change: Option<f64>,
    /// Positive if the second side has larger values.
    #[serde(skip)]
    pub(super) direction: f64,
    /// Remark on the finding.
    pub note: Option<String>,
}

/// A side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The first, that the other is compared with.
    Before,
    /// The second.
    After,
}

/// A case that one side lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MissingCase {
    /// Name of the case.
    #[serde(flatten)]
    pub case: Case,
    /// The side that lacks it.
    pub missing: Side,
}

/// Where the values of a side are from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Origin {
    /// Directory or file, and the variant if only one was compared.
    pub source: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Clock of the runs.
    pub clock: Clock,
    /// Version of Bentpipe.
    pub version: String,
    /// Commit that this version was built from; `null` if unknown.
    pub commit: Option<String>,
    /// False if planned runs are missing.
    pub complete: bool,
}

impl Origin {
    pub(super) fn new(samples: &Samples, source: &str) -> Self {
        Self {
            source: source.to_owned(),
            scenario: samples.scenario.clone(),
            seed: samples.seed,
            clock: samples.clock,
            version: samples.version.clone(),
            commit: samples.commit.clone(),
            complete: samples.complete,
        }
    }
}

/// The result of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparisonReport {
    /// The first side.
    pub before: Origin,
    /// The second side.
    pub after: Origin,
    /// Probability that a comparison of equal variants finds a change.
    pub level: f64,
    /// Relative change up to which a change is neither a regression nor an improvement.
    pub tolerance: f64,
    /// True if runs are paired by number.
    pub paired: bool,
    /// Number of tests that p is adjusted for.
    pub tests: usize,
    /// The cases of both sides, with a row for each metric.
    pub changes: Vec<Change>,
    /// The cases that one side lacks.
    pub missing: Vec<MissingCase>,
    /// Remarks for the reader.
    pub notes: Vec<String>,
}

impl ComparisonReport {
    /// Returns the number of rows with this finding.
    pub fn count(&self, finding: Finding) -> usize {
        self.changes.iter().filter(|change| change.finding == finding).count()
    }

    /// Returns true if a change could have been found: a test was possible, or nothing is random.
    pub fn is_conclusive(&self) -> bool {
        self.changes.iter().any(|change| change.finding != Finding::Untested)
    }
}

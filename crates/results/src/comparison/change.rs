//! The result of a comparison.

use super::samples::{Case, Samples};
use crate::metrics::Better;
use crate::run::Clock;
use serde::Serialize;
use std::fmt;

/// The number of completed runs, compared as if it were a metric.
pub(super) const COMPLETED: &str = "completed";

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

impl Finding {
    /// All findings, in the order of their weight.
    pub const ALL: [Self; 7] = [
        Self::Regression,
        Self::Changed,
        Self::Improvement,
        Self::WithinTolerance,
        Self::Unchanged,
        Self::Identical,
        Self::Untested,
    ];

    /// Returns the finding in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Regression => "regression",
            Self::Improvement => "improvement",
            Self::Changed => "changed",
            Self::WithinTolerance => "within tolerance",
            Self::Unchanged => "no change found",
            Self::Identical => "identical",
            Self::Untested => "not tested",
        }
    }
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

/// Formats a ratio as percent, without the digits of rounding, such as in 7.000000000000001.
pub fn percent(ratio: f64) -> String {
    format!("{} %", (ratio * 1e8).round() / 1e6)
}

impl fmt::Display for Estimate {
    /// Writes `+3.1 % (+2.0 to +4.2)`, without an interval if there is none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = |value: Option<f64>| value.unwrap_or_default().abs();
        let widest = size(self.low).max(size(self.high));
        let digits = if self.change.abs() < 0.01 && widest < 0.1 { 2 } else { 1 };
        write!(f, "{:+.digits$} %", self.change * 100.0)?;
        match (self.low, self.high) {
            (Some(low), Some(high)) => {
                write!(f, " ({:+.digits$} to {:+.digits$})", low * 100.0, high * 100.0)
            }
            _ => Ok(()),
        }
    }
}

/// The values of one side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SampleSummary {
    /// Number of runs.
    pub runs: usize,
    /// Number of runs with a value, or of completed ones for `completed`.
    pub n: usize,
    /// Median; `null` for `completed`.
    pub median: Option<f64>,
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

impl Change {
    /// Returns the adjusted p as text: `0.031`, or `< 0.001`; empty without a test.
    pub fn p_text(&self) -> String {
        match self.p_adjusted {
            Some(p) if p < 0.001 => "< 0.001".to_owned(),
            Some(p) => format!("{p:.3}"),
            None => String::new(),
        }
    }

    /// Returns the values of one side: a median with its unit, or `18 of 20` runs.
    pub fn value_text(&self, side: &SampleSummary) -> String {
        if self.metric == COMPLETED {
            return format!("{} of {}", side.n, side.runs);
        }
        let Some(median) = side.median else { return "–".to_owned() };
        let digits = match median.abs() {
            size if size >= 1000.0 => 0,
            size if size >= 100.0 => 1,
            size if size >= 10.0 => 2,
            _ => 3,
        };
        format!("{median:.digits$} {}", self.unit).trim_end().to_owned()
    }

    /// Returns the number of runs as text: `20`, or `20, 18` if the sides differ.
    pub fn runs_text(&self) -> String {
        let (before, after) = (self.before.runs, self.after.runs);
        if before == after { before.to_string() } else { format!("{before}, {after}") }
    }
}

impl ComparisonReport {
    /// Returns the numbers of findings in words: `1 regression, 23 without a change`.
    pub fn counts_text(&self) -> String {
        let counted = |finding: &Finding| {
            let count = self.count(*finding);
            let plural = if count > 1 { "s" } else { "" };
            let text = match finding {
                Finding::Regression => format!("{count} regression{plural}"),
                Finding::Improvement => format!("{count} improvement{plural}"),
                Finding::Unchanged => format!("{count} without a change"),
                _ => format!("{count} {}", finding.name()),
            };
            (count > 0).then_some(text)
        };
        let texts: Vec<String> = Finding::ALL.iter().filter_map(counted).collect();
        if texts.is_empty() { "nothing to compare".to_owned() } else { texts.join(", ") }
    }

    /// Returns the number of rows with this finding.
    pub fn count(&self, finding: Finding) -> usize {
        self.changes.iter().filter(|change| change.finding == finding).count()
    }

    /// Returns true if a change could have been found: a test was possible, or nothing is random.
    pub fn is_conclusive(&self) -> bool {
        self.changes.iter().any(|change| change.finding != Finding::Untested)
    }
}

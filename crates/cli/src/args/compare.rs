//! Arguments of `bentpipe compare`.

use super::suggest::{metric_names, text};
use bentpipe_units::Ratio;
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = r#"Examples:
  bentpipe run my.toml --out before
  bentpipe run my.toml --seed 2 --out after        (with a changed stack)
  bentpipe compare before after

  Keep the values of a version in a repository, and compare with them later:
  bentpipe compare --save-baseline baseline.json before
  bentpipe compare baseline.json after --tolerance 2% --junit junit.xml --html compare.html

  bentpipe compare before after --metric completion_s --metric packets_declared_lost
  bentpipe compare before --variants cubic bbr3

Exit status:
  0  no regression
  1  a regression
  2  the command line or a file is invalid, or there are too few runs to find any change"#;

/// Arguments of `bentpipe compare`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Compare {
    /// Run directory or baseline file to compare with
    pub before: PathBuf,
    /// Run directory or baseline file that is compared
    pub after: Option<PathBuf>,
    /// Compare the variant A of BEFORE with the variant B of AFTER, or of BEFORE if there is no
    /// AFTER
    #[arg(long, num_args = 2, value_names = ["A", "B"])]
    pub variants: Vec<String>,
    /// Metrics to compare; can be repeated [default: the completion time of each flow, or its
    /// goodput if its duration is fixed; all of a baseline file]
    #[arg(
        long,
        value_name = "NAME",
        value_parser = text(metric_names),
        hide_possible_values = true
    )]
    pub metric: Vec<String>,
    /// Probability that a comparison of equal variants finds a change, over all cases together
    #[arg(long, value_name = "P", default_value = "0.05", value_parser = level)]
    pub level: f64,
    /// Relative change up to which a change is no regression, such as 2%
    #[arg(long, value_name = "RATIO", default_value = "0", value_parser = ratio)]
    pub tolerance: f64,
    /// Write the values of BEFORE to a baseline file, and compare nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["after", "variants", "junit", "html"])]
    pub save_baseline: Option<PathBuf>,
    /// Write JUnit XML with a test for each case, for CI systems
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write an HTML page with a plot of all intervals
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print one JSON document to standard output, and nothing else
    #[arg(long, conflicts_with = "save_baseline")]
    pub json: bool,
}

/// Parses a ratio from 0 to 1, such as `0.02` or `2%`.
fn ratio(ratio: &str) -> Result<f64, String> {
    ratio.parse::<Ratio>().map(|ratio| ratio.get()).map_err(|error| error.to_string())
}

/// Parses a significance level.
fn level(level: &str) -> Result<f64, String> {
    let level = ratio(level)?;
    if level > 0.0 && level <= 0.5 {
        Ok(level)
    } else {
        Err("allowed: more than 0 and at most 0.5".to_owned())
    }
}

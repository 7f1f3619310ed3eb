//! Arguments of `bentpipe figure`.

use bentpipe_report::What;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  bentpipe figure out/first --list
  bentpipe figure out/first --what budget -o fig.svg
  bentpipe figure out/first --what budget -o fig.svg --serif --grey      (for a paper in print)
  bentpipe figure out/cnes-start --what sweep -o fig.svg --width 178     (both columns)
  bentpipe figure out/cnes-start --what budget -o table.tex              (or .md, .csv)
  bentpipe figure out/first --what series --series cwnd,smoothed_rtt -o fig.svg
  rsvg-convert -f pdf -o fig.pdf fig.svg                                 (for LaTeX)";

/// Returns the parser of the kinds of figures.
fn kinds() -> impl TypedValueParser<Value = What> {
    let values = What::ALL.map(|what| PossibleValue::new(what.name()).help(what.about()));
    PossibleValuesParser::new(values).try_map(|name| What::named(&name).ok_or("no such figure"))
}

/// Arguments of `bentpipe figure`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Figure {
    /// A directory written by `bentpipe run`
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// What the figure shows
    #[arg(long, value_parser = kinds(), required_unless_present = "list")]
    pub what: Option<What>,
    /// File to write: .svg is a drawing, .csv, .md and .tex are tables of its numbers [default:
    /// standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What to write [default: by the ending of the file, or svg]
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// List the figures that this directory offers, and the names that the options take
    #[arg(long, conflicts_with_all = ["what", "output", "format"])]
    pub list: bool,
    /// Metric to draw [default: the one by which variants of the flow are compared]; `budget`
    /// always divides the completion time
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// The flow, or the population of users [default: the first]
    #[arg(long, value_name = "NAME")]
    pub flow: Option<String>,
    /// Number of the visit [default: the first that each variant reports]
    #[arg(long, value_name = "N")]
    pub visit: Option<usize>,
    /// Only this variant; several may be named [default: all]
    #[arg(long, value_name = "NAME")]
    pub variant: Vec<String>,
    /// Only points of the sweep with this value of a swept key; once for each key
    #[arg(long, value_name = "KEY=VALUE")]
    pub point: Vec<String>,
    /// Swept key on the axis of `sweep` [default: the one with most values]
    #[arg(long, value_name = "KEY")]
    pub along: Option<String>,
    /// Time series of `series`, a panel each [default: received, cwnd and smoothed_rtt]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub series: Vec<String>,
    /// Show series of this link [default: of the flow, or of the slowest link in the direction of
    /// its data]
    #[arg(long, value_name = "NAME")]
    pub link: Option<String>,
    /// Number of the run of `series`
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub run: u64,
    /// Width in millimetres: 85 for one of two columns, 178 for both. Letters have 8 pt
    #[arg(long, value_name = "MM", default_value_t = 85.0)]
    pub width: f64,
    /// Letters with serifs
    #[arg(long)]
    pub serif: bool,
    /// Greys, hatches and dashes instead of colours
    #[arg(long)]
    pub grey: bool,
    /// Write the caption below the drawing; its title always has it
    #[arg(long)]
    pub caption: bool,
}

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A drawing
    Svg,
    /// The numbers, with full precision
    Csv,
    /// The numbers as a table in Markdown
    Markdown,
    /// The numbers as a table in LaTeX, for the package booktabs
    Latex,
}

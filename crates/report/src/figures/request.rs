//! What figures are asked for, what they are made of, and what they are.

use super::table::FigureTable;
use crate::recording::Recording;
use bentpipe_results::{Manifest, Point, Results};
use std::error::Error;
use std::fmt::{Display, Formatter};

/// What a figure shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// Where the time of each variant went.
    Budget,
    /// A metric over the values of a swept key.
    Sweep,
    /// The distribution of a metric over the runs.
    Cdf,
    /// Time series of a run of each variant.
    Series,
    /// A metric over two swept keys.
    Heat,
}

impl What {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Budget, Self::Sweep, Self::Cdf, Self::Series, Self::Heat];

    /// Returns the name in commands: `budget`, `sweep`, `cdf`, `series` or `heat`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Budget => "budget",
            Self::Sweep => "sweep",
            Self::Cdf => "cdf",
            Self::Series => "series",
            Self::Heat => "heat",
        }
    }

    /// Returns what it shows, for the help of commands.
    pub fn about(self) -> &'static str {
        match self {
            Self::Budget => "Where the time of each variant went: a bar each, of its median run",
            Self::Sweep => "A metric over the values of a swept key",
            Self::Cdf => {
                "The distribution of a metric over the runs, or over the users of a population"
            }
            Self::Series => "Time series of one run of each variant, overlaid",
            Self::Heat => "A metric over two swept keys; of a matrix, the shares",
        }
    }

    /// Returns the kind called `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|what| what.name() == name)
    }
}

/// What to draw of a run directory. Everything but `what` may be left out.
#[derive(Debug, Clone)]
pub struct FigureRequest {
    /// The kind.
    pub what: What,
    /// Name of the metric; by default the one that comparisons of the flow are of.
    pub metric: Option<String>,
    /// Name of the flow; by default the first one.
    pub flow: Option<String>,
    /// Number of the visit; by default the first that each variant reports.
    pub visit: Option<usize>,
    /// Values of swept keys: only these points.
    pub point: Point,
    /// Names of variants: only these; all if empty.
    pub variants: Vec<String>,
    /// Swept key on the axis of a sweep; by default the one with most values.
    pub along: Option<String>,
    /// Names of time series, a panel each; a few of the sender's if empty.
    pub series: Vec<String>,
    /// Link whose time series are shown; by default the slowest that has them.
    pub link: Option<String>,
    /// Number of the run of which time series are shown.
    pub run: u64,
}

impl FigureRequest {
    /// Returns the request of `what` with all defaults.
    pub fn new(what: What) -> Self {
        Self {
            what,
            metric: None,
            flow: None,
            visit: None,
            point: Point::new(),
            variants: Vec::new(),
            along: None,
            series: Vec::new(),
            link: None,
            run: 0,
        }
    }
}

/// How a figure looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FigureStyle {
    /// Width in millimetres, from 40 to 400.
    pub width_mm: f64,
    /// Letters with serifs, as most papers have them.
    pub serif: bool,
    /// Greys, hatches and dashes instead of colours.
    pub grey: bool,
    /// The caption below the figure; papers have their own.
    pub caption: bool,
}

impl Default for FigureStyle {
    /// One of two columns of a paper, in colour.
    fn default() -> Self {
        Self { width_mm: 85.0, serif: false, grey: false, caption: false }
    }
}

/// Widths that are drawn, in millimetres.
pub(super) const WIDTHS_MM: std::ops::RangeInclusive<f64> = 40.0..=400.0;

/// A figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// What it shows, with the scenario, the seed, the clock and the version.
    pub caption: String,
    /// The drawing.
    pub svg: String,
    /// The numbers.
    pub(super) table: FigureTable,
}

impl Figure {
    /// Returns the numbers as CSV with full precision, without the caption.
    pub fn csv(&self) -> String {
        self.table.csv()
    }

    /// Returns the numbers as a table in Markdown with its caption.
    pub fn markdown(&self) -> String {
        self.table.markdown(&self.caption)
    }

    /// Returns the numbers as a table in LaTeX with its caption; needs the package booktabs.
    pub fn latex(&self) -> String {
        self.table.latex(&self.caption)
    }
}

/// Why a figure cannot be drawn: the argument at fault, and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FigureError {
    /// The option of `bentpipe figure`.
    pub argument: &'static str,
    /// What is wrong, and what is allowed.
    pub reason: String,
}

impl FigureError {
    pub(super) fn new(argument: &'static str, reason: impl Into<String>) -> Self {
        Self { argument, reason: reason.into() }
    }
}

impl Display for FigureError {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}: {}", self.argument, self.reason)
    }
}

impl Error for FigureError {}

/// A run directory, as figures need it.
#[derive(Debug, Clone, Copy)]
pub struct FigureData<'a> {
    /// Its manifest.
    pub manifest: &'a Manifest,
    /// Its results.
    pub results: &'a Results,
    /// Its time series; only [`What::Series`] and [`offers`](crate::offers) read them.
    pub recording: &'a Recording,
}

/// What a kind of figure draws: its title and its numbers. The drawing is on the canvas.
pub(super) struct Drawn {
    pub title: String,
    pub table: FigureTable,
}

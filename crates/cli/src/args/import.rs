//! Arguments of `import`.

use bentpipe_recordings::options;
use bentpipe_units::{Rate, Span};
use clap::Args;
use clap::builder::PossibleValuesParser;
use std::path::PathBuf;

/// Shown after the help of `import`.
pub const EXAMPLES: &str = r#"Examples:
  bentpipe import ping.txt iperf3.json -o recorded --rate 20Mbps
  bentpipe import --up up.trace --down down.trace delays.txt -o recorded
  bentpipe run recorded/scenario.toml

Formats, told by the content, also of files compressed with gzip or Zstandard: output of ping (with
times: `ping -D`) and fping, tables of pings, JSON of irtt and iperf3, results of RIPE Atlas, traces
of mahimahi and delays of LeoReplayer, CSV and JSON of starlink-grpc-tools, records of UDP packets."#;

/// Names of the formats.
fn formats() -> PossibleValuesParser {
    Import::format_names().into()
}

/// Makes a scenario of measurements of a real path.
#[derive(Debug, Args)]
pub struct Import {
    /// Measurements, such as the output of `ping -D` or the JSON of iperf3
    #[arg(value_name = "FILE", required_unless_present_any = ["up", "down"])]
    pub files: Vec<PathBuf>,
    /// Measurements of the direction from the client to the server
    #[arg(long, value_name = "FILE")]
    pub up: Vec<PathBuf>,
    /// Measurements of the direction from the server to the client
    #[arg(long, value_name = "FILE")]
    pub down: Vec<PathBuf>,
    /// Directory to write to; it must not exist, or be empty
    #[arg(short, long, value_name = "DIR")]
    pub out: PathBuf,
    /// Format of all files [default: told by the content]
    #[arg(long, value_parser = formats())]
    pub format: Option<String>,
    /// Direction of rates and losses of which neither a file nor its name says it [default: up]
    #[arg(long, value_parser = ["up", "down"])]
    pub direction: Option<String>,
    /// How much later than the rates the delays begin [default: found by outages, or UTC]
    #[arg(long, value_name = "SPAN", value_parser = offset)]
    pub offset: Option<Span>,
    /// Time between pings of which no line has a time [default: 1s]
    #[arg(long, value_name = "SPAN", value_parser = interval)]
    pub interval: Option<Span>,
    /// When the path reconfigures, every 15 s from this time of each UTC minute on: 12s for
    /// Starlink, or none [default: none]
    #[arg(long, value_name = "SPAN", value_parser = phase)]
    pub phase: Option<Phase>,
    /// Rate of a direction for which no file has one
    #[arg(long)]
    pub rate: Option<Rate>,
    /// Licence of the files, for ORIGIN.md
    #[arg(long, value_name = "TEXT")]
    pub licence: Option<String>,
}

impl Import {
    /// Returns the names of the formats.
    pub fn format_names() -> [&'static str; bentpipe_recordings::Format::ALL.len()] {
        bentpipe_recordings::Format::ALL.map(|(_, name)| name)
    }
}

/// Value of `--phase`.
#[derive(Debug, Clone, Copy)]
pub struct Phase(pub Option<Span>);

/// Reads the value of `--phase`.
///
/// # Errors
/// What is allowed.
pub fn phase(text: &str) -> Result<Phase, String> {
    options::phase(text).map(Phase)
}

/// Reads the value of `--offset`.
///
/// # Errors
/// What is allowed.
pub fn offset(text: &str) -> Result<Span, String> {
    options::offset(text)
}

/// Reads the value of `--interval`.
///
/// # Errors
/// What is allowed.
pub fn interval(text: &str) -> Result<Span, String> {
    options::interval(text)
}

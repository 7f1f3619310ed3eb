//! Arguments of `measure`.

use super::values::nonzero_time;
use bentpipe_net::measure::SHORTEST;
use bentpipe_units::{Bytes, Span};
use clap::Args;
use std::path::PathBuf;

/// Shown after the help of `measure`.
pub const EXAMPLES: &str = r#"Examples:
  bentpipe measure --make-token token
  bentpipe serve public --self-signed --measure token --measure-listen 0.0.0.0:4434
  bentpipe measure server.test:4434 --token token -o measured
  bentpipe run measured/scenario.toml

The server's user makes the token and gives it to whoever may measure. A measurement is pings of 100
bytes at 100 per second in each direction, then a download and an upload, and stops at its budget."#;

/// Reads the time of a whole measurement.
///
/// # Errors
/// What is allowed.
pub fn whole_time(text: &str) -> Result<Span, String> {
    let time: Span = text.parse().map_err(|error| format!("{error}"))?;
    if time >= SHORTEST { Ok(time) } else { Err(format!("allowed: {SHORTEST} or more")) }
}

/// Measures the path to a server that allows it, and makes a scenario of it.
#[derive(Debug, Args)]
pub struct Measure {
    /// The server: a host and the port of its `bentpipe serve --measure-listen`
    #[arg(value_name = "HOST:PORT", required_unless_present = "make_token")]
    pub server: Option<String>,
    /// File of the token that the server has too
    #[arg(long, value_name = "FILE", required_unless_present = "make_token")]
    pub token: Option<PathBuf>,
    /// Write a new token to this file, for both ends, and exit
    #[arg(long, value_name = "FILE", conflicts_with_all = ["server", "token", "out"])]
    pub make_token: Option<PathBuf>,
    /// Directory to write to; it must not exist, or be empty
    #[arg(short, long, value_name = "DIR", required_unless_present = "make_token")]
    pub out: Option<PathBuf>,
    /// Do not ask whether to send
    #[arg(long)]
    pub yes: bool,
    /// Most bytes to send and receive, as UDP payload
    #[arg(long, value_name = "SIZE", default_value = "100 MB")]
    pub size: Bytes,
    /// Longest time of the whole measurement
    #[arg(long, value_name = "TIME", default_value = "3 min", value_parser = whole_time)]
    pub time: Span,
    /// Time of the pings before the transfers; a path that changes every 15 s needs four of them
    #[arg(long, value_name = "TIME", default_value = "62 s", value_parser = nonzero_time)]
    pub pings: Span,
    /// Longest time of the download, and of the upload
    #[arg(long, value_name = "TIME", default_value = "12 s", value_parser = nonzero_time)]
    pub transfer: Span,
}

//! Arguments of `bentpipe contacts`.

use bentpipe_units::{Bytes, Span};
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  bentpipe contacts plan.ionrc
  bentpipe contacts plan.ionrc --from 10 --to 20 --size 10MiB
  bentpipe contacts network.json --events events.json --from GND --to ING --at 2h
  bentpipe contacts plan.ionrc --from 10 --to 20 --path >> mars.toml     (hops for a scenario)";

/// Arguments of `bentpipe contacts`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Contacts {
    /// Contact plan: ION (ionrc), HDTN (JSON), or the topology of dipt-quic-workbench (JSON)
    #[arg(value_name = "FILE")]
    pub plan: PathBuf,
    /// Events of the workbench, which take links up and down
    #[arg(long, value_name = "FILE")]
    pub events: Option<PathBuf>,
    /// Node of the client
    #[arg(long, value_name = "NODE", requires = "to")]
    pub from: Option<String>,
    /// Node of the server
    #[arg(long, value_name = "NODE", requires = "from")]
    pub to: Option<String>,
    /// Nodes of the route, both ends included [default: those by which a packet arrives first]
    #[arg(long, value_name = "NODE,…", value_delimiter = ',', requires = "from")]
    pub via: Vec<String>,
    /// Size of the answer
    #[arg(long, value_name = "SIZE", default_value = "1 kB", requires = "from")]
    pub size: Bytes,
    /// Time at which the client starts, from the reference of the plan
    #[arg(long, value_name = "TIME", default_value = "0 s", requires = "from")]
    pub at: Span,
    /// The request leaves without a handshake before it (0-RTT)
    #[arg(long, requires = "from")]
    pub early_data: bool,
    /// Print the route as [[path.hop]] tables for a scenario instead
    #[arg(long, requires = "from", conflicts_with = "json")]
    pub path: bool,
    /// Print one JSON document to standard output, and nothing else
    #[arg(long)]
    pub json: bool,
}

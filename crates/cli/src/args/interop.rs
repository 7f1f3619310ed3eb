//! The command line of `bentpipe interop`.

use super::count::count;
use super::suggest::{profile_names, text};
use bentpipe_interop::Protocol;
use bentpipe_units::Bytes;
use clap::Args;
use std::num::NonZeroUsize;
use std::path::PathBuf;

const EXAMPLES: &str = r#"Examples:
  bentpipe interop                                             (10 MB over geo-50-10)
  bentpipe interop --size "2 MB" "10 MB" "100 MB" --repeat 3
  bentpipe interop --clients curl_cffi,quinn --servers quic-go --profiles geo-50-10,leo
  bentpipe interop --clients chromium --servers quic-go --protocols h1,h2,h3
  bentpipe interop --json | jq '.cells[] | select(.met == false)'

peers/install installs all peers, or those given by name. The command needs root or user
namespaces, and /dev/net/tun. The host's own network stays unchanged.

Exit status:
  0  all downloads completed
  1  a download failed
  2  the command line or a peer's description is invalid
  3  paths cannot be emulated here, or the command was interrupted"#;

/// Arguments of `bentpipe interop`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Interop {
    /// Use only these clients [default: all]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub clients: Vec<String>,
    /// Use only these servers [default: all]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub servers: Vec<String>,
    /// Names of paths (see `bentpipe profiles`)
    #[arg(
        long,
        value_name = "NAME,…",
        value_delimiter = ',',
        default_value = "geo-50-10",
        value_parser = text(profile_names),
        hide_possible_values = true
    )]
    pub profiles: Vec<String>,
    /// HTTP versions; each pairing runs those that both sides support
    #[arg(
        long,
        value_name = "NAME,…",
        value_delimiter = ',',
        value_parser = protocol,
        default_value = "h3"
    )]
    pub protocols: Vec<Protocol>,
    /// File sizes
    #[arg(
        long = "size",
        value_name = "SIZE",
        num_args = 1..,
        value_delimiter = ',',
        default_value = "10 MB"
    )]
    pub sizes: Vec<Bytes>,
    /// Downloads per pairing
    #[arg(long, value_name = "N", default_value = "1", value_parser = count)]
    pub repeat: NonZeroUsize,
    /// Number of parallel downloads; more than one needs an idle machine and low rates
    #[arg(long, value_name = "N", default_value = "1", value_parser = count)]
    pub jobs: NonZeroUsize,
    /// Seed of the links' random draws
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Directory with the descriptions of peers
    #[arg(long, value_name = "DIR", default_value = "peers")]
    pub peers: PathBuf,
    /// Directory with the installed peers [default: $BENTPIPE_PEERS, or target/peers]
    #[arg(long, value_name = "DIR")]
    pub installed: Option<PathBuf>,
    /// Directory for the results and the report [default: out/interop]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// List installed and missing peers, and exit
    #[arg(long)]
    pub list: bool,
    /// Print one JSON document to standard output, and nothing else
    #[arg(long)]
    pub json: bool,
}

fn protocol(text: &str) -> Result<Protocol, String> {
    let found = Protocol::ALL.into_iter().find(|protocol| protocol.name() == text);
    found.ok_or_else(|| format!("`{text}` is not an HTTP version; allowed: h3, h2, h1"))
}

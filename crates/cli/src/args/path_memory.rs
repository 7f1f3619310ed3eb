//! The command line of `bentpipe path-memory`.

use bentpipe_quic::path_memory::IpPrefix;
use clap::{Args, Subcommand};
use std::path::PathBuf;

pub const EXAMPLES: &str = r#"Examples:
  bentpipe path-memory list
  bentpipe path-memory list 2001:db8::/32 --json | jq '.paths[].window_bytes'
  bentpipe path-memory forget 192.0.2.7                             (the network of this address)
  bentpipe path-memory forget --all --store /var/lib/bentpipe/paths.sqlite"#;

/// Subcommands of `path-memory`.
#[derive(Debug, Subcommand)]
pub enum PathMemory {
    /// List remembered paths: window, RTT, age, and whether a connection is using them
    #[command(after_help = EXAMPLES)]
    List {
        /// The path store.
        #[command(flatten)]
        store: Store,
        /// Only networks within these, or that contain these
        #[arg(value_name = "PREFIX")]
        prefixes: Vec<IpPrefix>,
    },
    /// Forget remembered paths, even if in use; a running server follows within a second, and the
    /// next connection starts as on an unknown path
    #[command(after_help = EXAMPLES)]
    Forget {
        /// The path store.
        #[command(flatten)]
        store: Store,
        /// Networks to forget: those within these, or that contain these
        #[arg(value_name = "PREFIX", required_unless_present = "all")]
        prefixes: Vec<IpPrefix>,
        /// Forget all paths
        #[arg(long, conflicts_with = "prefixes")]
        all: bool,
    },
}

/// Location of the path store, and the output format.
#[derive(Debug, Args)]
pub struct Store {
    /// File of the path store [default: $XDG_STATE_HOME/bentpipe/paths.sqlite, or
    /// ~/.local/state/bentpipe/paths.sqlite]
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
    /// Print one JSON document to standard output, and nothing else
    #[arg(long)]
    pub json: bool,
}

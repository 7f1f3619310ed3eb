//! Arguments of `bentpipe studio`.

use super::StoreArgs;
use super::count::count;
use clap::Args;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Arguments of `bentpipe studio`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  bentpipe studio\n  bentpipe studio scenarios --no-open")]
pub struct Studio {
    /// Directory with scenarios, which are read and saved only below it. Results: DIR/out/studio
    #[arg(default_value = ".")]
    pub dir: PathBuf,
    /// TCP port of 127.0.0.1; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    pub port: u16,
    /// Number of parallel runs [default: number of CPUs]
    #[arg(long, value_name = "N", value_parser = count)]
    pub jobs: Option<NonZeroUsize>,
    /// The result store.
    #[command(flatten)]
    pub store: StoreArgs,
    /// Print the address, and do not open a browser
    #[arg(long)]
    pub no_open: bool,
}

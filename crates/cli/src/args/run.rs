//! Arguments of `bentpipe run`, and of the other commands that run or reuse runs.

use super::count::count;
use super::{Clock, RUN_EXAMPLES};
use bentpipe_lab::Shard;
use clap::Args;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Arguments of `bentpipe run`.
#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub struct Run {
    /// Scenario files (TOML)
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Change a key of the scenario, by dotted path; name entries of lists (variant.NAME.key)
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Seed of all random draws, instead of the scenario's
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Number of runs of each variant and sweep point, instead of the scenario's
    #[arg(long, value_name = "N")]
    pub repeat: Option<u64>,
    /// Number of parallel runs [default: number of CPUs; 1 with `--clock real`]
    #[arg(long, value_name = "N", value_parser = count)]
    pub jobs: Option<NonZeroUsize>,
    /// Run directory to write, or the parent of the run directories if there are several files
    /// [default: out/NAME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Clock of the run
    #[arg(long, value_enum, default_value_t = Clock::Virtual)]
    pub clock: Clock,
    /// Run one of N parts of the study, for `bentpipe merge` [default directory:
    /// out/NAME-shard-K-of-N]
    #[arg(long, value_name = "K/N")]
    pub shard: Option<Shard>,
    /// Run on the Dask cluster with this scheduler, instead of on this machine; in the command of
    /// the Python package only
    #[arg(long, value_name = "ADDRESS", conflicts_with = "jobs")]
    pub dask: Option<String>,
    /// Print what would run and about how long it would take, and run nothing
    #[arg(long)]
    pub dry_run: bool,
    /// The result store
    #[cfg(feature = "store")]
    #[command(flatten)]
    pub store: StoreArgs,
    /// Print every row of a sweep and every expectation, instead of the best variant of each point
    #[arg(long, conflicts_with = "json")]
    pub full: bool,
    /// Print errors and expectations that are not met, and nothing else
    #[arg(long, conflicts_with_all = ["json", "full"])]
    pub quiet: bool,
    /// Open each report in the browser
    #[arg(long)]
    pub open: bool,
    /// Print one JSON document to standard output, and nothing else (a list of documents if there
    /// are several files)
    #[arg(long)]
    pub json: bool,
}

/// How runs use the result store.
#[cfg(feature = "store")]
#[derive(Debug, Default, Args)]
pub struct StoreArgs {
    /// Directory of the result store [default: `bentpipe` in the cache directory of the user]
    #[arg(long, value_name = "DIR", env = "BENTPIPE_STORE", hide_env_values = true)]
    pub store: Option<PathBuf>,
    /// Neither take results from the store nor keep them there
    #[arg(long)]
    pub no_store: bool,
    /// Run everything again, even what the store has
    #[arg(long)]
    pub no_reuse: bool,
}

/// Arguments of `bentpipe replay`.
#[derive(Debug, Args)]
#[command(after_help = REPLAY_EXAMPLES)]
pub struct Replay {
    /// Run directory
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Variant of the run [default: the only one]
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    /// Number of the run, from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub run: u64,
    /// Value of a swept key; once for each key [default: its only value]
    #[arg(long, value_name = "KEY=VALUE")]
    pub point: Vec<String>,
    /// Run directory to write [default: out/NAME-VARIANT-runN]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print one JSON document to standard output, and nothing else
    #[arg(long)]
    pub json: bool,
}

const REPLAY_EXAMPLES: &str = r#"Examples:
  bentpipe replay out/first --run 19
  bentpipe replay out/cnes-start --variant 0rtt-careful --run 3 --point workload.download="2 MB""#;

/// Arguments of `bentpipe merge`.
#[derive(Debug, Args)]
#[command(after_help = MERGE_EXAMPLES)]
pub struct Merge {
    /// Run directories of the shards
    #[arg(required = true, value_name = "DIR")]
    pub dirs: Vec<PathBuf>,
    /// Run directory to write [default: out/NAME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print one JSON document to standard output, and nothing else
    #[arg(long)]
    pub json: bool,
}

const MERGE_EXAMPLES: &str = "\
Examples:
  bentpipe run my.toml --shard 1/2                     (on one machine)
  bentpipe run my.toml --shard 2/2                     (on another)
  bentpipe merge out/my-shard-1-of-2 out/my-shard-2-of-2";

/// Subcommands of `bentpipe cache`.
#[cfg(feature = "store")]
#[derive(Debug, clap::Subcommand)]
pub enum Cache {
    /// Print where the result store is, and what it has
    Show {
        /// Directory of the result store
        #[arg(long, value_name = "DIR", env = "BENTPIPE_STORE", hide_env_values = true)]
        store: Option<PathBuf>,
        /// Print one JSON document to standard output, and nothing else
        #[arg(long)]
        json: bool,
    },
    /// Remove all results
    Clear {
        /// Directory of the result store
        #[arg(long, value_name = "DIR", env = "BENTPIPE_STORE", hide_env_values = true)]
        store: Option<PathBuf>,
        /// Only those of other versions of the simulator, which this one does not reuse
        #[arg(long)]
        stale: bool,
    },
    /// Set the size above which the results that were not used for longest are removed
    Limit {
        /// Size, for example "8 GB"
        size: bentpipe_units::Bytes,
        /// Directory of the result store
        #[arg(long, value_name = "DIR", env = "BENTPIPE_STORE", hide_env_values = true)]
        store: Option<PathBuf>,
    },
}

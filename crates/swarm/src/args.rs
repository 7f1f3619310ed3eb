//! The command line.

use crate::case::Kind;
use clap::Parser;
use std::num::NonZeroUsize;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  swarm --minutes 2             random episodes for two minutes
  swarm --seed 17               the episode of one seed, as a failure prints it
  swarm --seed 17 --runs 20     20 episodes from that seed on
  swarm --seed 17 --without loss,pep
                                the episode without two of its dimensions
  swarm --seed 17 --show        what the seed draws, without playing it";

/// Plays random episodes of the whole laboratory, each drawn from one seed, and checks that every
/// one is safe and ends.
///
/// The first failure is made smaller, printed with its seed and the command that repeats it, and
/// written to a file; the exit status is 1 then.
#[derive(Debug, Parser)]
#[command(name = "swarm", version, after_help = EXAMPLES)]
pub struct Args {
    /// First seed [default: drawn from the time]. Alone, it is the only one.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Plays episodes for that many minutes [default without --seed and --runs: 2].
    #[arg(long, value_name = "M", value_parser = positive)]
    pub minutes: Option<f64>,

    /// Plays that many episodes.
    #[arg(long, value_name = "N")]
    pub runs: Option<u64>,

    /// Number of episodes that are played at once [default: number of CPUs].
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,

    /// Plays episodes of one kind only [default: drawn from the seed].
    #[arg(long, value_name = "KIND")]
    pub kind: Option<Kind>,

    /// Leaves out dimensions, separated by commas: see --dimensions.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub without: Vec<String>,

    /// Directory of the file that a failure is written to.
    #[arg(long, value_name = "DIR", default_value = "out")]
    pub out: PathBuf,

    /// Prints what the seed draws, and plays nothing.
    #[arg(long, requires = "seed")]
    pub show: bool,

    /// Lists the dimensions of each kind of episode.
    #[arg(long)]
    pub dimensions: bool,

    /// Plays a part of an episode on the small disk at DIR (for `swarm` itself).
    #[arg(long, value_name = "DIR", hide = true, requires = "seed")]
    pub on_disk: Option<PathBuf>,
}

fn positive(text: &str) -> Result<f64, String> {
    let minutes = text.parse().ok().filter(|minutes: &f64| *minutes > 0.0 && minutes.is_finite());
    minutes.ok_or_else(|| "allowed: a number above 0".to_owned())
}

//! The command line.

mod pep;
mod product;

pub use pep::{Mode, Pep, Side};
pub use product::{Get, LogStyle, Serve};

use bentpipe_quic::memory::IpPrefix;
use bentpipe_units::Span;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use std::num::NonZeroUsize;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  bentpipe profiles
  bentpipe controllers cubic
  bentpipe orbit kuiper-630 --from Toronto --to Washington
  bentpipe run scenarios/published/cnes-start.toml
  bentpipe run my.toml --set workload.download=\"20 MB\" --repeat 50
  bentpipe run my.toml --json > results.json
  bentpipe report out/cnes-start

Exit status: 0 all well; 1 an expectation did not hold; 2 the scenario or the command line is wrong;
3 a run failed or was interrupted.";

const RUN_EXAMPLES: &str = "\
Examples:
  bentpipe run my.toml
  bentpipe run my.toml --set path.profile=geo-250-3 --set variant.0rtt.congestion=newreno
  bentpipe run my.toml --set workload.download='[\"1 MB\", \"5 MB\"]'   (where it is swept: other values)
  bentpipe run a.toml b.toml --out results                          (results/NAME for each)
  bentpipe run my.toml --json | jq '.summary[] | select(.metric == \"completion_s\")'";

const MATRIX_EXAMPLES: &str = "\
Examples:
  bentpipe matrix
  bentpipe matrix --controllers newreno,cubic,bbr3
  bentpipe matrix my.toml --set path.rtt=\"300 ms\" --json | jq '.runs[].fairness.jain'";

const CONTROLLERS_EXAMPLES: &str = "\
Examples:
  bentpipe controllers
  bentpipe controllers cubic
  bentpipe controllers --json | jq '.[] | select(.kind == \"start\") | .name'";

const PATHS_EXAMPLES: &str = "\
Examples:
  bentpipe paths list
  bentpipe paths list 2001:db8::/32 --json | jq '.paths[].window_bytes'
  bentpipe paths forget 192.0.2.7                                   (the network that this address is in)
  bentpipe paths forget --all --store /var/lib/bentpipe/paths.sqlite";

const ORBIT_EXAMPLES: &str = "\
Examples:
  bentpipe orbit kuiper-630 --from Toronto --to Washington
  bentpipe orbit scenarios/examples/leo.toml --length 10min --step 1s
  bentpipe orbit leo.toml --csv > rtt.csv
  bentpipe orbit leo.toml --paths 3 --czml leo.czml --html leo.html
  bentpipe orbit kuiper-630 --sharing=30                            (among the 30 largest cities)
  bentpipe orbit leo.toml --json | jq '.flows[].summary'";

const PLACES_EXAMPLES: &str = "\
Examples:
  bentpipe places
  bentpipe places san";

/// A laboratory for transport protocols on satellite paths.
#[derive(Debug, Parser)]
#[command(name = "bentpipe", version, after_help = EXAMPLES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run scenarios, print their results, and write a run directory with a report for each
    Run(Run),
    /// Play every congestion controller against every other on a path, and print heat maps of their shares
    Matrix(Matrix),
    /// List the built-in paths with their bandwidth-delay products and time targets
    Profiles {
        /// One JSON document on standard output and nothing else
        #[arg(long)]
        json: bool,
    },
    /// List congestion controllers, ways to start and ways to resume, with their parameters
    #[command(after_help = CONTROLLERS_EXAMPLES)]
    Controllers {
        /// Only the one of that name
        name: Option<String>,
        /// One JSON document on standard output and nothing else
        #[arg(long)]
        json: bool,
    },
    /// List what is remembered of paths, or forget it
    #[command(after_help = PATHS_EXAMPLES)]
    Paths {
        /// What to do
        #[command(subcommand)]
        command: Paths,
    },
    /// Serve the files of a directory over HTTP/3, and over HTTP/1.1 and HTTP/2 beside it
    Serve(Serve),
    /// Download files over HTTP/3, and go on where an earlier download ended
    Get(Get),
    /// Split TCP connections that cross this machine: a performance-enhancing proxy
    Pep(Pep),
    /// Show the ways that a network of satellites offers over time, without packets
    #[command(after_help = ORBIT_EXAMPLES)]
    Orbit(Orbit),
    /// List the built-in constellations
    Constellations {
        /// One JSON document on standard output and nothing else
        #[arg(long)]
        json: bool,
    },
    /// List the cities that stations and flows can be at
    #[command(after_help = PLACES_EXAMPLES)]
    Places {
        /// Only those whose names hold this
        part: Option<String>,
        /// One JSON document on standard output and nothing else
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON Schema of scenario files, for editors
    Schema,
    /// Write report.html anew from the results in a run directory
    Report {
        /// A directory that `bentpipe run` wrote
        dir: PathBuf,
    },
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// What to do with remembered paths.
#[derive(Debug, Subcommand)]
pub enum Paths {
    /// List remembered paths: window, round trip, age, whether a connection uses them
    #[command(after_help = PATHS_EXAMPLES)]
    List {
        /// Where they are kept.
        #[command(flatten)]
        store: Store,
        /// Only networks within these, or that these are within
        #[arg(value_name = "PREFIX")]
        prefixes: Vec<IpPrefix>,
    },
    /// Forget remembered paths, in use or not: the next connection starts as on an unknown one
    #[command(after_help = PATHS_EXAMPLES)]
    Forget {
        /// Where they are kept.
        #[command(flatten)]
        store: Store,
        /// Networks to forget: those within these, or that these are within
        #[arg(value_name = "PREFIX", required_unless_present = "all")]
        prefixes: Vec<IpPrefix>,
        /// Forget everything
        #[arg(long, conflicts_with = "prefixes")]
        all: bool,
    },
}

/// Where paths are kept, and how to print.
#[derive(Debug, Args)]
pub struct Store {
    /// File of the path store [default: $XDG_STATE_HOME/bentpipe/paths.sqlite, or
    /// ~/.local/state/bentpipe/paths.sqlite]
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
    /// One JSON document on standard output and nothing else
    #[arg(long)]
    pub json: bool,
}

/// What to run, and how.
#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub struct Run {
    /// Scenario files (TOML)
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Change a key of the scenario, by dotted path; lists are entered by name (variant.NAME.key)
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Seed of every random draw, instead of the scenario's
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Runs of each variant at each point, instead of the scenario's
    #[arg(long, value_name = "N")]
    pub repeat: Option<u64>,
    /// Runs at the same time [default: one for each processor]
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Run directory to write, or the directory of run directories where there are several files [default: out/NAME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Which clock runs
    #[arg(long, value_enum, default_value_t = Clock::Virtual)]
    pub clock: Clock,
    /// One JSON document on standard output and nothing else (a list of documents where there are several files)
    #[arg(long)]
    pub json: bool,
}

/// Who plays against whom, and where.
#[derive(Debug, Args)]
#[command(after_help = MATRIX_EXAMPLES)]
pub struct Matrix {
    /// Scenario files (TOML) with two flows under congestion control each [default: a built-in one in low orbits and one over a geostationary satellite]
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Only these controllers [default: all but fixed-rate, which does not compete]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub controllers: Vec<String>,
    /// Change a key of the scenario, by dotted path; lists are entered by name (flow.NAME.key)
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Seed of every random draw, instead of the scenario's
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Runs of each pair, instead of the scenario's
    #[arg(long, value_name = "N")]
    pub repeat: Option<u64>,
    /// Runs at the same time [default: one for each processor]
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Directory of the run directories: one for each scenario, by its name [default: out]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// One JSON document on standard output and nothing else (a list of documents where there are several scenarios)
    #[arg(long)]
    pub json: bool,
}

/// Which network to look at, and how.
#[derive(Debug, Args)]
pub struct Orbit {
    /// Scenario with [path.orbit] (TOML), or the name of a constellation with --from and --to
    #[arg(value_name = "SCENARIO")]
    pub scenario: PathBuf,
    /// One end, instead of the scenario's flows: a station of it, or a city
    #[arg(long, value_name = "PLACE", requires = "to")]
    pub from: Option<String>,
    /// The other end
    #[arg(long, value_name = "PLACE", requires = "from")]
    pub to: Option<String>,
    /// How long to look
    #[arg(long, value_name = "TIME", default_value = "200 s")]
    pub length: Span,
    /// How often to look [default: the scenario's step; 1 s with --sharing]
    #[arg(long, value_name = "TIME")]
    pub step: Option<Span>,
    /// Also up to so many ways that share no link, as they are at the beginning
    #[arg(long, value_name = "K", default_value_t = 0)]
    pub paths: usize,
    /// Instead: pairs of flows that share a link while their round trips differ; among the scenario's flows, or between the
    /// largest so many cities
    #[arg(long, value_name = "CITIES", num_args = 0..=1, require_equals = true, default_missing_value = "0", conflicts_with_all = ["csv", "czml", "html", "paths"])]
    pub sharing: Option<usize>,
    /// Change a key of the scenario, by dotted path
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// One JSON document on standard output and nothing else
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// Every sample as comma-separated values
    #[arg(long)]
    pub csv: bool,
    /// Write satellites, stations and ways for CesiumJS
    #[arg(long, value_name = "FILE")]
    pub czml: Option<PathBuf>,
    /// Write a page with the globe and round trips over time
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// A clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Clock {
    /// Deterministic simulation, as fast as the processor allows
    Virtual,
}

//! The command line.

mod compare;
#[cfg(feature = "product")]
pub mod config_file;
mod contacts;
mod count;
mod explain;
mod figure;
#[cfg(feature = "product")]
mod front;
pub mod import;
#[cfg(feature = "real-clock")]
pub mod interop;
#[cfg(feature = "product")]
pub mod measure;
#[cfg(feature = "product")]
mod path_memory;
#[cfg(feature = "product")]
mod pep;
#[cfg(feature = "product")]
mod product;
mod run;
#[cfg(feature = "real-clock")]
pub mod shell;
#[cfg(feature = "studio")]
mod studio;
mod study;
mod suggest;
#[cfg(feature = "product")]
mod values;

pub use compare::Compare;
pub use contacts::Contacts;
pub use explain::Explain;
pub use figure::{Figure, Format as FigureFormat};
#[cfg(feature = "product")]
pub use front::Front;
#[cfg(feature = "product")]
pub use path_memory::{PathMemory, Store};
#[cfg(feature = "product")]
pub use pep::{Mode, Pep, Side};
#[cfg(feature = "product")]
pub use product::{ClientSide, Get, LogStyle, Proxy, Serve, ServerOptions, UpstreamOptions};
#[cfg(feature = "store")]
pub use run::{Cache, StoreArgs};
pub use run::{Merge, Replay, Run};
#[cfg(feature = "studio")]
pub use studio::Studio;
pub use study::{Check, Init};
#[cfg(feature = "product")]
pub use values::set_parameters;

use bentpipe_units::Span;
use clap::{Args, Parser, Subcommand, ValueEnum};
use count::count;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use suggest::{controller_names, entry_names, text};

const EXAMPLES: &str = r#"Examples:
  bentpipe profiles
  bentpipe controllers cubic
  bentpipe orbit kuiper-630 --from Toronto --to Washington
  bentpipe run scenarios/published/cnes-start.toml
  bentpipe run my.toml --set workload.download="20 MB" --repeat 50
  bentpipe run my.toml --json > results.json
  bentpipe report out/cnes-start

Exit status:
  0  success
  1  an expectation failed, or a comparison found a regression
  2  the scenario or the command line is invalid
  3  a run failed or was interrupted, or a transfer did not complete"#;

const RUN_EXAMPLES: &str = r#"Examples:
  bentpipe run my.toml
  bentpipe run my.toml --set path.profile=geo-250-3 --set variant.0rtt.congestion=newreno

  Replace the values of a swept key:
  bentpipe run my.toml --set workload.download='["1 MB", "5 MB"]'

  Continue a study that was interrupted, or add repeats to one (only the new ones run):
  bentpipe run my.toml --repeat 50

  See what would run, and for how long:
  bentpipe run my.toml --dry-run

  Write to results/NAME for each scenario:
  bentpipe run a.toml b.toml --out results

  bentpipe run my.toml --json | jq '.summary[] | select(.metric == "completion_s")'"#;

const REPORT_EXAMPLES: &str = r#"Examples:
  bentpipe report out/cnes-start

  Write out/cnes-start/editable.html, to send to others:
  bentpipe report --editable out/cnes-start"#;

const MATRIX_EXAMPLES: &str = r#"Examples:
  bentpipe matrix
  bentpipe matrix --controllers newreno,cubic,bbr3
  bentpipe matrix my.toml --set path.rtt="300 ms" --json | jq '.runs[].fairness.jain_index'

See `bentpipe interop` for other implementations over an emulated path."#;

const CONTROLLERS_EXAMPLES: &str = r#"Examples:
  bentpipe controllers
  bentpipe controllers cubic
  bentpipe controllers --json | jq '.[] | select(.kind == "slow_start") | .name'"#;

const ORBIT_EXAMPLES: &str = r#"Examples:
  bentpipe orbit kuiper-630 --from Toronto --to Washington
  bentpipe orbit kuiper-630 --from 51.5,-0.1 --to 35.7,139.7        (latitude and longitude)
  bentpipe orbit scenarios/examples/leo.toml --duration 10min --step 1s
  bentpipe orbit leo.toml --csv > rtt.csv
  bentpipe orbit leo.toml --disjoint 3 --czml leo.czml --html leo.html
  bentpipe orbit kuiper-630 --sharing=30                            (between the 30 largest cities)
  bentpipe orbit leo.toml --json | jq '.flows[].summary'"#;

const CITIES_EXAMPLES: &str = "\
Examples:
  bentpipe cities
  bentpipe cities san";

/// Simulates and emulates QUIC and TCP over satellite paths
#[derive(Debug, Parser)]
#[command(name = "bentpipe", version = crate::version::VERSION, after_help = EXAMPLES)]
pub struct Cli {
    /// The subcommand to run.
    #[command(subcommand)]
    pub command: Command,
}

/// Subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a scenario to start from, with comments
    Init(Init),
    /// Check scenarios without running them
    Check(Check),
    /// Run scenarios, print their results, and write a run directory with a report for each
    Run(Run),
    /// Run one run of a run directory again, with time series, qlog and capture
    Replay(Replay),
    /// Say where the time of each variant went, and what made the difference
    Explain(Explain),
    /// Make a scenario of measurements of a real path
    #[command(after_help = import::EXAMPLES)]
    Import(import::Import),
    /// Measure the path to a server that allows it, and make a scenario of it
    #[cfg(feature = "product")]
    #[command(after_help = measure::EXAMPLES)]
    Measure(measure::Measure),
    /// Join the run directories of shards into one
    Merge(Merge),
    /// Compare two sets of runs, and fail if the second is worse
    Compare(Compare),
    #[cfg(feature = "store")]
    /// Show or clear the result store, from which later studies take the runs that they share
    Cache {
        /// The subcommand to run
        #[command(subcommand)]
        command: Cache,
    },
    /// Run every congestion controller against every other on a path, and print heat maps of their
    /// shares
    Matrix(Matrix),
    #[cfg(feature = "real-clock")]
    /// Run downloads between other HTTP implementations and Bentpipe's over emulated paths
    Interop(interop::Interop),
    #[cfg(feature = "real-clock")]
    /// Run a command behind an emulated satellite path, on the real kernel
    #[command(after_help = shell::EXAMPLES)]
    Shell(shell::Shell),
    /// List the built-in paths with their bandwidth-delay products and time targets
    Profiles {
        /// Print one JSON document to standard output, and nothing else
        #[arg(long)]
        json: bool,
    },
    /// List congestion controllers, slow-start algorithms and resumption, with their parameters
    #[command(after_help = CONTROLLERS_EXAMPLES)]
    Controllers {
        /// Print only the entry of this name
        #[arg(value_parser = text(entry_names), hide_possible_values = true)]
        name: Option<String>,
        /// Print one JSON document to standard output, and nothing else
        #[arg(long)]
        json: bool,
    },
    #[cfg(feature = "product")]
    /// List or forget remembered paths
    #[command(after_help = path_memory::EXAMPLES)]
    PathMemory {
        /// The subcommand to run
        #[command(subcommand)]
        command: PathMemory,
    },
    #[cfg(feature = "product")]
    /// Serve the files of a directory over HTTP/3, HTTP/2 and HTTP/1.1
    Serve(Serve),
    #[cfg(feature = "product")]
    /// Serve a web server's content over HTTP/3, HTTP/2 and HTTP/1.1, as a reverse proxy
    Proxy(Proxy),
    #[cfg(feature = "product")]
    /// Add HTTP/3 to the web server of this machine: UDP only, with its certificates and its hosts
    Front(Front),
    #[cfg(feature = "product")]
    /// Download files over HTTP/3, and resume interrupted downloads
    Get(Get),
    #[cfg(feature = "product")]
    /// Run a performance-enhancing proxy, which splits TCP connections that cross this machine
    Pep(Pep),
    /// Show the routes through a satellite network over time, without packets
    #[command(after_help = ORBIT_EXAMPLES)]
    Orbit(Orbit),
    /// Show a contact plan, and when data can arrive over it at the earliest
    Contacts(Contacts),
    /// List the built-in constellations
    Constellations {
        /// Print one JSON document to standard output, and nothing else
        #[arg(long)]
        json: bool,
    },
    /// List the built-in cities, for stations and flows
    #[command(after_help = CITIES_EXAMPLES)]
    Cities {
        /// Print only names that contain this text
        part: Option<String>,
        /// Print one JSON document to standard output, and nothing else
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON Schema of scenario files, for editors
    Schema {
        /// Print the schema of results instead: manifest.json, results.json and every metric
        #[arg(long)]
        results: bool,
        /// Print the schema of what `explain --json` says of a qlog file or a capture instead
        #[arg(long, conflicts_with = "results")]
        explain: bool,
    },
    #[cfg(feature = "studio")]
    /// Edit scenarios and run them in a browser
    Studio(Studio),
    /// Rebuild report.html from the results in a run directory, or write a page in which readers
    /// run the scenario again
    #[command(after_help = REPORT_EXAMPLES)]
    Report(Report),
    /// Write one figure of a run directory for a paper, as SVG, or its numbers as a table
    Figure(Figure),
    /// Write man pages, one for each subcommand
    Man {
        /// Directory for the pages, such as ~/.local/share/man/man1
        dir: PathBuf,
    },
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// Arguments of `bentpipe report`.
#[derive(Debug, Args)]
pub struct Report {
    /// A directory written by `bentpipe run`
    pub dir: PathBuf,
    /// Write editable.html: the report in one file that opens offline, in which the scenario can be
    /// changed and run
    #[arg(long)]
    pub editable: bool,
    /// The simulator for such a page, which `make wasm` writes [default: the one installed with the
    /// command, or built beside it]
    #[arg(long, value_name = "FILE", requires = "editable")]
    pub engine: Option<PathBuf>,
}

/// Arguments of `bentpipe matrix`.
#[derive(Debug, Args)]
#[command(after_help = MATRIX_EXAMPLES)]
pub struct Matrix {
    /// Scenario files (TOML) with two congestion-controlled flows each [default: two built-in ones,
    /// one for low Earth orbits and one for a geostationary satellite]
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Only these controllers [default: all except fixed-rate, which does not compete]
    #[arg(
        long,
        value_name = "NAME,…",
        value_delimiter = ',',
        value_parser = text(controller_names),
        hide_possible_values = true
    )]
    pub controllers: Vec<String>,
    /// Change a key of the scenario, by dotted path; name entries of lists (flow.NAME.key)
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Seed of all random draws, instead of the scenario's
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Number of runs of each pair, instead of the scenario's
    #[arg(long, value_name = "N")]
    pub repeat: Option<u64>,
    /// Number of parallel runs [default: number of CPUs]
    #[arg(long, value_name = "N", value_parser = count)]
    pub jobs: Option<NonZeroUsize>,
    /// Parent of the run directories, which are named after the scenarios [default: out]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// The result store
    #[cfg(feature = "store")]
    #[command(flatten)]
    pub store: StoreArgs,
    /// Print one JSON document to standard output, and nothing else (a list of documents if there
    /// are several scenarios)
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `bentpipe orbit`.
#[derive(Debug, Args)]
pub struct Orbit {
    /// Scenario with [path.orbit] (TOML), or the name of a constellation with --from and --to
    #[arg(value_name = "SCENARIO")]
    pub scenario: PathBuf,
    /// First end, instead of the scenario's flows: a station, a city, or LATITUDE,LONGITUDE
    #[arg(long, value_name = "PLACE", requires = "to", allow_hyphen_values = true)]
    pub from: Option<String>,
    /// Second end
    #[arg(long, value_name = "PLACE", requires = "from", allow_hyphen_values = true)]
    pub to: Option<String>,
    /// Duration to survey
    #[arg(long, value_name = "TIME", default_value = "200 s")]
    pub duration: Span,
    /// Time between samples [default: the scenario's step; 1 s with --sharing]
    #[arg(long, value_name = "TIME")]
    pub step: Option<Span>,
    /// Also list up to K link-disjoint routes at the start
    #[arg(long, value_name = "K", default_value_t = 0)]
    pub disjoint: usize,
    /// Instead, list pairs of flows that share a link and differ in RTT: flows of the scenario, or
    /// between the CITIES largest cities
    #[arg(
        long,
        value_name = "CITIES",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "0",
        conflicts_with_all = ["csv", "czml", "html", "disjoint"]
    )]
    pub sharing: Option<usize>,
    /// Change a key of the scenario, by dotted path
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Print one JSON document to standard output, and nothing else
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// Print every sample as comma-separated values
    #[arg(long)]
    pub csv: bool,
    /// Write satellites, stations and routes as CZML, for CesiumJS
    #[arg(long, value_name = "FILE")]
    pub czml: Option<PathBuf>,
    /// Write an HTML page with a globe and the RTT over time
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// Clock of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Clock {
    /// Deterministic simulation, as fast as the CPU permits
    Virtual,
    #[cfg(feature = "real-clock")]
    /// Real time: the kernel's TCP, Bentpipe's QUIC and other programs over emulated links between
    /// network namespaces. Needs root or user namespaces
    Real,
}

//! The command line.

pub mod interop;
mod pep;
mod product;
mod values;

pub use pep::{Mode, Pep, Side};
pub use product::{Front, Get, LogStyle, Proxy, Serve};

use bentpipe_quic::memory::IpPrefix;
use bentpipe_units::{Bytes, Span};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

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
  1  an expectation failed
  2  the scenario or the command line is invalid
  3  a run failed or was interrupted"#;

const RUN_EXAMPLES: &str = r#"Examples:
  bentpipe run my.toml
  bentpipe run my.toml --set path.profile=geo-250-3 --set variant.0rtt.congestion=newreno

  Replace the values of a swept key:
  bentpipe run my.toml --set workload.download='["1 MB", "5 MB"]'

  Write to results/NAME for each scenario:
  bentpipe run a.toml b.toml --out results

  bentpipe run my.toml --json | jq '.summary[] | select(.metric == "completion_s")'"#;

const MATRIX_EXAMPLES: &str = r#"Examples:
  bentpipe matrix
  bentpipe matrix --controllers newreno,cubic,bbr3
  bentpipe matrix my.toml --set path.rtt="300 ms" --json | jq '.runs[].fairness.jain'

See `bentpipe interop` for other implementations over an emulated path."#;

const CONTROLLERS_EXAMPLES: &str = r#"Examples:
  bentpipe controllers
  bentpipe controllers cubic
  bentpipe controllers --json | jq '.[] | select(.kind == "slow_start") | .name'"#;

const PATH_MEMORY_EXAMPLES: &str = r#"Examples:
  bentpipe path-memory list
  bentpipe path-memory list 2001:db8::/32 --json | jq '.paths[].window_bytes'
  bentpipe path-memory forget 192.0.2.7                             (the network of this address)
  bentpipe path-memory forget --all --store /var/lib/bentpipe/paths.sqlite"#;

const ORBIT_EXAMPLES: &str = r#"Examples:
  bentpipe orbit kuiper-630 --from Toronto --to Washington
  bentpipe orbit kuiper-630 --from 51.5,-0.1 --to 35.7,139.7        (latitude and longitude)
  bentpipe orbit scenarios/examples/leo.toml --duration 10min --step 1s
  bentpipe orbit leo.toml --csv > rtt.csv
  bentpipe orbit leo.toml --disjoint 3 --czml leo.czml --html leo.html
  bentpipe orbit kuiper-630 --sharing=30                            (between the 30 largest cities)
  bentpipe orbit leo.toml --json | jq '.flows[].summary'"#;

const SHELL_EXAMPLES: &str = r#"Examples:
  bentpipe shell geo-50-10                                          (a shell behind a satellite)
  bentpipe shell geo-50-10 -- ping -c 3 {server}
  bentpipe shell leo --serve 'python3 -m http.server 8000' \
    -- curl -o /dev/null http://{server}:8000/file
  bentpipe shell geo-250-3 --set path.forward.loss=0.001 --forward 443:127.0.0.1:8443 \
    -- curl -k https://{server}/
  bentpipe shell my.toml --json -- ./measure {server}

  Print statistics every second, and capture packets for Wireshark:
  bentpipe shell geo-50-10 --stats --capture server.pcapng -- ./measure {server}

In COMMAND and --serve, {server}, {client}, {server6} and {client6} are replaced by addresses.
The variables BENTPIPE_SERVER, BENTPIPE_CLIENT and so on contain them, too. The command needs root
or user namespaces, and /dev/net/tun. The host's own network stays unchanged.

Exit status:
  that of COMMAND; 128 plus the signal's number if a signal ended it; 126 or 127 if it cannot be run
  2  the path or the command line is invalid
  3  the path cannot be emulated here"#;

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
    /// Run scenarios, print their results, and write a run directory with a report for each
    Run(Run),
    /// Run every congestion controller against every other on a path, and print heat maps of their
    /// shares
    Matrix(Matrix),
    /// Run downloads between other HTTP implementations and Bentpipe's over emulated paths
    Interop(interop::Interop),
    /// Run a command behind an emulated satellite path, on the real kernel
    #[command(after_help = SHELL_EXAMPLES)]
    Shell(Shell),
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
        name: Option<String>,
        /// Print one JSON document to standard output, and nothing else
        #[arg(long)]
        json: bool,
    },
    /// List or forget remembered paths
    #[command(after_help = PATH_MEMORY_EXAMPLES)]
    PathMemory {
        /// The subcommand to run
        #[command(subcommand)]
        command: PathMemory,
    },
    /// Serve the files of a directory over HTTP/3, HTTP/2 and HTTP/1.1
    Serve(Serve),
    /// Serve a web server's content over HTTP/3, HTTP/2 and HTTP/1.1, as a reverse proxy
    Proxy(Proxy),
    /// Download files over HTTP/3, and resume interrupted downloads
    Get(Get),
    /// Run a performance-enhancing proxy, which splits TCP connections that cross this machine
    Pep(Pep),
    /// Show the routes through a satellite network over time, without packets
    #[command(after_help = ORBIT_EXAMPLES)]
    Orbit(Orbit),
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
    },
    /// Rebuild report.html from the results in a run directory
    Report {
        /// A directory written by `bentpipe run`
        dir: PathBuf,
    },
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// Subcommands of `path-memory`.
#[derive(Debug, Subcommand)]
pub enum PathMemory {
    /// List remembered paths: window, RTT, age, and whether a connection is using them
    #[command(after_help = PATH_MEMORY_EXAMPLES)]
    List {
        /// The path store.
        #[command(flatten)]
        store: Store,
        /// Only networks within these, or that contain these
        #[arg(value_name = "PREFIX")]
        prefixes: Vec<IpPrefix>,
    },
    /// Forget remembered paths, even if in use; the next connection starts as on an unknown path
    #[command(after_help = PATH_MEMORY_EXAMPLES)]
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
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Run directory to write, or the parent of the run directories if there are several files
    /// [default: out/NAME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Clock of the run
    #[arg(long, value_enum, default_value_t = Clock::Virtual)]
    pub clock: Clock,
    /// Print one JSON document to standard output, and nothing else (a list of documents if there
    /// are several files)
    #[arg(long)]
    pub json: bool,
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
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
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
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Parent of the run directories, which are named after the scenarios [default: out]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print one JSON document to standard output, and nothing else (a list of documents if there
    /// are several scenarios)
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `bentpipe shell`.
#[derive(Debug, Args)]
pub struct Shell {
    /// A built-in path (see `bentpipe profiles`), or a scenario file (TOML) whose path to use
    #[arg(value_name = "PROFILE")]
    pub path: String,
    /// Command to run [default: $SHELL]
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// A server to start first at the other end of the path, with /bin/sh; its output goes to
    /// standard error
    #[arg(long, value_name = "COMMAND")]
    pub serve: Option<String>,
    /// Forward TCP connections and UDP datagrams from a port of {server} to a service in the host's
    /// network
    #[arg(long, value_name = "PORT:HOST:PORT")]
    pub forward: Vec<Forward>,
    /// Change a key of the scenario, by dotted path (path.forward.loss=0.01)
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Seed of all random draws, instead of the scenario's
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// MTU of the interfaces
    #[arg(long, value_name = "BYTES", default_value = "1500 B")]
    pub mtu: Bytes,
    /// Set a kernel parameter at both ends of the path, such as net.ipv4.tcp_wmem="4096 65536
    /// 67108864"
    #[arg(long, value_name = "KEY=VALUE")]
    pub sysctl: Vec<String>,
    /// Poll the clock instead of sleeping for this long before a packet is due; longer is more
    /// precise and takes more CPU time
    #[arg(long, value_name = "TIME", default_value = "40 us")]
    pub busy_poll: Span,
    /// Do not request real-time priority
    #[arg(long)]
    pub no_realtime: bool,
    /// Print statistics of the path to standard error every second, or every TIME (at least 100
    /// ms): throughput, mean delay and queue of each direction, and losses
    #[arg(
        long,
        value_name = "TIME",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "1 s",
        value_parser = stats_interval
    )]
    pub stats: Option<Span>,
    /// Capture the packets that the server's interface sends and receives, up to 1 GB, as pcapng,
    /// with path delays and complete checksums
    #[arg(long, value_name = "FILE")]
    pub capture: Option<PathBuf>,
    /// Capture the packets of the clients' interfaces in the same way
    #[arg(long, value_name = "FILE")]
    pub capture_client: Option<PathBuf>,
    /// Capture the packets that the path lost in the same way, each with the cause
    #[arg(long, value_name = "FILE")]
    pub capture_lost: Option<PathBuf>,
    /// Print one JSON document to standard output, and nothing else; the output of COMMAND goes to
    /// standard error
    #[arg(long)]
    pub json: bool,
}

/// Shortest interval of [`Shell::stats`]. An idle path publishes its statistics every 50 ms.
const MIN_STATS_INTERVAL: Span = Span::from_millis(100);

fn stats_interval(text: &str) -> Result<Span, String> {
    let interval: Span =
        text.parse().map_err(|error: bentpipe_units::UnitError| error.to_string())?;
    match interval < MIN_STATS_INTERVAL {
        true => Err(format!("{interval} is too short; allowed: {MIN_STATS_INTERVAL} or more")),
        false => Ok(interval),
    }
}

/// A forwarded port of the server, and its target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forward {
    /// The port.
    pub port: u16,
    /// `host:port` in the host's network.
    pub target: String,
}

impl FromStr for Forward {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not a port and target; allowed: PORT:HOST:PORT, such as \
                 8080:127.0.0.1:80"
            )
        };
        let (port, target) = text.split_once(':').ok_or_else(wrong)?;
        let port: u16 = port.parse().ok().filter(|port| *port > 0).ok_or_else(wrong)?;
        let (host, target_port) = target.rsplit_once(':').ok_or_else(wrong)?;
        if host.is_empty() || target_port.parse::<u16>().is_err() {
            return Err(wrong());
        }
        Ok(Self { port, target: target.to_owned() })
    }
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
    /// Real time: the kernel's TCP, Bentpipe's QUIC and other programs over emulated links between
    /// network namespaces. Needs root or user namespaces
    Real,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forwards_are_parsed_as_port_host_port() {
        let parsed =
            |text: &str| text.parse::<Forward>().map(|forward| (forward.port, forward.target));
        assert_eq!(parsed("80:localhost:8080"), Ok((80, "localhost:8080".to_owned())));
        assert_eq!(parsed("443:[::1]:8443"), Ok((443, "[::1]:8443".to_owned())));
        for wrong in ["", "80", "80:localhost", "0:a:1", "x:a:1", "80::1", "80:a:b"] {
            assert!(parsed(wrong).is_err_and(|error| error.contains("PORT:HOST:PORT")), "{wrong}");
        }
    }
}

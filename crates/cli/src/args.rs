//! The command line.

pub mod interop;
mod pep;
mod product;
mod values;

pub use pep::{Mode, Pep, Side};
pub use product::{Front, Get, LogStyle, Proxy, Serve};

use bentpipe_quic::path_memory::IpPrefix;
use bentpipe_units::{Bytes, Span};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

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
  bentpipe run my.toml --set workload.download='[\"1 MB\", \"5 MB\"]'   (where it is swept: other \
  values)
  bentpipe run a.toml b.toml --out results                          (results/NAME for each)
  bentpipe run my.toml --json | jq '.summary[] | select(.metric == \"completion_s\")'";

const MATRIX_EXAMPLES: &str = "\
Examples:
  bentpipe matrix
  bentpipe matrix --controllers newreno,cubic,bbr3
  bentpipe interop --clients quinn --servers quic-go                (other implementations over an \
  emulated path)
  bentpipe matrix my.toml --set path.rtt=\"300 ms\" --json | jq '.runs[].fairness.jain'";

const CONTROLLERS_EXAMPLES: &str = "\
Examples:
  bentpipe controllers
  bentpipe controllers cubic
  bentpipe controllers --json | jq '.[] | select(.kind == \"slow_start\") | .name'";

const PATH_MEMORY_EXAMPLES: &str = "\
Examples:
  bentpipe path-memory list
  bentpipe path-memory list 2001:db8::/32 --json | jq '.paths[].window_bytes'
  bentpipe path-memory forget 192.0.2.7                             (the network of this address)
  bentpipe path-memory forget --all --store /var/lib/bentpipe/paths.sqlite";

const ORBIT_EXAMPLES: &str = "\
Examples:
  bentpipe orbit kuiper-630 --from Toronto --to Washington
  bentpipe orbit kuiper-630 --from 51.5,-0.1 --to 35.7,139.7        (latitude and longitude)
  bentpipe orbit scenarios/examples/leo.toml --duration 10min --step 1s
  bentpipe orbit leo.toml --csv > rtt.csv
  bentpipe orbit leo.toml --disjoint 3 --czml leo.czml --html leo.html
  bentpipe orbit kuiper-630 --sharing=30                            (among the 30 largest cities)
  bentpipe orbit leo.toml --json | jq '.flows[].summary'";

const SHELL_EXAMPLES: &str = "\
Examples:
  bentpipe shell geo-50-10                                          (a shell behind a satellite)
  bentpipe shell geo-50-10 -- ping -c 3 {server}
  bentpipe shell leo --serve 'python3 -m http.server 8000' -- curl -o /dev/null \
  http://{server}:8000/file
  bentpipe shell geo-250-3 --set path.forward.loss=0.001 --forward 443:127.0.0.1:8443 -- curl -k \
  https://{server}/
  bentpipe shell my.toml --json -- ./measure {server}
  bentpipe shell geo-50-10 --stats --capture server.pcapng -- ./measure {server}     (a line each \
  second, packets for Wireshark)

In COMMAND and in --serve, {server}, {client}, {server6} and {client6} are addresses; so are the \
variables BENTPIPE_SERVER,
BENTPIPE_CLIENT and so on. Needs root or user namespaces, and /dev/net/tun; the host's own network \
is not touched.
Exit status: that of COMMAND, 128 and the signal's number where a signal ended it; 126 or 127 \
where it cannot be run; 2 the
path or the command line is wrong; 3 the path cannot be emulated here.";

const CITIES_EXAMPLES: &str = "\
Examples:
  bentpipe cities
  bentpipe cities san";

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
    /// Run every congestion controller against every other on a path, and print heat maps of their
    /// shares
    Matrix(Matrix),
    /// Let other implementations of HTTP download from each other, and from ours, over emulated
    /// paths
    Interop(interop::Interop),
    /// Run a command as if behind a satellite: a real program on a real kernel, over an emulated
    /// path
    #[command(after_help = SHELL_EXAMPLES)]
    Shell(Shell),
    /// List the built-in paths with their bandwidth-delay products and time targets
    Profiles {
        /// One JSON document on standard output and nothing else
        #[arg(long)]
        json: bool,
    },
    /// List congestion controllers, slow-start algorithms and resumption, with their parameters
    #[command(after_help = CONTROLLERS_EXAMPLES)]
    Controllers {
        /// Only the one of that name
        name: Option<String>,
        /// One JSON document on standard output and nothing else
        #[arg(long)]
        json: bool,
    },
    /// List or forget remembered paths
    #[command(after_help = PATH_MEMORY_EXAMPLES)]
    PathMemory {
        /// What to do
        #[command(subcommand)]
        command: PathMemory,
    },
    /// Serve the files of a directory over HTTP/3, and over HTTP/1.1 and HTTP/2 beside it
    Serve(Serve),
    /// Put HTTP/3, and HTTP/1.1 and HTTP/2 beside it, in front of a web server
    Proxy(Proxy),
    /// Download files over HTTP/3, and resume interrupted downloads
    Get(Get),
    /// Split TCP connections that cross this machine: a performance-enhancing proxy
    Pep(Pep),
    /// Show the routes through a network of satellites over time, without packets
    #[command(after_help = ORBIT_EXAMPLES)]
    Orbit(Orbit),
    /// List the built-in constellations
    Constellations {
        /// One JSON document on standard output and nothing else
        #[arg(long)]
        json: bool,
    },
    /// List the built-in cities, for stations and flows
    #[command(after_help = CITIES_EXAMPLES)]
    Cities {
        /// Only names that contain this
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
        shell: clap_complete::Shell,
    },
}

/// What to do with remembered paths.
#[derive(Debug, Subcommand)]
pub enum PathMemory {
    /// List remembered paths: window, round trip, age, whether a connection uses them
    #[command(after_help = PATH_MEMORY_EXAMPLES)]
    List {
        /// Where they are kept.
        #[command(flatten)]
        store: Store,
        /// Only networks within these, or that these are within
        #[arg(value_name = "PREFIX")]
        prefixes: Vec<IpPrefix>,
    },
    /// Forget remembered paths, in use or not: the next connection starts as on an unknown one
    #[command(after_help = PATH_MEMORY_EXAMPLES)]
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
    /// Number of parallel runs [default: number of CPUs; 1 with `--clock real`]
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Run directory to write, or the directory of run directories where there are several files
    /// [default: out/NAME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Clock of the run
    #[arg(long, value_enum, default_value_t = Clock::Virtual)]
    pub clock: Clock,
    /// One JSON document on standard output and nothing else (a list of documents where there are
    /// several files)
    #[arg(long)]
    pub json: bool,
}

/// Who plays against whom, and where.
#[derive(Debug, Args)]
#[command(after_help = MATRIX_EXAMPLES)]
pub struct Matrix {
    /// Scenario files (TOML) with two flows under congestion control each [default: a built-in one
    /// in low orbits and one over a geostationary satellite]
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
    /// Number of parallel runs [default: number of CPUs]
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Directory of the run directories: one for each scenario, by its name [default: out]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// One JSON document on standard output and nothing else (a list of documents where there are
    /// several scenarios)
    #[arg(long)]
    pub json: bool,
}

/// What to run behind which path.
#[derive(Debug, Args)]
pub struct Shell {
    /// A built-in path (see `bentpipe profiles`), or a scenario file (TOML), of which the path is
    /// taken
    #[arg(value_name = "PROFILE")]
    pub path: String,
    /// What to run [default: $SHELL]
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// A server to run at the other end of the path first, by /bin/sh; its output goes to standard
    /// error
    #[arg(long, value_name = "COMMAND")]
    pub serve: Option<String>,
    /// Lead TCP connections and UDP datagrams to a port of {server} to a service in this host's
    /// network
    #[arg(long, value_name = "PORT:HOST:PORT")]
    pub forward: Vec<Forward>,
    /// Change a key of the scenario, by dotted path: path.forward.loss=0.01
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Seed of every random draw, instead of the scenario's
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Largest IP packet of the interfaces
    #[arg(long, value_name = "BYTES", default_value = "1500 B")]
    pub mtu: Bytes,
    /// Set a kernel parameter at both ends of the path, such as net.ipv4.tcp_wmem="4096 65536
    /// 67108864"
    #[arg(long, value_name = "KEY=VALUE")]
    pub sysctl: Vec<String>,
    /// Poll the clock for this long before a packet is due instead of sleeping: more is more
    /// precise and takes more CPU time
    #[arg(long, value_name = "TIME", default_value = "40 us")]
    pub busy_poll: Span,
    /// Do not ask for real-time priority
    #[arg(long)]
    pub no_realtime: bool,
    /// Print statistics of the path to standard error, a line per second or per TIME (at least 100
    /// ms): throughput, mean delay and queue of each direction, and losses
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "1 s", value_parser = stats_period)]
    pub stats: Option<Span>,
    /// Capture what the server's interface sends and receives, up to 1 GB, as pcapng: with times on
    /// the path, and complete checksums
    #[arg(long, value_name = "FILE")]
    pub capture: Option<PathBuf>,
    /// The same of the clients' interfaces
    #[arg(long, value_name = "FILE")]
    pub capture_client: Option<PathBuf>,
    /// The same of what the path lost, each packet with the cause
    #[arg(long, value_name = "FILE")]
    pub capture_lost: Option<PathBuf>,
    /// One JSON document on standard output and nothing else: what COMMAND prints goes to standard
    /// error
    #[arg(long)]
    pub json: bool,
}

/// Shortest time between two lines of [`Shell::stats`]: a path that carries nothing writes its
/// figures down every 50 ms.
const SHORTEST_PERIOD: Span = Span::from_millis(100);

fn stats_period(text: &str) -> Result<Span, String> {
    let period: Span =
        text.parse().map_err(|error: bentpipe_units::UnitError| error.to_string())?;
    match period < SHORTEST_PERIOD {
        true => Err(format!("{period} between two lines; allowed: {SHORTEST_PERIOD} or more")),
        false => Ok(period),
    }
}

/// A port of the far side, and where it leads.
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
                "`{text}` is no port and target; allowed: PORT:HOST:PORT, such as 8080:127.0.0.1:80"
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

/// Which network to look at, and how.
#[derive(Debug, Args)]
pub struct Orbit {
    /// Scenario with [path.orbit] (TOML), or the name of a constellation with --from and --to
    #[arg(value_name = "SCENARIO")]
    pub scenario: PathBuf,
    /// One end, instead of the scenario's flows: a station, a city, or LATITUDE,LONGITUDE
    #[arg(long, value_name = "PLACE", requires = "to", allow_hyphen_values = true)]
    pub from: Option<String>,
    /// The other end
    #[arg(long, value_name = "PLACE", requires = "from", allow_hyphen_values = true)]
    pub to: Option<String>,
    /// Time span to survey
    #[arg(long, value_name = "TIME", default_value = "200 s")]
    pub duration: Span,
    /// Time between two samples [default: the scenario's step; 1 s with --sharing]
    #[arg(long, value_name = "TIME")]
    pub step: Option<Span>,
    /// Also list up to K link-disjoint routes at the start
    #[arg(long, value_name = "K", default_value_t = 0)]
    pub disjoint: usize,
    /// Instead: pairs of flows that share a link while their round trips differ; among the
    /// scenario's flows, or between the largest so many cities
    #[arg(long, value_name = "CITIES", num_args = 0..=1, require_equals = true, default_missing_value = "0", conflicts_with_all = ["csv", "czml", "html", "disjoint"])]
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
    /// Write satellites, stations and routes for CesiumJS
    #[arg(long, value_name = "FILE")]
    pub czml: Option<PathBuf>,
    /// Write a page with the globe and the RTT over time
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// A clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Clock {
    /// Deterministic simulation, as fast as the processor allows
    Virtual,
    /// Real time: the kernel's TCP, Bentpipe's QUIC and other programs over emulated links, between
    /// network namespaces. Needs root or user namespaces
    Real,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forward_is_a_port_and_where_it_leads() {
        let parsed =
            |text: &str| text.parse::<Forward>().map(|forward| (forward.port, forward.target));
        assert_eq!(parsed("80:localhost:8080"), Ok((80, "localhost:8080".to_owned())));
        assert_eq!(parsed("443:[::1]:8443"), Ok((443, "[::1]:8443".to_owned())));
        for wrong in ["", "80", "80:localhost", "0:a:1", "x:a:1", "80::1", "80:a:b"] {
            assert!(parsed(wrong).is_err_and(|error| error.contains("PORT:HOST:PORT")), "{wrong}");
        }
    }
}

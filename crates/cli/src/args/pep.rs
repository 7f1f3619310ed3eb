//! The command line of `bentpipe pep`.

use super::LogStyle;
use super::suggest::{controller_names, profile_names, text};
use super::values::{at_least_one, nonzero_time, socket_address};
use bentpipe_net::pep::Addresses;
use bentpipe_units::{Bytes, Rate, Span};
use clap::{Args, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;

const EXAMPLES: &str = r#"Examples:
  bentpipe pep                                         (SOCKS5 and HTTP CONNECT at 127.0.0.1:1080)
  bentpipe pep --listen 192.168.1.1:1080 --clients 192.168.1.0/24 \
    --satellite server --congestion bbr
  bentpipe pep --mode transparent --listen 127.0.0.1:8118 --print-rules --interface lan0 | sudo sh
  bentpipe pep --mode transparent --listen 127.0.0.1:8118 --profile geo-50-10
  bentpipe pep --make-secret pep.secret                             (then copy it to the other end)
  bentpipe pep --tunnel-listen 0.0.0.0:4434 --secret pep.secret     (at the gateway)
  bentpipe pep --tunnel-to gateway.example:4434 --secret pep.secret (at the terminal)

The host's configuration stays unchanged. On SIGINT or SIGTERM, the proxy accepts no new
connections, lets open ones finish and exits with status 0. A second signal ends it at once, with
status 3.

Exit status:
  0  stopped by a signal
  2  the command line is invalid, or a permission is missing
  3  the proxy failed, or a second signal ended it"#;

/// Arguments of `bentpipe pep`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Pep {
    /// How connections reach the proxy
    #[arg(long, value_enum, default_value_t = Mode::Explicit)]
    pub mode: Mode,
    /// TCP address and port to listen on; port 0 picks a free port
    #[arg(
        long,
        value_name = "ADDR:PORT",
        default_value = "127.0.0.1:1080",
        value_parser = socket_address
    )]
    pub listen: SocketAddr,
    /// Clients that may use the proxy: `any`, `public`, an address or a network [default: this
    /// machine; any with --mode transparent and redirect]
    #[arg(long, value_name = "ADDRESSES")]
    pub clients: Vec<Addresses>,
    /// Destinations that clients may connect to: `any`, `public`, an address or a network [default:
    /// public; any with --mode transparent and redirect]
    #[arg(long, value_name = "ADDRESSES")]
    pub allow: Vec<Addresses>,
    /// File with lines NAME:PASSWORD, one of which clients of an explicit proxy must present
    #[arg(long, value_name = "FILE")]
    pub credentials: Option<PathBuf>,
    /// In transparent mode, connect to servers from the client's address
    #[arg(long)]
    pub keep_source: bool,
    /// Side whose connections cross the satellite and are tuned for it
    #[arg(long, value_enum, default_value_t = Side::Both)]
    pub satellite: Side,
    /// Congestion controller on that side: one of the kernel's (cubic, bbr, reno), or for a tunnel
    /// one of `bentpipe controllers` [default: the kernel's default; cubic for a tunnel]
    #[arg(
        long,
        value_name = "NAME",
        value_parser = text(controller_names),
        hide_possible_values = true
    )]
    pub congestion: Option<String>,
    /// Maximum socket buffer on that side, per connection and direction [default: 8 MB, or 2 BDP of
    /// --profile or of --rate and --rtt]
    #[arg(long, value_name = "SIZE", conflicts_with_all = ["profile", "rate"])]
    pub buffer: Option<Bytes>,
    /// Profile of the path (see `bentpipe profiles`)
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with = "rate",
        value_parser = text(profile_names),
        hide_possible_values = true
    )]
    pub profile: Option<String>,
    /// Rate of the satellite hop
    #[arg(long, value_name = "RATE", requires = "rtt")]
    pub rate: Option<Rate>,
    /// RTT of the satellite hop
    #[arg(long, value_name = "TIME", requires = "rate")]
    pub rtt: Option<Span>,
    /// Carry connections through a QUIC tunnel to another proxy
    #[arg(long, value_name = "HOST:PORT", requires = "secret", conflicts_with = "tunnel_listen")]
    pub tunnel_to: Option<String>,
    /// Run as the exit of tunnels, at this UDP address and port
    #[arg(
        long,
        value_name = "ADDR:PORT",
        value_parser = socket_address,
        requires = "secret",
        conflicts_with_all = ["listen", "mode", "clients", "credentials"]
    )]
    pub tunnel_listen: Option<SocketAddr>,
    /// File with the secret shared by both ends of a tunnel
    #[arg(long, value_name = "FILE")]
    pub secret: Option<PathBuf>,
    /// File that remembers how fast the tunnel's path is, so that a tunnel starts fast after a
    /// restart too [default: none; remembered until the proxy ends]
    #[arg(long, value_name = "FILE", requires = "secret")]
    pub store: Option<PathBuf>,
    /// Write a new random secret to a new file, and exit
    #[arg(long, value_name = "FILE", exclusive = true)]
    pub make_secret: Option<PathBuf>,
    /// Print the commands with which an operator sets up the rules for the mode, and exit
    #[arg(long, requires = "interface")]
    pub print_rules: bool,
    /// Interface at which clients' connections arrive, for --print-rules
    #[arg(long, value_name = "NAME", value_parser = interface)]
    pub interface: Option<String>,
    /// Serve Prometheus metrics (/metrics, plain HTTP) at this address [default: off]
    #[arg(long, value_name = "ADDR:PORT", value_parser = socket_address)]
    pub metrics: Option<SocketAddr>,
    /// Format of the access log on standard output, with one line per connection
    #[arg(long, value_enum, default_value_t = LogStyle::Text)]
    pub log: LogStyle,
    /// Maximum number of concurrent connections; more are refused [default: 1024, or fewer if the
    /// limit on open files is low]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub max_connections: Option<usize>,
    /// Maximum number of concurrent connections per client (an IPv4 address or an IPv6 /56)
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = at_least_one)]
    pub max_per_client: usize,
    /// Memory limit of all connections together; near it, buffers shrink, and then connections are
    /// refused
    #[arg(long, value_name = "SIZE", default_value = "1000 MB")]
    pub memory: Bytes,
    /// Close a connection after this time without data
    #[arg(long, value_name = "TIME", default_value = "7440 s", value_parser = nonzero_time)]
    pub idle: Span,
    /// Time for connections to finish when the proxy stops
    #[arg(long, value_name = "TIME", default_value = "10 s")]
    pub drain: Span,
}

/// How connections reach a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// Clients request them, by SOCKS5 or HTTP CONNECT
    Explicit,
    /// A rule redirects them unchanged (TPROXY); needs CAP_NET_ADMIN
    Transparent,
    /// A rule redirects them by rewriting their destination (REDIRECT)
    Redirect,
}

/// Side whose connections cross the satellite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Side {
    /// Connections with clients: the proxy is at the gateway
    Client,
    /// Connections with servers: the proxy is at the terminal
    Server,
    /// Both, or unknown
    Both,
}

/// Parses an interface name that the kernel accepts (15 bytes), without characters special to a
/// shell.
fn interface(text: &str) -> Result<String, String> {
    let fine = |c: char| c.is_ascii_alphanumeric() || "-_.:@".contains(c);
    if (1..=15).contains(&text.len()) && !text.starts_with('-') && text.chars().all(fine) {
        Ok(text.to_owned())
    } else {
        Err("allowed: 1 to 15 letters, digits, `-`, `_`, `.`, `:`, `@`".to_owned())
    }
}

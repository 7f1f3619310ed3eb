//! The command line of `bentpipe pep`.

use super::LogStyle;
use super::values::{at_least_one, some_time};
use bentpipe_net::pep::Addresses;
use bentpipe_units::{Bytes, Rate, Span};
use clap::{Args, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  bentpipe pep                                                      (SOCKS5 and HTTP CONNECT at \
  127.0.0.1:1080)
  bentpipe pep --listen 192.168.1.1:1080 --clients 192.168.1.0/24 --satellite server --congestion \
  bbr
  bentpipe pep --mode transparent --listen 127.0.0.1:8118 --print-rules --interface lan0 | sudo sh
  bentpipe pep --mode transparent --listen 127.0.0.1:8118 --profile geo-50-10
  bentpipe pep --make-secret pep.secret                             (then copy it to the other end)
  bentpipe pep --tunnel-listen 0.0.0.0:4434 --secret pep.secret     (at the gateway)
  bentpipe pep --tunnel-to gateway.example:4434 --secret pep.secret (at the terminal)

It changes nothing of the host's configuration. SIGINT or SIGTERM: takes nothing new, lets \
connections finish, and ends with status
0; a second one ends at once, with 3. Exit status 2: the command line is wrong, or something is \
not permitted.";

/// What a proxy is made of.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Pep {
    /// How connections come to it
    #[arg(long, value_enum, default_value_t = Mode::Explicit)]
    pub mode: Mode,
    /// Address and port, for TCP; port 0 is any that is free
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:1080")]
    pub listen: SocketAddr,
    /// Clients that may use it: `any`, `public`, an address or a network [default: this machine;
    /// any, where rules lead to it]
    #[arg(long, value_name = "ADDRESSES")]
    pub clients: Vec<Addresses>,
    /// Where they may go: `any`, `public`, an address or a network [default: public; any, where
    /// rules lead to it]
    #[arg(long, value_name = "ADDRESSES")]
    pub allow: Vec<Addresses>,
    /// File with a line NAME:PASSWORD that clients of an explicit proxy have to know
    #[arg(long, value_name = "FILE")]
    pub credentials: Option<PathBuf>,
    /// In transparent mode, connect to servers from the client's address
    #[arg(long)]
    pub keep_source: bool,
    /// Which side's connections cross the satellite, and are tuned for it
    #[arg(long, value_enum, default_value_t = Side::Both)]
    pub satellite: Side,
    /// Congestion controller there: one of the kernel's (cubic, bbr, reno), or of a tunnel, one of
    /// ours (`bentpipe controllers`) [default: the kernel's own; cubic]
    #[arg(long, value_name = "NAME")]
    pub congestion: Option<String>,
    /// The most held there for a connection and direction by one socket [default: 8 MB, or 2 BDP of
    /// --profile or of --rate and --rtt]
    #[arg(long, value_name = "SIZE", conflicts_with_all = ["profile", "rate"])]
    pub buffer: Option<Bytes>,
    /// The path that it is for: one of `bentpipe profiles`
    #[arg(long, value_name = "NAME", conflicts_with = "rate")]
    pub profile: Option<String>,
    /// The hop's rate
    #[arg(long, value_name = "RATE", requires = "rtt")]
    pub rate: Option<Rate>,
    /// Its round trip
    #[arg(long, value_name = "TIME", requires = "rate")]
    pub rtt: Option<Span>,
    /// Lead connections through a tunnel of QUIC to another proxy
    #[arg(long, value_name = "HOST:PORT", requires = "secret", conflicts_with = "tunnel_listen")]
    pub tunnel_to: Option<String>,
    /// Be the other end of tunnels: UDP address and port
    #[arg(long, value_name = "ADDR:PORT", requires = "secret", conflicts_with_all = ["listen", "mode", "clients", "credentials"])]
    pub tunnel_listen: Option<SocketAddr>,
    /// File with the secret that both ends of a tunnel know
    #[arg(long, value_name = "FILE")]
    pub secret: Option<PathBuf>,
    /// Draw a secret, write it to a new file, and end
    #[arg(long, value_name = "FILE", exclusive = true)]
    pub make_secret: Option<PathBuf>,
    /// Print what the operator has to set for a mode that needs rules, as commands for a shell, and
    /// end
    #[arg(long, requires = "interface")]
    pub print_rules: bool,
    /// The interface at which clients' connections arrive, for --print-rules
    #[arg(long, value_name = "NAME", value_parser = interface)]
    pub interface: Option<String>,
    /// Where Prometheus reads counters (/metrics, plain HTTP) [default: nowhere]
    #[arg(long, value_name = "ADDR:PORT")]
    pub metrics: Option<SocketAddr>,
    /// A line for each connection on standard output
    #[arg(long, value_enum, default_value_t = LogStyle::Text)]
    pub log: LogStyle,
    /// Connections at a time; more are refused [default: 1024, or as many as the limit on open
    /// files has room for]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub max_connections: Option<usize>,
    /// Connections at a time of one client (an IPv4 address or an IPv6 /56)
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = at_least_one)]
    pub max_per_client: usize,
    /// Memory that all connections together may come to take; as it goes, buffers shrink, and then
    /// connections are refused
    #[arg(long, value_name = "SIZE", default_value = "1000 MB")]
    pub memory: Bytes,
    /// A connection on which nothing moves ends after so long
    #[arg(long, value_name = "TIME", default_value = "7440 s", value_parser = some_time)]
    pub idle: Span,
    /// How long connections have to finish when it stops
    #[arg(long, value_name = "TIME", default_value = "10 s")]
    pub drain: Span,
}

/// How connections come to a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// Clients ask it, by SOCKS5 or HTTP CONNECT
    Explicit,
    /// A rule leads them to it as they are (TPROXY): needs CAP_NET_ADMIN
    Transparent,
    /// A rule leads them to it by changing where they go (REDIRECT)
    Redirect,
}

/// Which side's connections cross the satellite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Side {
    /// Those with clients: it stands at the gateway
    Client,
    /// Those with servers: it stands at the terminal
    Server,
    /// Both, or unknown
    Both,
}

/// A name as the kernel takes it (15 bytes), of characters that mean nothing to a shell.
fn interface(text: &str) -> Result<String, String> {
    let fine = |c: char| c.is_ascii_alphanumeric() || "-_.:@".contains(c);
    if (1..=15).contains(&text.len()) && !text.starts_with('-') && text.chars().all(fine) {
        Ok(text.to_owned())
    } else {
        Err("1 to 15 letters, digits, `-`, `_`, `.`, `:`, `@` are expected".to_owned())
    }
}

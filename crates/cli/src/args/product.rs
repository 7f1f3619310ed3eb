//! The command line of `bentpipe serve`, `bentpipe proxy` and `bentpipe get`.

use super::values::{at_least_one, some_time};
use bentpipe_net::{LogFormat, Qlog};
use bentpipe_quic::congestion::{ControllerName, ResumeName, SlowStartName};
use bentpipe_units::{Bytes, Span};
use clap::{Args, ValueEnum};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

const SERVE_EXAMPLES: &str = "\
Examples:
  bentpipe serve public --self-signed
  bentpipe serve public --listen 0.0.0.0:443 --cert chain.pem --key key.pem
  bentpipe serve public --self-signed --metrics 127.0.0.1:9090 --log json
  bentpipe serve public --self-signed --qlog traces --qlog-files 10    (what its next 10 \
  connections do, packet by packet)
  bentpipe serve public --self-signed --save-cert server.pem --congestion bbr3 --start standard \
  --resume none

The first line on standard output comes when it listens, and says where.
SIGINT or SIGTERM: takes nothing new, lets clients finish, and ends with status 0; a second one \
ends at once, with 3.";

const PROXY_EXAMPLES: &str = "\
Examples:
  bentpipe proxy --upstream http://127.0.0.1:8080 --self-signed
  bentpipe proxy --upstream http://127.0.0.1:8080 --listen 0.0.0.0:443 --cert chain.pem --key \
  key.pem --max-body '100 MB'
  bentpipe proxy --upstream https://inside.test --upstream-ca inside.pem --upstream-host \
  www.inside.test --self-signed

The first line on standard output comes when it listens, and says where. The upstream need not be \
there yet.
SIGINT or SIGTERM: takes nothing new, lets clients finish, and ends with status 0; a second one \
ends at once, with 3.";

const GET_EXAMPLES: &str = "\
Examples:
  bentpipe get https://example.org/file.iso
  bentpipe get https://localhost:4433/file.bin --insecure --output copy.bin
  bentpipe get https://localhost:4433/a https://localhost:4433/b --insecure --json | jq \
  '.downloads[].completion_s'
  bentpipe get https://server.test:4433/a https://server.test:4433/a --resolve \
  server.test=192.0.2.1 --ca server.pem \
    --no-reuse --pause '2 s' --discard --json    # the second visit: 0-RTT, and what is remembered \
    of the path

Exit status: 0 all is there; 1 the server answered with something else; 2 the command line is \
wrong; 3 the download failed or was
interrupted. What has arrived is kept beside the file (.part), and the same command goes on from \
there. Devices, FIFOs and the
standard output get the content as it arrives.";

/// What to serve, and how.
#[derive(Debug, Args)]
#[command(after_help = SERVE_EXAMPLES)]
pub struct Serve {
    /// Directory whose files are served; hidden ones are not
    pub dir: PathBuf,
    /// Towards clients
    #[command(flatten)]
    pub front: Front,
}

/// What to put behind, and how.
#[derive(Debug, Args)]
#[command(after_help = PROXY_EXAMPLES)]
pub struct Proxy {
    /// The web server to put behind: `http://HOST[:PORT]` or `https://HOST[:PORT]`, asked over
    /// HTTP/1.1
    #[arg(long, value_name = "URL")]
    pub upstream: String,
    /// Ask it for this host, instead of the one that clients ask for
    #[arg(long, value_name = "HOST[:PORT]")]
    pub upstream_host: Option<String>,
    /// Trust whom these certificates (PEM) vouch for to be an https upstream, instead of those of
    /// the system
    #[arg(long, value_name = "FILE")]
    pub upstream_ca: Option<PathBuf>,
    /// Do not look at an https upstream's certificate: for tests
    #[arg(long, conflicts_with = "upstream_ca")]
    pub upstream_insecure: bool,
    /// The upstream takes no longer to answer, and is silent no longer within a response
    #[arg(long, value_name = "TIME", default_value = "50 s", value_parser = some_time)]
    pub upstream_timeout: Span,
    /// Requests to the upstream at a time; further ones wait
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = at_least_one)]
    pub upstream_connections: usize,
    /// Refuse more content with a request [default: any amount is passed on]
    #[arg(long, value_name = "SIZE")]
    pub max_body: Option<Bytes>,
    /// Towards clients
    #[command(flatten)]
    pub front: Front,
}

/// A server's side towards clients.
#[derive(Debug, Args)]
pub struct Front {
    /// Address and port, for UDP and TCP; port 0 is any that is free
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:4433")]
    pub listen: SocketAddr,
    /// Chain of certificates (PEM), the server's own first
    #[arg(long, value_name = "FILE", requires = "key", conflicts_with = "self_signed")]
    pub cert: Option<PathBuf>,
    /// Its private key (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,
    /// A certificate of its own making, for tests: clients have to be told to trust it
    #[arg(long)]
    pub self_signed: bool,
    /// Another name that the self-signed certificate is for
    #[arg(long, value_name = "NAME", requires = "self_signed")]
    pub name: Vec<String>,
    /// Writes the self-signed certificate (PEM) there, for clients to trust
    #[arg(long, value_name = "FILE", requires = "self_signed")]
    pub save_cert: Option<PathBuf>,
    /// Congestion controller of QUIC: `bentpipe controllers` lists them
    #[arg(long, value_name = "NAME", default_value_t)]
    pub congestion: ControllerName,
    /// How connections over QUIC start
    #[arg(long, value_name = "NAME", default_value_t)]
    pub start: SlowStartName,
    /// What is done with a remembered path
    #[arg(long, value_name = "none|careful|jump", default_value = "careful")]
    pub resume: ResumeName,
    /// Where Prometheus reads counters (/metrics, plain HTTP) [default: nowhere]
    #[arg(long, value_name = "ADDR:PORT")]
    pub metrics: Option<SocketAddr>,
    /// A line for each request on standard output
    #[arg(long, value_enum, default_value_t = LogStyle::Text)]
    pub log: LogStyle,
    /// File of the path store [default: $XDG_STATE_HOME/bentpipe/paths.sqlite, or
    /// ~/.local/state/bentpipe/paths.sqlite]
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
    /// Remember paths in memory only
    #[arg(long, conflicts_with = "store")]
    pub no_store: bool,
    /// Remember no paths at all: those clients that keep tokens do
    #[arg(long, conflicts_with_all = ["store", "no_store"])]
    pub tokens_only: bool,
    /// Connections at a time; more are refused [default: 4096, or as many as the limit on open
    /// files has room for]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub max_connections: Option<usize>,
    /// Connections at a time of one client (an IPv4 address or an IPv6 /56)
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = at_least_one)]
    pub max_per_client: usize,
    /// How long clients have to finish when it stops
    #[arg(long, value_name = "TIME", default_value = "10 s")]
    pub drain: Span,
    /// Traces of QUIC connections.
    #[command(flatten)]
    pub qlog: QlogArgs,
}

/// Where traces go, and how many.
#[derive(Debug, Args)]
pub struct QlogArgs {
    /// Write there what each QUIC connection does, packet by packet (qlog), with the other end's
    /// address and no content: a file for each. It takes processor time for every packet
    #[arg(long, value_name = "DIR")]
    pub qlog: Option<PathBuf>,
    /// Traces that DIR may hold, with those that are there; later connections leave none
    #[arg(long, value_name = "N", default_value_t = 100, requires = "qlog")]
    pub qlog_files: usize,
    /// Bytes of all of them; there they are cut off
    #[arg(long, value_name = "SIZE", default_value = "1 GB", requires = "qlog")]
    pub qlog_size: Bytes,
}

impl QlogArgs {
    /// Where traces go, if anywhere.
    pub fn qlog(&self) -> Option<Qlog> {
        let directory = self.qlog.clone()?;
        Some(Qlog { directory, files: self.qlog_files, bytes: self.qlog_size })
    }
}

/// How the access log looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogStyle {
    /// Lines for people
    Text,
    /// JSON objects, one a line
    Json,
    /// No log
    None,
}

impl LogStyle {
    /// The log's format, where there is a log.
    pub fn format(self) -> Option<LogFormat> {
        match self {
            Self::Text => Some(LogFormat::Text),
            Self::Json => Some(LogFormat::Json),
            Self::None => None,
        }
    }
}

/// What to download, and how.
#[derive(Debug, Args)]
#[command(after_help = GET_EXAMPLES)]
pub struct Get {
    /// What to ask for: `https://HOST[:PORT]/PATH`
    #[arg(required = true, value_name = "URL")]
    pub urls: Vec<String>,
    /// File to write, of a single URL; - is the standard output [default: the last part of the
    /// URL's path]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write no file: to measure
    #[arg(long, conflicts_with = "output")]
    pub discard: bool,
    /// Use a new connection for every download
    #[arg(long)]
    pub no_reuse: bool,
    /// Wait so long between downloads
    #[arg(long, value_name = "TIME", default_value = "0 s")]
    pub pause: Span,
    /// Connect to this address for this host, instead of asking the resolver
    #[arg(long, value_name = "HOST=ADDRESS", value_parser = host_address)]
    pub resolve: Vec<(String, IpAddr)>,
    /// Do not look at the server's certificate: for tests
    #[arg(long, conflicts_with = "ca")]
    pub insecure: bool,
    /// Trust whom these certificates (PEM) vouch for, instead of those of the system
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// File of tokens that servers gave [default: $XDG_STATE_HOME/bentpipe/tokens.sqlite, or
    /// ~/.local/state/bentpipe/tokens.sqlite]
    #[arg(long, value_name = "FILE")]
    pub tokens: Option<PathBuf>,
    /// Bring and keep no path tokens, as clients that do not know them; those that show the
    /// client's address last as long as the program
    #[arg(long, conflicts_with = "tokens")]
    pub no_tokens: bool,
    /// Traces of its connections.
    #[command(flatten)]
    pub qlog: QlogArgs,
    /// No progress bar
    #[arg(long, short)]
    pub quiet: bool,
    /// One JSON document on standard output and nothing else
    #[arg(long)]
    pub json: bool,
}

fn host_address(text: &str) -> Result<(String, IpAddr), String> {
    let wrong = || format!("`{text}` is not HOST=ADDRESS, as in server.test=192.0.2.1");
    let (host, address) = text.split_once('=').ok_or_else(wrong)?;
    if host.is_empty() {
        return Err(wrong());
    }
    let address = address.trim_start_matches('[').trim_end_matches(']');
    Ok((host.to_owned(), address.parse().map_err(|_| wrong())?))
}

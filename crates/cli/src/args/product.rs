//! The command line of `bentpipe serve`, `bentpipe proxy` and `bentpipe get`.

use super::measure::whole_time;
use super::suggest::{controller_names, loss_filter_names, parsed, resume_names, slow_start_names};
use super::values::{ParameterValue, at_least_one, nonzero_time, parameter, socket_address};
use bentpipe_net::http::CacheControl;
use bentpipe_net::serve::{Limits, LogField, RequestRate};
use bentpipe_net::{LogFormat, Qlog};
use bentpipe_quic::congestion::{ControllerName, LossFilterName, ResumeName, SlowStartName};
use bentpipe_units::{Bytes, Rate, Span};
use clap::{Args, ValueEnum};
use std::net::{IpAddr, SocketAddr};
use std::num::{NonZeroU8, NonZeroU32};
use std::path::PathBuf;

const SERVE_EXAMPLES: &str = r#"Examples:
  bentpipe serve public --self-signed
  bentpipe serve public --listen 0.0.0.0:443 --cert chain.pem --key key.pem
  bentpipe serve public --self-signed --metrics 127.0.0.1:9090 --log json
  bentpipe serve public --self-signed --measure token --measure-listen 0.0.0.0:4434
  bentpipe serve --config /etc/bentpipe/serve.toml
  bentpipe serve public --self-signed --save-cert server.pem \
    --congestion bbr3 --slow-start standard --resume none

  Trace the next 10 connections, packet by packet:
  bentpipe serve public --self-signed --qlog traces --qlog-files 10

The server prints its address as the first line on standard output once it listens.
SIGHUP reads the files of --cert and --key again, for new connections.
On SIGINT or SIGTERM, the server accepts no new connections, lets clients finish and exits with
status 0. A second signal ends it at once, with status 3."#;

const PROXY_EXAMPLES: &str = r#"Examples:
  bentpipe proxy --upstream http://127.0.0.1:8080 --self-signed
  bentpipe proxy --upstream http://127.0.0.1:8080 --listen 0.0.0.0:443 \
    --cert chain.pem --key key.pem --max-body '100 MB'
  bentpipe proxy --upstream https://inside.test --upstream-ca inside.pem \
    --upstream-host www.inside.test --self-signed
  bentpipe proxy --upstream http://10.0.0.1 --upstream http://10.0.0.2 --upstream-health /up \
    --self-signed

The server prints its address as the first line on standard output once it listens. The upstream
may start later. SIGHUP reads the files of --cert and --key again, for new connections.
On SIGINT or SIGTERM, the server accepts no new connections, lets clients finish and exits with
status 0. A second signal ends it at once, with status 3."#;

const GET_EXAMPLES: &str = r#"Examples:
  bentpipe get https://example.org/file.iso
  bentpipe get https://localhost:4433/file.bin --insecure --output copy.bin
  bentpipe get https://localhost:4433/a https://localhost:4433/b --insecure --json \
    | jq '.downloads[].completion_s'

  Visit a server twice, to measure 0-RTT and path resumption:
  bentpipe get https://server.test:4433/a https://server.test:4433/a \
    --resolve server.test=192.0.2.1 --ca server.pem --no-reuse --pause '2 s' --discard --json

A partial download is kept beside the file (.part), and the same command resumes it, with or without
--continue; delete the .part file to start over. Devices, FIFOs and standard output receive the
content as it arrives.

Exit status:
  0  all files were downloaded
  1  the server responded with an error status
  2  the command line is invalid
  3  a download failed or was interrupted"#;

/// Arguments of `bentpipe serve`.
#[derive(Debug, Args)]
#[command(after_help = SERVE_EXAMPLES)]
pub struct Serve {
    /// Directory whose files are served, except hidden ones
    pub dir: PathBuf,
    /// Send this Cache-Control with files, such as `no-cache` or `public, max-age=3600`
    /// [default: none]
    #[arg(long, value_name = "VALUE")]
    pub cache_control: Option<CacheControl>,
    /// Maximum number of files sent at the same time; small ones count by their size, and more wait
    /// for up to 30 s [default: 4096, or fewer if the limit on open files is low]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub max_files: Option<usize>,
    /// The same per client (an IPv4 address or an IPv6 /56; an IPv6 /48 has twice as many)
    /// [default: an eighth of --max-files, at least 100]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub max_files_per_client: Option<usize>,
    /// Let clients with the token in this file measure the path to this server (`bentpipe measure`;
    /// `bentpipe measure --make-token FILE` makes one)
    #[arg(long, value_name = "FILE")]
    pub measure: Option<PathBuf>,
    /// Address and UDP port for measurements
    #[arg(
        long,
        value_name = "ADDR:PORT",
        default_value = "127.0.0.1:4434",
        value_parser = socket_address,
        requires = "measure"
    )]
    pub measure_listen: SocketAddr,
    /// Most bytes of a measurement, in both directions together, as UDP payload
    #[arg(long, value_name = "SIZE", default_value = "100 MB", requires = "measure")]
    pub measure_bytes: Bytes,
    /// Longest time of a measurement
    #[arg(
        long,
        value_name = "TIME",
        default_value = "3 min",
        value_parser = whole_time,
        requires = "measure"
    )]
    pub measure_time: Span,
    /// Time after which a client (an IPv4 address or an IPv6 /56) may measure again
    #[arg(long, value_name = "TIME", default_value = "10 min", requires = "measure")]
    pub measure_interval: Span,
    /// Options of the client side.
    #[command(flatten)]
    pub client_side: ClientSide,
}

/// Arguments of `bentpipe proxy`.
#[derive(Debug, Args)]
#[command(after_help = PROXY_EXAMPLES)]
pub struct Proxy {
    /// The web server to put behind the proxy: `http://HOST[:PORT]`, `https://HOST[:PORT]` or
    /// `unix:/PATH`; for HTTP/2 `h2c://`, `h2://` (with TLS) or `unix+h2c:`; followed by
    /// ` send-proxy-v2`, it is told clients' addresses. Repeat it for several equal servers
    #[arg(long, value_name = "URL", required = true)]
    pub upstream: Vec<String>,
    /// Send this host name to the upstream, instead of the one that clients request
    #[arg(long, value_name = "HOST[:PORT]")]
    pub upstream_host: Option<String>,
    /// Options of the upstream.
    #[command(flatten)]
    pub options: UpstreamOptions,
    /// Options of the client side.
    #[command(flatten)]
    pub client_side: ClientSide,
}

/// Options of the side of a proxy that asks the upstream.
#[derive(Debug, Args)]
pub struct UpstreamOptions {
    /// Ask each upstream for this path at intervals, and send no requests to one that fails twice
    /// in a row [default: no checks; one that refuses connections gets no requests for 10 s]
    #[arg(long, value_name = "PATH")]
    pub upstream_health: Option<String>,
    /// Interval between two health checks of an upstream
    #[arg(
        long,
        value_name = "TIME",
        default_value = "5 s",
        value_parser = nonzero_time,
        requires = "upstream_health"
    )]
    pub upstream_health_interval: Span,
    /// Trust these CA certificates (PEM) for an https upstream, instead of the system's
    #[arg(long, value_name = "FILE")]
    pub upstream_ca: Option<PathBuf>,
    /// Do not verify the certificate of an https upstream; for tests
    #[arg(long, conflicts_with = "upstream_ca")]
    pub upstream_insecure: bool,
    /// Time limit for the upstream to respond, and for pauses within a response
    #[arg(long, value_name = "TIME", default_value = "50 s", value_parser = nonzero_time)]
    pub upstream_timeout: Span,
    /// Maximum number of concurrent requests to the upstream; more wait [default: 1024, or a
    /// quarter of the limit on open files]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub upstream_connections: Option<usize>,
    /// The same per client (an IPv4 address or an IPv6 /56; an IPv6 /48 has twice as many)
    /// [default: an eighth of --upstream-connections; at least 100, at most half]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub upstream_per_client: Option<usize>,
    /// Refuse clients that send the content of a request more slowly than this, but for 20 s in
    /// all; `0 bps` accepts any rate
    #[arg(long, value_name = "RATE", default_value = "4 kbps")]
    pub min_upload_rate: Rate,
    /// Refuse request bodies larger than this [default: no limit]
    #[arg(long, value_name = "SIZE")]
    pub max_body: Option<Bytes>,
}

/// Options of a server's client side.
#[derive(Debug, Args)]
pub struct ClientSide {
    /// Read options from this file: TOML with their names as keys, such as `threads = 2`. The
    /// command line has precedence
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Address and port to listen on, for UDP and TCP; port 0 picks a free port
    #[arg(
        long,
        value_name = "ADDR:PORT",
        default_value = "127.0.0.1:4433",
        value_parser = socket_address
    )]
    pub listen: SocketAddr,
    /// Certificate chain (PEM), the server's own certificate first
    #[arg(long, value_name = "FILE", requires = "key", conflicts_with = "self_signed")]
    pub cert: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,
    /// Use a new self-signed certificate, for tests; clients must be told to trust it
    #[arg(long)]
    pub self_signed: bool,
    /// Another name that the self-signed certificate is valid for
    #[arg(long, value_name = "NAME", requires = "self_signed")]
    pub name: Vec<String>,
    /// Write the self-signed certificate (PEM) to this file, for clients to trust
    #[arg(long, value_name = "FILE", requires = "self_signed")]
    pub save_cert: Option<PathBuf>,
    /// Options of the server.
    #[command(flatten)]
    pub server: ServerOptions,
}

/// Options of a server that do not depend on what it serves.
#[derive(Debug, Args)]
pub struct ServerOptions {
    /// Threads that carry QUIC connections, at most 64 [default: number of CPUs]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<NonZeroU8>,
    /// QUIC congestion controller (see `bentpipe controllers`)
    #[arg(
        long,
        value_name = "NAME",
        default_value_t,
        value_parser = parsed::<ControllerName>(controller_names),
        hide_possible_values = true
    )]
    pub congestion: ControllerName,
    /// QUIC slow-start algorithm (see `bentpipe controllers`)
    #[arg(
        long,
        value_name = "NAME",
        default_value_t,
        value_parser = parsed::<SlowStartName>(slow_start_names),
        hide_possible_values = true
    )]
    pub slow_start: SlowStartName,
    /// Filter of the losses that the QUIC controller learns of (see `bentpipe controllers`)
    #[arg(
        long,
        value_name = "auto|none|chance",
        default_value_t,
        value_parser = parsed::<LossFilterName>(loss_filter_names),
        hide_possible_values = true
    )]
    pub loss_filter: LossFilterName,
    /// Use of a remembered path (see `bentpipe controllers`)
    #[arg(
        long,
        value_name = "none|careful|jump",
        default_value = "careful",
        value_parser = parsed::<ResumeName>(resume_names),
        hide_possible_values = true
    )]
    pub resume: ResumeName,
    /// Parameter of a controller, a slow start or resumption, such as long-path.first_flight=60
    /// (see `bentpipe controllers`); may be repeated
    #[arg(long = "parameter", value_name = "NAME.KEY=NUMBER", value_parser = parameter)]
    pub parameters: Vec<ParameterValue>,
    /// Serve Prometheus metrics (/metrics, plain HTTP) at this address [default: off]
    #[arg(long, value_name = "ADDR:PORT", value_parser = socket_address)]
    pub metrics: Option<SocketAddr>,
    /// Format of the access log on standard output, with one line per request
    #[arg(long, value_enum, default_value_t = LogStyle::Text)]
    pub log: LogStyle,
    /// Fields of requests that the access log has, too, separated by commas; they tell more about
    /// people than a server needs [default: none]
    #[arg(
        long,
        value_enum,
        value_name = "FIELDS",
        value_delimiter = ',',
        hide_default_value = true
    )]
    pub log_fields: Vec<LogFieldName>,
    /// File of the path store [default: $XDG_STATE_HOME/bentpipe/paths.sqlite, or
    /// ~/.local/state/bentpipe/paths.sqlite]
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
    /// Remember paths in memory only
    #[arg(long, conflicts_with = "store")]
    pub no_store: bool,
    /// File of the keys of tokens and of TLS sessions, so that clients come back with them after a
    /// restart [default: server.sqlite beside the default path store, or beside --store with the
    /// extension sessions.sqlite; none with --no-store or --self-signed]
    #[arg(long, value_name = "FILE")]
    pub sessions: Option<PathBuf>,
    /// Keep the keys of tokens and TLS sessions in memory only
    #[arg(long, conflicts_with = "sessions")]
    pub no_sessions: bool,
    /// Remember no paths on the server; only clients with tokens do
    #[arg(long, conflicts_with_all = ["store", "no_store"])]
    pub tokens_only: bool,
    /// Maximum number of concurrent connections; more are refused [default: 8192, or fewer if the
    /// limit on open files is low]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub max_connections: Option<usize>,
    /// Maximum number of concurrent connections per client (an IPv4 address or an IPv6 /56; an IPv6
    /// /48 has twice as many)
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = at_least_one)]
    pub max_per_client: usize,
    /// Number of requests per client and time, such as `100/s` or `30/min` (an IPv6 /48 has twice
    /// as many); more get 429 [default: any number]
    #[arg(long, value_name = "RATE")]
    pub request_rate: Option<RequestRate>,
    /// Requests that a client may make at once before --request-rate holds
    #[arg(long, value_name = "N", default_value_t = Limits::default().request_burst)]
    pub request_burst: NonZeroU32,
    /// Time for clients to finish when the server stops
    #[arg(long, value_name = "TIME", default_value = "10 s")]
    pub drain: Span,
    /// Options of qlog traces.
    #[command(flatten)]
    pub qlog: QlogArgs,
}

/// Options of qlog traces.
#[derive(Debug, Args)]
pub struct QlogArgs {
    /// Write a qlog trace of each QUIC connection to this directory: its packets and the peer's
    /// address, without content. Takes CPU time for every packet
    #[arg(long, value_name = "DIR")]
    pub qlog: Option<PathBuf>,
    /// Maximum number of traces in DIR, including existing ones; later connections are not traced
    #[arg(long, value_name = "N", default_value_t = 100, requires = "qlog")]
    pub qlog_files: usize,
    /// Maximum total size of the traces; they are truncated there
    #[arg(long, value_name = "SIZE", default_value = "1 GB", requires = "qlog")]
    pub qlog_size: Bytes,
    /// Write each trace in the form that the qvis viewer reads as well, to `….qvis.sqlog`
    #[arg(long, requires = "qlog")]
    pub qlog_qvis: bool,
}

impl QlogArgs {
    /// Trace settings, if tracing is enabled.
    pub fn qlog(&self) -> Option<Qlog> {
        let directory = self.qlog.clone()?;
        Some(Qlog {
            directory,
            files: self.qlog_files,
            bytes: self.qlog_size,
            qvis: self.qlog_qvis,
        })
    }
}

/// Style of the access log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogStyle {
    /// Human-readable lines
    Text,
    /// JSON objects, one per line
    Json,
    /// No log
    None,
}

impl LogStyle {
    /// Format of the log, if there is one.
    pub fn format(self) -> Option<LogFormat> {
        match self {
            Self::Text => Some(LogFormat::Text),
            Self::Json => Some(LogFormat::Json),
            Self::None => None,
        }
    }
}

/// A field of requests in the access log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFieldName {
    /// Program of the client (User-Agent)
    Agent,
    /// Page that the request came from (Referer), without its query
    Referrer,
    /// ID of the trace that the request is part of (traceparent)
    Trace,
}

impl LogFieldName {
    /// Returns the field of the server.
    pub fn field(self) -> LogField {
        match self {
            Self::Agent => LogField::Agent,
            Self::Referrer => LogField::Referrer,
            Self::Trace => LogField::Trace,
        }
    }
}

/// Arguments of `bentpipe get`.
#[derive(Debug, Args)]
#[command(after_help = GET_EXAMPLES)]
pub struct Get {
    /// URLs to download: `https://HOST[:PORT]/PATH`
    #[arg(required = true, value_name = "URL")]
    pub urls: Vec<String>,
    /// File to write, for a single URL; `-` is standard output [default: the last segment of the
    /// URL's path]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Resume a partial download, as programs with this option do. It is always resumed, with or
    /// without the option
    #[arg(long = "continue", short = 'c', conflicts_with = "discard")]
    pub resume: bool,
    /// Discard the content, to measure only
    #[arg(long, conflicts_with = "output")]
    pub discard: bool,
    /// Do not fall back to HTTP/2 or HTTP/1.1 where QUIC fails or does not answer within 3 s
    #[arg(long)]
    pub http3_only: bool,
    /// Use a new connection for every download
    #[arg(long)]
    pub no_reuse: bool,
    /// Time to wait between downloads
    #[arg(long, value_name = "TIME", default_value = "0 s")]
    pub pause: Span,
    /// Give up if nothing arrives for this time
    #[arg(long, value_name = "TIME", default_value = "60 s", value_parser = nonzero_time)]
    pub timeout: Span,
    /// Connect to this address for HOST, instead of resolving its name
    #[arg(long, value_name = "HOST=ADDRESS", value_parser = host_address)]
    pub resolve: Vec<(String, IpAddr)>,
    /// Do not verify the server's certificate; for tests
    #[arg(long, conflicts_with = "ca")]
    pub insecure: bool,
    /// Trust these CA certificates (PEM), instead of the system's
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// File with tokens and TLS tickets from servers [default:
    /// $XDG_STATE_HOME/bentpipe/tokens.sqlite, or ~/.local/state/bentpipe/tokens.sqlite]
    #[arg(long, value_name = "FILE")]
    pub tokens: Option<PathBuf>,
    /// Send and store no path tokens, like clients that do not support them; address validation
    /// tokens and TLS tickets are kept in memory
    #[arg(long, conflicts_with = "tokens")]
    pub no_tokens: bool,
    /// Options of qlog traces.
    #[command(flatten)]
    pub qlog: QlogArgs,
    /// Show no progress bar
    #[arg(long, short)]
    pub quiet: bool,
    /// Print one JSON document to standard output, and nothing else
    #[arg(long)]
    pub json: bool,
}

/// Most threads of a server. Our choice: more have no CPU of their own on most machines.
const MAX_THREADS: u8 = 64;

fn threads(text: &str) -> Result<NonZeroU8, String> {
    let threads = text.parse().ok().filter(|threads: &NonZeroU8| threads.get() <= MAX_THREADS);
    threads.ok_or_else(|| format!("allowed: 1 to {MAX_THREADS}"))
}

impl ServerOptions {
    /// Returns the number of threads that carry QUIC connections.
    pub fn threads(&self) -> NonZeroU8 {
        self.threads.unwrap_or_else(|| {
            let available = std::thread::available_parallelism().map_or(1, usize::from);
            let threads = u8::try_from(available).unwrap_or(MAX_THREADS).min(MAX_THREADS);
            NonZeroU8::new(threads).unwrap_or(NonZeroU8::MIN)
        })
    }
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

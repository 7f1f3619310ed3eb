//! The command line of `bentpipe front`.

use super::product::{ServerOptions, UpstreamOptions};
use super::values::{nonzero_time, socket_address};
use bentpipe_units::{Ratio, Span};
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

const EXAMPLES: &str = r#"Examples:
  Beside the web server of this machine, with the certificates that certbot, Caddy or acme.sh keep:
  bentpipe front

  bentpipe front --check
  bentpipe front --check --json | jq '.hosts[] | select(.days_left < 14) | .host'

  bentpipe front --certs /etc/ssl/sites --upstream https://127.0.0.1:443
  bentpipe front --upstream http://127.0.0.1:8080
  bentpipe front --upstream unix:/run/site.sock
  bentpipe front --upstream https://127.0.0.1:443 --upstream shop.example=http://10.0.0.2:8080 \
    --upstream '*.apps.example=http://10.0.0.3'
  bentpipe front --holdback '5 %' --log json
  bentpipe front --gain access.log

  bentpipe front --config /etc/bentpipe/front.toml

The front prints its address as the first line on standard output once it listens: on UDP only.
Browsers use it once the web server announces it, with `Alt-Svc: h3=":443"; ma=86400` in its
responses.
Renewed certificates are used without a signal.
SIGHUP starts a new process with the current program, configuration and certificates, and hands the
sockets over to it: no request is lost. The old process ends with its connections.
On SIGINT or SIGTERM, it accepts no new connections, lets clients finish and exits with status 0. A
second signal ends it at once, with status 3.

Exit status of --check:
  0  all hosts can be served
  1  a certificate or an upstream cannot be used, or the firewall blocks UDP
  2  the command line is invalid"#;

/// Arguments of `bentpipe front`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Front {
    /// Read options from this file: TOML with their names as keys, such as `threads = 2`. The
    /// command line has precedence
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Say what the front would do and what is missing, instead of serving: certificates and days
    /// left, upstreams, the firewall, and the lines for the web server. Status 1 if a host cannot
    /// be served
    #[arg(long)]
    pub check: bool,
    /// Say what the starts and the memory of paths gained, instead of serving: from access logs
    /// (JSON) of a front with --holdback; `-` is standard input. May be repeated. Status 1 if there
    /// are too few clients to tell
    #[arg(long, value_name = "LOG", conflicts_with = "check")]
    pub gain: Vec<PathBuf>,
    /// With --check or --gain, print one JSON document to standard output, and nothing else
    #[arg(long)]
    pub json: bool,
    /// Directory with certificates and keys, as certbot, Caddy, acme.sh, lego, HAProxy or people
    /// keep them, also below it; may be repeated [default: those of certbot, Caddy and acme.sh]
    #[arg(long, value_name = "DIR")]
    pub certs: Vec<PathBuf>,
    /// Interval at which changed certificates are looked for
    #[arg(long, value_name = "TIME", default_value = "30 s", value_parser = nonzero_time)]
    pub certs_interval: Span,
    /// Longest time for which clients may finish with a process that SIGHUP has replaced
    #[arg(long, value_name = "TIME", default_value = "24 h")]
    pub drain_reload: Span,
    /// The site's web server: `http://HOST[:PORT]`, `https://HOST[:PORT]` or `unix:/PATH`; for
    /// HTTP/2 `h2c://`, `h2://` (with TLS) or `unix+h2c:`; followed by ` send-proxy-v2`, it is told
    /// clients' addresses; after `NAME=` or `*.NAME=`, that of one host or of those below it.
    /// Repeat it for several hosts, or for several equal servers
    #[arg(long, value_name = "[NAME=]URL", default_value = "https://127.0.0.1:443")]
    pub upstream: Vec<String>,
    /// Start this share of the clients, selected by their networks, as RFC 9002 has it and without
    /// memory of paths, and log the group of each: `5 %` shows what the others gain [default: none]
    #[arg(long, value_name = "SHARE")]
    pub holdback: Option<Ratio>,
    /// Name of this server for a balancer of UDP in front of several, 1 to 8 bytes as hexadecimal
    /// digits: its connection IDs have it (QUIC-LB), encrypted with --cid-key
    #[arg(long, value_name = "HEX", requires = "cid_key")]
    pub server_id: Option<String>,
    /// File with the key of connection IDs that the balancer has too, 32 hexadecimal digits
    #[arg(long, value_name = "FILE", requires = "server_id")]
    pub cid_key: Option<PathBuf>,
    /// Number of the balancer's configuration with this key, 0 to 6
    #[arg(long, value_name = "N", default_value_t = 0, requires = "server_id")]
    pub cid_config: u8,
    /// Options of the upstream.
    #[command(flatten)]
    pub options: UpstreamOptions,
    /// Address and port to listen on, for UDP; `[::]` is IPv4 as well
    #[arg(
        long,
        value_name = "ADDR:PORT",
        default_value = "[::]:443",
        value_parser = socket_address
    )]
    pub listen: SocketAddr,
    /// Options of the server.
    #[command(flatten)]
    pub server: ServerOptions,
}

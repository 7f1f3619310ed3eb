//! The command line of `bentpipe shell`.

use super::suggest::{profile_names, text};
use bentpipe_units::{Bytes, Span};
use clap::Args;
use std::path::PathBuf;
use std::str::FromStr;

pub const EXAMPLES: &str = r#"Examples:
  bentpipe shell geo-50-10                                          (a shell behind a satellite)
  bentpipe shell geo-50-10 -- ping -c 3 {server}
  bentpipe shell leo --serve 'python3 -m http.server 8000' \
    -- curl -o /dev/null http://{server}:8000/file
  bentpipe shell geo-250-3 --set path.forward.loss=0.001 --forward 443:127.0.0.1:8443 \
    -- curl -k https://{server}/
  bentpipe shell my.toml --json -- ./measure {server}
  bentpipe shell scenarios/examples/leo-ping.toml -- ping {server}  (over moving satellites)

  Print statistics every second, and capture packets for Wireshark:
  bentpipe shell geo-50-10 --stats --capture server.pcapng -- ./measure {server}

In COMMAND and --serve, {server}, {client}, {server6} and {client6} are replaced by addresses.
The variables BENTPIPE_SERVER, BENTPIPE_CLIENT and so on contain them, too. The command needs root
or user namespaces, and /dev/net/tun. The host's own network stays unchanged.

Exit status:
  that of COMMAND; 128 plus the signal's number if a signal ended it; 126 or 127 if it cannot be run
  2  the path or the command line is invalid
  3  the path cannot be emulated here"#;

/// Arguments of `bentpipe shell`.
#[derive(Debug, Args)]
pub struct Shell {
    /// A built-in path (see `bentpipe profiles`), or a scenario file (TOML) whose path to use
    #[arg(value_name = "PROFILE", value_parser = text(profile_names), hide_possible_values = true)]
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

//! Arguments of `bentpipe explain`.

use bentpipe_units::Rate;
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  bentpipe explain out/first
  bentpipe explain server.qlog                      (a connection of any QUIC stack)
  bentpipe explain server.pcapng                    (the largest connection of a capture)
  bentpipe explain server.pcap --keys keys.txt      (QUIC, with the file of SSLKEYLOGFILE)
  bentpipe explain server.pcap client.pcap          (one transfer, recorded at both ends)
  bentpipe explain server.pcap --html page.html     (a page with plots)
  bentpipe explain before.pcap --against after.pcap (what changed)
  tcpdump -w - port 443 | bentpipe explain -        (standard input)
  bentpipe explain out/cnes-start --variant 1rtt --variant 0rtt-careful
  bentpipe explain out/first --json | jq '.[].causes[0]'";

/// Arguments of `bentpipe explain`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Explain {
    /// A directory written by `bentpipe run`; a qlog file of any QUIC stack, a NetLog of Chromium,
    /// or a pcap or pcapng capture of TCP or QUIC, of which one of the sender of the data tells
    /// more than one of the receiver; an HTTP Archive; or output of `ss -tin`. `-` is standard
    /// input
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
    /// The file of the other end of the same connection: together they say what was lost and what
    /// waited in each direction. A file of another connection is compared, as with `--against`
    #[arg(value_name = "OTHER", conflicts_with = "against")]
    pub other: Option<PathBuf>,
    /// Only this variant; several are compared with the first [default: all]
    #[arg(long, value_name = "NAME")]
    pub variant: Vec<String>,
    /// Of a qlog file or a capture: the rate of the path towards the receiver [default: the highest
    /// rate at which data arrived]
    #[arg(long, value_name = "RATE")]
    pub rate: Option<Rate>,
    /// Of a capture: the secrets of TLS that decrypt QUIC, as programs write them with
    /// SSLKEYLOGFILE [default: those in the capture]
    #[arg(long, value_name = "FILE")]
    pub keys: Option<PathBuf>,
    /// Of a file with several connections: explain this one [default: the one with the most data]
    #[arg(long, value_name = "N")]
    pub connection: Option<std::num::NonZeroUsize>,
    /// Of a file with several requests: explain this one, too
    #[arg(long, value_name = "N")]
    pub request: Option<std::num::NonZeroUsize>,
    /// Of a qlog file or a capture: what changed from it to this one
    #[arg(long, value_name = "FILE")]
    pub against: Option<PathBuf>,
    /// Of a qlog file or a capture: write the scenario of its path and transfer here
    #[arg(long, value_name = "FILE")]
    pub scenario: Option<PathBuf>,
    /// Of a capture: write a copy as pcapng here, whose packets have comments for Wireshark: what
    /// the transfer waited for before each, losses and requests
    #[arg(long, value_name = "FILE", conflicts_with_all = ["other", "against"])]
    pub annotate: Option<PathBuf>,
    /// Of a qlog file or a capture: write a page here that opens offline in any browser, with the
    /// answer, what would help, the transfer over time and requests. Prints its path instead of the
    /// text
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "against"])]
    pub html: Option<PathBuf>,
    /// Show that page in the browser of the desktop
    #[arg(long, requires = "html")]
    pub open: bool,
    /// Print one JSON document to standard output: a list with an entry for each variant, sweep
    /// point, flow and visit; of a file, its path, transfers, requests, remedies and connections
    /// (`bentpipe schema --explain`)
    #[arg(long)]
    pub json: bool,
}

impl Explain {
    /// Returns the first of the given arguments that need a file with packets.
    pub fn packets_argument(&self) -> Option<&'static str> {
        let arguments = [
            ("--rate", self.rate.is_some()),
            ("--scenario", self.scenario.is_some()),
            ("--connection", self.connection.is_some()),
            ("--request", self.request.is_some()),
            ("--against", self.against.is_some()),
            ("OTHER", self.other.is_some()),
            ("--annotate", self.annotate.is_some()),
            ("--html", self.html.is_some()),
        ];
        arguments.into_iter().find_map(|(argument, given)| given.then_some(argument))
    }
}

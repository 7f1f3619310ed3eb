//! The formats of other tools, with their names.

/// A format of another tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Output of ping.
    Ping,
    /// A table of times, sequence numbers and RTTs, as those of mmsys24 and LENS.
    PingTable,
    /// JSON of irtt.
    Irtt,
    /// Results of RIPE Atlas pings.
    Atlas,
    /// JSON of iperf3.
    Iperf3,
    /// Delivery opportunities of mahimahi and LeoReplayer.
    Mahimahi,
    /// Delays of LeoReplayer.
    LeoReplayer,
    /// CSV or JSON of starlink-grpc-tools.
    Dish,
    /// A CSV file with the fate of each UDP packet.
    UdpRecords,
}

impl Format {
    /// All formats with their names.
    pub const ALL: [(Self, &'static str); 9] = [
        (Self::Ping, "ping"),
        (Self::PingTable, "ping-table"),
        (Self::Irtt, "irtt"),
        (Self::Atlas, "atlas"),
        (Self::Iperf3, "iperf3"),
        (Self::Mahimahi, "mahimahi"),
        (Self::LeoReplayer, "leoreplayer-delay"),
        (Self::Dish, "dish"),
        (Self::UdpRecords, "udp-records"),
    ];

    /// Returns the name, as `--format` takes it.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(format, _)| *format == self).map_or("", |(_, name)| *name)
    }

    /// Returns what a file of this format has, for messages.
    pub(crate) fn description(self) -> &'static str {
        match self {
            Self::Ping => "the output of `ping`, best with times (`ping -D`)",
            Self::PingTable => {
                "time, number and RTT in ms between tabs, or CSV with `timestamp,rtt`"
            }
            Self::Irtt => "the JSON of `irtt client -o FILE.json HOST`",
            Self::Atlas => "the results of a ping measurement of RIPE Atlas",
            Self::Iperf3 => "the JSON of `iperf3 -J`",
            Self::Mahimahi => "a time in whole ms on each line, which rise",
            Self::LeoReplayer => "a one-way delay in ms on each line",
            Self::Dish => "CSV of `bulk_history`, or JSON of `get_history`",
            Self::UdpRecords => "CSV with `seq,ts_sent,ts_rcvd,owd_ms,size,lost`",
        }
    }

    /// Returns the format called `name`.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, own)| *own == name).map(|(format, _)| *format)
    }
}

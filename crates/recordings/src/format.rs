//! The formats of other tools, with their names.

/// A format of another tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `ping -D` of iputils.
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

    /// Returns the format called `name`.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, own)| *own == name).map(|(format, _)| *format)
    }
}

//! What a packet is that has no header of TCP or UDP.

use std::fmt;

/// What a packet is that has no header of TCP or UDP, as far as it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Its link layer is not read.
    LinkType(u16),
    /// Its EtherType is not read.
    EtherType(u16),
    /// A protocol of IEEE 802.2 other than SNAP and IP.
    Llc,
    /// A protocol of PPP.
    Ppp(u16),
    /// ARP.
    Arp,
    /// A management or control frame of IEEE 802.11.
    WifiControl,
    /// A frame of IEEE 802.11 that is encrypted.
    WifiEncrypted,
    /// A protocol of IP.
    Protocol(u8),
    /// A fragment of an IP packet, or of a frame, without the begin.
    Fragment,
    /// Its headers end before that of TCP or UDP.
    CutOff,
    /// A header has a value that its document does not allow.
    Malformed,
    /// It has more headers than are followed.
    TooDeep,
}

impl Kind {
    /// Returns the words for `count` packets.
    pub fn words(self, count: u64) -> String {
        let many = if count == 1 { "" } else { "s" };
        match self {
            Self::LinkType(number) => {
                format!("{count} packet{many} of link type {number}, which is not read")
            }
            Self::CutOff => format!("{count} packet{many} cut off before the header of TCP or UDP"),
            Self::Malformed => format!("{count} packet{many} with malformed headers"),
            Self::TooDeep => format!("{count} packet{many} in too many tunnels"),
            Self::Fragment => format!("{count} fragment{many}"),
            other => format!("{count} {other} packet{many}"),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::LinkType(number) => return write!(f, "link type {number}"),
            Self::EtherType(0x88cc) => "LLDP",
            Self::EtherType(number) => return write!(f, "EtherType {number:#06x}"),
            Self::Ppp(number) => return write!(f, "PPP protocol {number:#06x}"),
            Self::Protocol(1) => "ICMP",
            Self::Protocol(2) => "IGMP",
            Self::Protocol(50) => "ESP (encrypted)",
            Self::Protocol(58) => "ICMPv6",
            Self::Protocol(89) => "OSPF",
            Self::Protocol(132) => "SCTP",
            Self::Protocol(number) => return write!(f, "IP protocol {number}"),
            Self::Llc => "LLC",
            Self::Arp => "ARP",
            Self::WifiControl => "802.11 management or control",
            Self::WifiEncrypted => "encrypted 802.11",
            Self::Fragment => "fragment",
            Self::CutOff => "cut-off",
            Self::Malformed => "malformed",
            Self::TooDeep => "tunnelled",
        };
        f.write_str(name)
    }
}

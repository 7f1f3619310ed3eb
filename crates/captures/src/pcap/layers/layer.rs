//! The layers of a frame.

use super::part::Part;
use std::net::IpAddr;

/// What the bytes of a layer are.
#[derive(Debug, Clone, Copy)]
pub enum Layer {
    /// What follows this EtherType.
    EtherType(u16),
    /// Ethernet.
    Ethernet,
    /// IEEE 802.2.
    Llc,
    /// A protocol number of PPP and what follows, with or without address and control.
    Ppp,
    /// Labels of MPLS.
    Mpls,
    /// IPv4 or IPv6, by the version.
    Ip,
    /// What follows an IP header with this protocol number.
    Protocol(u8, IpPacket),
    /// A frame of IEEE 802.11, with what is before it.
    Wifi(Before),
}

/// What follows a header.
#[derive(Debug, Clone, Copy)]
pub enum Next<'a> {
    /// Another header.
    Layer(Layer, Part<'a>),
    /// TCP or UDP.
    Transport(Found<'a>),
}

/// A packet of TCP or UDP.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    /// The innermost IP packet.
    pub ip: IpPacket,
    /// True for TCP.
    pub is_tcp: bool,
    /// Its header and what follows.
    pub part: Part<'a>,
}

/// The header before a frame.
#[derive(Debug, Clone, Copy)]
pub enum Before {
    /// None.
    Nothing,
    /// Radiotap: <https://www.radiotap.org>.
    Radiotap,
    /// Of Prism II cards, or AVS in its place.
    Prism,
    /// AVS.
    Avs,
    /// Per-Packet Information (PPI).
    Ppi,
}

/// An IP packet.
#[derive(Debug, Clone, Copy)]
pub struct IpPacket {
    /// Source and destination.
    pub addresses: [IpAddr; 2],
    /// Bytes on the wire, with its header.
    pub bytes: u64,
    /// Identification of IPv4; zero may be no identification (RFC 6864 §4).
    pub id: Option<u16>,
}

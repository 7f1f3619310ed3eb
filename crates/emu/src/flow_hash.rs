//! Tells the flows of IP packets apart by their addresses, protocol and ports, for queues that need
//! it.

use crate::gso::{self, TCP, UDP};
use bentpipe_link::FlowKey;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;

/// Maximum number of IPv6 extension headers before the transport header. Packets with more belong
/// to the flow of their addresses.
const MAX_EXTENSIONS: usize = 8;
/// IPv6 extension headers (RFC 8200 §4).
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION_OPTIONS: u8 = 60;

/// What the packets of a flow have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Flow {
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    /// Source and destination port of TCP and UDP. `None` for other protocols, and for fragments,
    /// of which only the first has ports.
    ports: Option<[u8; 4]>,
}

/// Computes the keys of flows.
///
/// The hash is keyed at random, so that no sender can choose ports by which its flows share a key
/// with another's.
pub struct FlowHash(RandomState);

impl FlowHash {
    /// Draws the key of the hash.
    pub fn new() -> Self {
        Self(RandomState::new())
    }

    /// Returns the key of the flow of an IP packet; that of all malformed packets is the same.
    pub fn key(&self, packet: &[u8]) -> FlowKey {
        FlowKey(self.0.hash_one(Flow::of(packet)) as u32)
    }
}

impl Flow {
    /// Reads the flow of an IP packet. `None` if its lengths are inconsistent.
    fn of(packet: &[u8]) -> Option<Self> {
        let (source, destination) = gso::ends(packet)?;
        let (protocol, transport) = match source {
            IpAddr::V4(_) => transport_v4(packet)?,
            IpAddr::V6(_) => transport_v6(packet)?,
        };
        let transport = transport.filter(|_| matches!(protocol, TCP | UDP));
        let ports = transport.and_then(<[u8]>::first_chunk::<4>).copied();
        Some(Self { source, destination, protocol, ports })
    }
}

/// Returns the protocol of an IPv4 packet and, unless it is a fragment, what follows its header.
fn transport_v4(packet: &[u8]) -> Option<(u8, Option<&[u8]>)> {
    let header = packet.first_chunk::<20>()?;
    // More fragments, or an offset (RFC 791 §3.1).
    let is_fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0;
    let transport = packet.get(usize::from(header[0] & 0xf) * 4..);
    Some((header[9], transport.filter(|_| !is_fragment)))
}

/// Returns the protocol of an IPv6 packet and, unless it is a fragment, what follows its headers.
fn transport_v6(packet: &[u8]) -> Option<(u8, Option<&[u8]>)> {
    let (header, mut rest) = packet.split_first_chunk::<40>()?;
    let mut protocol = header[6];
    for _ in 0..MAX_EXTENSIONS {
        let Some([next, length, ..]) = rest.first_chunk::<8>() else { break };
        match protocol {
            HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS => {
                protocol = *next;
                rest = rest.get((usize::from(*length) + 1) * 8..).unwrap_or_default();
            }
            FRAGMENT => return Some((*next, None)),
            _ => break,
        }
    }
    Some((protocol, Some(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A packet with this protocol and content, between addresses that end in these bytes.
    fn v4(ends: [u8; 2], protocol: u8, content: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; 20];
        packet[0] = 0x45;
        packet[2..4].copy_from_slice(&(20 + content.len() as u16).to_be_bytes());
        packet[9] = protocol;
        (packet[15], packet[19]) = (ends[0], ends[1]);
        packet.extend(content);
        packet
    }
    fn v6(ends: [u8; 2], next: u8, content: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; 40];
        packet[0] = 0x60;
        packet[4..6].copy_from_slice(&(content.len() as u16).to_be_bytes());
        packet[6] = next;
        (packet[23], packet[39]) = (ends[0], ends[1]);
        packet.extend(content);
        packet
    }
    fn ports(packet: &[u8]) -> Option<[u8; 4]> {
        Flow::of(packet).expect("a valid packet").ports
    }

    #[test]
    fn flows_differ_by_addresses_protocol_and_ports() {
        let hash = FlowHash::new();
        let mut keys = Vec::new();
        for make in [v4, v6] {
            for ends in [[1, 2], [2, 1], [1, 3]] {
                for protocol in [TCP, UDP] {
                    for port in [[1, 0, 0, 80], [0, 80, 1, 0], [2, 0, 0, 80]] {
                        let header = [&port[..], &[0; 16]].concat();
                        let key = hash.key(&make(ends, protocol, &header));
                        assert!(!keys.contains(&key), "{ends:?} {protocol} {port:?}");
                        keys.push(key);
                        let longer = [&header[..], b"data"].concat();
                        assert_eq!(hash.key(&make(ends, protocol, &longer)), key);
                    }
                }
            }
        }
        // GRE, ESP and ICMP have no ports: what follows differs from packet to packet.
        for protocol in [47, 50, 1] {
            let key = |content: &[u8]| hash.key(&v4([1, 2], protocol, content));
            assert_eq!(key(&[1; 8]), key(&[2; 8]));
        }
    }

    #[test]
    fn all_fragments_of_a_packet_belong_to_one_flow() {
        let mut first = v4([1, 2], UDP, &[1, 2, 3, 4, 0, 0, 0, 0]);
        assert_eq!(ports(&first), Some([1, 2, 3, 4]));
        first[6] = 0x20;
        let mut last = v4([1, 2], UDP, &[9; 8]);
        last[7] = 1;
        assert_eq!(Flow::of(&first), Flow::of(&last));
        assert_eq!(ports(&first), None);
        let fragment = |offset: u8, content: &[u8]| {
            v6([1, 2], FRAGMENT, &[&[UDP, 0, 0, offset, 0, 0, 0, 7], content].concat())
        };
        assert_eq!(Flow::of(&fragment(1, &[1; 8])), Flow::of(&fragment(8, &[2; 8])));
        assert_eq!(Flow::of(&fragment(8, &[2; 8])).map(|flow| flow.protocol), Some(UDP));
    }

    #[test]
    fn ports_follow_ipv6_extension_headers() {
        let udp = [1, 2, 3, 4, 0, 8, 0, 0];
        let options = |next| [next, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let chain = [&options(DESTINATION_OPTIONS)[..], &options(UDP), &udp].concat();
        let flow = Flow::of(&v6([1, 2], HOP_BY_HOP, &chain)).expect("a valid packet");
        assert_eq!((flow.protocol, flow.ports), (UDP, Some([1, 2, 3, 4])));
        // A chain without end, and one that is longer than the packet.
        let endless = [options(ROUTING); 80].concat();
        assert_eq!(ports(&v6([1, 2], ROUTING, &endless)), None);
        assert_eq!(ports(&v6([1, 2], ROUTING, &[UDP, 255, 0, 0, 0, 0, 0, 0])), None);
    }

    #[test]
    fn short_and_malformed_packets_have_a_key() {
        let hash = FlowHash::new();
        assert_eq!(ports(&v4([1, 2], UDP, &[1, 2, 3])), None);
        assert_eq!(hash.key(&[]), hash.key(&[0x45; 7]));
    }

    proptest! {
        #[test]
        fn any_bytes_have_a_key(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..200),
            version in proptest::sample::select(&[0x45u8, 0x46, 0x4f, 0x60][..]),
            protocol in proptest::sample::select(
                &[TCP, UDP, HOP_BY_HOP, ROUTING, FRAGMENT, DESTINATION_OPTIONS][..],
            ),
        ) {
            FlowHash::new().key(&bytes);
            // The same with consistent lengths, so that all headers are read.
            if let Some(length) = bytes.len().checked_sub(40) {
                bytes[0] = version;
                let whole = bytes.len() as u16;
                let length = if version == 0x60 { length as u16 } else { whole };
                let (at, next) = if version == 0x60 { (4, 6) } else { (2, 9) };
                bytes[at..at + 2].copy_from_slice(&length.to_be_bytes());
                bytes[next] = protocol;
                FlowHash::new().key(&bytes);
            }
        }
    }
}

//! Generic segmentation offload (GSO): splits what a TUN device with `IFF_VNET_HDR` delivers into
//! the IP packets that a real interface would send.
//!
//! The kernel's TCP passes up to 64 kB at once and leaves segmentation and checksums to the device.
//! A path must see packets of their true size and lose and delay each of them, so this module
//! splits them as the kernel would (linux/net/ipv4/tcp_offload.c, RFC 9293 §3.1 for the fields).
//!
//! TCP and UDP checksums stay incomplete along the path: `VIRTIO_NET_HDR_F_NEEDS_CSUM`, with the
//! sum of the pseudo-header in the field (virtio 1.2 §5.1.6.2), tells the receiving kernel not to
//! check, so the payload is never summed.

use bentpipe_link::{Dscp, Ecn};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Length of `struct virtio_net_hdr`.
pub const HEADER: usize = 10;
/// Maximum size of one read: the header and the largest IP packet.
pub const LARGEST: usize = HEADER + 65_535;

/// Flags and types of a `virtio_net_hdr` (virtio 1.2 §5.1.6).
pub const NEEDS_CSUM: u8 = 1;
pub const GSO_NONE: u8 = 0;
pub const GSO_TCPV4: u8 = 1;
pub const GSO_TCPV6: u8 = 4;
pub const GSO_UDP_L4: u8 = 5;
/// Flag: the first segment carries CWR (RFC 3168 §6.1.2).
const GSO_ECN: u8 = 0x80;

/// Protocol numbers (RFC 9293, RFC 768).
pub const TCP: u8 = 6;
pub const UDP: u8 = 17;
const FIN_PSH: u8 = 0x01 | 0x08;
const CWR: u8 = 0x80;

/// Reason why a packet is not carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejected {
    /// Not an IP packet with consistent lengths, or an offload that was not offered.
    Malformed,
    /// For a multicast group or for this link only. Kernels send such packets on their own, and a
    /// path carries none.
    Local,
}

/// The `virtio_net_hdr`, in native byte order.
#[derive(Debug, Clone, Copy)]
struct Offload {
    flags: u8,
    kind: u8,
    size: usize,
    checksum_start: usize,
    checksum_offset: usize,
}

impl Offload {
    fn read(header: &[u8; HEADER]) -> Self {
        let word = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]).into();
        Self {
            flags: header[0],
            kind: header[1] & !GSO_ECN,
            size: word(4),
            checksum_start: word(6),
            checksum_offset: word(8),
        }
    }
}

/// Calls `each` with every packet in `read`, in order: an IP packet with a `virtio_net_hdr` that
/// requests at most a checksum.
///
/// # Errors
/// The input is invalid or not carried; then `each` is not called.
pub fn packets(read: &[u8], mut each: impl FnMut(Box<[u8]>)) -> Result<(), Rejected> {
    let (header, packet) = read.split_first_chunk::<HEADER>().ok_or(Rejected::Malformed)?;
    let offload = Offload::read(header);
    let (_, to) = ends(packet).ok_or(Rejected::Malformed)?;
    if !is_carried(to) {
        return Err(Rejected::Local);
    }
    if offload.kind == GSO_NONE {
        each(read.into());
        return Ok(());
    }
    GsoPacket::new(packet, offload).ok_or(Rejected::Malformed)?.each(each);
    Ok(())
}

fn is_carried(to: IpAddr) -> bool {
    match to {
        IpAddr::V4(to) => !to.is_multicast() && !to.is_broadcast() && !to.is_link_local(),
        IpAddr::V6(to) => !to.is_multicast() && !to.is_unicast_link_local(),
    }
}

/// Returns source and destination of an IP packet with consistent lengths.
pub fn ends(packet: &[u8]) -> Option<(IpAddr, IpAddr)> {
    match packet.first()? >> 4 {
        4 => {
            let fixed = packet.first_chunk::<20>()?;
            let header = usize::from(fixed[0] & 0xf) * 4;
            let total = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
            if header < 20 || total < header || total != packet.len() {
                return None;
            }
            let address = |at: usize| {
                Ipv4Addr::new(fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]).into()
            };
            Some((address(12), address(16)))
        }
        6 => {
            let fixed = packet.first_chunk::<40>()?;
            let total = 40 + usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
            if total != packet.len() {
                return None;
            }
            let address = |at: usize| {
                let mut octets = [0; 16];
                octets.copy_from_slice(&fixed[at..at + 16]);
                Ipv6Addr::from(octets).into()
            };
            Some((address(8), address(24)))
        }
        _ => None,
    }
}

/// Returns the DSCP of an IP packet (RFC 2474 §3).
pub fn dscp(packet: &[u8]) -> Dscp {
    Dscp::of_traffic_class(traffic_class(packet))
}

/// Returns the traffic class of an IP packet, which IPv4 calls type of service.
fn traffic_class(packet: &[u8]) -> u8 {
    match packet {
        [first, second, ..] if first >> 4 == 6 => first << 4 | second >> 4,
        [_, second, ..] => *second,
        _ => 0,
    }
}

/// Returns the ECN field of an IP packet (RFC 3168 §5).
pub fn ecn(packet: &[u8]) -> Ecn {
    match traffic_class(packet) & 3 {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

/// Marks an IP packet CE and updates the checksum of an IPv4 header.
pub fn mark_ce(packet: &mut [u8]) {
    match packet {
        [first, second, ..] if *first >> 4 == 6 => *second |= 0x30,
        [first, second, ..] if *first >> 4 == 4 => {
            *second |= 0x03;
            let header = usize::from(*first & 0xf) * 4;
            complete_ipv4(packet, header);
        }
        _ => {}
    }
}

/// A super-packet to be split.
struct GsoPacket<'a> {
    /// IP and transport headers.
    headers: &'a [u8],
    payload: &'a [u8],
    /// Payload per segment, except the last.
    size: usize,
    /// Offset of the transport header.
    transport: usize,
    /// Offset of the checksum field.
    checksum: usize,
    protocol: u8,
    source: IpAddr,
    destination: IpAddr,
}

impl<'a> GsoPacket<'a> {
    fn new(packet: &'a [u8], offload: Offload) -> Option<Self> {
        let (source, destination) = ends(packet)?;
        let transport = offload.checksum_start;
        let min_delay = if source.is_ipv4() { usize::from(packet.first()? & 0xf) * 4 } else { 40 };
        if offload.flags & NEEDS_CSUM == 0 || offload.size == 0 || transport < min_delay {
            return None;
        }
        let (protocol, checksum, length) = match (offload.kind, source) {
            (GSO_TCPV4, IpAddr::V4(_)) | (GSO_TCPV6, IpAddr::V6(_)) => {
                (TCP, 16, usize::from(packet.get(transport + 12)? >> 4) * 4)
            }
            (GSO_UDP_L4, _) => (UDP, 6, 8),
            _ => return None,
        };
        let is_whole = length >= if protocol == TCP { 20 } else { 8 };
        let (headers, payload) = packet.split_at_checked(transport + length)?;
        if !is_whole || offload.checksum_offset != checksum || payload.is_empty() {
            return None;
        }
        Some(Self {
            headers,
            payload,
            size: offload.size,
            transport,
            checksum,
            protocol,
            source,
            destination,
        })
    }

    fn each(&self, mut each: impl FnMut(Box<[u8]>)) {
        let last = self.payload.len().div_ceil(self.size) - 1;
        for (index, payload) in self.payload.chunks(self.size).enumerate() {
            let mut bytes = Vec::with_capacity(HEADER + self.headers.len() + payload.len());
            bytes.extend([NEEDS_CSUM, GSO_NONE, 0, 0, 0, 0]);
            bytes.extend((self.transport as u16).to_ne_bytes());
            bytes.extend((self.checksum as u16).to_ne_bytes());
            bytes.extend(self.headers);
            bytes.extend(payload);
            let packet = &mut bytes[HEADER..];
            self.internet(packet, index);
            let segment = &mut packet[self.transport..];
            match self.protocol {
                TCP => {
                    let first =
                        u32::from_be_bytes([segment[4], segment[5], segment[6], segment[7]]);
                    let sequence = first.wrapping_add((index * self.size) as u32);
                    segment[4..8].copy_from_slice(&sequence.to_be_bytes());
                    if index < last {
                        segment[13] &= !FIN_PSH;
                    }
                    if index > 0 {
                        segment[13] &= !CWR;
                    }
                }
                _ => {
                    let length = segment.len() as u16;
                    segment[4..6].copy_from_slice(&length.to_be_bytes());
                }
            }
            let sum = pseudo_header(self.source, self.destination, self.protocol, segment.len());
            segment[self.checksum..self.checksum + 2].copy_from_slice(&sum.to_be_bytes());
            each(bytes.into_boxed_slice());
        }
    }

    /// Writes length, identification and checksum to the IP header of segment `index`.
    fn internet(&self, packet: &mut [u8], index: usize) {
        let length = packet.len();
        match self.source {
            IpAddr::V4(_) => {
                packet[2..4].copy_from_slice(&(length as u16).to_be_bytes());
                let number = u16::from_be_bytes([packet[4], packet[5]]).wrapping_add(index as u16);
                packet[4..6].copy_from_slice(&number.to_be_bytes());
                complete_ipv4(packet, usize::from(packet[0] & 0xf) * 4);
            }
            IpAddr::V6(_) => packet[4..6].copy_from_slice(&((length - 40) as u16).to_be_bytes()),
        }
    }
}

/// Writes the checksum of an IPv4 header of `header` bytes (RFC 791 §3.1).
pub fn complete_ipv4(packet: &mut [u8], header: usize) {
    let Some(header) = packet.get_mut(..header).filter(|header| header.len() >= 20) else { return };
    header[10..12].fill(0);
    let sum = !fold(sum(header));
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// Completes the checksum of a packet with its `virtio_net_hdr`, if the sender left it to the
/// receiver.
pub fn complete(whole: &mut [u8]) {
    let Some((header, packet)) = whole.split_first_chunk_mut::<HEADER>() else { return };
    let Offload { flags, checksum_start, checksum_offset, .. } = Offload::read(header);
    let Some(segment) = packet.get_mut(checksum_start..).filter(|_| flags & NEEDS_CSUM != 0) else {
        return;
    };
    let odd = segment.chunks_exact(2).remainder().first().map_or(0, |last| u32::from(*last) << 8);
    // Zero would mean that a datagram has no checksum (RFC 768). As a sum, it equals 0xffff.
    let checksum = match !fold(sum(segment) + odd) {
        0 => 0xffff,
        other => other,
    };
    if let Some(field) = segment.get_mut(checksum_offset..checksum_offset + 2) {
        field.copy_from_slice(&checksum.to_be_bytes());
        header[0] &= !NEEDS_CSUM;
    }
}

/// Returns the one's complement sum over the pseudo-header (RFC 9293 §3.1, RFC 8200 §8.1), not
/// inverted. It is the initial value of the checksum field.
pub fn pseudo_header(source: IpAddr, destination: IpAddr, protocol: u8, length: usize) -> u16 {
    let addresses = match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            sum(&source.octets()) + sum(&destination.octets())
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            sum(&source.octets()) + sum(&destination.octets())
        }
        // Both addresses of a packet are of one family.
        _ => 0,
    };
    fold(addresses + u32::from(protocol) + length as u32)
}

/// Returns the sum of 16-bit words. Ignores an odd last byte.
fn sum(bytes: &[u8]) -> u32 {
    bytes.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum()
}

fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A super-packet of TCP with 12 bytes of options, or of UDP, over IPv4 or IPv6.
    pub fn super_packet(v6: bool, tcp: bool, payload: &[u8], size: u16) -> Vec<u8> {
        let mut transport = if tcp { vec![0; 32] } else { vec![0; 8] };
        if tcp {
            transport[4..8].copy_from_slice(&u32::MAX.to_be_bytes());
            transport[12] = 8 << 4;
            transport[13] = CWR | 0x10 | FIN_PSH;
        }
        transport.extend(payload);
        let protocol = if tcp { TCP } else { UDP };
        let mut packet = if v6 {
            let mut header = vec![0; 40];
            header[0] = 0x60;
            header[4..6].copy_from_slice(&(transport.len() as u16).to_be_bytes());
            header[6] = protocol;
            header[8] = 0x20;
            header[24] = 0x20;
            header
        } else {
            let mut header = vec![0; 20];
            header[0] = 0x45;
            header[2..4].copy_from_slice(&(20 + transport.len() as u16).to_be_bytes());
            header[4..6].copy_from_slice(&u16::MAX.to_be_bytes());
            header[9] = protocol;
            header[12..20].copy_from_slice(&[198, 18, 0, 1, 198, 19, 0, 1]);
            header
        };
        let start = packet.len() as u16;
        packet.extend(transport);
        let kind = match (tcp, v6) {
            (true, false) => GSO_TCPV4 | GSO_ECN,
            (true, true) => GSO_TCPV6 | GSO_ECN,
            (false, _) => GSO_UDP_L4,
        };
        let mut read = vec![NEEDS_CSUM, kind, 0, 0];
        for word in [size, start, if tcp { 16 } else { 6 }] {
            read.extend(word.to_ne_bytes());
        }
        read.extend(packet);
        read
    }

    fn cut(read: &[u8]) -> Vec<Box<[u8]>> {
        let mut all = Vec::new();
        packets(read, |packet| all.push(packet)).expect("packet is carried");
        all
    }

    proptest! {
        #[test]
        fn segments_hold_the_payload_once_and_in_order(
            v6: bool,
            tcp: bool,
            payload in prop::collection::vec(any::<u8>(), 1..20_000),
            size in 1u16..1500,
        ) {
            prop_assume!(payload.len() / usize::from(size) < 500);
            let segments = cut(&super_packet(v6, tcp, &payload, size));
            let headers = if v6 { 40 } else { 20 } + if tcp { 32 } else { 8 };
            let mut captured: Vec<u8> = Vec::new();
            for (index, segment) in segments.iter().enumerate() {
                let packet = &segment[HEADER..];
                prop_assert!(ends(packet).is_some(), "consistent lengths");
                prop_assert_eq!((segment[0], segment[1]), (NEEDS_CSUM, GSO_NONE));
                let full = packet.len() == headers + usize::from(size);
                prop_assert!(segments.len() - 1 == index || full);
                if !v6 {
                    prop_assert_eq!(fold(sum(&packet[..20])), 0xffff, "header checksum");
                    let identification = u16::from_be_bytes([packet[4], packet[5]]);
                    prop_assert_eq!(identification, u16::MAX.wrapping_add(index as u16));
                }
                let transport = &packet[if v6 { 40 } else { 20 }..];
                if tcp {
                    let sequence = [transport[4], transport[5], transport[6], transport[7]];
                    let sequence = u32::from_be_bytes(sequence);
                    prop_assert_eq!(sequence, u32::MAX.wrapping_add(captured.len() as u32));
                    prop_assert_eq!(transport[13] & CWR != 0, index == 0);
                    prop_assert_eq!(transport[13] & FIN_PSH != 0, index == segments.len() - 1);
                } else {
                    let length = u16::from_be_bytes([transport[4], transport[5]]);
                    prop_assert_eq!(usize::from(length), transport.len());
                }
                captured.extend(&packet[headers..]);
            }
            prop_assert_eq!(captured, payload);
        }

        #[test]
        fn arbitrary_input_does_not_panic(
            mut read in prop::collection::vec(any::<u8>(), 0..300),
            v6: bool,
            gso in 0u8..6,
        ) {
            if let Some(packet) = read.get_mut(HEADER..).filter(|packet| packet.len() >= 40) {
                // Consistent lengths, so that the code behind the check is reached.
                let length = packet.len() as u16;
                packet[0] = if v6 { 0x60 } else { 0x45 };
                let (at, length) = if v6 { (4, length - 40) } else { (2, length) };
                packet[at..at + 2].copy_from_slice(&length.to_be_bytes());
                (read[0], read[1]) = (NEEDS_CSUM, gso);
                (read[5], read[7]) = (0, 0);
            }
            let _ = packets(&read, |packet| assert!(ends(&packet[HEADER..]).is_some()));
        }
    }

    #[test]
    fn summing_the_segment_completes_the_partial_checksum() {
        // A kernel completes the checksum by summing from checksum_start to the end, including the
        // field, and inverting.
        for (v6, tcp) in [(false, false), (false, true), (true, false), (true, true)] {
            for segment in cut(&super_packet(v6, tcp, &[7; 3000], 1400)) {
                let packet = &segment[HEADER..];
                let transport = if v6 { 40 } else { 20 };
                let field = transport + if tcp { 16 } else { 6 };
                let complete = !fold(sum(&packet[transport..]));
                let (source, destination) = ends(packet).expect("an IP packet");
                let mut whole = packet.to_vec();
                whole[field..field + 2].copy_from_slice(&complete.to_be_bytes());
                let protocol = if tcp { TCP } else { UDP };
                let pseudo = pseudo_header(source, destination, protocol, packet.len() - transport);
                assert_eq!(
                    fold(u32::from(pseudo) + sum(&whole[transport..])),
                    0xffff,
                    "v6 {v6}, tcp {tcp}"
                );
            }
        }
    }

    #[test]
    fn marking_ce_keeps_the_header_checksum_valid() {
        let mut packet = super_packet(false, true, &[1], 1400)[HEADER..].to_vec();
        packet[1] = 0x02;
        assert_eq!(ecn(&packet), Ecn::Ect0);
        mark_ce(&mut packet);
        assert_eq!((ecn(&packet), fold(sum(&packet[..20]))), (Ecn::Ce, 0xffff));
        let mut packet = super_packet(true, true, &[1], 1400)[HEADER..].to_vec();
        mark_ce(&mut packet);
        assert_eq!((ecn(&packet), packet[0]), (Ecn::Ce, 0x60));
    }

    #[test]
    fn multicast_and_malformed_packets_are_not_carried() {
        let mut read = super_packet(false, false, &[1], 100);
        read[HEADER + 16] = 224;
        assert_eq!(packets(&read, |_| panic!("carried")), Err(Rejected::Local));
        assert_eq!(packets(&read[..9], |_| panic!("carried")), Err(Rejected::Malformed));
    }
}

//! Captures the packets at one end of a hop, with the TLS secrets, as pcapng.

use crate::datagram::{Body, Datagram, Filler, FillerProtocol};
use bentpipe_link::Packet;
use bentpipe_quic::{IP_HEADER, UDP_HEADER};
use bentpipe_tcp::{Flags, Segment};
use bentpipe_units::Time;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::unknown::UnknownBlock;
use pcap_file::{DataLink, Endianness};
use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

/// Block type of a Decryption Secrets Block (draft-ietf-opsawg-pcapng §4.7).
const DECRYPTION_SECRETS: u32 = 0x0000_000a;
/// Secrets type in it: a TLS key log.
const TLS_KEY_LOG: u32 = 0x544c_534b;
/// Protocol number of UDP.
const UDP: u8 = 17;
/// Protocol number of ICMP.
const ICMP: u8 = 1;
/// Protocol number of TCP.
const TCP: u8 = 6;
/// Port of DNS.
const DNS: u16 = 53;
/// Scale of captured windows in bits: up to 1 GiB, in units of 16 KiB.
const WINDOW_SCALE: u8 = 14;

/// The packets captured so far.
pub struct Capture {
    hop: String,
    packets: Vec<CapturedPacket>,
}

struct CapturedPacket {
    time: Time,
    interface: u32,
    bytes: Vec<u8>,
    /// Length on the link. TCP segments carry no payload, so none is captured.
    length: u32,
}

impl Capture {
    /// Creates an empty capture of `hop`. Interface 0 is the forward direction, 1 the return
    /// direction.
    pub fn new(hop: &str) -> Self {
        Self { hop: hop.to_owned(), packets: Vec::new() }
    }

    /// Captures a packet between the addresses of its source and its destination.
    pub fn packet(
        &mut self,
        now: Time,
        interface: u32,
        [mut from, mut to]: [SocketAddr; 2],
        packet: &Packet<&Datagram>,
    ) {
        let traffic_class = packet.dscp.get() << 2 | packet.ecn.bits();
        let datagram = packet.payload;
        let side = datagram.toward.source();
        let bytes = match &datagram.body {
            Body::Udp(payload) => {
                let data = payload.bytes();
                let mut bytes =
                    ip_header(from, to, traffic_class, UDP, UDP_HEADER as usize + data.len());
                bytes.extend_from_slice(&udp_header(from, to, data.len()));
                bytes.extend_from_slice(&data);
                bytes
            }
            Body::Media(_) => udp_zeros(packet.bytes, from, to, traffic_class),
            Body::Filler(filler) => filler_packet(filler, from, to, traffic_class, datagram.flow),
            Body::Tcp { connection, segment } => {
                let client =
                    if side == crate::datagram::Role::Client { &mut from } else { &mut to };
                client.set_port(client.port().wrapping_add(connection.wrapping_mul(1000)));
                let header = tcp_header(from, to, segment);
                let mut bytes =
                    ip_header(from, to, traffic_class, TCP, header.len() + segment.len as usize);
                bytes.extend_from_slice(&header);
                bytes
            }
        };
        self.packets.push(CapturedPacket { time: now, interface, bytes, length: packet.bytes });
    }

    /// Writes the capture as a pcapng file with the secrets that let Wireshark decrypt it.
    ///
    /// # Errors
    /// The error of the writer, as text.
    pub fn finish(self, secrets: &str) -> Result<Vec<u8>, String> {
        let words = |error: pcap_file::PcapError| error.to_string();
        let mut writer =
            PcapNgWriter::with_endianness(Vec::new(), Endianness::Little).map_err(words)?;
        // Secrets come before packets, because readers decrypt in one pass. Numbers are in the
        // file's byte order.
        let mut block = Vec::with_capacity(secrets.len() + 12);
        block.extend_from_slice(&TLS_KEY_LOG.to_le_bytes());
        block.extend_from_slice(&(secrets.len() as u32).to_le_bytes());
        block.extend_from_slice(secrets.as_bytes());
        block.resize(block.len().next_multiple_of(4), 0);
        // Length of the whole block: type, two lengths, body.
        let length = block.len() as u32 + 12;
        writer
            .write_pcapng_block(UnknownBlock::new(DECRYPTION_SECRETS, length, &block))
            .map_err(words)?;
        for direction in ["forward", "return"] {
            let mut interface = InterfaceDescriptionBlock::new(DataLink::RAW, 0);
            // Timestamps count nanoseconds.
            interface.options.push(InterfaceDescriptionOption::IfTsResol(9));
            let name = Cow::Owned(format!("{}/{direction}", self.hop));
            interface.options.push(InterfaceDescriptionOption::IfName(name));
            writer.write_pcapng_block(interface).map_err(words)?;
        }
        for CapturedPacket { time, interface, bytes, length } in self.packets {
            let packet = EnhancedPacketBlock {
                interface_id: interface,
                timestamp: Duration::from_nanos(time.as_nanos()),
                original_len: length,
                data: Cow::Owned(bytes),
                options: Vec::new(),
            };
            writer.write_pcapng_block(packet).map_err(words)?;
        }
        Ok(writer.into_inner())
    }
}

/// Returns the IPv4 header (RFC 791) of a packet with `payload` bytes of `protocol`.
fn ip_header(
    from: SocketAddr,
    to: SocketAddr,
    traffic_class: u8,
    protocol: u8,
    payload: usize,
) -> Vec<u8> {
    let address = |address: SocketAddr| match address.ip() {
        IpAddr::V4(ip) => ip,
        IpAddr::V6(_) => Ipv4Addr::UNSPECIFIED,
    };
    let mut bytes = Vec::with_capacity(IP_HEADER as usize + payload);
    bytes.extend_from_slice(&[0x45, traffic_class]);
    bytes.extend_from_slice(&((IP_HEADER as usize + payload) as u16).to_be_bytes());
    // Identification zero, don't fragment, 64 hops.
    bytes.extend_from_slice(&[0, 0, 0x40, 0, 64, protocol, 0, 0]);
    bytes.extend_from_slice(&address(from).octets());
    bytes.extend_from_slice(&address(to).octets());
    let checksum = internet_checksum(&bytes);
    bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

/// Returns a packet of zeros over UDP or in an ICMP echo (RFC 792), whose identifier is the flow's
/// number.
fn filler_packet(
    filler: &Filler,
    from: SocketAddr,
    to: SocketAddr,
    traffic_class: u8,
    flow: u32,
) -> Vec<u8> {
    let above = filler.bytes.saturating_sub(IP_HEADER) as usize;
    // Both headers have the same size.
    let payload = above.saturating_sub(UDP_HEADER as usize);
    let kind = match filler.protocol {
        FillerProtocol::Dns => {
            let resolver = |address: SocketAddr| match address.port() {
                443 => SocketAddr::new(address.ip(), DNS),
                _ => address,
            };
            return udp_zeros(filler.bytes, resolver(from), resolver(to), traffic_class);
        }
        FillerProtocol::Udp => return udp_zeros(filler.bytes, from, to, traffic_class),
        FillerProtocol::Echo => 8,
        FillerProtocol::EchoReply => 0,
    };
    let [id_high, id_low] = (flow as u16).to_be_bytes();
    let [high, low] = (filler.number as u16).to_be_bytes();
    let mut message = vec![kind, 0, 0, 0, id_high, id_low, high, low];
    let checksum = internet_checksum(&message);
    message[2..4].copy_from_slice(&checksum.to_be_bytes());
    message.resize(message.len() + payload, 0);
    let mut bytes = ip_header(from, to, traffic_class, ICMP, message.len());
    bytes.extend_from_slice(&message);
    bytes
}

/// Returns an IP packet of `bytes` with zeros over UDP.
fn udp_zeros(bytes: u32, from: SocketAddr, to: SocketAddr, traffic_class: u8) -> Vec<u8> {
    let above = bytes.saturating_sub(IP_HEADER) as usize;
    let payload = above.saturating_sub(UDP_HEADER as usize);
    let mut packet = ip_header(from, to, traffic_class, UDP, above);
    packet.extend_from_slice(&udp_header(from, to, payload));
    packet.resize(packet.len() + payload, 0);
    packet
}

/// Returns the UDP header (RFC 768). Omits the checksum, as IPv4 permits.
fn udp_header(from: SocketAddr, to: SocketAddr, payload: usize) -> [u8; UDP_HEADER as usize] {
    let mut bytes = [0; UDP_HEADER as usize];
    bytes[..2].copy_from_slice(&from.port().to_be_bytes());
    bytes[2..4].copy_from_slice(&to.port().to_be_bytes());
    bytes[4..6].copy_from_slice(&((UDP_HEADER as usize + payload) as u16).to_be_bytes());
    bytes
}

/// Returns the TCP header with its options (RFC 9293 §3.1, RFC 7323, RFC 2018). Without a payload
/// there is no checksum.
fn tcp_header(from: SocketAddr, to: SocketAddr, segment: &Segment) -> Vec<u8> {
    let Flags { syn, fin, rst, ack, ece, cwr } = segment.flags;
    let length = (segment.tcp_bytes() + segment.option_bytes()) as usize;
    // With AccECN, AE, CWR and ECE are the low bits of the count (RFC 9768 §3.1).
    let count = segment.ce_packets;
    let (ae, cwr, ece) = match count {
        0 => (false, cwr, ece),
        _ if syn => (true, cwr, ece),
        _ => (count & 4 != 0, count & 2 != 0, count & 1 != 0),
    };
    let bits = [fin, syn, rst, false, ack, false, ece, cwr];
    let flags = (0..).zip(bits).fold(0, |flags, (bit, set)| flags | u8::from(set) << bit);
    // The window of a SYN is not scaled.
    let scale = if syn { 0 } else { WINDOW_SCALE };
    let window = (segment.window >> scale).min(0xffff) as u16;
    let millis = |time: Time| ((time.as_nanos() / 1_000_000) as u32).to_be_bytes();
    let mut bytes = Vec::with_capacity(length);
    bytes.extend_from_slice(&from.port().to_be_bytes());
    bytes.extend_from_slice(&to.port().to_be_bytes());
    bytes.extend_from_slice(&(segment.seq as u32).to_be_bytes());
    bytes.extend_from_slice(&(segment.ack as u32).to_be_bytes());
    bytes.extend_from_slice(&[(length as u8 / 4) << 4 | u8::from(ae), flags]);
    bytes.extend_from_slice(&window.to_be_bytes());
    bytes.extend_from_slice(&[0, 0, 0, 0]);
    if syn {
        // Maximum segment size for packets of 1500 bytes, and SACK permitted.
        bytes.extend_from_slice(&[2, 4, 0x05, 0xb4, 4, 2]);
    } else {
        bytes.extend_from_slice(&[1, 1]);
    }
    bytes.extend_from_slice(&[8, 10]);
    bytes.extend_from_slice(&millis(segment.timestamp));
    bytes.extend_from_slice(&millis(segment.echo));
    if syn {
        bytes.extend_from_slice(&[1, 3, 3, WINDOW_SCALE]);
    } else if !segment.sack.is_empty() {
        let blocks = segment.sack.blocks(segment.ack);
        bytes.extend_from_slice(&[1, 1, 5, 2 + 8 * blocks.len() as u8]);
        for (start, end) in blocks {
            bytes.extend_from_slice(&(start as u32).to_be_bytes());
            bytes.extend_from_slice(&(end as u32).to_be_bytes());
        }
    }
    // No-operations in the place of AccECN's option, whose byte counts a segment does not have.
    bytes.resize(length, 1);
    bytes
}

/// Returns the checksum of RFC 1071.
fn internet_checksum(bytes: &[u8]) -> u16 {
    let sum: u32 = bytes
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) as u16 + (folded >> 16) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_link::Ecn;
    use bentpipe_tcp::Sack;

    const ENDS: [([u8; 4], u16); 2] = [([198, 18, 0, 1], 50_000), ([198, 19, 0, 1], 443)];

    #[test]
    fn ip_header_has_a_valid_checksum_and_length() {
        let [from, to] = ENDS.map(SocketAddr::from);
        let mut bytes = ip_header(from, to, Ecn::Ect0.bits(), UDP, 1208);
        bytes.extend_from_slice(&udp_header(from, to, 1200));
        assert_eq!(internet_checksum(&bytes[..20]), 0);
        assert_eq!(u16::from_be_bytes([bytes[2], bytes[3]]), 1228);
        assert_eq!(u16::from_be_bytes([bytes[24], bytes[25]]), 1208);
        assert_eq!(bytes[1], 2);
    }

    #[test]
    fn tcp_header_has_the_length_of_the_segment() {
        let [from, to] = ENDS.map(SocketAddr::from);
        let flags = |syn| Flags { syn, ack: true, ..Flags::default() };
        let mut segment = Segment { flags: flags(true), ..Segment::default() };
        assert_eq!(tcp_header(from, to, &segment).len(), 40);
        segment = Segment { seq: 1, len: 1448, flags: flags(false), ..segment };
        assert_eq!(tcp_header(from, to, &segment).len(), 32);
        segment.sack.push(3000, 4448);
        segment.sack.push(9000, 9100);
        let header = tcp_header(from, to, &segment);
        assert_eq!((header.len() as u32, header[12] >> 4), (52, 13));
        assert_eq!(header[13], 0x10);
        // AccECN: a count of 13 is 5 in AE, CWR and ECE, with an option in a pure acknowledgement.
        let counted = Segment { ce_packets: 13, len: 0, sack: Sack::default(), ..segment };
        let header = tcp_header(from, to, &counted);
        assert_eq!((header.len(), header[12], header[13]), (44, 11 << 4 | 1, 0x50));
    }

    #[test]
    fn echo_packets_have_the_requested_size_and_a_valid_checksum() {
        let [from, to] = ENDS.map(SocketAddr::from);
        for (protocol, kind) in [(FillerProtocol::Echo, 8), (FillerProtocol::EchoReply, 0)] {
            let filler = Filler { protocol, number: 258, sent: Time::ZERO, bytes: 84 };
            let bytes = filler_packet(&filler, from, to, 0, 3);
            assert_eq!((bytes.len(), bytes[9], bytes[20]), (84, ICMP, kind));
            assert_eq!(internet_checksum(&bytes[20..]), 0);
            assert_eq!(bytes[24..28], [0, 3, 1, 2]);
        }
        let filler =
            Filler { protocol: FillerProtocol::Udp, number: 0, sent: Time::ZERO, bytes: 1500 };
        let bytes = filler_packet(&filler, from, to, 0, 3);
        assert_eq!((bytes.len(), bytes[9], &bytes[24..26]), (1500, UDP, &[0x05, 0xc8][..]));
    }
}

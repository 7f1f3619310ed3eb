//! A capture of one hop, as a packet sniffer at its entry would make it, with the TLS secrets inside.

use crate::datagram::Datagram;
use bentpipe_link::{Ecn, Packet};
use bentpipe_quic::{IP_HEADER, UDP_HEADER};
use bentpipe_units::Time;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
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

/// Packets seen so far.
pub struct Capture {
    hop: String,
    packets: Vec<(Time, u32, Vec<u8>)>,
}

impl Capture {
    /// An empty capture of `hop`: interface 0 is its forward direction, 1 its return direction.
    pub fn new(hop: &str) -> Self {
        Self { hop: hop.to_owned(), packets: Vec::new() }
    }

    /// A packet from or to `terminal` enters the hop.
    pub fn packet(&mut self, now: Time, interface: u32, terminal: usize, packet: &Packet<Datagram>) {
        let datagram = &packet.payload;
        let to = crate::datagram::Address { flow: datagram.from.flow, side: datagram.from.side.peer() };
        let mut bytes = headers(datagram.from.socket(terminal), to.socket(terminal), packet.ecn, datagram.data.len());
        bytes.extend_from_slice(&datagram.data);
        self.packets.push((now, interface, bytes));
    }

    /// The capture as a pcapng file whose secrets let Wireshark decrypt it.
    ///
    /// # Errors
    /// What the writer says, in words.
    pub fn finish(self, secrets: &str) -> Result<Vec<u8>, String> {
        let words = |error: pcap_file::PcapError| error.to_string();
        let mut writer = PcapNgWriter::with_endianness(Vec::new(), Endianness::Little).map_err(words)?;
        // Secrets stand before the packets: readers decrypt in one pass. Numbers in them go in the file's byte order.
        let mut block = Vec::with_capacity(secrets.len() + 12);
        block.extend_from_slice(&TLS_KEY_LOG.to_le_bytes());
        block.extend_from_slice(&(secrets.len() as u32).to_le_bytes());
        block.extend_from_slice(secrets.as_bytes());
        block.resize(block.len().next_multiple_of(4), 0);
        // Length of the whole block: type, two lengths, body.
        let length = block.len() as u32 + 12;
        writer.write_pcapng_block(UnknownBlock::new(DECRYPTION_SECRETS, length, &block)).map_err(words)?;
        for direction in ["forward", "return"] {
            let mut interface = InterfaceDescriptionBlock::new(DataLink::RAW, 0);
            // Timestamps count nanoseconds.
            interface.options.push(InterfaceDescriptionOption::IfTsResol(9));
            let name = Cow::Owned(format!("{}/{direction}", self.hop));
            interface.options.push(InterfaceDescriptionOption::IfName(name));
            writer.write_pcapng_block(interface).map_err(words)?;
        }
        for (time, interface_id, data) in self.packets {
            let packet = EnhancedPacketBlock {
                interface_id,
                timestamp: Duration::from_nanos(time.as_nanos()),
                original_len: data.len() as u32,
                data: Cow::Owned(data),
                options: Vec::new(),
            };
            writer.write_pcapng_block(packet).map_err(words)?;
        }
        Ok(writer.into_inner())
    }
}

/// IPv4 and UDP headers (RFC 791, RFC 768) for `payload` bytes. The UDP checksum is left out, as IPv4 allows.
fn headers(from: SocketAddr, to: SocketAddr, ecn: Ecn, payload: usize) -> Vec<u8> {
    let address = |address: SocketAddr| match address.ip() {
        IpAddr::V4(ip) => ip,
        IpAddr::V6(_) => Ipv4Addr::UNSPECIFIED,
    };
    let udp_length = (UDP_HEADER as usize + payload) as u16;
    let ecn_bits = match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    };
    let mut bytes = Vec::with_capacity((IP_HEADER + UDP_HEADER) as usize + payload);
    bytes.extend_from_slice(&[0x45, ecn_bits]);
    bytes.extend_from_slice(&(IP_HEADER as u16 + udp_length).to_be_bytes());
    // Identification zero, don't fragment, 64 hops.
    bytes.extend_from_slice(&[0, 0, 0x40, 0, 64, UDP, 0, 0]);
    bytes.extend_from_slice(&address(from).octets());
    bytes.extend_from_slice(&address(to).octets());
    let checksum = internet_checksum(&bytes);
    bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
    bytes.extend_from_slice(&from.port().to_be_bytes());
    bytes.extend_from_slice(&to.port().to_be_bytes());
    bytes.extend_from_slice(&udp_length.to_be_bytes());
    bytes.extend_from_slice(&[0, 0]);
    bytes
}

/// RFC 1071.
fn internet_checksum(bytes: &[u8]) -> u16 {
    let sum: u32 = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) as u16 + (folded >> 16) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_checksum_verifies_and_the_lengths_add_up() {
        let bytes = headers(([198, 18, 0, 1], 50_000).into(), ([198, 19, 0, 1], 443).into(), Ecn::Ect0, 1200);
        assert_eq!(internet_checksum(&bytes[..20]), 0);
        assert_eq!(u16::from_be_bytes([bytes[2], bytes[3]]), 1228);
        assert_eq!(u16::from_be_bytes([bytes[24], bytes[25]]), 1208);
        assert_eq!(bytes[1], 2);
    }
}

//! The PROXY protocol, version 2, by which an upstream learns its client's address from the first
//! bytes of a connection (HAProxy, "The PROXY protocol", §2.2).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Begins each header.
const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
/// Version 2, and a connection of the proxy itself.
const LOCAL: u8 = 0x20;
/// Version 2, and a connection for a client.
const PROXY: u8 = 0x21;
/// A stream over IPv4. What is passed on is one, although the client's is over UDP: nginx and
/// HAProxy ignore the addresses of datagrams.
const STREAM_IPV4: u8 = 0x11;
/// A stream over IPv6.
const STREAM_IPV6: u8 = 0x21;

/// The client of a connection, and the port that it asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Source {
    pub address: IpAddr,
    pub port: u16,
    /// Which of the server's addresses it asked is not known here, and said to be none.
    pub asked_port: u16,
}

/// Returns the header of a connection for `source`, or for nobody.
pub(super) fn header(source: Option<Source>) -> Vec<u8> {
    let (command, family, addresses) = match source {
        None => (LOCAL, 0, Vec::new()),
        Some(Source { address: IpAddr::V4(address), .. }) => {
            let none = Ipv4Addr::UNSPECIFIED.octets();
            (PROXY, STREAM_IPV4, [address.octets(), none].concat())
        }
        Some(Source { address: IpAddr::V6(address), .. }) => {
            let none = Ipv6Addr::UNSPECIFIED.octets();
            (PROXY, STREAM_IPV6, [address.octets(), none].concat())
        }
    };
    let ports = source.map(|source| [source.port, source.asked_port].map(u16::to_be_bytes));
    let ports = ports.map_or_else(Vec::new, |ports| ports.concat());
    // At most 36.
    let length = (addresses.len() + ports.len()) as u16;
    [SIGNATURE, &[command, family], &length.to_be_bytes(), &addresses, &ports].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_names_the_client_or_nobody() {
        let begins = |rest: &[u8]| [b"\r\n\r\n\0\r\nQUIT\n", rest].concat();
        assert_eq!(header(None), begins(&[0x20, 0, 0, 0]));
        let source = |address: &str| {
            Some(Source { address: address.parse().unwrap(), port: 0x1234, asked_port: 443 })
        };
        let ipv4 = [0x21, 0x11, 0, 12, 192, 0, 2, 1, 0, 0, 0, 0, 0x12, 0x34, 1, 187];
        assert_eq!(header(source("192.0.2.1")), begins(&ipv4));
        let mut ipv6 = vec![0x21, 0x21, 0, 36, 0x20, 1, 0xd, 0xb8];
        ipv6.extend([0; 11].into_iter().chain([1]).chain([0; 16]).chain([0x12, 0x34, 1, 187]));
        assert_eq!(header(source("2001:db8::1")), begins(&ipv6));
    }
}

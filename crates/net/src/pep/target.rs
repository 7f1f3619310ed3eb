//! Destinations of connections: a host and a port, as SOCKS5, HTTP CONNECT and the tunnel encode
//! them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use thiserror::Error;

/// Longest host name, without the final dot (RFC 1035 §2.3.4: 255 octets on the wire).
const MAX_NAME: usize = 253;
/// Address types (RFC 1928 §5), also in the header of tunnel streams.
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

/// A host: a name or an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// A name that is not resolved: letters, digits, hyphens, underscores and dots.
    Name(String),
    /// An address. An IPv4-mapped IPv6 address is converted to the IPv4 address.
    Address(IpAddr),
}

/// The destination of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The host.
    pub host: Host,
    /// The port, 1 to 65535.
    pub port: u16,
}

/// What is wrong with a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TargetError {
    /// The host is neither a name nor an address.
    #[error("invalid host; allowed: a name of letters, digits, `-`, `_` and `.`, or an address")]
    Host,
    /// The port is missing or invalid.
    #[error("invalid port; allowed: 1 to 65535")]
    Port,
    /// RFC 1928 does not have the address type.
    #[error("unknown address type {0}; allowed: 1 (IPv4), 3 (name), 4 (IPv6)")]
    Type(u8),
}

impl Target {
    /// Returns the target with an address and a port.
    ///
    /// # Errors
    /// Port 0.
    pub fn new(address: IpAddr, port: u16) -> Result<Self, TargetError> {
        let host = Host::Address(address.to_canonical());
        if port == 0 { Err(TargetError::Port) } else { Ok(Self { host, port }) }
    }

    /// Parses the authority of a CONNECT request: `host:port`, with an IPv6 address in brackets
    /// (RFC 9110 §9.3.6, RFC 3986 §3.2.2).
    ///
    /// # Errors
    /// An invalid host or port.
    pub fn from_authority(text: &str) -> Result<Self, TargetError> {
        let (host, port) = text.rsplit_once(':').ok_or(TargetError::Port)?;
        // `parse` accepts a sign.
        let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port.parse().ok().filter(|_| digits).ok_or(TargetError::Port)?;
        match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
            Some(inner) => {
                Self::new(inner.parse::<Ipv6Addr>().map_err(|_| TargetError::Host)?.into(), port)
            }
            None => Self::named(host, port),
        }
    }

    /// Parses a name, or an IPv4 address in dotted decimal form.
    fn named(host: &str, port: u16) -> Result<Self, TargetError> {
        if let Ok(address) = host.parse::<Ipv4Addr>() {
            return Self::new(address.into(), port);
        }
        let name = host.strip_suffix('.').unwrap_or(host);
        let label = |label: &str| {
            (1..=63).contains(&label.len())
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
        };
        // A name that ends in a number is an address in a form that only resolvers know, such as
        // 0x7f.1.
        let last = name.rsplit('.').next().unwrap_or_default();
        let number = last.bytes().all(|byte| byte.is_ascii_digit())
            || last.starts_with("0x")
            || last.starts_with("0X");
        if name.len() > MAX_NAME || !name.split('.').all(label) || number {
            return Err(TargetError::Host);
        }
        if port == 0 {
            return Err(TargetError::Port);
        }
        Ok(Self { host: Host::Name(name.to_ascii_lowercase()), port })
    }

    /// Reads type, address and port from the start of `bytes` (RFC 1928 §4). Returns the target and
    /// its length, or `None` if more bytes are needed.
    ///
    /// # Errors
    /// The bytes are invalid, whatever follows.
    pub fn decode(bytes: &[u8]) -> Result<Option<(Self, usize)>, TargetError> {
        let Some((&kind, rest)) = bytes.split_first() else { return Ok(None) };
        let (before, length) = match kind {
            IPV4 => (1, 4),
            IPV6 => (1, 16),
            NAME => match rest.first() {
                Some(0) => return Err(TargetError::Host),
                Some(&length) => (2, usize::from(length)),
                None => return Ok(None),
            },
            other => return Err(TargetError::Type(other)),
        };
        let (Some(host), Some(port)) =
            (bytes.get(before..before + length), bytes.get(before + length..before + length + 2))
        else {
            return Ok(None);
        };
        let port = port.iter().fold(0, |port, byte| port << 8 | u16::from(*byte));
        let target = match kind {
            IPV4 => Self::new(
                Ipv4Addr::from(<[u8; 4]>::try_from(host).map_err(|_| TargetError::Host)?).into(),
                port,
            ),
            IPV6 => Self::new(
                Ipv6Addr::from(<[u8; 16]>::try_from(host).map_err(|_| TargetError::Host)?).into(),
                port,
            ),
            _ => Self::named(std::str::from_utf8(host).map_err(|_| TargetError::Host)?, port),
        };
        Ok(Some((target?, before + length + 2)))
    }

    /// Appends the encoding that [`Target::decode`] reads.
    pub fn encode(&self, into: &mut Vec<u8>) {
        match &self.host {
            Host::Address(IpAddr::V4(address)) => {
                into.push(IPV4);
                into.extend(address.octets());
            }
            Host::Address(IpAddr::V6(address)) => {
                into.push(IPV6);
                into.extend(address.octets());
            }
            Host::Name(name) => {
                into.push(NAME);
                // Names have at most `MAX_NAME` bytes.
                into.push(name.len().min(MAX_NAME) as u8);
                into.extend(name.bytes().take(MAX_NAME));
            }
        }
        into.extend(self.port.to_be_bytes());
    }
}

impl From<SocketAddr> for Target {
    fn from(address: SocketAddr) -> Self {
        Self { host: Host::Address(address.ip().to_canonical()), port: address.port() }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Name(name) => write!(f, "{name}:{}", self.port),
            Host::Address(address) => SocketAddr::new(*address, self.port).fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn authorities_are_hosts_with_ports() {
        for (text, shown) in [
            ("Example.ORG:443", "example.org:443"),
            ("example.org.:443", "example.org:443"),
            ("192.0.2.1:80", "192.0.2.1:80"),
            ("[2001:db8::1]:80", "[2001:db8::1]:80"),
            ("[::ffff:192.0.2.1]:80", "192.0.2.1:80"),
            ("a_b-c:1", "a_b-c:1"),
        ] {
            assert_eq!(Target::from_authority(text).unwrap().to_string(), shown);
        }
    }

    #[test]
    fn invalid_authorities_are_refused() {
        for text in [
            "",
            "example.org",
            "example.org:",
            "example.org:0",
            "example.org:65536",
            "example.org:+80",
            ":80",
            "2001:db8::1:80",
            "[2001:db8::1]",
            "[x]:80",
            "[192.0.2.1]:80",
            "a..b:80",
            ".:80",
            "a b:80",
            "a\r\nb:80",
            "user@host:80",
            "0x7f.1:80",
            "127.1:80",
            "2130706433:80",
            "0x7f000001:80",
        ] {
            assert!(Target::from_authority(text).is_err(), "{text}");
        }
        assert!(Target::from_authority(&format!("{}:80", "a".repeat(64))).is_err());
        assert!(Target::from_authority(&format!("{}a:80", "a.".repeat(127))).is_err());
    }

    #[test]
    fn an_empty_name_and_an_unknown_type_are_refused_at_once() {
        assert_eq!(Target::decode(&[3, 0]), Err(TargetError::Host));
        assert_eq!(Target::decode(&[2]), Err(TargetError::Type(2)));
    }

    proptest! {
        #[test]
        fn an_encoded_target_is_decoded_once_it_is_complete(
            name in "[a-z][a-z0-9-]{0,20}(\\.[a-z]{2,8}){0,3}",
            v4: u32,
            v6: u128,
            which in 0..3,
            port in 1..=u16::MAX,
            after: Vec<u8>,
        ) {
            let target = match which {
                0 => Target::from_authority(&format!("{name}:{port}")).unwrap(),
                1 => Target::new(Ipv4Addr::from_bits(v4).into(), port).unwrap(),
                _ => Target::new(Ipv6Addr::from_bits(v6).into(), port).unwrap(),
            };
            let mut bytes = Vec::new();
            target.encode(&mut bytes);
            let length = bytes.len();
            for end in 0..length {
                prop_assert_eq!(Target::decode(&bytes[..end]), Ok(None));
            }
            bytes.extend(after);
            prop_assert_eq!(Target::decode(&bytes), Ok(Some((target.clone(), length))));
            prop_assert_eq!(Target::from_authority(&target.to_string()), Ok(target));
        }

        #[test]
        fn any_bytes_are_decoded_or_refused(bytes: Vec<u8>) {
            if let Ok(Some((target, used))) = Target::decode(&bytes) {
                prop_assert!(used <= bytes.len() && target.port > 0);
            }
        }
    }
}

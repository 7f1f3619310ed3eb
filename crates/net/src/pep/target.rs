//! Where a client wants to go: a host and a port, as the three protocols here say it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use thiserror::Error;

/// The longest host name, without the dot at its end (RFC 1035 §2.3.4: 255 octets on the wire).
const LONGEST_NAME: usize = 253;
/// Types of addresses (RFC 1928 §5), in the tunnel's header too.
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

/// A host, named or numbered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// A name that is still to be looked up: letters, digits, hyphens, underscores and dots.
    Name(String),
    /// An address. IPv4-mapped IPv6 addresses are the IPv4 addresses in them.
    Address(IpAddr),
}

/// Where a client wants to go.
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
    /// Not a name, and not an address.
    #[error("no host: a name of letters, digits, `-`, `_` and `.`, or an address, is expected")]
    Host,
    /// No port, or one that is none.
    #[error("no port: 1 to 65535 is expected")]
    Port,
    /// A type of address that RFC 1928 does not have.
    #[error("address type {0}; allowed: 1 (IPv4), 3 (name), 4 (IPv6)")]
    Type(u8),
}

impl Target {
    /// An address and a port.
    ///
    /// # Errors
    /// Port 0.
    pub fn new(address: IpAddr, port: u16) -> Result<Self, TargetError> {
        let host = Host::Address(address.to_canonical());
        if port == 0 { Err(TargetError::Port) } else { Ok(Self { host, port }) }
    }

    /// The authority of a CONNECT request: `host:port`, with an IPv6 address in brackets (RFC 9110
    /// §9.3.6, RFC 3986 §3.2.2).
    ///
    /// # Errors
    /// Something else.
    pub fn from_authority(text: &str) -> Result<Self, TargetError> {
        let (host, port) = text.rsplit_once(':').ok_or(TargetError::Port)?;
        // `parse` would take a sign.
        let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port.parse().ok().filter(|_| digits).ok_or(TargetError::Port)?;
        match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
            Some(inner) => {
                Self::new(inner.parse::<Ipv6Addr>().map_err(|_| TargetError::Host)?.into(), port)
            }
            None => Self::named(host, port),
        }
    }

    /// A name, or an IPv4 address in its usual form.
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
        // What ends in a number is an address in one of the forms that resolvers know besides, and
        // nobody else: 0x7f.1.
        let last = name.rsplit('.').next().unwrap_or_default();
        let number = last.bytes().all(|byte| byte.is_ascii_digit())
            || last.starts_with("0x")
            || last.starts_with("0X");
        if name.len() > LONGEST_NAME || !name.split('.').all(label) || number {
            return Err(TargetError::Host);
        }
        if port == 0 {
            return Err(TargetError::Port);
        }
        Ok(Self { host: Host::Name(name.to_ascii_lowercase()), port })
    }

    /// Reads type, address and port from the beginning of `bytes` (RFC 1928 §4), and says how many
    /// bytes they took; nothing where some are still to come.
    ///
    /// # Errors
    /// What no byte that follows can mend.
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

    /// Writes it as [`Target::decode`] reads it.
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
                // Names are no longer than `LONGEST_NAME`.
                into.push(name.len().min(LONGEST_NAME) as u8);
                into.extend(name.bytes().take(LONGEST_NAME));
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
    fn what_is_no_host_with_a_port_is_refused() {
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
    fn a_name_of_no_length_and_an_unknown_type_are_refused_at_once() {
        assert_eq!(Target::decode(&[3, 0]), Err(TargetError::Host));
        assert_eq!(Target::decode(&[2]), Err(TargetError::Type(2)));
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded_and_only_once_it_is_whole(
            name in "[a-z][a-z0-9-]{0,20}(\\.[a-z]{2,8}){0,3}", v4: u32, v6: u128, which in 0..3, port in 1..=u16::MAX, after: Vec<u8>
        ) {
            let target = match which {
                0 => Target::from_authority(&format!("{name}:{port}")).unwrap(),
                1 => Target::new(Ipv4Addr::from_bits(v4).into(), port).unwrap(),
                _ => Target::new(Ipv6Addr::from_bits(v6).into(), port).unwrap(),
            };
            let mut bytes = Vec::new();
            target.encode(&mut bytes);
            let length = bytes.len();
            for most in 0..length {
                prop_assert_eq!(Target::decode(&bytes[..most]), Ok(None));
            }
            bytes.extend(after);
            prop_assert_eq!(Target::decode(&bytes), Ok(Some((target.clone(), length))));
            prop_assert_eq!(Target::from_authority(&target.to_string()), Ok(target));
        }

        #[test]
        fn anything_is_decoded_or_refused(bytes: Vec<u8>) {
            if let Ok(Some((target, used))) = Target::decode(&bytes) {
                prop_assert!(used <= bytes.len() && target.port > 0);
            }
        }
    }
}

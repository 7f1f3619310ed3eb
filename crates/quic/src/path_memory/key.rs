//! Keys of paths: networks instead of addresses, with the local end and the traffic class.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use thiserror::Error;

/// Longest name of a local end, in bytes: room for an IPv6 address with its zone (RFC 4007 §11), or
/// for an interface name.
pub const MAX_LOCAL: usize = 64;

/// An invalid network.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PrefixError {
    /// The text is neither an address nor a network.
    #[error(
        "`{0}` is not a network; allowed: an address, or one with a length, such as 192.0.2.0/24 \
            or 2001:db8::/56"
    )]
    Text(String),
    /// A prefix length beyond the address family's.
    #[error("prefix length {length} of {address} is too long; allowed: 0 to {max}")]
    Length {
        /// The address.
        address: IpAddr,
        /// The length given.
        length: u8,
        /// The longest of that family.
        max: u8,
    },
}

/// A network: an address whose bits past `length` are zero.
///
/// IPv4-mapped IPv6 addresses (RFC 4291 §2.5.5.2) count as IPv4: a socket for both families reports
/// IPv4 clients in that form, and their path does not depend on the socket.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IpPrefix {
    address: IpAddr,
    length: u8,
}

impl IpPrefix {
    /// Returns the network of the first `length` bits of `address`.
    ///
    /// # Errors
    /// A length above 32 for IPv4 (mapped or not), above 128 for IPv6.
    pub fn new(address: IpAddr, length: u8) -> Result<Self, PrefixError> {
        let canonical = address.to_canonical();
        let (max, mapped) = match canonical {
            IpAddr::V4(_) => (32, address.is_ipv6()),
            IpAddr::V6(_) => (128, false),
        };
        if length > max {
            return Err(PrefixError::Length {
                address: if mapped { canonical } else { address },
                length,
                max,
            });
        }
        Ok(Self { address: mask(canonical, length), length })
    }

    /// Returns the network of this address alone.
    pub fn host(address: IpAddr) -> Self {
        let address = address.to_canonical();
        Self { address, length: if address.is_ipv4() { 32 } else { 128 } }
    }

    /// Returns the first address.
    pub const fn address(self) -> IpAddr {
        self.address
    }
    /// Returns the prefix length, in bits.
    pub const fn length(self) -> u8 {
        self.length
    }
    /// Returns true if `address` is in the network.
    pub fn contains(self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.address.is_ipv4() && mask(address, self.length) == self.address
    }
    /// Returns true if all of `other` is in the network.
    pub fn covers(self, other: Self) -> bool {
        self.length <= other.length && self.contains(other.address)
    }
}

fn mask(address: IpAddr, length: u8) -> IpAddr {
    // A shift by the whole width overflows in Rust: a length of zero keeps no bit.
    match address {
        IpAddr::V4(v4) => {
            let bits = u32::MAX.checked_shl(32 - u32::from(length.min(32))).unwrap_or(0);
            Ipv4Addr::from_bits(v4.to_bits() & bits).into()
        }
        IpAddr::V6(v6) => {
            let bits = u128::MAX.checked_shl(128 - u32::from(length.min(128))).unwrap_or(0);
            Ipv6Addr::from_bits(v6.to_bits() & bits).into()
        }
    }
}

impl fmt::Display for IpPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}/{}", self.address, self.length))
    }
}
impl fmt::Debug for IpPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl FromStr for IpPrefix {
    type Err = PrefixError;
    /// Parses a network, or an address for the network of that address alone.
    fn from_str(text: &str) -> Result<Self, PrefixError> {
        let wrong = || PrefixError::Text(text.to_owned());
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        match length {
            None => Ok(Self::host(address)),
            Some(length) => Self::new(address, length.parse().map_err(|_| wrong())?),
        }
    }
}

/// Prefix lengths by which addresses share a path, by family.
///
/// The defaults are our choice:
///
/// - **24 for IPv4**: the longest prefix that is routed between networks, so its addresses share a
///   route from here; a terminal that gets a new address mostly stays in it. Other clients in it
///   may have other tariffs. The saved set is then wrong for them: it costs the first of them time,
///   and after that the hosts of the network keep sets of their own for a while. With
///   [`Prefixes::HOST`] they always do.
/// - **56 for IPv6**: commonly delegated to a site (RFC 6177 §2 asks for more than a /64; operators
///   assign /48 to /56). Temporary addresses (RFC 8981) and the networks within a site change the
///   bits after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefixes {
    v4: u8,
    v6: u8,
}

impl Default for Prefixes {
    fn default() -> Self {
        Self { v4: 24, v6: 56 }
    }
}

impl Prefixes {
    /// Each address is a path of its own.
    pub const HOST: Self = Self { v4: 32, v6: 128 };

    /// Each IPv4 address and each IPv6 subnet is a path of its own.
    pub(super) const SUBNET: Self = Self { v4: 32, v6: 64 };

    /// Networks whose clients may share a beam: parts of an operator's address blocks. IPv6 blocks
    /// of operators are /32 or larger; those of IPv4 differ, and /16 is our choice.
    pub const OPERATOR: Self = Self { v4: 16, v6: 32 };

    /// Sets the lengths, in bits.
    ///
    /// # Errors
    /// A length outside 8 to 32 for IPv4 or 16 to 128 for IPv6: shorter prefixes join networks of
    /// different operators.
    pub fn new(v4: u8, v6: u8) -> Result<Self, KeyError> {
        if !(8..=32).contains(&v4) {
            return Err(KeyError::Prefix { family: "IPv4", length: v4, min: 8, max: 32 });
        }
        if !(16..=128).contains(&v6) {
            return Err(KeyError::Prefix { family: "IPv6", length: v6, min: 16, max: 128 });
        }
        Ok(Self { v4, v6 })
    }

    /// Returns the network of `address`.
    pub fn of(self, address: IpAddr) -> IpPrefix {
        let address = address.to_canonical();
        let length = if address.is_ipv4() { self.v4 } else { self.v6 };
        IpPrefix { address: mask(address, length), length }
    }
}

/// An invalid part of a key.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum KeyError {
    /// A prefix length that joins too many networks, or beyond the family's.
    #[error("{family} prefix length {length} is out of range; allowed: {min} to {max}")]
    Prefix {
        /// The family.
        family: &'static str,
        /// The length given.
        length: u8,
        /// The shortest allowed.
        min: u8,
        /// The longest allowed.
        max: u8,
    },
    /// A name of the local end that is too long.
    #[error(
        "the name of the local end has {0} bytes; allowed: an interface name or an address of at \
            most {MAX_LOCAL} bytes"
    )]
    Local(usize),
    /// A DSCP of more than six bits.
    #[error("DSCP {0} is out of range; allowed: 0 to 63 (RFC 2474 §3)")]
    Dscp(u8),
}

/// The key of a path. All connections with the same key are assumed to have the same capacity.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathKey {
    remote: IpPrefix,
    local: String,
    dscp: u8,
}

impl PathKey {
    /// The path from the local end `local`, an interface name or an address, to the network
    /// `remote`, for packets marked `dscp`. The local end counts because a host with two uplinks
    /// has two paths to each destination; the mark because satellite networks assign capacity by
    /// class.
    ///
    /// # Errors
    /// A `local` longer than [`MAX_LOCAL`], a `dscp` above 63.
    pub fn new(remote: IpPrefix, local: &str, dscp: u8) -> Result<Self, KeyError> {
        if local.len() > MAX_LOCAL {
            return Err(KeyError::Local(local.len()));
        }
        if dscp > 63 {
            return Err(KeyError::Dscp(dscp));
        }
        Ok(Self { remote, local: local.to_owned(), dscp })
    }

    /// Returns the network at the other end.
    pub const fn remote(&self) -> IpPrefix {
        self.remote
    }
    /// Returns the interface name or address at this end.
    pub fn local(&self) -> &str {
        &self.local
    }
    /// Returns the differentiated services code point (RFC 2474 §3).
    pub const fn dscp(&self) -> u8 {
        self.dscp
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn addresses_of_one_network_have_one_key() {
        let of = |text| Prefixes::default().of(ip(text)).to_string();
        assert_eq!(of("192.0.2.200"), "192.0.2.0/24");
        assert_eq!(of("2001:db8:1:2ff::9"), "2001:db8:1:200::/56");
        assert_eq!(of("::ffff:192.0.2.200"), "192.0.2.0/24");
        assert_eq!(Prefixes::HOST.of(ip("192.0.2.200")).to_string(), "192.0.2.200/32");
    }

    #[test]
    fn a_mapped_address_is_in_the_network_of_its_ipv4_address() {
        let network: IpPrefix = "192.0.2.0/24".parse().unwrap();
        assert!(network.contains(ip("::ffff:192.0.2.7")) && !network.contains(ip("::192.0.2.7")));
        assert_eq!(IpPrefix::host(ip("::ffff:192.0.2.7")), "192.0.2.7".parse().unwrap());
    }

    #[test]
    fn the_empty_prefix_holds_its_family_and_no_other() {
        let all: IpPrefix = "0.0.0.0/0".parse().unwrap();
        assert!(all.contains(ip("255.1.2.3")) && !all.contains(ip("2001:db8::1")));
        assert!(
            all.covers("192.0.2.0/24".parse().unwrap()) && !all.covers("::/0".parse().unwrap())
        );
    }

    #[test]
    fn an_invalid_network_is_refused_with_the_allowed_form() {
        for wrong in [
            "",
            "/",
            "192.0.2.0/",
            "192.0.2/24",
            "192.0.2.0/x",
            "example.org",
            "::/256",
            "192.0.2.0/24/24",
        ] {
            let error = wrong.parse::<IpPrefix>().unwrap_err().to_string();
            assert!(error.contains("192.0.2.0/24"), "{error}");
        }
        assert!("192.0.2.0/33".parse::<IpPrefix>().unwrap_err().to_string().contains("0 to 32"));
        assert!(
            "::ffff:192.0.2.0/120".parse::<IpPrefix>().unwrap_err().to_string().contains("0 to 32")
        );
    }

    #[test]
    fn lengths_and_marks_out_of_range_are_refused() {
        for (v4, v6) in [(7, 56), (33, 56), (24, 15), (24, 129)] {
            assert!(Prefixes::new(v4, v6).is_err(), "{v4} {v6}");
        }
        let network = IpPrefix::host(ip("192.0.2.1"));
        assert_eq!(PathKey::new(network, "eth0", 64), Err(KeyError::Dscp(64)));
        assert_eq!(PathKey::new(network, &"x".repeat(65), 0), Err(KeyError::Local(65)));
    }

    proptest! {
        #[test]
        fn a_network_contains_its_address_and_parses_as_it_prints(
            bits: u128,
            v6: bool,
            length in 0u8..=128,
        ) {
            let address: IpAddr = if v6 {
                Ipv6Addr::from_bits(bits).into()
            } else {
                Ipv4Addr::from_bits(bits as u32).into()
            };
            if let Ok(network) = IpPrefix::new(address, length) {
                prop_assert!(network.contains(address));
                prop_assert_eq!(network.to_string().parse(), Ok(network));
            }
        }
    }
}

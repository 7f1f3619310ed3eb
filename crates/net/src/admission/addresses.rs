//! Sets of addresses, for rules about clients and destinations.

use bentpipe_quic::memory::IpPrefix;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use thiserror::Error;

/// A set of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addresses {
    /// All addresses.
    Any,
    /// The public Internet: neither loopback, private, link-local or multicast addresses, nor those
    /// of other special uses.
    Public,
    /// One network, or one address.
    Of(IpPrefix),
}

impl Addresses {
    /// Returns whether the set contains `address`.
    pub(crate) fn contains(self, address: IpAddr) -> bool {
        match self {
            Self::Any => true,
            Self::Public => is_public(address),
            Self::Of(prefix) => prefix.contains(address),
        }
    }
}

/// A text that is not a set of addresses.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{0}` is not a set of addresses; allowed: `any`, `public`, an address, or a network such as \
     192.168.0.0/16"
)]
pub struct AddressesError(String);

impl FromStr for Addresses {
    type Err = AddressesError;

    fn from_str(text: &str) -> Result<Self, AddressesError> {
        match text {
            "any" => Ok(Self::Any),
            "public" => Ok(Self::Public),
            _ => text.parse().map(Self::Of).map_err(|_| AddressesError(text.to_owned())),
        }
    }
}

impl fmt::Display for Addresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any"),
            Self::Public => f.write_str("public"),
            Self::Of(prefix) => prefix.fmt(f),
        }
    }
}

/// Returns whether `address` belongs to the public Internet. The special-purpose registries (RFC
/// 6890) are excluded as far as they lead to other machines, and so are addresses that embed
/// another address whose route is unknown here (6to4, Teredo, NAT64).
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [a, b, c, _] = v4.octets();
            !(a == 0
                || v4.is_private()
                || v4.is_loopback()
                || v4.is_link_local()
                || v4.is_multicast()
                || v4.is_documentation()
                // Carrier-grade NAT (RFC 6598), protocol assignments (RFC 6890), benchmarks (RFC
                // 2544), reserved (RFC 1112).
                || (a == 100 && (64..128).contains(&b))
                || (a, b, c) == (192, 0, 0)
                || (a == 198 && (18..20).contains(&b))
                || a >= 240)
        }
        IpAddr::V6(v6) => {
            let [a, b, ..] = v6.segments();
            // Global unicast is 2000::/3 (RFC 4291 §2.4). Within it, 2001::/23 is for protocols,
            // 2001:db8::/32 and 3fff::/20 are for documentation, and 2002::/16 is 6to4.
            // 64:ff9b::/96 (NAT64) lies outside.
            (0x2000..0x4000).contains(&a)
                && !(a == 0x2001 && (b < 0x200 || b == 0xdb8))
                && a != 0x2002
                && !(a == 0x3fff && b < 0x1000)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_parsed_or_refused_with_what_is_allowed() {
        for text in ["any", "public", "10.0.0.0/8", "2001:db8::1/128"] {
            assert_eq!(text.parse::<Addresses>().unwrap().to_string(), text);
        }
        let error = "example.org".parse::<Addresses>().unwrap_err().to_string();
        assert!(error.contains("example.org") && error.contains("192.168.0.0/16"), "{error}");
    }
}

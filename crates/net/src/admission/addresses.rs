//! Sets of addresses, for rules about clients and destinations.

use bentpipe_quic::path_memory::IpPrefix;
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

    #[test]
    fn a_set_contains_its_own_addresses() {
        let contains = |set: &str, address: &str| {
            set.parse::<Addresses>().unwrap().contains(address.parse().unwrap())
        };
        for address in ["10.0.0.1", "1.1.1.1", "::", "ff02::1"] {
            assert!(contains("any", address), "{address}");
        }
        assert!(contains("10.1.0.0/16", "10.1.255.255") && !contains("10.1.0.0/16", "10.2.0.0"));
        assert!(contains("public", "1.1.1.1") && !contains("public", "10.1.0.0"));
    }

    #[test]
    fn special_networks_end_where_the_registries_say() {
        // The last address, or the first one, of a special network, and its public neighbour.
        for (special, public) in [
            ("0.255.255.255", "1.0.0.0"),
            ("100.64.0.0", "100.63.255.255"),
            ("100.127.255.255", "100.128.0.0"),
            ("192.0.0.255", "192.0.1.0"),
            ("198.18.0.0", "198.17.255.255"),
            ("198.19.255.255", "198.20.0.0"),
            ("224.0.0.0", "223.255.255.255"),
            ("240.0.0.0", "199.19.0.0"),
            ("192.0.2.0", "193.0.0.0"),
            ("100.100.0.0", "101.64.0.0"),
            ("1fff:ffff::", "2000::"),
            ("4000::", "3ffe:ffff::"),
            ("2001:1ff:ffff::", "2001:200::"),
            ("2001:db8:ffff::", "2001:db9::"),
            ("2001:db8::", "2001:db7:ffff::"),
            ("2001::", "2000:ffff::"),
            ("2002:ffff::", "2003::"),
            ("3fff:fff:ffff::", "3fff:1000::"),
            ("3fff::", "2a00:db8::"),
        ] {
            assert!(!is_public(special.parse().unwrap()), "{special}");
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
    }
}

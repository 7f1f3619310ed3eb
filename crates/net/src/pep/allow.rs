//! Who may use the proxy, and for what: it is nobody's open relay.

use super::target::Target;
use bentpipe_quic::path_memory::IpPrefix;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use thiserror::Error;

/// Addresses that a rule speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addresses {
    /// All of them.
    Any,
    /// Those of the public Internet: none of the loopback, of private networks, of links, of
    /// multicast and of other special uses.
    Public,
    /// Those of one network, or one address.
    Of(IpPrefix),
}

impl Addresses {
    fn contains(self, address: IpAddr) -> bool {
        match self {
            Self::Any => true,
            Self::Public => is_public(address),
            Self::Of(prefix) => prefix.contains(address),
        }
    }
}

/// A text that names no addresses.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{0}` names no addresses; allowed: `any`, `public`, an address, or a network such as \
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

/// Who may come, and where they may go. What is not allowed is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowed {
    /// Clients.
    pub clients: Vec<Addresses>,
    /// Destinations, by the address that they turn out to have.
    pub destinations: Vec<Addresses>,
}

impl Default for Allowed {
    /// From this machine, to the public Internet.
    fn default() -> Self {
        let loopback =
            [(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 0)), 8), (IpAddr::V6(Ipv6Addr::LOCALHOST), 128)];
        let clients = loopback
            .into_iter()
            .filter_map(|(address, length)| IpPrefix::new(address, length).ok());
        Self {
            clients: clients.map(Addresses::Of).collect(),
            destinations: vec![Addresses::Public],
        }
    }
}

impl Allowed {
    /// Everybody to everywhere: where rules of the system have already chosen what comes.
    pub fn all() -> Self {
        Self { clients: vec![Addresses::Any], destinations: vec![Addresses::Any] }
    }

    /// Whether a client may come.
    pub fn client(&self, address: IpAddr) -> bool {
        self.clients.iter().any(|one| one.contains(address.to_canonical()))
    }

    /// Whether it may go there.
    pub fn destination(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        // No connection leads there (RFC 1122 §3.2.1.3, RFC 4291 §2.7), whatever is allowed.
        let nowhere = address.is_unspecified()
            || address.is_multicast()
            || address == IpAddr::V4(Ipv4Addr::BROADCAST);
        !nowhere && self.destinations.iter().any(|one| one.contains(address))
    }

    /// Whether any address may be allowed: where none is, names need not be looked up.
    pub fn refuses_all(&self, target: &Target) -> bool {
        match &target.host {
            super::target::Host::Address(address) => !self.destination(*address),
            super::target::Host::Name(_) => self.destinations.is_empty(),
        }
    }
}

/// Whether an address is one of the public Internet: not in the registries of special ones (RFC
/// 6890), of which those count that lead to other machines than the public's, and none that has
/// another address in it whose way is not known here (6to4, Teredo, NAT64).
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
                // Shared by carriers (RFC 6598), protocol assignments (RFC 6890), benchmarks (RFC
                // 2544), reserved (RFC 1112).
                || (a == 100 && (64..128).contains(&b))
                || (a, b, c) == (192, 0, 0)
                || (a == 198 && (18..20).contains(&b))
                || a >= 240)
        }
        IpAddr::V6(v6) => {
            let [a, b, ..] = v6.segments();
            // Global unicast is 2000::/3 (RFC 4291 §2.4); in it 2001::/23 is for protocols,
            // 2001:db8::/32 and 3fff::/20 for documentation, 2002::/16 is 6to4. NAT64's
            // 64:ff9b::/96 lies outside.
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

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn by_default_this_machine_may_go_to_the_public_internet() {
        let allowed = Allowed::default();
        for client in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            assert!(allowed.client(ip(client)), "{client}");
        }
        for client in ["192.168.0.1", "8.8.8.8", "2001:db8::1", "::"] {
            assert!(!allowed.client(ip(client)), "{client}");
        }
        for public in
            ["1.1.1.1", "198.17.0.1", "100.63.0.1", "172.32.0.1", "2606:4700::1", "2001:200::1"]
        {
            assert!(allowed.destination(ip(public)), "{public}");
        }
        for special in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "192.0.0.1",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "2001::1",
            "2001:db8::1",
            "2002:a00:1::1",
            "3fff::1",
            "fc00::1",
            "fe80::1",
            "ff02::1",
        ] {
            assert!(!allowed.destination(ip(special)), "{special}");
        }
    }

    #[test]
    fn what_is_allowed_besides_is_said() {
        let private =
            Allowed { destinations: vec!["10.1.0.0/16".parse().unwrap()], ..Allowed::default() };
        assert!(private.destination(ip("10.1.2.3")) && private.destination(ip("::ffff:10.1.2.3")));
        assert!(!private.destination(ip("10.2.2.3")) && !private.destination(ip("1.1.1.1")));
        let all = Allowed::all();
        assert!(all.client(ip("9.9.9.9")) && all.destination(ip("10.0.0.1")));
        assert!(!all.destination(ip("0.0.0.0")) && !all.destination(ip("ff02::1")));
    }

    #[test]
    fn texts_name_addresses_or_are_refused_with_what_is_allowed() {
        for text in ["any", "public", "10.0.0.0/8", "2001:db8::1/128"] {
            assert_eq!(text.parse::<Addresses>().unwrap().to_string(), text);
        }
        let error = "example.org".parse::<Addresses>().unwrap_err().to_string();
        assert!(error.contains("example.org") && error.contains("192.168.0.0/16"), "{error}");
    }
}

//! Access rules of the proxy: it must not be an open relay.

use super::target::{Host, Target};
use crate::admission::addresses::Addresses;
use bentpipe_quic::memory::IpPrefix;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Clients and destinations that are allowed. All others are refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowed {
    /// Addresses of clients.
    pub clients: Vec<Addresses>,
    /// Addresses of destinations, after names are resolved.
    pub destinations: Vec<Addresses>,
}

impl Default for Allowed {
    /// Allows clients on this machine and destinations on the public Internet.
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
    /// Allows all clients and all destinations, for proxies whose connections the system's rules
    /// have already selected.
    pub fn all() -> Self {
        Self { clients: vec![Addresses::Any], destinations: vec![Addresses::Any] }
    }

    /// Returns whether a client may connect.
    pub fn client(&self, address: IpAddr) -> bool {
        self.clients.iter().any(|one| one.contains(address.to_canonical()))
    }

    /// Returns whether clients may connect to `address`.
    pub fn destination(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        // No connection is possible to these (RFC 1122 §3.2.1.3, RFC 4291 §2.7).
        let unreachable = address.is_unspecified()
            || address.is_multicast()
            || address == IpAddr::V4(Ipv4Addr::BROADCAST);
        !unreachable && self.destinations.iter().any(|one| one.contains(address))
    }

    /// Returns whether no address of `target` can be allowed, so that its name need not be
    /// resolved.
    pub fn refuses_all(&self, target: &Target) -> bool {
        match &target.host {
            Host::Address(address) => !self.destination(*address),
            Host::Name(_) => self.destinations.is_empty(),
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
    fn by_default_this_machine_may_connect_to_the_public_internet() {
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
    fn other_destinations_have_to_be_listed() {
        let private =
            Allowed { destinations: vec!["10.1.0.0/16".parse().unwrap()], ..Allowed::default() };
        assert!(private.destination(ip("10.1.2.3")) && private.destination(ip("::ffff:10.1.2.3")));
        assert!(!private.destination(ip("10.2.2.3")) && !private.destination(ip("1.1.1.1")));
        let all = Allowed::all();
        assert!(all.client(ip("9.9.9.9")) && all.destination(ip("10.0.0.1")));
        assert!(!all.destination(ip("0.0.0.0")) && !all.destination(ip("ff02::1")));
    }
}

//! Networks whose hosts have paths of their own.
//!
//! The clients of a network share one saved set ([`Prefixes`]), although some may have another
//! tariff or another link. If a set that one host measured meets congestion at another, the network
//! says nothing about its hosts: for as long as a set is valid, each keeps its own.

use super::key::{IpPrefix, Prefixes};
use bentpipe_units::Epoch;
use std::collections::HashMap;
use std::net::IpAddr;

/// What is known of the hosts of one network.
#[derive(Debug, Clone, Copy, Default)]
struct Network {
    /// The host whose measurement is saved.
    measured_by: Option<IpAddr>,
    /// The hosts keep sets of their own until then.
    apart_until: Option<Epoch>,
}

/// What is known of the hosts of networks, of the latest ones in bounded memory.
///
/// It is not part of the store: a process that starts anew pays for each such network once more.
#[derive(Debug)]
pub(super) struct NetworkHosts {
    /// Most networks in each of the two maps.
    limit: usize,
    recent: HashMap<IpPrefix, Network>,
    /// Networks that were last changed before `recent` had filled.
    older: HashMap<IpPrefix, Network>,
}

impl NetworkHosts {
    /// Keeps at least the last `limit` networks, and at most twice as many.
    pub(super) fn new(limit: usize) -> Self {
        Self { limit: limit.max(1), recent: HashMap::new(), older: HashMap::new() }
    }

    fn get(&self, network: IpPrefix) -> Network {
        self.recent.get(&network).or_else(|| self.older.get(&network)).copied().unwrap_or_default()
    }

    fn set(&mut self, network: IpPrefix, known: Network) {
        if self.recent.len() >= self.limit && !self.recent.contains_key(&network) {
            self.older = std::mem::take(&mut self.recent);
        }
        self.recent.insert(network, known);
    }

    /// Returns the network whose set counts for `remote`: that of all its neighbours by `prefixes`,
    /// or a smaller one while the hosts there keep sets of their own.
    pub(super) fn network_of(&self, remote: IpAddr, prefixes: Prefixes, now: Epoch) -> IpPrefix {
        let network = prefixes.of(remote);
        match self.get(network).apart_until {
            Some(until) if now < until => own_network(remote, network),
            _ => network,
        }
    }

    /// Returns the host that measured the set of `network`, if it is known.
    pub(super) fn measured_by(&self, network: IpPrefix) -> Option<IpAddr> {
        self.get(network).measured_by
    }

    /// Records that `host` has measured the set of `network`.
    pub(super) fn measured(&mut self, network: IpPrefix, host: IpAddr) {
        let known = self.get(network);
        if known.measured_by != Some(host) {
            self.set(network, Network { measured_by: Some(host), ..known });
        }
    }

    /// Lets the hosts of `network` keep sets of their own until `until`. Returns the network of
    /// `remote` alone.
    pub(super) fn set_apart(
        &mut self,
        network: IpPrefix,
        remote: IpAddr,
        until: Epoch,
    ) -> IpPrefix {
        self.set(network, Network { measured_by: None, apart_until: Some(until) });
        own_network(remote, network)
    }
}

/// Returns the network of `remote` alone, within `network`. In IPv6 it is a subnet, since hosts
/// change the rest of their addresses by themselves (RFC 8981).
fn own_network(remote: IpAddr, network: IpPrefix) -> IpPrefix {
    let own = Prefixes::SUBNET.of(remote);
    if network.covers(own) { own } else { network }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn hosts_keep_sets_of_their_own_for_a_time() {
        let (mut hosts, prefixes) = (NetworkHosts::new(4), Prefixes::default());
        let at = Epoch::from_unix_secs;
        for (address, network, own) in [
            ("192.0.2.7", "192.0.2.0/24", "192.0.2.7/32"),
            ("2001:db8:1:2ff::9", "2001:db8:1:200::/56", "2001:db8:1:2ff::/64"),
        ] {
            let of = |hosts: &NetworkHosts, now| {
                hosts.network_of(ip(address), prefixes, at(now)).to_string()
            };
            assert_eq!(of(&hosts, 10), network);
            let apart = hosts.set_apart(prefixes.of(ip(address)), ip(address), at(20));
            assert_eq!(apart.to_string(), own);
            assert_eq!((of(&hosts, 19).as_str(), of(&hosts, 20).as_str()), (own, network));
        }
    }

    #[test]
    fn a_path_of_one_address_stays_that_of_the_address() {
        let mut hosts = NetworkHosts::new(4);
        let address = ip("2001:db8::9");
        let network = Prefixes::HOST.of(address);
        assert_eq!(hosts.set_apart(network, address, Epoch::MAX), network);
    }

    #[test]
    fn memory_is_bounded_and_the_latest_networks_are_known() {
        let mut hosts = NetworkHosts::new(8);
        let network = |number: u32| Prefixes::HOST.of(IpAddr::from(number.to_be_bytes()));
        for number in 0..1000 {
            hosts.measured(network(number), ip("192.0.2.1"));
            assert!(hosts.recent.len() <= 8 && hosts.older.len() <= 8);
        }
        assert!((992..1000).all(|number| hosts.measured_by(network(number)).is_some()));
        assert!(hosts.measured_by(network(900)).is_none());
    }
}

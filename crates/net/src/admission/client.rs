//! Which addresses count as one client, and how many connections each client has.

use bentpipe_quic::path_memory::{IpPrefix, Prefixes};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Divisor that gives one client's share of slots and of send memory. Our choice: several clients
/// have to act together before others notice.
pub(crate) const CLIENT_SHARE: usize = 8;
/// Shares of a client that the clients of one IPv6 /48 may have together. Our choice: a /48 is what
/// one customer of a provider may have at most (RFC 6177), and providers that give each of them a
/// /56 have many /48s.
pub(crate) const SITE_CLIENTS: usize = 2;

/// Returns the network that counts as one client: an IPv4 address, or an IPv6 /56, the usual
/// prefix of one site.
pub(crate) fn client_network(address: IpAddr) -> IpPrefix {
    if address.to_canonical().is_ipv4() {
        IpPrefix::host(address)
    } else {
        Prefixes::default().of(address)
    }
}

/// Returns the IPv6 /48 of an IPv6 client, whose owner may use all of its 256 client networks.
pub(crate) fn site_network(address: IpAddr) -> Option<IpPrefix> {
    let address = address.to_canonical();
    IpPrefix::new(address, 48).ok().filter(|_| address.is_ipv6())
}

/// Number of open connections, in total, for each client and for each IPv6 /48.
#[derive(Debug, Default)]
pub(crate) struct ConnectionCounts {
    total: usize,
    /// Keys are clients and IPv6 /48s, whose prefixes differ in length.
    by_network: BTreeMap<IpPrefix, ClientCount>,
}

/// Number of open connections of one client.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientCount {
    /// Connections whose address is known to be the client's own.
    pub validated: usize,
    /// Connections whose first packet may have a forged address.
    pub unvalidated: usize,
}

impl ClientCount {
    fn of(&mut self, validated: bool) -> &mut usize {
        if validated { &mut self.validated } else { &mut self.unvalidated }
    }

    /// Connections of both kinds.
    pub(crate) const fn total(self) -> usize {
        self.validated + self.unvalidated
    }
}

impl ConnectionCounts {
    /// Connections of all clients.
    pub(crate) const fn total(&self) -> usize {
        self.total
    }

    /// Connections of one client, or of an IPv6 /48.
    pub(crate) fn of(&self, network: &IpPrefix) -> ClientCount {
        self.by_network.get(network).copied().unwrap_or_default()
    }

    /// Adds a connection.
    pub(crate) fn add(&mut self, client: IpPrefix, validated: bool) {
        self.total += 1;
        for network in networks(client) {
            *self.by_network.entry(network).or_default().of(validated) += 1;
        }
    }

    /// Removes a connection. A client without connections takes no memory.
    pub(crate) fn remove(&mut self, client: &IpPrefix, validated: bool) {
        if self.of(client).total() == 0 {
            return;
        }
        self.total -= 1;
        for network in networks(*client) {
            let Some(counts) = self.by_network.get_mut(&network) else { continue };
            *counts.of(validated) -= 1;
            if counts.total() == 0 {
                self.by_network.remove(&network);
            }
        }
    }
}

/// Returns the client, and its IPv6 /48.
pub(crate) fn networks(client: IpPrefix) -> impl Iterator<Item = IpPrefix> {
    [Some(client), site_network(client.address())].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_without_connections_take_no_memory() {
        let mut counts = ConnectionCounts::default();
        let [one, other] =
            [[192, 0, 2, 1], [192, 0, 2, 2]].map(|address| client_network(address.into()));
        [(one, true), (one, false), (other, true)]
            .into_iter()
            .for_each(|(client, validated)| counts.add(client, validated));
        assert_eq!(counts.of(&one), ClientCount { validated: 1, unvalidated: 1 });
        assert_eq!((counts.total(), counts.of(&other).total()), (3, 1));
        assert_eq!(counts.of(&one).total(), 2);
        counts.remove(&one, true);
        counts.remove(&one, false);
        // No connection is left.
        counts.remove(&one, true);
        assert_eq!((counts.total(), counts.of(&one).total(), counts.by_network.len()), (1, 0, 1));
    }

    #[test]
    fn all_networks_of_an_ipv6_site_count_together() {
        let mut counts = ConnectionCounts::default();
        let client =
            |network: u16| client_network(IpAddr::from([0x2001, 0xdb8, 7, network, 0, 0, 0, 1]));
        [client(0), client(0x100), client(0x1ff)].into_iter().for_each(|c| counts.add(c, true));
        let site = site_network(client(0).address()).unwrap();
        assert_eq!((counts.of(&site).validated, counts.of(&client(0x100)).validated), (3, 2));
        counts.remove(&client(0), true);
        assert_eq!(counts.of(&site).validated, 2);
        assert_eq!(site_network([192, 0, 2, 1].into()), None);
    }
}

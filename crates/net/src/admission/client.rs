//! Which addresses count as one client, and how many connections each client has.

use bentpipe_quic::path_memory::{IpPrefix, Prefixes};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Divisor that gives one client's share of open files and of send memory. Our choice: several
/// clients have to act together before others notice.
pub(crate) const CLIENT_SHARE: usize = 8;

/// Returns the network that counts as one client: an IPv4 address, or an IPv6 /56, the usual
/// prefix of one site.
pub(crate) fn client_network(address: IpAddr) -> IpPrefix {
    if address.to_canonical().is_ipv4() {
        IpPrefix::host(address)
    } else {
        Prefixes::default().of(address)
    }
}

/// Number of open connections, in total and for each client.
#[derive(Debug, Default)]
pub(crate) struct ConnectionCounts {
    total: usize,
    by_client: BTreeMap<IpPrefix, ClientCount>,
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

    /// Connections of one client.
    pub(crate) fn of(&self, client: &IpPrefix) -> ClientCount {
        self.by_client.get(client).copied().unwrap_or_default()
    }

    /// Adds a connection.
    pub(crate) fn add(&mut self, client: IpPrefix, validated: bool) {
        self.total += 1;
        *self.by_client.entry(client).or_default().of(validated) += 1;
    }

    /// Removes a connection. A client without connections takes no memory.
    pub(crate) fn remove(&mut self, client: &IpPrefix, validated: bool) {
        let Some(counts) = self.by_client.get_mut(client) else { return };
        self.total -= 1;
        *counts.of(validated) -= 1;
        if counts.total() == 0 {
            self.by_client.remove(client);
        }
    }
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
        assert_eq!((counts.total(), counts.of(&one).total(), counts.by_client.len()), (1, 0, 1));
    }
}

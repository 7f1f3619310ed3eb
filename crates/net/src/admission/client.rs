//! Which addresses count as one client, and how many connections each client has.

use bentpipe_quic::memory::{IpPrefix, Prefixes};
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
    by_client: BTreeMap<IpPrefix, usize>,
}

impl ConnectionCounts {
    /// Connections of all clients.
    pub(crate) const fn total(&self) -> usize {
        self.total
    }

    /// Connections of one client.
    pub(crate) fn of(&self, client: &IpPrefix) -> usize {
        self.by_client.get(client).copied().unwrap_or(0)
    }

    /// Adds a connection.
    pub(crate) fn add(&mut self, client: IpPrefix) {
        self.total += 1;
        *self.by_client.entry(client).or_default() += 1;
    }

    /// Removes a connection. A client without connections takes no memory.
    pub(crate) fn remove(&mut self, client: &IpPrefix) {
        let Some(count) = self.by_client.get_mut(client) else { return };
        self.total -= 1;
        *count -= 1;
        if *count == 0 {
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
        [one, one, other].into_iter().for_each(|client| counts.add(client));
        assert_eq!((counts.total(), counts.of(&one), counts.of(&other)), (3, 2, 1));
        // The third removal finds no connection.
        (0..3).for_each(|_| counts.remove(&one));
        assert_eq!((counts.total(), counts.of(&one), counts.by_client.len()), (1, 0, 1));
    }
}

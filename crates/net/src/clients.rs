//! Who is connected, by client: so that none has more than its part.

use bentpipe_quic::path_memory::{IpPrefix, Prefixes};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The network that counts as one client: an IPv4 address, or an IPv6 /56, as one site has it.
pub(crate) fn client(address: IpAddr) -> IpPrefix {
    if address.to_canonical().is_ipv4() {
        IpPrefix::host(address)
    } else {
        Prefixes::default().of(address)
    }
}

/// Connections at present.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    all: usize,
    each: BTreeMap<IpPrefix, usize>,
}

impl Clients {
    /// Connections of all together.
    pub(crate) const fn all(&self) -> usize {
        self.all
    }

    /// Connections of this one.
    pub(crate) fn of(&self, client: &IpPrefix) -> usize {
        self.each.get(client).copied().unwrap_or(0)
    }

    /// One more.
    pub(crate) fn enter(&mut self, client: IpPrefix) {
        self.all += 1;
        *self.each.entry(client).or_default() += 1;
    }

    /// One less, of a client that entered. Nothing is kept of those that have none left.
    pub(crate) fn leave(&mut self, client: &IpPrefix) {
        let Some(count) = self.each.get_mut(client) else { return };
        self.all -= 1;
        *count -= 1;
        if *count == 0 {
            self.each.remove(client);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_left_leaves_nothing_behind() {
        let mut clients = Clients::default();
        let [one, other] = [[192, 0, 2, 1], [192, 0, 2, 2]].map(|address| client(address.into()));
        [one, one, other].into_iter().for_each(|client| clients.enter(client));
        assert_eq!((clients.all(), clients.of(&one), clients.of(&other)), (3, 2, 1));
        // The third time it is not there any more.
        (0..3).for_each(|_| clients.leave(&one));
        assert_eq!((clients.all(), clients.of(&one), clients.each.len()), (1, 0, 1));
    }
}

//! A share of the clients that gets plain starts, to compare the others with.

use bentpipe_quic::path_memory::Prefixes;
use ring::hmac::{self, HMAC_SHA256};
use std::net::IpAddr;

/// A group of clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Connections start as the server is set, with its memory of paths.
    Treatment,
    /// Connections start as RFC 9002 §7 has it, without any memory of paths.
    Holdback,
}

impl Group {
    /// Both groups.
    pub(super) const ALL: [Self; 2] = [Self::Treatment, Self::Holdback];

    /// Returns the name in logs and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Treatment => "treatment",
            Self::Holdback => "holdback",
        }
    }
}

/// Divides clients into groups: by their networks (an IPv4 /24 or an IPv6 /56), which share what is
/// remembered of a path. A keyed hash decides, so the division has nothing to do with the clients,
/// and stays the same as long as the key does.
#[derive(Debug, Clone)]
pub struct Holdback {
    key: hmac::Key,
    /// Hashes below this one are held back.
    below: u64,
}

impl Holdback {
    /// Holds back `share` of the networks, from 0 to 1, by a hash with `secret`.
    pub fn new(share: f64, secret: &[u8]) -> Self {
        // Saturates at the bounds of the type.
        let below = (share * 2.0_f64.powi(64)) as u64;
        Self { key: hmac::Key::new(HMAC_SHA256, secret), below }
    }

    /// Returns the group of a client.
    pub fn group(&self, client: IpAddr) -> Group {
        let network = Prefixes::default().of(client);
        let tag = hmac::sign(&self.key, format!("bentpipe holdback 1 {network}").as_bytes());
        let first = tag.as_ref().first_chunk().map_or(u64::MAX, |first| u64::from_be_bytes(*first));
        if first < self.below { Group::Holdback } else { Group::Treatment }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_networks_is_held_back() {
        let addresses =
            || (0..20_000u32).map(|n| IpAddr::from((0x0a00_0000 | (n << 8)).to_be_bytes()));
        let held = |holdback: &Holdback| -> Vec<IpAddr> {
            addresses().filter(|one| holdback.group(*one) == Group::Holdback).collect()
        };
        let five = Holdback::new(0.05, b"secret");
        let count = held(&five).len();
        // 1000, with a standard deviation of 31.
        assert!((880..1120).contains(&count), "{count}");
        assert_eq!(held(&five), held(&Holdback::new(0.05, b"secret")), "again the same");
        let other = held(&Holdback::new(0.05, b"other"));
        let both = held(&five).iter().filter(|one| other.contains(one)).count();
        // 50, with a standard deviation of 7.
        assert!((20..85).contains(&both), "another key is another division: {both}");
        assert_eq!(held(&Holdback::new(0.0, b"secret")).len(), 0);
        assert_eq!(held(&Holdback::new(1.0, b"secret")).len(), 20_000);
    }

    #[test]
    fn a_network_is_in_one_group() {
        let half = Holdback::new(0.5, b"secret");
        for network in 0..50u8 {
            let v4 = |host: u8| half.group([192, 0, network, host].into());
            assert!((0..=255).all(|host| v4(host) == v4(0)));
            let v6 = |host| {
                half.group(IpAddr::from([0x2001, 0xdb8, u16::from(network), host, 0, 0, 0, 1]))
            };
            assert!((0..=255).all(|host| v6(host) == v6(0)));
            let mapped = std::net::Ipv4Addr::new(192, 0, network, 1).to_ipv6_mapped();
            assert_eq!(half.group(mapped.into()), v4(1));
        }
    }
}

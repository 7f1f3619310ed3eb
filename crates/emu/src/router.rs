//! Routers in the middle of an emulated path: a network namespace between two of its hops.

use crate::error::EmuError;
use crate::namespace::Namespace;
use crate::settings::Hop;
use crate::tun::{Tun, ring_drops};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;
use std::sync::Arc;

/// Name of a router's interface towards the clients. Programs in the router divert by it what
/// clients send.
pub const CLIENT_SIDE: &str = "bentpipe-down";
/// Name of a router's interface towards the server.
const SERVER_SIDE: &str = "bentpipe-up";

/// A namespace between two hops, which forwards what it does not keep.
#[derive(Debug)]
pub(crate) struct Router {
    /// Number of hops between the clients and the router.
    pub after: usize,
    pub namespace: Namespace,
    /// Its interface towards the clients.
    pub down: Arc<Tun>,
    /// Its interface towards the server.
    pub up: Arc<Tun>,
}

impl Router {
    /// Creates router number `index` after `after` hops. `clients` are the networks of the clients.
    pub fn new(
        index: usize,
        after: usize,
        mtu: u32,
        clients: &[(IpAddr, u8)],
    ) -> Result<Self, EmuError> {
        let namespace = Namespace::new()?;
        let everywhere = [(Ipv4Addr::UNSPECIFIED.into(), 0), (Ipv6Addr::UNSPECIFIED.into(), 0)];
        let [down, up] = addresses(index);
        let down = Tun::new(&namespace, CLIENT_SIDE, mtu, &down, clients)?;
        let up = Tun::new(&namespace, SERVER_SIDE, mtu, &up, &everywhere)?;
        // Unlike the server, a router without them would carry nothing.
        namespace.set("net.ipv4.ip_forward", "1")?;
        // A kernel without IPv6 has no such parameter.
        let _ = namespace.set("net.ipv6.conf.all.forwarding", "1");
        Ok(Self { after, namespace, down: Arc::new(down), up: Arc::new(up) })
    }

    /// Packets that its interfaces dropped unread: towards the clients, and towards the server.
    pub fn ring_drops(&self) -> Result<(u64, u64), EmuError> {
        let of = |interface| ring_drops(&self.namespace, interface);
        Ok((of(CLIENT_SIDE)?, of(SERVER_SIDE)?))
    }
}

/// Addresses of router number `index`, on its interface towards the clients and on the other. Both
/// are of the ranges of the clients and the server.
fn addresses(index: usize) -> [[IpAddr; 2]; 2] {
    let address = |side: usize| {
        let last = (2 * index + side + 1).min(254) as u16;
        [
            Ipv4Addr::new(198, 18, 1, last as u8).into(),
            Ipv6Addr::new(0x2001, 2, 0, 3, 0, 0, 0, last).into(),
        ]
    };
    [address(0), address(1)]
}

/// Returns the hops between neighbouring routers, from the clients to the server.
///
/// # Errors
/// A router is not between two hops, or routers are not in order.
pub(crate) fn segments(routers: &[Router], hops: &[Hop]) -> Result<Vec<Range<usize>>, EmuError> {
    let mut begin = 0;
    let mut segments = Vec::new();
    for after in routers.iter().map(|router| router.after).chain([hops.len()]) {
        if after <= begin || after > hops.len() {
            return Err(EmuError::Spec {
                what: format!("a router cannot be after hop {after} of {}", hops.len()),
                allowed: "routers between two hops, in ascending order, one at each place"
                    .to_owned(),
            });
        }
        segments.push(begin..after);
        begin = after;
    }
    Ok(segments)
}

//! Configuration of a proxy.

use super::allowed::Allowed;
use super::handshake::credentials::Credentials;
use super::limits::Limits;
use super::tunnel::secret::Secret;
use crate::admission::addresses::Addresses;
use crate::resumption::careful_resume;
use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_units::Bytes;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// How connections reach the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listener {
    /// Clients are configured to use it, by SOCKS5 (RFC 1928) or HTTP CONNECT (RFC 9110 §9.3.6).
    /// Both are accepted on one port.
    Explicit {
        /// Names and passwords, one of which clients need.
        credentials: Option<Credentials>,
    },
    /// A rule of the operator diverts connections to it without changing their addresses (TPROXY).
    /// Needs CAP_NET_ADMIN.
    Transparent {
        /// Servers see the client's address instead of the proxy's. Their packets must be routed
        /// through the proxy.
        keep_source: bool,
    },
    /// A rule of the operator redirects connections to it (REDIRECT). The address family is that of
    /// the address listened on.
    Redirected,
    /// A QUIC tunnel from another proxy that has the same secret. Connections continue directly.
    Tunnel {
        /// The secret.
        secret: Secret,
    },
}

impl Listener {
    /// Returns a warning about who else may read the passwords of clients.
    pub(super) fn warning(&self) -> Option<&str> {
        match self {
            Self::Explicit { credentials: Some(credentials) } => credentials.warning(),
            _ => None,
        }
    }
}

/// How connections continue from the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextHop {
    /// To the server, over TCP.
    Direct,
    /// To another proxy, through a QUIC tunnel that is kept open. That proxy resolves names.
    Tunnel {
        /// Address of the other proxy.
        egress: SocketAddr,
        /// The secret that both proxies have.
        secret: Secret,
    },
}

/// The side of the proxy whose connections cross the satellite. Their sockets are tuned for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SatelliteSide {
    /// Connections with clients. The proxy is on the servers' side of the hop.
    Client,
    /// Connections with servers. The proxy is on the clients' side of the hop.
    Server,
    /// Unknown, or both.
    Both,
}

/// Configuration of a proxy.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// How connections reach the proxy.
    pub listener: Listener,
    /// Address to listen on. Port 0 selects a free port.
    pub listen: SocketAddr,
    /// How connections continue.
    pub next_hop: NextHop,
    /// Clients and destinations that are allowed.
    pub allowed: Allowed,
    /// The side whose sockets are tuned.
    pub satellite: SatelliteSide,
    /// The kernel's congestion controller on that side, such as `cubic`, `bbr` or `reno`. Defaults
    /// to the kernel's default.
    pub congestion: Option<String>,
    /// Congestion control of the tunnel.
    pub tunnel_congestion: CongestionConfig,
    /// File that remembers the paths of tunnels across restarts (SQLite). Without one, they are
    /// remembered until the proxy ends.
    pub tunnel_paths: Option<PathBuf>,
    /// Largest socket buffer on that side, for each connection and direction. To fill the hop, it
    /// has to be its rate times the longer of the RTTs on both sides of the proxy.
    pub buffer: Bytes,
    /// Bounds on connections, memory and time.
    pub limits: Limits,
    /// Address for Prometheus.
    pub metrics: Option<SocketAddr>,
}

impl Config {
    /// Returns the defaults, with a free port on the loopback. Proxies to which rules divert
    /// connections allow all of them.
    pub fn new(listener: Listener) -> Self {
        let allowed = match listener {
            Listener::Explicit { .. } => Allowed::default(),
            Listener::Transparent { .. } | Listener::Redirected => Allowed::all(),
            // The secret authenticates the other proxy. It allowed the destinations for its own
            // network, not for this one.
            Listener::Tunnel { .. } => {
                Allowed { clients: vec![Addresses::Any], ..Allowed::default() }
            }
        };
        Self {
            listener,
            listen: (Ipv4Addr::LOCALHOST, 0).into(),
            next_hop: NextHop::Direct,
            allowed,
            satellite: SatelliteSide::Both,
            congestion: None,
            tunnel_congestion: careful_resume(),
            tunnel_paths: None,
            // Twice the bandwidth-delay product of 50 Mbps and 650 ms.
            buffer: Bytes::from_mb(8),
            limits: Limits::default(),
            metrics: None,
        }
    }
}

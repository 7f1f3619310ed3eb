//! Connects to destinations that are allowed.

use super::refusal::Refusal;
use super::shared::Shared;
use super::target::{Host, Target};
use crate::admission::buffers::Buffers;
use bentpipe_units::Span;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Duration, timeout};

/// Addresses of a name that are tried, one after another. Our choice.
const MAX_ADDRESSES: usize = 4;

impl Shared {
    /// Returns whether the proxy itself listens on `address`.
    pub(super) fn is_own(&self, address: SocketAddr) -> bool {
        let own = self.address;
        own.port() == address.port()
            && (own.ip().to_canonical() == address.ip().to_canonical()
                || own.ip().is_unspecified() && is_of_this_host(address.ip().to_canonical()))
    }

    /// Connects to `target` within the time limit. `source` is the address that the server is to
    /// see, if it is not the proxy's own.
    pub(super) async fn dial(
        &self,
        target: &Target,
        source: Option<SocketAddr>,
        buffers: Buffers,
    ) -> Result<(TcpStream, SocketAddr), Refusal> {
        if self.allowed.refuses_all(target) {
            return Err(Refusal::NotAllowed);
        }
        let limit = self.limits.connect_time;
        let dialled = timeout(limit.into(), self.dial_any(target, source, buffers, limit));
        dialled.await.unwrap_or(Err(Refusal::TimedOut))
    }

    async fn dial_any(
        &self,
        target: &Target,
        source: Option<SocketAddr>,
        buffers: Buffers,
        limit: Span,
    ) -> Result<(TcpStream, SocketAddr), Refusal> {
        let found: Vec<SocketAddr> = match &target.host {
            Host::Address(address) => vec![SocketAddr::new(*address, target.port)],
            Host::Name(name) => {
                let found = lookup_host((name.as_str(), target.port))
                    .await
                    .map_err(|_| Refusal::UnknownName)?;
                found
                    .map(|found| SocketAddr::new(found.ip().to_canonical(), found.port()))
                    .collect()
            }
        };
        if found.is_empty() {
            return Err(Refusal::UnknownName);
        }
        // The addresses of a name decide whether it is allowed.
        let allowed =
            |address: &SocketAddr| self.allowed.destination(address.ip()) && !self.is_own(*address);
        let addresses: Vec<SocketAddr> =
            found.into_iter().filter(allowed).take(MAX_ADDRESSES).collect();
        let each = Duration::from(limit) / addresses.len().max(1) as u32;
        let mut refusal = Refusal::NotAllowed;
        for address in addresses {
            refusal = match timeout(each, self.tuning.connect(address, source, buffers)).await {
                Ok(Ok(stream)) => return Ok((stream, address)),
                Ok(Err(error)) => {
                    tracing::debug!(%address, %error, "cannot connect to destination");
                    Refusal::of(&error)
                }
                Err(_) => Refusal::TimedOut,
            };
        }
        Err(refusal)
    }
}

/// Returns whether packets to `address` arrive at this host. Interfaces come and go, so the kernel
/// is asked: it gives them the source address that they are sent to.
fn is_of_this_host(address: IpAddr) -> bool {
    if address.is_loopback() || address.is_unspecified() {
        return true;
    }
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    // Connecting a UDP socket selects a route and sends nothing. Any port will do.
    let route = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((address, 9))?;
        socket.local_addr()
    });
    route.is_ok_and(|source| source.ip() == address)
}

//! Connects to where a client wants to go, if it may.

use super::Shared;
use super::admission::Buffers;
use super::refusal::Refusal;
use super::target::{Host, Target};
use bentpipe_units::Span;
use std::net::SocketAddr;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Duration, timeout};

/// Addresses of a name that are tried, one after the other: our choice.
const ADDRESSES: usize = 4;

impl Shared {
    /// Whether an address is where the proxy itself listens.
    pub(super) fn is_own(&self, address: SocketAddr) -> bool {
        let own = self.address;
        own.port() == address.port()
            && (own.ip().to_canonical() == address.ip().to_canonical()
                || own.ip().is_unspecified() && address.ip().to_canonical().is_loopback())
    }

    /// Connects to `target`, from `source` where the server is to see that address, within the time
    /// there is.
    pub(super) async fn dial(
        &self,
        target: &Target,
        source: Option<SocketAddr>,
        buffers: Buffers,
    ) -> Result<(TcpStream, SocketAddr), Refusal> {
        if self.allowed.refuses_all(target) {
            return Err(Refusal::NotAllowed);
        }
        let limit = self.door.limits().connect_time;
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
                    .map_err(|_| Refusal::Unknown)?;
                found
                    .map(|found| SocketAddr::new(found.ip().to_canonical(), found.port()))
                    .collect()
            }
        };
        if found.is_empty() {
            return Err(Refusal::Unknown);
        }
        // Only what the name turned out to be says whether it is allowed.
        let allowed =
            |address: &SocketAddr| self.allowed.destination(address.ip()) && !self.is_own(*address);
        let addresses: Vec<SocketAddr> =
            found.into_iter().filter(allowed).take(ADDRESSES).collect();
        let each = Duration::from(limit) / addresses.len().max(1) as u32;
        let mut refusal = Refusal::NotAllowed;
        for address in addresses {
            refusal = match timeout(each, self.tuning.connect(address, source, buffers)).await {
                Ok(Ok(stream)) => return Ok((stream, address)),
                Ok(Err(error)) => {
                    tracing::debug!(%address, %error, "destination not reached");
                    Refusal::of(&error)
                }
                Err(_) => Refusal::TimedOut,
            };
        }
        Err(refusal)
    }
}

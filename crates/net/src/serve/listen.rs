//! The sockets of a server: bound by it, or taken over from the process before it.

use super::error::ServerError;
use super::shared::Shared;
use crate::handover::{Estate, HandOverError, Inheritance, Predecessors, Waiting};
use crate::logging::Level;
use crate::metrics_listener::MetricsListener;
use crate::socket::{BoundSocket, ReceivedDatagram};
use crate::steering::Steering;
use std::io;
use std::net::SocketAddr;
use std::num::NonZeroU8;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

/// Where a server listens.
#[derive(Debug, Clone, Copy)]
pub(super) struct Where {
    /// For clients, over UDP and, unless `udp_only`, TCP. Port 0 selects a free port.
    pub address: SocketAddr,
    pub udp_only: bool,
    /// For Prometheus, if metrics are wanted.
    pub metrics: Option<SocketAddr>,
    pub threads: NonZeroU8,
}

/// The sockets of a server that does not run yet.
pub(super) struct Listening {
    pub address: SocketAddr,
    /// One for each thread.
    pub sockets: Vec<BoundSocket>,
    pub tcp: Option<TcpListener>,
    pub metrics: Option<MetricsListener>,
    pub steering: Arc<Steering>,
    pub predecessors: Arc<Predecessors>,
    /// The process before this one.
    pub waiting: Option<Waiting>,
}

impl Listening {
    /// Binds the sockets.
    pub async fn bind(at: Where, shared: &Shared) -> Result<Self, ServerError> {
        let steering = Steering::new(at.threads.get().into()).map_err(ServerError::system)?;
        let (sockets, tcp, address) = bind(at, &steering, shared).await?;
        let metrics = match at.metrics {
            Some(address) => Some(listen_for_metrics(address).await?),
            None => None,
        };
        let predecessors = Arc::default();
        Ok(Self { address, sockets, tcp, metrics, steering, predecessors, waiting: None })
    }

    /// Takes the sockets over. The number of threads is that of the process before this one.
    pub async fn inherit(at: Where, inheritance: Inheritance) -> Result<Self, ServerError> {
        let Inheritance { sockets, metrics, steering, predecessors, waiting } = inheritance;
        let sockets: io::Result<Vec<_>> = sockets.into_iter().map(BoundSocket::new).collect();
        let sockets = sockets.map_err(ServerError::system)?;
        let bound = sockets.first().map(BoundSocket::local_addr);
        let address = bound.unwrap_or(Ok(at.address)).map_err(ServerError::system)?;
        if !at.udp_only {
            return Err(HandOverError::Tcp.into());
        }
        if !is_at(address, at.address) {
            return Err(ServerError::OtherAddress { bound: address, wanted: at.address });
        }
        let metrics =
            metrics.map(MetricsListener::inherited).transpose().map_err(ServerError::system)?;
        let metrics = match (metrics, at.metrics) {
            (Some(metrics), Some(wanted)) if is_at(metrics.address(), wanted) => Some(metrics),
            (_, Some(wanted)) => Some(listen_for_metrics(wanted).await?),
            (_, None) => None,
        };
        Ok(Self {
            address,
            sockets,
            tcp: None,
            metrics,
            steering: Arc::new(steering),
            predecessors: Arc::new(predecessors),
            waiting: Some(waiting),
        })
    }

    /// Returns what the server keeps to hand over later. `None` if it listens on TCP too, whose
    /// connections nobody could pass on.
    pub fn estate(
        &self,
        inboxes: Vec<mpsc::Sender<ReceivedDatagram>>,
    ) -> Result<Option<Arc<Estate>>, ServerError> {
        if self.tcp.is_some() {
            return Ok(None);
        }
        let metrics = self.metrics.as_ref().map(MetricsListener::descriptor);
        let steering = (&self.steering, &self.predecessors);
        let estate =
            Estate::new(&self.sockets, metrics, steering, inboxes).map_err(ServerError::system)?;
        Ok(Some(Arc::new(estate)))
    }
}

/// Returns whether a socket at `bound` is what a server at `wanted` would have.
fn is_at(bound: SocketAddr, wanted: SocketAddr) -> bool {
    bound == wanted || (wanted.port() == 0 && bound.ip() == wanted.ip())
}

async fn listen_for_metrics(address: SocketAddr) -> Result<MetricsListener, ServerError> {
    let bound = MetricsListener::bind(address).await;
    bound.map_err(|source| ServerError::Listen { address, protocol: "TCP", source })
}

async fn listen(address: SocketAddr) -> Result<TcpListener, ServerError> {
    let bound = TcpListener::bind(address).await;
    bound.map_err(|source| ServerError::Listen { address, protocol: "TCP", source })
}

/// Binds UDP and, unless `udp_only`, TCP to one port. If any port will do, tries a few until one is
/// free for both.
async fn bind(
    Where { address, udp_only, .. }: Where,
    steering: &Steering,
    shared: &Shared,
) -> Result<(Vec<BoundSocket>, Option<TcpListener>, SocketAddr), ServerError> {
    let mut tries = 16;
    loop {
        let (sockets, steered) = steering.bind(address).map_err(|source| ServerError::Listen {
            address,
            protocol: "UDP",
            source,
        })?;
        let bound = sockets.first().map_or(Ok(address), BoundSocket::local_addr);
        let bound = bound.map_err(ServerError::system)?;
        let listener = if udp_only { Ok(None) } else { listen(bound).await.map(Some) };
        match listener {
            Ok(listener) => {
                if !steered {
                    shared.report(
                        Level::Warning,
                        &"the kernel does not steer datagrams to threads, which then \
                                    forward them: more CPU time for each",
                    );
                }
                return Ok((sockets, listener, bound));
            }
            Err(_) if address.port() == 0 && tries > 0 => tries -= 1,
            Err(error) => return Err(error),
        }
    }
}

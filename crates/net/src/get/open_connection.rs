//! A connection over QUIC or over TCP, whichever a server answers.

use super::connection::{ConnectContext, Connection};
use super::error::ClientError;
use super::host_port::HostPort;
use super::response::Response;
use super::tcp::{TcpConnection, TcpContext};
use http::Request;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;
use tokio::time::timeout;

/// Time for QUIC alone. Our choice: over a geostationary satellite a handshake takes 0.6 s, and 1.6
/// s more for each of its first packets that is lost.
const HEAD_START: Duration = Duration::from_secs(3);

/// A connection that can carry requests. Clones share it.
#[derive(Debug, Clone)]
pub(super) enum OpenConnection {
    /// HTTP/3.
    Quic(Connection),
    /// HTTP/2 or HTTP/1.1.
    Tcp(TcpConnection),
}

impl OpenConnection {
    /// Opens a connection to the first of `addresses` that answers. With `tcp`, one over TCP is
    /// opened beside if QUIC fails or takes long, and the first is used.
    ///
    /// # Errors
    /// No address answers. The reason is that of the last one.
    pub async fn open(
        (context, tcp): (&ConnectContext, Option<&TcpContext>),
        server: &HostPort,
        addresses: &[SocketAddr],
        early: bool,
    ) -> Result<Self, ClientError> {
        let mut quic = pin!(over_quic(context, server, addresses, early));
        let Some(tcp) = tcp else { return quic.await };
        let failed = match timeout(HEAD_START, &mut quic).await {
            Ok(Ok(connection)) => return Ok(connection),
            Ok(Err(error)) => Some(error),
            Err(_) => None,
        };
        let mut tcp = pin!(over_tcp(tcp, server, addresses));
        let (quic, tcp) = match failed {
            Some(error) => (Err(error), tcp.await),
            None => tokio::select! {
                quic = &mut quic => match quic {
                    Ok(connection) => return Ok(connection),
                    failed => (failed, tcp.await),
                },
                tcp = &mut tcp => match tcp {
                    Ok(connection) => return Ok(connection),
                    failed => (quic.await, failed),
                },
            },
        };
        match (quic, tcp) {
            (Ok(connection), _) | (_, Ok(connection)) => Ok(connection),
            (Err(quic), Err(tcp)) => {
                Err(ClientError::Both { quic: Box::new(quic), tcp: Box::new(tcp) })
            }
        }
    }

    /// Sends a request and waits for the head of its response.
    ///
    /// # Errors
    /// The exchange fails, or takes too long.
    pub async fn send(&self, request: Request<()>) -> Result<Response, ClientError> {
        match self {
            Self::Quic(connection) => connection.send(request).await,
            Self::Tcp(connection) => connection.send(request).await,
        }
    }

    /// Returns whether both are the same connection.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Quic(connection), Self::Quic(other)) => connection.is_same(other),
            (Self::Tcp(connection), Self::Tcp(other)) => connection.is_same(other),
            _ => false,
        }
    }

    /// Returns whether it is one of HTTP/3.
    pub const fn is_quic(&self) -> bool {
        matches!(self, Self::Quic(_))
    }

    /// Returns whether the connection is closed.
    pub fn is_closed(&self) -> bool {
        match self {
            Self::Quic(connection) => connection.is_closed(),
            Self::Tcp(connection) => connection.is_closed(),
        }
    }

    /// Returns whether the server has announced the connection's end, while requests may be under
    /// way.
    pub fn is_leaving(&self) -> bool {
        matches!(self, Self::Quic(connection) if connection.is_leaving())
    }

    /// Returns whether early data was sent and refused.
    pub fn early_refused(&self) -> bool {
        matches!(self, Self::Quic(connection) if connection.early_refused())
    }

    /// Closes the connection. Over QUIC, waits until the close frame is sent.
    pub async fn close(self) {
        if let Self::Quic(connection) = self {
            connection.close().await;
        }
    }
}

async fn over_quic(
    context: &ConnectContext,
    server: &HostPort,
    addresses: &[SocketAddr],
    early: bool,
) -> Result<OpenConnection, ClientError> {
    let open = |address| Connection::open(context, server, address, early);
    first(server, addresses, open).await.map(OpenConnection::Quic)
}

async fn over_tcp(
    context: &TcpContext,
    server: &HostPort,
    addresses: &[SocketAddr],
) -> Result<OpenConnection, ClientError> {
    let open = |address| TcpConnection::open(context, server, address);
    first(server, addresses, open).await.map(OpenConnection::Tcp)
}

/// Tries one address after another, in the resolver's order.
async fn first<C, F: Future<Output = Result<C, ClientError>>>(
    server: &HostPort,
    addresses: &[SocketAddr],
    open: impl Fn(SocketAddr) -> F,
) -> Result<C, ClientError> {
    let mut failed = ClientError::System(format!("{} has no address", server.name()));
    for address in addresses {
        match open(*address).await {
            Ok(connection) => return Ok(connection),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

//! The client, with one connection for each server.

use super::connection::ConnectContext;
use super::error::ClientError;
use super::host_port::HostPort;
use super::open_connection::OpenConnection;
use super::response::Response;
use super::tcp::TcpContext;
use http::{HeaderMap, Uri};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An HTTP/3 client, also for servers that have older versions only
/// ([`ClientBuilder::tcp_fallback`](super::ClientBuilder::tcp_fallback)). Clones share connections,
/// tickets and tokens.
///
/// TLS tickets let requests leave with the first flight (0-RTT). They are kept in memory while the
/// client lives, or in a file ([`ClientBuilder::tokens`](super::ClientBuilder::tokens)), like
/// tokens of both kinds: those that validate the client's address (RFC 9000 §8.1.3), and those in
/// which a Bentpipe server seals what it learned of the path.
#[derive(Debug, Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    context: ConnectContext,
    /// For servers without QUIC.
    over_tcp: Option<TcpContext>,
    /// Configured addresses, by host in lower case.
    addresses: BTreeMap<String, IpAddr>,
    slots: Mutex<BTreeMap<String, Slot>>,
}

/// A server's connection. A task that opens it holds this lock and no other.
type Slot = Arc<tokio::sync::Mutex<Option<OpenConnection>>>;

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

impl Client {
    pub(super) fn new(
        context: ConnectContext,
        over_tcp: Option<TcpContext>,
        addresses: BTreeMap<String, IpAddr>,
    ) -> Self {
        Self(Arc::new(Inner { context, over_tcp, addresses, slots: Mutex::default() }))
    }

    /// Sends a GET request for `url` and returns when the head of the response has arrived. Must be
    /// called within a tokio runtime. If the server refuses early data, the request is sent once
    /// more.
    ///
    /// # Errors
    /// The URL is invalid, the server is unreachable, or the exchange fails before the response.
    pub async fn get(&self, url: &Uri, headers: &HeaderMap) -> Result<Response, ClientError> {
        let server = HostPort::of(url)?;
        let mut request = http::Request::get(url.clone());
        if let Some(all) = request.headers_mut() {
            all.clone_from(headers);
        }
        let request = request
            .body(())
            .map_err(|_| ClientError::Url { url: url.to_string(), reason: "it cannot be sent" })?;
        let (connection, kept) = self.connection(&server, true).await?;
        match connection.send(request.clone()).await {
            Err(_) if connection.early_refused() => {
                self.forget(&server, connection).await;
                self.connection(&server, false).await?.0.send(request).await
            }
            // The server had closed it or announced its end, or it had timed out, before this
            // request, or while the request was on its way (RFC 9112 §9.3.1). Over TCP, a new
            // connection that fails is no such case.
            Err(_) if connection.is_closed() && (kept || connection.is_quic()) => {
                self.forget(&server, connection).await;
                self.connection(&server, true).await?.0.send(request).await
            }
            result => result,
        }
    }

    /// Closes all connections and waits until the close frames are sent. Tickets and tokens stay.
    pub async fn disconnect(&self) {
        let slots = std::mem::take(&mut *self.slots());
        for slot in slots.into_values() {
            let connection = slot.lock().await.take();
            if let Some(connection) = connection {
                connection.close().await;
            }
        }
    }

    fn slots(&self) -> MutexGuard<'_, BTreeMap<String, Slot>> {
        self.0.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(&self, server: &HostPort) -> Slot {
        self.slots().entry(server.name()).or_default().clone()
    }

    /// Closes `connection` and lets no further request use it. After early data was refused, the
    /// connection is alive, but HTTP/3 cannot continue over it. If the server has announced its
    /// end, it stays open for the requests under way.
    async fn forget(&self, server: &HostPort, connection: OpenConnection) {
        // Another request that failed with it may have opened the next one already.
        self.slot(server).lock().await.take_if(|present| present.is_same(&connection));
        if !connection.is_leaving() {
            connection.close().await;
        }
    }

    /// Returns the server's addresses: as configured, or from the system's resolver.
    async fn addresses(&self, server: &HostPort) -> Result<Vec<SocketAddr>, ClientError> {
        if let Some(address) = self.0.addresses.get(&server.host.to_ascii_lowercase()) {
            return Ok(vec![(*address, server.port).into()]);
        }
        let no_name = |reason| ClientError::Name { host: server.host.clone(), reason };
        let found = tokio::net::lookup_host((server.host.as_str(), server.port)).await;
        let found = found.map_err(|error: io::Error| no_name(error.to_string()))?;
        // At most four addresses, so that a long list does not take long.
        let found: Vec<SocketAddr> = found.take(4).collect();
        if found.is_empty() { Err(no_name("the answer is empty".to_owned())) } else { Ok(found) }
    }

    /// Returns the open connection to `server`, or opens one, and whether it was open.
    async fn connection(
        &self,
        server: &HostPort,
        early: bool,
    ) -> Result<(OpenConnection, bool), ClientError> {
        let slot = self.slot(server);
        let mut slot = slot.lock().await;
        if let Some(connection) = slot.as_ref().filter(|connection| !connection.is_closed()) {
            return Ok((connection.clone(), true));
        }
        let contexts = (&self.0.context, self.0.over_tcp.as_ref());
        let addresses = self.addresses(server).await?;
        let connection = OpenConnection::open(contexts, server, &addresses, early).await?;
        *slot = Some(connection.clone());
        Ok((connection, false))
    }
}

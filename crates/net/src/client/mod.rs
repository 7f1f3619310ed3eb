//! The client: HTTP/3, one connection for each server, and what servers gave it to come back with.

mod connection;
mod download;
mod trust;

pub use connection::{Response, Timings};
pub use download::{Download, DownloadError, Outcome, discard, download};
pub use trust::Trust;

use crate::authority::host_and_port;
use crate::clock::WallClock;
use crate::qlog::{Qlog, Traces};
use crate::token_file::TokenFile;
use bentpipe_quic::noq_proto::crypto::rustls::QuicClientConfig;
use bentpipe_quic::noq_proto::{TokenMemoryCache, TokenStore};
use bentpipe_quic::path_memory::token::{MemoryPathTokenStore, TokenClient};
use bentpipe_quic::tls::ALPN_H3;
use bentpipe_units::Span;
use connection::Connection;
use http::{HeaderMap, Uri};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thiserror::Error;

/// Why there is no response.
#[derive(Debug, Clone, Error)]
pub enum ClientError {
    /// The URL is not one that this client can ask for.
    #[error("`{url}` cannot be asked for: {reason}; allowed: https://HOST[:PORT]/PATH")]
    Url {
        /// The URL.
        url: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The name has no address.
    #[error("{host} has no address: {reason}")]
    Name {
        /// The name.
        host: String,
        /// What the resolver said.
        reason: String,
    },
    /// No connection came about, or it ended.
    #[error("connection to {server}: {reason}")]
    Connection {
        /// The server, with its port.
        server: String,
        /// What happened.
        reason: String,
    },
    /// The exchange failed.
    #[error("HTTP/3 with {server}: {reason}")]
    Exchange {
        /// The server, with its port.
        server: String,
        /// What happened.
        reason: String,
    },
    /// Traces of its connections cannot be written.
    #[error("no traces in {}: {reason}", directory.display())]
    Qlog {
        /// Where they should be.
        directory: PathBuf,
        /// Why.
        reason: String,
    },
    /// The client itself cannot be made.
    #[error("{0}")]
    System(String),
}

/// A client's parts, until it is made.
#[derive(Debug, Default)]
pub struct ClientBuilder {
    trust: Trust,
    tokens: Option<Arc<TokenFile>>,
    no_path_tokens: bool,
    handshake_time: Option<Span>,
    addresses: BTreeMap<String, IpAddr>,
    qlog: Option<Qlog>,
}

impl ClientBuilder {
    /// Whom it trusts, instead of those whom the system does.
    #[must_use]
    pub fn trust(mut self, trust: Trust) -> Self {
        self.trust = trust;
        self
    }

    /// Keeps tokens in that file, for connections of later programs.
    #[must_use]
    pub fn tokens(mut self, file: TokenFile) -> Self {
        self.tokens = Some(Arc::new(file));
        self
    }

    /// Neither keeps nor brings path tokens, not even as long as it lives: as a client that does
    /// not know them. Those that show its address stay.
    #[must_use]
    pub fn no_path_tokens(mut self) -> Self {
        self.no_path_tokens = true;
        self
    }

    /// How long a connection may take to come about, for each address that is tried; 10 s by
    /// default.
    #[must_use]
    pub fn handshake_time(mut self, limit: Span) -> Self {
        self.handshake_time = Some(limit);
        self
    }

    /// Finds `host` at `address`, whatever the system says. The URL's name is still the one that
    /// the server has to show.
    #[must_use]
    pub fn address(mut self, host: &str, address: IpAddr) -> Self {
        self.addresses.insert(host.to_ascii_lowercase(), address);
        self
    }

    /// Writes traces of its connections, until the client is dropped.
    #[must_use]
    pub fn qlog(mut self, qlog: Qlog) -> Self {
        self.qlog = Some(qlog);
        self
    }

    /// Makes it.
    ///
    /// # Errors
    /// No certificates to trust; no cryptography; no place for traces.
    pub fn build(self) -> Result<Client, ClientError> {
        let clock = WallClock::new();
        clock.now();
        let mut config = self.trust.config(&[&rustls::version::TLS13])?;
        config.alpn_protocols = vec![ALPN_H3.to_vec()];
        let tls = |early| {
            let mut config = config.clone();
            config.enable_early_data = early;
            let refused = |_| {
                ClientError::System(
                    "the cryptography provider lacks TLS_AES_128_GCM_SHA256".to_owned(),
                )
            };
            QuicClientConfig::try_from(config).map(Arc::new).map_err(refused)
        };
        let address_tokens: Arc<dyn TokenStore> = match &self.tokens {
            Some(file) => file.clone(),
            None => Arc::new(TokenMemoryCache::default()),
        };
        let path_tokens = match &self.tokens {
            _ if self.no_path_tokens => None,
            Some(file) => Some(TokenClient::new(file.jar(), clock.epoch())),
            None => Some(TokenClient::new(MemoryPathTokenStore::default(), clock.epoch())),
        };
        let traces = self.qlog.map(|qlog| {
            let directory = qlog.directory.clone();
            let failed =
                |error: io::Error| ClientError::Qlog { directory, reason: error.to_string() };
            Traces::start(&qlog, clock.clone()).map_err(failed)
        });
        let inside = Inner {
            tls: [tls(false)?, tls(true)?],
            address_tokens,
            path_tokens,
            handshake_time: self.handshake_time.unwrap_or(Span::from_secs(10)),
            addresses: self.addresses,
            clock,
            slots: Mutex::default(),
            traces: traces.transpose()?,
        };
        Ok(Client(Arc::new(inside)))
    }
}

/// A client. Clones are the same one.
///
/// TLS tickets, which let requests leave with the first flight (0-RTT), are kept in memory as long
/// as the client lives: rustls 0.23 gives no way to write them down. Tokens of both kinds can be
/// kept in a file ([`ClientBuilder::tokens`]): those that show the client's address (RFC 9000
/// §8.1.3), and those in which servers of ours seal what they learned of the path.
#[derive(Debug, Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    /// Without and with early data; both keep the same tickets.
    tls: [Arc<QuicClientConfig>; 2],
    address_tokens: Arc<dyn TokenStore>,
    path_tokens: Option<TokenClient>,
    handshake_time: Span,
    addresses: BTreeMap<String, IpAddr>,
    clock: WallClock,
    slots: Mutex<BTreeMap<String, Slot>>,
    traces: Option<Traces>,
}

/// A server's connection. Whoever opens it holds it locked, and nothing else.
type Slot = Arc<tokio::sync::Mutex<Option<Connection>>>;

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

/// A server's name and port, from a URL.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    host: String,
    port: u16,
}

impl Server {
    fn of(url: &Uri) -> Result<Self, ClientError> {
        let wrong = |reason| ClientError::Url { url: url.to_string(), reason };
        if url.scheme_str() != Some("https") {
            return Err(wrong("its scheme is not https"));
        }
        let authority = url.authority().ok_or_else(|| wrong("it names no host"))?;
        let (host, port) = host_and_port(authority).map_err(wrong)?;
        Ok(Self { host: host.to_owned(), port: port.unwrap_or(443) })
    }

    /// As tokens are kept by it.
    fn name(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

impl Client {
    /// A client's parts.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// Asks for `url` (GET). To be called within a tokio runtime. A request that was sent early and
    /// that the server would not take early is sent again, once.
    ///
    /// # Errors
    /// The URL is wrong, the server cannot be reached, or the exchange fails before there is a
    /// response.
    pub async fn get(&self, url: &Uri, headers: &HeaderMap) -> Result<Response, ClientError> {
        let server = Server::of(url)?;
        let mut request = http::Request::get(url.clone());
        if let Some(all) = request.headers_mut() {
            all.clone_from(headers);
        }
        let request = request
            .body(())
            .map_err(|_| ClientError::Url { url: url.to_string(), reason: "it cannot be sent" })?;
        let connection = self.connection(&server, true).await?;
        match connection.ask(request.clone()).await {
            Err(_) if connection.early_refused() => {
                self.forget(&server, connection).await;
                self.connection(&server, false).await?.ask(request).await
            }
            // It had ended, by the server's wish or for silence, before this request.
            Err(_) if connection.is_over() => {
                self.forget(&server, connection).await;
                self.connection(&server, true).await?.ask(request).await
            }
            answered => answered,
        }
    }

    /// Ends all connections; what servers gave stays. Waits until that is told to them.
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

    fn slot(&self, server: &Server) -> Slot {
        self.slots().entry(server.name()).or_default().clone()
    }

    /// No request uses `connection` from now on. Where early data was refused it lives, though
    /// HTTP/3 cannot go on over it.
    async fn forget(&self, server: &Server, connection: Connection) {
        // Another request that failed with it may have begun the next one already.
        self.slot(server).lock().await.take_if(|present| present.is(&connection));
        connection.close().await;
    }

    /// Where the server may be: as told, or as the system says.
    async fn addresses(&self, server: &Server) -> Result<Vec<SocketAddr>, ClientError> {
        if let Some(address) = self.0.addresses.get(&server.host.to_ascii_lowercase()) {
            return Ok(vec![(*address, server.port).into()]);
        }
        let no_name = |reason| ClientError::Name { host: server.host.clone(), reason };
        let found = tokio::net::lookup_host((server.host.as_str(), server.port)).await;
        let found = found.map_err(|error: io::Error| no_name(error.to_string()))?;
        // At most four, so that a long list does not make for a long wait.
        let found: Vec<SocketAddr> = found.take(4).collect();
        if found.is_empty() { Err(no_name("the answer is empty".to_owned())) } else { Ok(found) }
    }

    /// The connection to `server`, or a new one.
    async fn connection(&self, server: &Server, early: bool) -> Result<Connection, ClientError> {
        let slot = self.slot(server);
        let mut slot = slot.lock().await;
        if let Some(connection) = slot.as_ref().filter(|connection| !connection.is_over()) {
            return Ok(connection.clone());
        }
        let mut failed = None;
        // One after the other, in the resolver's order.
        for address in self.addresses(server).await? {
            match Connection::open(&self.0, server, address, early).await {
                Ok(connection) => {
                    *slot = Some(connection.clone());
                    return Ok(connection);
                }
                Err(error) => failed = Some(error),
            }
        }
        Err(failed
            .unwrap_or_else(|| ClientError::System(format!("{} has no address", server.name()))))
    }
}

//! What a server is made of, and its start.

use super::accept::{HEADER_MEMORY, MTU, Tuning, accept};
use super::error_log::ErrorLog;
use super::limits::{AdmissionControl, Limits};
use super::log::{AccessLog, LogFormat};
use super::metrics::Metrics;
use super::open_files::OpenFiles;
use super::reply::Origin;
use super::upstream::{Relay, Upstream};
use super::{Server, Shared, tcp};
use crate::certificate::Certificate;
use crate::clock::WallClock;
use crate::driver::Driver;
use crate::http::Root;
use crate::qlog::{Qlog, Traces};
use crate::resumption::{Resumption, ResumptionError, careful};
use crate::scrape;
use crate::socket::Socket;
use crate::write_behind::WriteBehind;
use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_quic::noq_proto::crypto::rustls::QuicServerConfig;
use bentpipe_quic::noq_proto::{EndpointConfig, ServerConfig};
use bentpipe_quic::path_memory::token::{KeyRing, KeyRingError, PathTokens, Secret, TokenServer};
use bentpipe_quic::path_memory::{self, MemoryStore, Prefixes, StoreError};
use bentpipe_quic::tls::{self, Randomness};
use bentpipe_quic::{DEFAULT_LIFETIME, Endpoint, HeaderMemory, SettingsError};
use http::HeaderValue;
use rustls::server::ServerSessionMemoryCache;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// Sessions that may be resumed, each once; about 500 bytes each. Our choice.
const SESSIONS: usize = 16_384;
/// How long browsers may remember that there is HTTP/3, in seconds: a day, as RFC 7838 §3.1
/// assumes.
const ALTERNATIVE_AGE: u32 = 86_400;

/// Why a server cannot start.
#[derive(Debug, Error)]
pub enum ServerError {
    /// The directory cannot be served.
    #[error("cannot serve {}: {source}", directory.display())]
    Directory {
        /// Which.
        directory: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// An address cannot be listened at.
    #[error("cannot listen at {address} ({protocol}): {source}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// UDP or TCP.
        protocol: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The certificate and its key are refused.
    #[error("certificate refused: {0}")]
    Certificate(#[from] rustls::Error),
    /// The memory of paths cannot be had.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Congestion control cannot be had.
    #[error(transparent)]
    Resumption(#[from] ResumptionError),
    /// A setting of the transport is impossible.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Traces of connections cannot be written.
    #[error("no traces in {}: {source}", directory.display())]
    Qlog {
        /// Where they should be.
        directory: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Keys of path tokens.
    #[error(transparent)]
    Keys(#[from] KeyRingError),
    /// The system lacks something.
    #[error("{0}")]
    System(String),
}

/// What its responses are to come from.
#[derive(Debug)]
enum Source {
    Directory(PathBuf),
    Upstream(Box<Upstream>),
}

/// What a server is made of.
pub struct ServerBuilder {
    source: Source,
    certificate: Certificate,
    address: SocketAddr,
    metrics: Option<SocketAddr>,
    limits: Limits,
    store: Option<PathBuf>,
    remembers: bool,
    congestion: CongestionConfig,
    log: Option<(LogFormat, Box<dyn Write + Send>)>,
    errors: Option<Box<dyn Write + Send>>,
    qlog: Option<Qlog>,
}

impl std::fmt::Debug for ServerBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerBuilder")
            .field("source", &self.source)
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl ServerBuilder {
    pub(super) fn files(directory: &Path, certificate: Certificate) -> Self {
        Self::new(Source::Directory(directory.to_owned()), certificate)
    }

    pub(super) fn proxy(upstream: Upstream, certificate: Certificate) -> Self {
        Self::new(Source::Upstream(Box::new(upstream)), certificate)
    }

    fn new(source: Source, certificate: Certificate) -> Self {
        Self {
            source,
            certificate,
            address: (Ipv4Addr::LOCALHOST, 0).into(),
            metrics: None,
            limits: Limits::default(),
            store: None,
            remembers: true,
            congestion: careful(),
            log: None,
            errors: None,
            qlog: None,
        }
    }

    /// Listens there, over UDP and TCP; port 0 is any that is free.
    #[must_use]
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.address = address;
        self
    }

    /// Lets Prometheus read the server's counters there, at `/metrics`, without TLS.
    #[must_use]
    pub fn metrics(mut self, address: SocketAddr) -> Self {
        self.metrics = Some(address);
        self
    }

    /// How much the server takes on.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Remembers paths in `file`, across restarts; otherwise in memory.
    #[must_use]
    pub fn store(mut self, file: &Path) -> Self {
        self.store = Some(file.to_owned());
        self
    }

    /// Remembers no paths, neither in a file nor in memory: those clients that keep tokens do.
    #[must_use]
    pub fn tokens_only(mut self) -> Self {
        self.remembers = false;
        self
    }

    /// Congestion control, instead of CUBIC with the automatic start and Careful Resume.
    #[must_use]
    pub fn congestion(mut self, congestion: CongestionConfig) -> Self {
        self.congestion = congestion;
        self
    }

    /// Writes a line for each request to `sink`.
    #[must_use]
    pub fn log(mut self, format: LogFormat, sink: Box<dyn Write + Send>) -> Self {
        self.log = Some((format, sink));
        self
    }

    /// Writes a line to `sink` when the system refuses the server something: a file that cannot
    /// be read, a connection that cannot be accepted. At most 10 lines in 10 s.
    #[must_use]
    pub fn error_log(mut self, sink: Box<dyn Write + Send>) -> Self {
        self.errors = Some(sink);
        self
    }

    /// Writes traces of its QUIC connections.
    #[must_use]
    pub fn qlog(mut self, qlog: Qlog) -> Self {
        self.qlog = Some(qlog);
        self
    }

    /// Binds the sockets and begins to serve. To be called within a tokio runtime with timers and
    /// I/O.
    ///
    /// # Errors
    /// Whatever is missing or wrong; then nothing has begun.
    pub async fn start(self) -> Result<Server, ServerError> {
        let Self {
            source,
            certificate,
            address,
            metrics: metrics_at,
            limits,
            store,
            remembers,
            congestion,
            log,
            errors,
            qlog,
        } = self;
        let origin = match source {
            Source::Directory(directory) => Origin::Files(
                Root::open(&directory)
                    .map_err(|source| ServerError::Directory { directory, source })?,
            ),
            Source::Upstream(upstream) => {
                let relay = Relay::new(*upstream)
                    .map_err(|error| ServerError::System(error.to_string()))?;
                Origin::Upstream(Box::new(relay))
            }
        };
        let clock = WallClock::new();
        clock.now();
        let metrics = Arc::new(Metrics::default());
        let system = |error: io::Error| ServerError::System(error.to_string());
        let log = log
            .map(|(format, sink)| AccessLog::new(format, sink, metrics.clone()))
            .transpose()
            .map_err(system)?;
        let (stop, stopped) = tokio::sync::watch::channel(());
        let (mut config, tls) = configurations(&certificate)?;
        config.max_incoming(limits.connections);
        let (resumption, tokens) =
            path_memory(store.as_deref().filter(|_| remembers), congestion, &clock)?;
        let resumption = if remembers { resumption } else { resumption.forgetful() };
        let tuning = Tuning::new(&limits, &origin, clock.base())?;
        let traces = qlog.map(|qlog| {
            let failed = |source| ServerError::Qlog { directory: qlog.directory.clone(), source };
            Traces::start(&qlog, clock.clone()).map_err(failed)
        });
        let traces = traces.transpose()?;
        let shared = Arc::new(Shared {
            origin,
            door: AdmissionControl::new(limits, metrics.clone()),
            metrics,
            files: OpenFiles::new(limits.open_files, limits.open_files_per_client),
            errors: ErrorLog::new(errors),
            log,
            tuning,
            header_memory: HeaderMemory::new(HEADER_MEMORY),
            config,
            resumption,
            tokens,
            qlog: traces.as_ref().map(Traces::desk),
            stop: stopped,
            clock: clock.clone(),
        });

        let (socket, listener) = sockets(address).await?;
        let bound = socket.local_addr().map_err(system)?;
        let metrics_listener = match metrics_at {
            Some(address) => Some(listen(address).await?),
            None => None,
        };
        let metrics_address =
            metrics_listener.as_ref().and_then(|listener| listener.local_addr().ok());

        let mut endpoint_config = EndpointConfig::default();
        endpoint_config
            .max_udp_payload_size(MTU.1.max(1472))
            .map_err(|error| ServerError::System(error.to_string()))?;
        let accepting = shared.clone();
        let acceptor = Box::new(move |remote| accept(&accepting, remote));
        let server = Some((Arc::new(shared.config.clone()), acceptor as bentpipe_quic::Acceptor));
        let mut endpoint =
            Endpoint::new(endpoint_config, clock.base(), server, socket.max_segments(MTU.1));
        let door = shared.door.clone();
        endpoint
            .set_gatekeeper(Box::new(move |remote, validated| door.ask(remote.ip(), validated)));
        let reporting = shared.clone();
        endpoint.set_panic_handler(Box::new(move |remote, message| {
            reporting.panicked(remote, message)
        }));
        let (driver, driving) = Driver::start(endpoint, socket, clock);

        let alternative =
            HeaderValue::from_str(&format!("h3=\":{}\"; ma={ALTERNATIVE_AGE}", bound.port()))
                .unwrap_or(HeaderValue::from_static("clear"));
        let mut tasks = vec![tokio::spawn(tcp::listen(listener, tls, shared.clone(), alternative))];
        if let Some(listener) = metrics_listener {
            let shared = shared.clone();
            let text = move || shared.metrics.text(shared.door.inside());
            tasks.push(tokio::spawn(scrape::serve(listener, text)));
        }
        Ok(Server { shared, driver, driving, tasks, stop, address: bound, metrics_address, traces })
    }
}

async fn listen(address: SocketAddr) -> Result<TcpListener, ServerError> {
    let bound = TcpListener::bind(address).await;
    bound.map_err(|source| ServerError::Listen { address, protocol: "TCP", source })
}

/// UDP and TCP on one port. Where any port will do, a few are tried until one is free for both.
async fn sockets(address: SocketAddr) -> Result<(Socket, TcpListener), ServerError> {
    let mut tries = 16;
    loop {
        let socket = Socket::bind(address).map_err(|source| ServerError::Listen {
            address,
            protocol: "UDP",
            source,
        })?;
        let bound = socket.local_addr().map_err(|error| ServerError::System(error.to_string()))?;
        match listen(bound).await {
            Ok(listener) => return Ok((socket, listener)),
            Err(_) if address.port() == 0 && tries > 0 => tries -= 1,
            Err(error) => return Err(error),
        }
    }
}

/// TLS for QUIC and for TCP.
fn configurations(certificate: &Certificate) -> Result<(ServerConfig, TlsAcceptor), ServerError> {
    let tls = |versions: &[&'static rustls::SupportedProtocolVersion], alpn: &[&[u8]]| {
        let mut config =
            rustls::ServerConfig::builder_with_provider(tls::provider(Randomness::System))
                .with_protocol_versions(versions)?
                .with_no_client_auth()
                .with_single_cert(certificate.chain.clone(), certificate.key.clone_key())?;
        config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
        config.session_storage = ServerSessionMemoryCache::new(SESSIONS);
        Ok::<_, rustls::Error>(config)
    };
    let mut quic = tls(&[&rustls::version::TLS13], &[tls::ALPN_H3])?;
    // RFC 9001 §4.6.1. Sessions are kept here and used once, so that early data cannot be replayed;
    // a server behind is told of it all the same.
    quic.max_early_data_size = u32::MAX;
    let quic = QuicServerConfig::try_from(quic).map_err(|_| {
        ServerError::System("the cryptography provider lacks TLS_AES_128_GCM_SHA256".to_owned())
    })?;
    let tcp =
        tls(&[&rustls::version::TLS13, &rustls::version::TLS12], &[&b"h2"[..], &b"http/1.1"[..]])?;
    Ok((ServerConfig::with_crypto(Arc::new(quic)), TlsAcceptor::from(Arc::new(tcp))))
}

/// What is remembered of paths: here, and by clients in tokens, whose keys end with the program.
fn path_memory(
    store: Option<&Path>,
    congestion: CongestionConfig,
    clock: &WallClock,
) -> Result<(Resumption, TokenServer), ServerError> {
    let (limits, epoch) = (path_memory::Limits::default(), clock.epoch());
    let resumption = match store {
        Some(file) => {
            Resumption::of(WriteBehind::open(file, limits, epoch.epoch())?, clock.clone())?
        }
        None => Resumption::of(MemoryStore::new(limits), clock.clone())?,
    };
    let random = Randomness::System.generator();
    let secret =
        Secret::draw(random).map_err(|_| ServerError::System("no random numbers".to_owned()))?;
    let tokens = PathTokens::new(KeyRing::new(secret, KeyRing::PERIOD)?);
    let tokens = TokenServer::new(tokens, Prefixes::default(), DEFAULT_LIFETIME, epoch, random);
    Ok((resumption.with(congestion)?, tokens))
}

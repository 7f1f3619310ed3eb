//! Building and starting a server.

use super::access_log::LogField;
use super::certificates::CertificateResolver;
use super::delivery::DeliveryMetrics;
use super::error::ServerError;
use super::keys::{SESSIONS, ServerKeys};
use super::limits::Limits;
use super::listen::{Listening, Where};
use super::metrics::Metrics;
use super::origin::{Origin, Upstreams};
use super::response::SLOT;
use super::server::Server;
use super::shared::{HeldBack, Shared};
use super::tcp;
use super::tuning::{HEADER_MEMORY, Tuning};
use super::upstream_health;
use super::workers;
use crate::admission::control::{AdmissionControl, AdmissionLimits};
use crate::admission::request_rate::RequestRates;
use crate::admission::send_memory::SendMemory;
use crate::admission::slots::{STALLED, SlotLimits, Slots, WAITING};
use crate::clock::RealClock;
use crate::driver::server_endpoint_config;
use crate::front::{CertificateTable, Sites};
use crate::handover::Inheritance;
use crate::http::{CacheControl, Files, Root};
use crate::logging::{ErrorLog, Level, LogFormat, LogWriter};
use crate::measure::{MeasureLimits, MeasureServer};
use crate::metrics_listener::{MetricsListener, Page};
use crate::pep::Secret;
use crate::proxy::{Upstream, UpstreamClient};
use crate::qlog::{Qlog, Traces};
use crate::resumption::{Resumption, ResumptionError, careful_resume};
use crate::routable_ids::RoutableIds;
use crate::shutdown::Shutdown;
use crate::tls::Certificate;
use crate::workers::Workers;
use bentpipe_quic::HeaderMemory;
use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_quic::noq_proto::crypto::rustls::QuicServerConfig;
use bentpipe_quic::noq_proto::{EndpointConfig, ServerConfig};
use bentpipe_quic::tls::{self, Randomness};
use bentpipe_units::{Bytes, Ratio};
use http::HeaderValue;
use rustls::server::ServerSessionMemoryCache;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU8;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tokio_rustls::TlsAcceptor;

/// Lifetime of Alt-Svc, seconds: one day, the default of RFC 7838 §3.1.
const ALT_SVC_AGE: u32 = 86_400;

/// The source of responses.
#[derive(Debug)]
enum Source {
    Directory(PathBuf),
    Upstream(Box<Upstream>),
    Sites(Box<Sites>),
}

/// The certificates of a server.
enum Certificates {
    One(Certificate),
    ByHost(CertificateTable),
}

/// Builds a [`Server`].
pub struct ServerBuilder {
    source: Source,
    certificates: Certificates,
    address: SocketAddr,
    metrics: Option<SocketAddr>,
    threads: NonZeroU8,
    limits: Limits,
    store: Option<PathBuf>,
    keys: Option<PathBuf>,
    remember_paths: bool,
    holdback: Option<Ratio>,
    congestion: CongestionConfig,
    cache_control: Option<CacheControl>,
    access_log: Option<(LogFormat, Box<dyn Write + Send>)>,
    log_fields: Vec<LogField>,
    errors: Option<(LogFormat, Box<dyn Write + Send>)>,
    qlog: Option<Qlog>,
    inheritance: Option<Inheritance>,
    routable: Option<RoutableIds>,
    measure: Option<(SocketAddr, Secret, MeasureLimits)>,
}

impl std::fmt::Debug for ServerBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerBuilder")
            .field("source", &self.source)
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Returns a builder for a server of the files in `directory`.
    pub fn builder(directory: &Path, certificate: Certificate) -> ServerBuilder {
        let source = Source::Directory(directory.to_owned());
        ServerBuilder::new(source, Certificates::One(certificate))
    }

    /// Returns a builder for a server that forwards all requests to `upstream`.
    pub fn proxy(upstream: Upstream, certificate: Certificate) -> ServerBuilder {
        ServerBuilder::new(Source::Upstream(Box::new(upstream)), Certificates::One(certificate))
    }

    /// Returns a builder for a server over HTTP/3 alone, beside the web server that has TCP. It
    /// forwards the requests for hosts in `certificates` to their upstreams, and answers others
    /// with 421. Clients that ask for no such host in the handshake are refused.
    pub fn front(sites: Sites, certificates: CertificateTable) -> ServerBuilder {
        ServerBuilder::new(Source::Sites(Box::new(sites)), Certificates::ByHost(certificates))
    }
}

impl ServerBuilder {
    fn new(source: Source, certificates: Certificates) -> Self {
        Self {
            source,
            certificates,
            address: (Ipv4Addr::LOCALHOST, 0).into(),
            metrics: None,
            threads: NonZeroU8::MIN,
            limits: Limits::default(),
            store: None,
            keys: None,
            remember_paths: true,
            holdback: None,
            congestion: careful_resume(),
            cache_control: None,
            access_log: None,
            log_fields: Vec::new(),
            errors: None,
            qlog: None,
            inheritance: None,
            routable: None,
            measure: None,
        }
    }

    /// Sets the address to listen on, over UDP and, except for a front, TCP. Port 0 selects a free
    /// port. Defaults to a free port on the loopback.
    #[must_use]
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.address = address;
        self
    }

    /// Sets the number of threads that carry QUIC connections, each with a socket of its own.
    /// Defaults to one.
    #[must_use]
    pub fn threads(mut self, threads: NonZeroU8) -> Self {
        self.threads = threads;
        self
    }

    /// Serves the counters to Prometheus on `address`, at `/metrics`, without TLS.
    #[must_use]
    pub fn metrics(mut self, address: SocketAddr) -> Self {
        self.metrics = Some(address);
        self
    }

    /// Sets the bounds on what clients may take.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Remembers paths in `file`, across restarts. Defaults to memory.
    #[must_use]
    pub fn store(mut self, file: &Path) -> Self {
        self.store = Some(file.to_owned());
        self
    }

    /// Keeps the keys of tokens and TLS sessions in `file`, so that clients come back with early
    /// data and their tokens after a restart. Defaults to memory.
    #[must_use]
    pub fn keys(mut self, file: &Path) -> Self {
        self.keys = Some(file.to_owned());
        self
    }

    /// Remembers no paths, neither in a file nor in memory. Only path tokens that clients keep can
    /// resume a path.
    #[must_use]
    pub fn tokens_only(mut self) -> Self {
        self.remember_paths = false;
        self
    }

    /// Holds `share` of the clients back, by their networks: they get the slow start of RFC 9002
    /// and no memory of paths, to compare the others with. The access log and the metrics then have
    /// the group, and how long responses took to arrive.
    #[must_use]
    pub fn holdback(mut self, share: Ratio) -> Self {
        self.holdback = Some(share);
        self
    }

    /// Sets the congestion control. Defaults to CUBIC with automatic slow start and Careful Resume.
    #[must_use]
    pub fn congestion(mut self, congestion: CongestionConfig) -> Self {
        self.congestion = congestion;
        self
    }

    /// Sets Cache-Control of responses with a file. Defaults to none. Has no effect on responses of
    /// an upstream.
    #[must_use]
    pub fn cache_control(mut self, value: CacheControl) -> Self {
        self.cache_control = Some(value);
        self
    }

    /// Writes the access log to `sink`, one line for each request.
    #[must_use]
    pub fn access_log(mut self, format: LogFormat, sink: Box<dyn Write + Send>) -> Self {
        self.access_log = Some((format, sink));
        self
    }

    /// Adds these fields of requests to each line of the access log.
    #[must_use]
    pub fn log_fields(mut self, fields: &[LogField]) -> Self {
        self.log_fields = fields.to_vec();
        self
    }

    /// Writes the error log to `sink`: failures of the system, such as a file that cannot be read
    /// or a connection that cannot be accepted. At most 10 lines in 10 s.
    #[must_use]
    pub fn error_log(mut self, format: LogFormat, sink: Box<dyn Write + Send>) -> Self {
        self.errors = Some((format, sink));
        self
    }

    /// Writes qlog files of QUIC connections.
    #[must_use]
    pub fn qlog(mut self, qlog: Qlog) -> Self {
        self.qlog = Some(qlog);
        self
    }

    /// Lets clients that have `token` measure the path, over UDP at `address`. Defaults to nobody.
    #[must_use]
    pub fn measure(mut self, address: SocketAddr, token: Secret, limits: MeasureLimits) -> Self {
        self.measure = Some((address, token, limits));
        self
    }

    /// Takes the sockets of a server over whose process started this one, instead of binding some:
    /// see [`Server::hand_over`]. It must be a front, as that one, at the same address. The number
    /// of threads stays.
    #[must_use]
    pub fn take_over(mut self, inheritance: Inheritance) -> Self {
        self.inheritance = Some(inheritance);
        self
    }

    /// Makes connection IDs that a balancer of UDP can route. Defaults to IDs of which nobody can
    /// tell anything.
    #[must_use]
    pub fn routable_ids(mut self, ids: RoutableIds) -> Self {
        self.routable = Some(ids);
        self
    }

    /// Binds the sockets and starts to serve. Must be called within a tokio runtime with timers and
    /// I/O.
    ///
    /// # Errors
    /// Whatever is missing or invalid. Nothing has started then.
    pub async fn start(mut self) -> Result<Server, ServerError> {
        let udp_only = matches!(self.source, Source::Sites(_));
        let Self { address, metrics, threads, .. } = self;
        let at = Where { address, udp_only, metrics, threads };
        let inheritance = self.inheritance.take();
        let measure = self.measure.take();
        let Prepared { shared, certificates, keys, tls, shutdown, traces } = self.prepare()?;
        let mut listening = match inheritance {
            Some(inheritance) => Listening::inherit(at, inheritance).await?,
            None => Listening::bind(at, &shared).await?,
        };
        let address = listening.address;
        let metrics_address = listening.metrics.as_ref().map(MetricsListener::address);

        let mut config = EndpointConfig::new(keys.reset_key(address));
        config = server_endpoint_config(config).map_err(ServerError::System)?;
        let waiting = listening.waiting.take();
        if let Some(waiting) = &waiting {
            waiting.ready().await?;
        }
        let measure = measure.map(|(address, token, limits)| {
            MeasureServer::start(address, &token, limits, &shared.clock)
        });
        let failed = |error: std::io::Error| ServerError::System(format!("measurements: {error}"));
        let measure = measure.transpose().map_err(failed)?;
        let (workers, estate) = workers::prepare(&shared, &config, &mut listening)?;
        let workers = Workers::start(workers, &shared.clock).await.map_err(ServerError::system)?;

        let mut tasks = Vec::new();
        if let Some(listener) = listening.tcp {
            let alt_svc = alt_svc(address.port());
            tasks.push(tokio::spawn(tcp::listen(listener, tls, shared.clone(), alt_svc)));
        }
        if matches!(shared.origin, Origin::Upstream(_)) {
            tasks.push(tokio::spawn(upstream_health::watch(shared.clone())));
        }
        let metrics_task = listening.metrics.map(|listener| {
            let shared = shared.clone();
            listener.serve(move |page| match page {
                Page::Metrics => Some(shared.metrics.text(shared.admission.connections())),
                Page::Health => (!shared.admission.is_closed()).then(|| "ok\n".to_owned()),
            })
        });
        if let Some(waiting) = waiting {
            waiting.serving().map_err(ServerError::system)?;
        }
        Ok(Server {
            shared,
            workers,
            tasks,
            metrics_task,
            shutdown,
            certificates,
            address,
            metrics_address,
            estate,
            passed_on: None,
            measure,
            traces,
        })
    }

    /// Opens files, keys and logs: everything but sockets and threads.
    fn prepare(self) -> Result<Prepared, ServerError> {
        let Self { limits, remember_paths, holdback, congestion, .. } = self;
        let deliveries = holdback.map(|_| DeliveryMetrics::default());
        let metrics = Arc::new(Metrics { deliveries, ..Metrics::default() });
        let (certificates, names) = self.certificates.resolver()?;
        let origin = self.source.origin(self.cache_control, (&certificates, names), &metrics)?;
        let clock = RealClock::new();
        clock.now();
        let access_log = self.access_log;
        let access_log = access_log
            .map(|(format, sink)| LogWriter::new(format, sink, metrics.log_lost.clone()))
            .transpose()
            .map_err(ServerError::system)?;
        let shutdown = Shutdown::new();
        let mut warnings = Vec::new();
        let tuning = Tuning::new(&limits, &origin, clock.base())?;
        let settings = tuning.description();
        let failures = &metrics.sessions_failed;
        let keys = self.keys.as_deref();
        let keys = ServerKeys::open(keys, (&settings, &clock), &mut warnings, failures)?;
        let (mut config, tls) = configurations(&certificates, &keys)?;
        config.max_incoming(limits.connections);
        let file = self.store.as_deref().filter(|_| remember_paths);
        let failures = &metrics.paths_failed;
        let resumption = Resumption::open_or_in_memory(file, &clock, &mut warnings, failures)?;
        let resumption = if remember_paths { resumption } else { resumption.without_store() };
        let held_back = holdback.map(|share| held_back(share, &keys, &congestion)).transpose()?;
        let resumption = resumption.with_congestion(congestion)?;
        let tokens = keys.token_server(&clock)?;
        let traces = self.qlog.map(|qlog| {
            let failed = |source| ServerError::Qlog { directory: qlog.directory.clone(), source };
            Traces::start(&qlog, clock.clone()).map_err(failed)
        });
        let traces = traces.transpose()?;
        let shared = Arc::new(Shared {
            origin,
            limits,
            admission: admission(&limits),
            send_memory: SendMemory::new(limits.send_memory),
            request_rates: limits
                .request_rate
                .map(|rate| RequestRates::new(rate, limits.request_burst)),
            files: file_slots(&limits),
            metrics,
            errors: ErrorLog::new(self.errors),
            access_log,
            log_fields: self.log_fields,
            tuning,
            header_memory: HeaderMemory::new(HEADER_MEMORY),
            config,
            resumption,
            held_back,
            tokens,
            traces: traces.as_ref().map(Traces::writer),
            shutdown: shutdown.signal(),
            routable: self.routable.map(Arc::new),
            handed_over: AtomicBool::new(false),
            clock,
        });
        for warning in warnings {
            shared.report(Level::Warning, &warning);
        }
        Ok(Prepared { shared, certificates, keys, tls, shutdown, traces })
    }
}

/// What a server has before its sockets.
struct Prepared {
    shared: Arc<Shared>,
    certificates: CertificateResolver,
    keys: ServerKeys,
    /// TLS of TCP connections.
    tls: TlsAcceptor,
    shutdown: Shutdown,
    traces: Option<Traces>,
}

impl Certificates {
    /// Returns what chooses the certificate of a handshake, and the number of its names.
    fn resolver(self) -> Result<(CertificateResolver, usize), ServerError> {
        Ok(match self {
            Self::One(certificate) => (CertificateResolver::new(&certificate)?, 1),
            Self::ByHost(table) => {
                let names = table.len();
                (CertificateResolver::by_host(table), names)
            }
        })
    }
}

impl Source {
    /// Opens the source. `names` is the number of names that the certificates have.
    fn origin(
        self,
        cache_control: Option<CacheControl>,
        (certificates, names): (&CertificateResolver, usize),
        metrics: &Metrics,
    ) -> Result<Origin, ServerError> {
        let client = |upstream| {
            UpstreamClient::new(upstream, metrics.upstream.clone()).map_err(ServerError::System)
        };
        Ok(match self {
            Self::Directory(directory) => {
                let root = Root::open(&directory)
                    .map_err(|source| ServerError::Directory { directory, source })?;
                Origin::Files(Files { root, cache_control })
            }
            Self::Upstream(upstream) => {
                let sites = Sites::default().with_default(*upstream).map(client)?;
                Origin::Upstream(Box::new(Upstreams::new(sites, certificates.clone())))
            }
            Self::Sites(sites) => {
                let known = certificates.known();
                let beside = |upstream: Upstream| client(upstream.beside(known.clone(), names));
                let upstreams = Upstreams::new(sites.map(beside)?, certificates.clone());
                upstreams.check_hosts()?;
                Origin::Upstream(Box::new(upstreams))
            }
        })
    }
}

/// Returns the value of Alt-Svc that names HTTP/3 at `port`.
fn alt_svc(port: u16) -> HeaderValue {
    HeaderValue::from_str(&format!("h3=\":{port}\"; ma={ALT_SVC_AGE}"))
        .unwrap_or(HeaderValue::from_static("clear"))
}

fn admission(limits: &Limits) -> AdmissionControl {
    AdmissionControl::new(AdmissionLimits {
        connections: limits.connections,
        per_client: limits.per_client,
        guaranteed: limits.guaranteed(),
        // The memory of responses is divided by `send_memory`.
        memory: Bytes::MAX,
    })
}

fn file_slots(limits: &Limits) -> Slots {
    Slots::new(SlotLimits {
        all: SLOT.saturating_mul(limits.files as u64),
        per_client: SLOT.saturating_mul(limits.files_per_client as u64),
        waiting: WAITING,
        stalled: STALLED,
    })
}

/// Returns what the clients have that are held back.
fn held_back(
    share: Ratio,
    keys: &ServerKeys,
    congestion: &CongestionConfig,
) -> Result<HeldBack, ResumptionError> {
    let plain = Resumption::in_memory()?.without_store();
    let resumption = plain.with_congestion(plain_starts(congestion))?;
    Ok(HeldBack { groups: keys.holdback(share), resumption })
}

/// Returns `congestion` with the slow start of RFC 9002 §7 and without resumption.
fn plain_starts(congestion: &CongestionConfig) -> CongestionConfig {
    let mut plain = congestion.clone();
    // The catalogue has both names.
    plain.slow_start = "standard".parse().unwrap_or_default();
    plain.resume = "none".parse().unwrap_or_default();
    plain
}

/// Returns TLS for QUIC and for TCP.
fn configurations(
    certificates: &CertificateResolver,
    keys: &ServerKeys,
) -> Result<(ServerConfig, TlsAcceptor), ServerError> {
    let tls = |versions: &[&'static rustls::SupportedProtocolVersion], alpn: &[&[u8]]| {
        let mut config =
            rustls::ServerConfig::builder_with_provider(tls::provider(Randomness::System))
                .with_protocol_versions(versions)?
                .with_no_client_auth()
                .with_cert_resolver(Arc::new(certificates.clone()));
        config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
        config.session_storage = ServerSessionMemoryCache::new(SESSIONS);
        Ok::<_, rustls::Error>(config)
    };
    let mut quic = tls(&[&rustls::version::TLS13], &[tls::ALPN_H3])?;
    quic.session_storage = keys.sessions.clone();
    // RFC 9001 §4.6.1. The server keeps sessions and uses each once, so early data cannot be
    // replayed. An upstream is informed of early data all the same.
    quic.max_early_data_size = u32::MAX;
    let quic = QuicServerConfig::try_from(quic).map_err(|_| {
        ServerError::System("the cryptography provider lacks TLS_AES_128_GCM_SHA256".to_owned())
    })?;
    let tcp =
        tls(&[&rustls::version::TLS13, &rustls::version::TLS12], &[&b"h2"[..], &b"http/1.1"[..]])?;
    let quic = ServerConfig::new(Arc::new(quic), keys.address_tokens.clone());
    Ok((quic, TlsAcceptor::from(Arc::new(tcp))))
}

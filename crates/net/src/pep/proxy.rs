//! A running proxy.

use super::accept;
use super::config::{Config, Listener, NextHop};
use super::error::PepError;
use super::limits::Limits;
use super::metrics::Metrics;
use super::proxied_connection::Recorder;
use super::relay::IdleTimeouts;
use super::shared::Shared;
use super::socket::{KernelBuffers, Tuning};
use super::tunnel::config::{FLUSH_TIME, TunnelConfig};
use super::tunnel::egress;
use super::tunnel::ingress::Tunnel;
use crate::admission::control::{AdmissionControl, AdmissionLimits};
use crate::clock::RealClock;
use crate::driver::Driver;
use crate::logging::{ErrorLog, LogFormat, LogWriter};
use crate::metrics_listener::{MetricsListener, Page};
use crate::resumption::Resumption;
use crate::shutdown::{Shutdown, drain};
use crate::socket::Socket;
use bentpipe_units::{Bytes, Span};
use std::fmt;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::Duration;

/// Time for reset connections to be counted and logged.
const RESET_TIME: Duration = Duration::from_secs(1);

/// A running proxy. Dropping it resets its connections; [`Pep::stop`] lets them finish.
#[derive(Debug)]
pub struct Pep {
    shared: Arc<Shared>,
    tasks: Vec<JoinHandle<()>>,
    /// The driver of tunnels that end here.
    egress: Option<(Driver, JoinHandle<io::Result<()>>)>,
    shutdown: Shutdown,
    metrics_address: Option<SocketAddr>,
}

/// Logs of a proxy.
#[derive(Default)]
pub struct Logs {
    /// Gets a line for each connection that has ended.
    pub connections: Option<(LogFormat, Box<dyn Write + Send>)>,
    /// Gets a line for each failure that no client learns the reason of, at most 10 in 10 s.
    pub errors: Option<(LogFormat, Box<dyn Write + Send>)>,
}

impl fmt::Debug for Logs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Logs").finish_non_exhaustive()
    }
}

impl Drop for Pep {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        self.egress.iter().for_each(|(_, driver_task)| driver_task.abort());
        self.shutdown.force();
    }
}

impl Pep {
    /// Starts to listen. Must be called within a tokio runtime with timers and I/O, on a thread in
    /// the network namespace of the connections.
    ///
    /// # Errors
    /// Whatever is missing or not permitted. Nothing has started then.
    pub async fn start(
        config: Config,
        Logs { connections: log, errors }: Logs,
    ) -> Result<Self, PepError> {
        let Config { listener, next_hop, allowed, tunnel_congestion, buffer, limits, .. } = config;
        let kernel = KernelBuffers::read().map_err(PepError::System)?;
        let direct = next_hop == NextHop::Direct && !matches!(listener, Listener::Tunnel { .. });
        let tuning = Tuning {
            congestion: config.congestion,
            // With a tunnel, no TCP connection crosses the satellite.
            satellite: direct.then_some(config.satellite),
            user_timeout: limits.user_time,
            kernel,
        };
        tuning.check()?;
        let admission = admission(&limits, &listener);
        let socket = ListeningSocket::open(config.listen, &listener, &tuning, buffer)?;
        let metrics_listener = match config.metrics {
            Some(address) => Some(listen_for_metrics(address).await?),
            None => None,
        };
        let metrics_address = metrics_listener.as_ref().map(MetricsListener::address);
        let metrics = Arc::new(Metrics::default());
        let log = log
            .map(|(format, sink)| LogWriter::new(format, sink, metrics.log_lost.clone()))
            .transpose()
            .map_err(PepError::System)?;
        let clock = RealClock::new();
        let errors = Arc::new(ErrorLog::new(errors));
        let mut warnings = tuning.warnings(buffer);
        warnings.extend(listener.warning().map(str::to_owned));
        let tunnel_config = || {
            let paths = config.tunnel_paths.as_deref();
            let resumption =
                Resumption::open_or_in_memory(paths, &clock, &mut warnings, &metrics.paths_failed)?;
            TunnelConfig::new(tunnel_congestion, (buffer, limits.memory), resumption, &clock)
        };
        let mut egress_config = None;
        let tunnel = match (&next_hop, &listener) {
            (NextHop::Direct, Listener::Tunnel { .. }) => {
                egress_config = Some(tunnel_config()?);
                None
            }
            (NextHop::Direct, _) => None,
            (NextHop::Tunnel { .. }, Listener::Tunnel { .. }) => {
                return Err(PepError::TunnelInTunnel);
            }
            (NextHop::Tunnel { egress, secret }, _) => Some(Tunnel::start(
                *egress,
                secret,
                tunnel_config()?,
                (clock.clone(), errors.clone()),
            )?),
        };
        let shutdown = Shutdown::new();
        let shared = Arc::new(Shared {
            tunnel,
            allowed,
            buffer,
            limits,
            admission,
            timeouts: IdleTimeouts { idle: limits.idle_time, half_open: limits.half_open_time },
            errors,
            recorder: Arc::new(Recorder { clock: clock.clone(), metrics: metrics.clone(), log }),
            metrics,
            address: socket.address().map_err(PepError::System)?,
            shutdown: shutdown.signal(),
            warnings,
            tuning,
            listener,
        });
        let (mut tasks, mut tunnels) = (Vec::new(), None);
        match (socket, &shared.listener, egress_config) {
            (ListeningSocket::Udp(socket), Listener::Tunnel { secret }, Some(tunnel)) => {
                tunnels = Some(egress::start(socket, secret, tunnel, shared.clone(), clock)?);
            }
            (ListeningSocket::Tcp(listener), ..) => {
                tasks.push(tokio::spawn(accept::listen(listener, shared.clone())))
            }
            (ListeningSocket::Udp(_), ..) => {}
        }
        tasks.extend(metrics_listener.map(|listener| serve_metrics(listener, shared.clone())));
        Ok(Self { shared, tasks, egress: tunnels, shutdown, metrics_address })
    }

    /// Returns the address that it listens on: over TCP, or over UDP for tunnels.
    pub fn address(&self) -> SocketAddr {
        self.shared.address
    }

    /// Returns the address for Prometheus, if metrics are enabled.
    pub const fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics_address
    }

    /// Returns the proxy's counters.
    pub fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    /// Returns the number of open connections.
    pub fn connections(&self) -> usize {
        self.shared.admission.connections()
    }

    /// Returns the memory that is reserved for open connections.
    pub fn memory(&self) -> Bytes {
        self.shared.admission.memory()
    }

    /// Returns warnings for the operator about settings that are not in effect, and passwords that
    /// others may read.
    pub fn warnings(&self) -> &[String] {
        &self.shared.warnings
    }

    /// Waits until the proxy fails. Only the socket of tunnels can fail.
    pub async fn failed(&mut self) -> io::Error {
        match &mut self.egress {
            Some((_, driver_task)) => match driver_task.await {
                Ok(Ok(())) => io::Error::other("the driver ended"),
                Ok(Err(error)) => error,
                Err(error) => io::Error::other(error),
            },
            None => std::future::pending().await,
        }
    }

    /// Stops the proxy. It accepts no more connections, and waits at most `deadline` for those that
    /// are open. Returns the number of connections that were reset.
    pub async fn stop(self, deadline: Span) -> usize {
        self.shared.admission.close();
        // Another process may listen on the address at once.
        self.tasks.iter().for_each(JoinHandle::abort);
        self.shutdown.start();
        let connections = || self.shared.admission.connections();
        let left = drain(connections, deadline.into()).await;
        self.shutdown.force();
        drain(connections, RESET_TIME).await;
        if let Some(tunnel) = &self.shared.tunnel {
            tunnel.stop().await;
        }
        if let Some((driver, _)) = &self.egress {
            // Streams are finished, but not all of their bytes have arrived.
            tokio::time::sleep(FLUSH_TIME.into()).await;
            driver.close_all(0).await;
        }
        if let Some(log) = &self.shared.recorder.log {
            log.flush().await;
        }
        left
    }
}

async fn listen_for_metrics(address: SocketAddr) -> Result<MetricsListener, PepError> {
    let bound = MetricsListener::bind(address).await;
    bound.map_err(|source| PepError::Listen { address, source })
}

/// Serves the counters and the health of a proxy.
fn serve_metrics(listener: MetricsListener, shared: Arc<Shared>) -> JoinHandle<()> {
    listener.serve(move |page| {
        let admission = &shared.admission;
        match page {
            Page::Metrics => {
                let memory = admission.memory().get();
                Some(shared.metrics.text(admission.connections(), memory))
            }
            Page::Health => (!admission.is_closed()).then(|| "ok\n".to_owned()),
        }
    })
}

fn admission(limits: &Limits, listener: &Listener) -> AdmissionControl {
    let per_client = match listener {
        // The other proxy stands for many clients.
        Listener::Tunnel { .. } => limits.connections,
        _ => limits.per_client,
    };
    AdmissionControl::new(AdmissionLimits {
        connections: limits.connections,
        per_client,
        guaranteed: per_client,
        memory: limits.memory,
    })
}

/// The socket that a proxy listens on.
enum ListeningSocket {
    Tcp(TcpListener),
    Udp(Socket),
}

impl ListeningSocket {
    fn open(
        address: SocketAddr,
        listener: &Listener,
        tuning: &Tuning,
        buffer: Bytes,
    ) -> Result<Self, PepError> {
        if matches!(listener, Listener::Tunnel { .. }) {
            return Socket::bind(address)
                .map(Self::Udp)
                .map_err(|source| PepError::Listen { address, source });
        }
        let transparent = matches!(listener, Listener::Transparent { .. });
        tuning.listen(address, transparent, buffer).map(Self::Tcp)
    }

    fn address(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Tcp(listener) => listener.local_addr(),
            Self::Udp(socket) => socket.local_addr(),
        }
    }
}

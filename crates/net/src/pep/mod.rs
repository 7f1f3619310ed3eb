//! A performance-enhancing proxy for TCP (RFC 3135 §2.1): it splits real connections, so that each
//! part of the path has a connection of its own.
//!
//! What [`bentpipe_tcp`'s relay](https://docs.rs/bentpipe-tcp) is in the simulator, this is on real
//! sockets. A [`Pep`] has a [`Listener`], by which connections come, and a [`NextHop`] by which
//! they go on. Its limits hold against clients that mean harm: places, memory and time are bounded.
//!
//! The parsers of what comes from outside do no I/O: [`Entry`] for clients of an explicit proxy,
//! [`Target`] for where they want to go.
//!
//! ```
//! use bentpipe_net::pep::{Allowed, Config, Listener, Pep};
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
//! let config = Config { allowed: Allowed::all(), ..Config::new(Listener::Explicit { credentials: None }) };
//! let pep = Pep::start(config, None).await?;
//!
//! let mut client = tokio::net::TcpStream::connect(pep.address()).await?;
//! let target = server.local_addr()?;
//! client.write_all(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n").as_bytes()).await?;
//! server.accept().await?.0.write_all(b"hello").await?;
//! let mut answer = String::new();
//! client.read_to_string(&mut answer).await?;
//! assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\nhello"));
//! # Ok(())
//! # }
//! ```

mod accept;
mod admission;
mod allow;
mod dial;
mod entry;
mod limits;
mod log;
mod metrics;
mod proxied_connection;
mod refusal;
mod relay;
mod rules;
mod socket;
mod stream;
mod target;
mod tunnel;

pub use allow::{Addresses, AddressesError, Allowed};
pub use entry::{Credentials, Entry, Event, LONGEST, Protocol};
pub use limits::Limits;
pub use metrics::Metrics;
pub use refusal::Refusal;
pub use rules::rules;
pub use target::{Host, Target, TargetError};
pub use tunnel::{Header, HeaderError, Secret, read_header, write_header};

use crate::clock::WallClock;
use crate::driver::Driver;
use crate::log_writer::LogWriter;
use crate::scrape;
use crate::server::LogFormat;
use crate::socket::Socket;
use admission::AdmissionControl;
use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_units::{Bytes, Span};
use relay::IdleTimeouts;
use socket::{Kernel, Tuning};
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Duration, Instant};
use tunnel::{LAST, Tunnel};

/// How connections come to the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listener {
    /// Clients know it, and ask it by SOCKS5 (RFC 1928) or HTTP CONNECT (RFC 9110 §9.3.6),
    /// whichever they speak, on one port.
    Explicit {
        /// The name and password that they have to know.
        credentials: Option<Credentials>,
    },
    /// Clients do not know it: a rule of the operator leads their connections here, with the
    /// addresses that they have (TPROXY). Needs CAP_NET_ADMIN.
    Transparent {
        /// Servers see the client's address, and not the proxy's. What they answer has to come back
        /// by the proxy.
        keep_source: bool,
    },
    /// The same, by a rule that changes where they go (REDIRECT). IPv4 or IPv6 as the address
    /// listened at.
    Redirected,
    /// Through a tunnel of QUIC, from another proxy that knows the same secret. It goes on
    /// directly.
    Tunnel {
        /// The secret.
        secret: Secret,
    },
}

/// How they go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextHop {
    /// To the server, by TCP.
    Direct,
    /// To another proxy, through a tunnel of QUIC that is kept open. Names are looked up there.
    Tunnel {
        /// Where it listens.
        exit: SocketAddr,
        /// The secret that it knows, too.
        secret: Secret,
    },
}

/// Which side's connections cross the satellite: their sockets are tuned for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SatelliteSide {
    /// Those with clients: the proxy stands on the servers' side of the hop.
    Client,
    /// Those with servers: it stands on the clients' side.
    Server,
    /// Not known, or both.
    Both,
}

/// What a proxy is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// How connections come.
    pub entrance: Listener,
    /// Where they are waited for; port 0 is any that is free.
    pub listen: SocketAddr,
    /// How they go on.
    pub way: NextHop,
    /// Who may come, and where they may go.
    pub allowed: Allowed,
    /// Which side's sockets are tuned.
    pub satellite: SatelliteSide,
    /// The kernel's congestion controller there: `cubic`, `bbr`, `reno`, whichever it has.
    /// Otherwise its default.
    pub congestion: Option<String>,
    /// The controller of a tunnel, ours, and how it starts.
    pub carrier: CongestionConfig,
    /// The most held there for one connection and direction by a socket; for the hop to be full,
    /// its rate times the longer of the round trips beside the proxy.
    pub buffer: Bytes,
    /// How much is taken on.
    pub limits: Limits,
    /// Where Prometheus reads counters.
    pub metrics: Option<SocketAddr>,
}

impl Config {
    /// One on the loopback, at any free port, with the defaults. Entrances that rules lead to let
    /// everything pass.
    pub fn new(entrance: Listener) -> Self {
        let allowed = match entrance {
            Listener::Explicit { .. } => Allowed::default(),
            Listener::Transparent { .. } | Listener::Redirected => Allowed::all(),
            // Who comes has shown who it is; where it goes was allowed at the other end, for that
            // end.
            Listener::Tunnel { .. } => {
                Allowed { clients: vec![Addresses::Any], ..Allowed::default() }
            }
        };
        Self {
            entrance,
            listen: (Ipv4Addr::LOCALHOST, 0).into(),
            way: NextHop::Direct,
            allowed,
            satellite: SatelliteSide::Both,
            congestion: None,
            carrier: CongestionConfig::default(),
            // Twice the bandwidth-delay product of 50 Mbps and 650 ms.
            buffer: Bytes::from_mb(8),
            limits: Limits::default(),
            metrics: None,
        }
    }
}

/// Why a proxy cannot start.
#[derive(Debug, Error)]
pub enum PepError {
    /// An address cannot be listened at.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The process may not have other machines' addresses.
    #[error(
        "transparent mode is not permitted: {0}; needed: root, or CAP_NET_ADMIN in the network \
            namespace"
    )]
    Transparent(io::Error),
    /// The kernel has no such controller, or lets only root use it.
    #[error("congestion controller `{name}` refused by the kernel: {source}; allowed: {allowed}")]
    Congestion {
        /// Its name.
        name: String,
        /// Those that are allowed here.
        allowed: String,
        /// Why.
        source: io::Error,
    },
    /// A file that holds no secret.
    #[error("secret in {}: {why}", file.display())]
    Secret {
        /// Which.
        file: PathBuf,
        /// Why, without what it holds.
        why: String,
    },
    /// What comes through a tunnel would go into one.
    #[error("what leaves a tunnel goes on directly, not into another tunnel")]
    TunnelInTunnel,
    /// The system lacks something.
    #[error("{0}")]
    System(io::Error),
}

/// What all connections share.
#[derive(Debug)]
struct Shared {
    entrance: Listener,
    /// Where there is one; otherwise connections go on directly.
    tunnel: Option<Tunnel>,
    allowed: Allowed,
    tuning: Tuning,
    buffer: Bytes,
    door: AdmissionControl,
    patience: IdleTimeouts,
    metrics: Arc<Metrics>,
    log: Option<LogWriter<log::Line>>,
    clock: WallClock,
    /// Where it listens itself: no way leads there.
    address: SocketAddr,
    /// All connections are to end at once.
    kill: watch::Receiver<()>,
    warnings: Vec<String>,
}

/// A proxy that runs. Dropping it resets its connections; [`Pep::stop`] lets them finish.
#[derive(Debug)]
pub struct Pep {
    shared: Arc<Shared>,
    tasks: Vec<JoinHandle<()>>,
    /// The exit of tunnels, where this is one.
    exit: Option<(Driver, JoinHandle<io::Result<()>>)>,
    kill: watch::Sender<()>,
    metrics_address: Option<SocketAddr>,
}

impl Drop for Pep {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        self.exit.iter().for_each(|(_, driving)| driving.abort());
        // Nobody listens where nobody is connected.
        let _ = self.kill.send(());
    }
}

impl Pep {
    /// Begins to listen. To be called within a tokio runtime with timers and I/O, on a thread in
    /// the network namespace that connections are to be in. `log` gets a line for each connection
    /// when it has ended.
    ///
    /// # Errors
    /// Whatever is missing or not permitted; then nothing has begun.
    pub async fn start(
        config: Config,
        log: Option<(LogFormat, Box<dyn Write + Send>)>,
    ) -> Result<Self, PepError> {
        let Config { entrance, way, allowed, carrier, buffer, limits, .. } = config;
        let kernel = Kernel::ask().map_err(PepError::System)?;
        let direct = way == NextHop::Direct && !matches!(entrance, Listener::Tunnel { .. });
        let tuning = Tuning {
            congestion: config.congestion,
            // What crosses the satellite is TCP only where it is not a tunnel.
            satellite: direct.then_some(config.satellite),
            user_time: limits.user_time,
            kernel,
        };
        tuning.check()?;
        let door = AdmissionControl::new(match entrance {
            // Whoever is at the other end stands for many.
            Listener::Tunnel { .. } => Limits { per_client: limits.connections, ..limits },
            _ => limits,
        });
        let opened = Opened::open(config.listen, &entrance, &tuning, buffer)?;
        let scraper = match config.metrics {
            Some(address) => Some(
                TcpListener::bind(address)
                    .await
                    .map_err(|source| PepError::Listen { address, source })?,
            ),
            None => None,
        };
        let metrics_address = scraper.as_ref().and_then(|listener| listener.local_addr().ok());
        let metrics = Arc::new(Metrics::default());
        let lost = metrics.clone();
        let lines = log.map(|(format, sink)| {
            LogWriter::new(format, sink, move || {
                lost.log_lost.fetch_add(1, Relaxed);
            })
        });
        let log = lines.transpose().map_err(PepError::System)?;
        let clock = WallClock::new();
        let tunnel = match (&way, &entrance) {
            (NextHop::Direct, _) => None,
            (NextHop::Tunnel { .. }, Listener::Tunnel { .. }) => {
                return Err(PepError::TunnelInTunnel);
            }
            (NextHop::Tunnel { exit, secret }, _) => Some(Tunnel::start(
                *exit,
                secret,
                &carrier,
                (buffer, limits.memory),
                clock.clone(),
            )?),
        };
        let (kill, killed) = watch::channel(());
        let shared = Arc::new(Shared {
            tunnel,
            allowed,
            buffer,
            door,
            patience: IdleTimeouts { idle: limits.idle_time, half_open: limits.half_open_time },
            metrics,
            log,
            clock,
            address: opened.address().map_err(PepError::System)?,
            kill: killed,
            warnings: tuning.warnings(buffer),
            tuning,
            entrance,
        });
        let (mut tasks, mut exit) = (Vec::new(), None);
        match (opened, &shared.entrance) {
            (Opened::Udp(socket), Listener::Tunnel { secret }) => {
                exit = Some(tunnel::start_exit(socket, secret, &carrier, buffer, shared.clone())?);
            }
            (Opened::Tcp(listener), _) => {
                tasks.push(tokio::spawn(accept::listen(listener, shared.clone())))
            }
            (Opened::Udp(_), _) => {}
        }
        if let Some(scraper) = scraper {
            let shared = shared.clone();
            let text =
                move || shared.metrics.text(shared.door.inside(), shared.door.memory().get());
            tasks.push(tokio::spawn(scrape::serve(scraper, text)));
        }
        Ok(Self { shared, tasks, exit, kill, metrics_address })
    }

    /// Where it listens: over TCP, or as the exit of tunnels over UDP.
    pub fn address(&self) -> SocketAddr {
        self.shared.address
    }

    /// Where Prometheus finds its counters, if anywhere.
    pub const fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics_address
    }

    /// Its counters.
    pub fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    /// Connections at present.
    pub fn connections(&self) -> usize {
        self.shared.door.inside()
    }

    /// The memory that they may come to take.
    pub fn memory(&self) -> Bytes {
        self.shared.door.memory()
    }

    /// What is not as it was wanted: for whoever started it.
    pub fn warnings(&self) -> &[String] {
        &self.shared.warnings
    }

    /// Waits until the proxy cannot go on, which takes an exit whose socket fails.
    pub async fn failed(&mut self) -> io::Error {
        match &mut self.exit {
            Some((_, driving)) => match driving.await {
                Ok(Ok(())) => io::Error::other("the driver ended"),
                Ok(Err(error)) => error,
                Err(error) => io::Error::other(error),
            },
            None => std::future::pending().await,
        }
    }

    /// Takes no more connections, and ends when those there are have ended, or after `deadline`.
    /// Says how many were reset.
    pub async fn stop(self, deadline: Span) -> usize {
        self.shared.door.close();
        // The address is free for whoever comes next.
        self.tasks.iter().for_each(JoinHandle::abort);
        let wait = async |until: Instant| {
            while self.shared.door.inside() > 0 && Instant::now() < until {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        wait(Instant::now() + Duration::from(deadline)).await;
        let left = self.shared.door.inside();
        // Nobody listens where nobody is connected.
        let _ = self.kill.send(());
        wait(Instant::now() + Duration::from_secs(1)).await;
        if let Some(tunnel) = &self.shared.tunnel {
            tunnel.end().await;
        }
        if let Some((driver, _)) = &self.exit {
            // Streams are finished, and not all of their bytes have arrived.
            tokio::time::sleep(LAST.into()).await;
            driver.close_all(0).await;
        }
        if let Some(log) = &self.shared.log {
            log.settle().await;
        }
        left
    }
}

/// What is listened with.
enum Opened {
    Tcp(TcpListener),
    Udp(Socket),
}

impl Opened {
    fn open(
        address: SocketAddr,
        entrance: &Listener,
        tuning: &Tuning,
        buffer: Bytes,
    ) -> Result<Self, PepError> {
        if matches!(entrance, Listener::Tunnel { .. }) {
            return Socket::bind(address)
                .map(Self::Udp)
                .map_err(|source| PepError::Listen { address, source });
        }
        let transparent = matches!(entrance, Listener::Transparent { .. });
        tuning.listen(address, transparent, buffer).map(Self::Tcp)
    }

    fn address(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Tcp(listener) => listener.local_addr(),
            Self::Udp(socket) => socket.local_addr(),
        }
    }
}

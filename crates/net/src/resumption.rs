//! Careful Resume (RFC 9959) for servers: ours, and programs with a noq endpoint of their own.

use crate::clock::RealClock;
use crate::narrow_window::{NarrowWindow, WindowKind, narrow_window};
use crate::store::{OpenError, WriteBehind};
use bentpipe_quic::congestion::resume::ResumeState;
use bentpipe_quic::congestion::{CongestionConfig, ResumeHandle};
use bentpipe_quic::noq_proto::{ServerConfig, TransportConfig};
use bentpipe_quic::observer::PeerWindows;
use bentpipe_quic::path_memory::{
    Holder, Limits, MemoryStore, PathMemoryError, PathStore, Prefixes, StoreError,
};
use bentpipe_quic::{
    ConnectionConfig, DEFAULT_LIFETIME, PathLease, PathMemory, QuicSettings, SenderMetrics,
    SettingsError, SimultaneousStarts, StartLease,
};
use bentpipe_units::Bytes;
use ring::rand::{SecureRandom, SystemRandom};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use thiserror::Error;

/// Why resumption is not available.
#[derive(Debug, Error)]
pub enum ResumptionError {
    /// The path store cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The congestion control is invalid.
    #[error(transparent)]
    QuicSettings(#[from] SettingsError),
}

/// A server's memory of the paths to its clients, and the congestion control that uses it. Defaults
/// to CUBIC with automatic slow start and Careful Resume. Clones share the memory.
///
/// A program with a noq endpoint of its own calls [`Resumption::connection`] for each connection.
/// It returns a configuration to accept the connection with, and a [`PathUse`] that has to live as
/// long as the connection. Dropping that saves what was learned of the path. What is remembered of
/// a path is for one connection at a time: an address that may be forged should be validated first
/// (`Incoming::retry`).
///
/// A client that migrates to another address gets a new congestion controller, which does not use
/// what is remembered. What the old path carried is saved then; of the new path nothing is, unless
/// the program says where it leads ([`PathUse::set_remote_address`]).
///
/// ```
/// # use bentpipe_net::Resumption;
/// # use bentpipe_quic::noq_proto::ServerConfig;
/// # async fn serve(
/// #     endpoint: noq::Endpoint,
/// #     server_config: ServerConfig,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
/// let resumption = Resumption::open("paths.sqlite".as_ref())?;
/// while let Some(incoming) = endpoint.accept().await {
///     let (config, path) = resumption.connection(&server_config, incoming.remote_address());
///     let connecting = incoming.accept_with(config)?;
///     tokio::spawn(async move {
///         if let Ok(connection) = connecting.await {
///             // … as before. At the end:
///             connection.closed().await;
///         }
///         drop(path);
///     });
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Resumption {
    /// `None` if only clients remember paths.
    memory: Option<PathMemory>,
    simultaneous_starts: SimultaneousStarts,
    config: ConnectionConfig,
    clock: RealClock,
}

impl Resumption {
    /// Remembers paths until the program ends.
    ///
    /// # Errors
    /// No error is known. The type is that of [`Resumption::open`].
    pub fn in_memory() -> Result<Self, ResumptionError> {
        Self::with_store(MemoryStore::new(Limits::default()), RealClock::new())
    }

    /// Remembers paths in `file` (SQLite), across restarts. A thread of its own writes the file, so
    /// that connections do not wait for it.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(file: &Path) -> Result<Self, ResumptionError> {
        let clock = RealClock::new();
        clock.now();
        Self::with_store(WriteBehind::open(file, Limits::default(), clock.epoch().epoch())?, clock)
    }

    /// Remembers paths in `file`, or without one until the program ends. A file that is damaged or
    /// on a full disk does not keep a server from starting: paths are then remembered until the
    /// program ends, and `warnings` says so. `failures` counts changes that are not
    /// written later.
    ///
    /// # Errors
    /// The file is not a path store.
    pub(crate) fn open_or_in_memory(
        file: Option<&Path>,
        clock: &RealClock,
        warnings: &mut Vec<String>,
        failures: &Arc<AtomicU64>,
    ) -> Result<Self, ResumptionError> {
        // It brings the epoch up to date, by which the store expires paths.
        clock.now();
        let limits = Limits::default();
        let in_memory = || Self::with_store(MemoryStore::new(limits), clock.clone());
        let Some(file) = file else { return in_memory() };
        match WriteBehind::open_classified(file, limits, clock.epoch().epoch(), failures.clone()) {
            Ok((store, invalid)) => {
                if invalid > 0 {
                    let file = file.display();
                    let note = format!("path store {file}: {invalid} invalid rows are ignored");
                    warnings.push(note);
                }
                Self::with_store(store, clock.clone())
            }
            Err(OpenError::Refused(error)) => Err(error.into()),
            Err(OpenError::Unavailable(error)) => {
                warnings.push(format!("paths are remembered in memory only: {error}"));
                in_memory()
            }
        }
    }

    /// Remembers paths in `store`.
    pub(crate) fn with_store(
        store: impl PathStore + 'static,
        clock: RealClock,
    ) -> Result<Self, ResumptionError> {
        let memory =
            PathMemory::new(store, Prefixes::default(), "any", DEFAULT_LIFETIME, clock.epoch());
        let settings = QuicSettings { congestion: careful_resume(), ..QuicSettings::default() };
        let config = ConnectionConfig::new(settings, clock.base())?;
        Ok(Self {
            memory: Some(memory),
            simultaneous_starts: SimultaneousStarts::default(),
            config,
            clock,
        })
    }

    /// Sets the congestion control. The default of [`CongestionConfig::resume`] resumes no path.
    ///
    /// # Errors
    /// A parameter that does not exist or is out of range.
    pub fn with_congestion(self, congestion: CongestionConfig) -> Result<Self, ResumptionError> {
        let settings = QuicSettings { congestion, ..QuicSettings::default() };
        Ok(Self { config: ConnectionConfig::new(settings, self.clock.base())?, ..self })
    }

    /// Removes the memory of its own.
    pub(crate) fn without_store(self) -> Self {
        Self { memory: None, ..self }
    }

    /// Returns the configuration to accept a connection from `remote` with: `base`, with a
    /// congestion controller that uses what is remembered of the path. If the memory fails, the
    /// error is logged and the connection does without it.
    pub fn connection(
        &self,
        base: &ServerConfig,
        remote: SocketAddr,
    ) -> (Arc<ServerConfig>, PathUse) {
        let (started, path_lease, start_lease, metrics) =
            self.start(self.config.clone(), remote.ip().to_canonical());
        started.confirm_address(self.clock.now());
        let mut transport = base.transport.as_ref().clone();
        let send_window = send_window(&transport);
        transport.congestion_controller_factory(started.sender());
        let mut config = base.clone();
        config.transport_config(Arc::new(transport));
        let peer_windows = PeerWindows::default();
        config.crypto = peer_windows.server(config.crypto);
        let path = PathUse {
            resume: started.resume_handle().unwrap_or_default(),
            path_lease,
            start_lease,
            clock: self.clock.clone(),
            metrics,
            peer_windows,
            send_window,
            warned: AtomicBool::new(false),
        };
        (Arc::new(config), path)
    }

    /// Completes the configuration of a connection from `remote`: congestion control, saved
    /// parameters of the path, and the slot of a fast start.
    pub(crate) fn configure(&self, config: ConnectionConfig, remote: IpAddr) -> ConnectionConfig {
        self.start(config, remote).0
    }

    fn start(
        &self,
        config: ConnectionConfig,
        remote: IpAddr,
    ) -> (ConnectionConfig, Option<PathLease>, Option<StartLease>, SenderMetrics) {
        let factory = self.config.controller();
        let path_lease = factory.resumes().then(|| {
            let Some(memory) = &self.memory else { return PathLease::without_store() };
            let mut holder = [0; 8];
            // Without random numbers, two connections could hold one lease.
            if SystemRandom::new().fill(&mut holder).is_err() {
                return PathLease::without_store();
            }
            let holder = Holder(u64::from_ne_bytes(holder));
            memory.begin_unconfirmed(remote, holder).unwrap_or_else(|error| {
                tracing::warn!(%error, "path store");
                PathLease::without_store()
            })
        });
        let start_lease =
            factory.needs_start_slot().then(|| self.simultaneous_starts.lease_unconfirmed(remote));
        let metrics = SenderMetrics::new(None);
        let config = config
            .with_controller(factory.clone())
            .with_metrics(metrics.clone())
            .with_path_lease(path_lease.clone())
            .with_start_lease(start_lease.clone());
        (config, path_lease, start_lease, metrics)
    }
}

/// Returns the send window of `transport`. The stack keeps it private, but shows it for debugging.
fn send_window(transport: &TransportConfig) -> Option<Bytes> {
    let shown = format!("{transport:?}");
    let (_, rest) = shown.split_once("send_window: ")?;
    let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next()?;
    digits.parse().ok().map(Bytes::new)
}

/// Returns CUBIC with automatic slow start and Careful Resume.
pub(crate) fn careful_resume() -> CongestionConfig {
    // The catalogue has this name.
    CongestionConfig {
        resume: "careful".parse().unwrap_or_default(),
        ..CongestionConfig::default()
    }
}

/// One connection's use of what is remembered of its path. Dropping it ends the use and saves what
/// was learned.
#[derive(Debug)]
pub struct PathUse {
    resume: ResumeHandle,
    path_lease: Option<PathLease>,
    start_lease: Option<StartLease>,
    clock: RealClock,
    metrics: SenderMetrics,
    peer_windows: PeerWindows,
    /// The server's own send window, if it is known.
    send_window: Option<Bytes>,
    /// Whether a warning about a narrow window was logged.
    warned: AtomicBool,
}

impl PathUse {
    /// Returns the window that keeps the connection from using its path, if one does: of flow
    /// control, or the send window. noq's default windows carry 17 Mbps over 600 ms, and a path
    /// that a window limits is not remembered. The same is logged as a warning once, when the
    /// connection is saved.
    pub fn narrow_window(&self) -> Option<NarrowWindow> {
        let (stream, connection) = self.peer_windows.get().unzip();
        let windows = [
            (WindowKind::Stream, stream),
            (WindowKind::Connection, connection),
            (WindowKind::Send, self.send_window),
        ];
        let known = windows.into_iter().filter_map(|(kind, size)| Some((kind, size?)));
        let remembered = self.resume.resume_state().offered.map(|offered| offered.window);
        let stats = self.metrics.stats();
        narrow_window(known, stats.max_in_flight, Bytes::new(stats.bytes_sent), remembered)
    }

    /// Returns what was remembered of the path, what the connection has observed since, and whether
    /// the two disagree.
    pub fn resume_state(&self) -> ResumeState {
        self.resume.resume_state()
    }

    /// Returns whether the connection uses what was remembered.
    pub fn in_use(&self) -> bool {
        self.resume.in_use()
    }

    /// Saves what was learned so far. For long connections.
    ///
    /// # Errors
    /// The store fails.
    pub fn flush(&self) -> Result<(), StoreError> {
        self.save(false)
    }

    /// Saves what is learned from now on for the path to `remote`, the address to which the client
    /// has migrated. For long connections; without a call, nothing is saved after a migration.
    ///
    /// # Errors
    /// The store fails.
    pub fn set_remote_address(&self, remote: SocketAddr) -> Result<(), PathMemoryError> {
        let Some(lease) = &self.path_lease else { return Ok(()) };
        lease.set_remote(remote.ip().to_canonical(), self.clock.now())
    }

    fn save(&self, ended: bool) -> Result<(), StoreError> {
        if let Some(narrow) = self.narrow_window()
            && !self.warned.swap(true, Ordering::Relaxed)
        {
            tracing::warn!("{narrow}");
        }
        self.clock.now();
        self.path_lease.as_ref().map_or(Ok(()), |lease| lease.flush(ended))
    }
}

impl Drop for PathUse {
    fn drop(&mut self) {
        if let Some(lease) = &self.start_lease {
            lease.leave();
        }
        if let Err(error) = self.save(true) {
            tracing::warn!(%error, "path store");
        }
    }
}

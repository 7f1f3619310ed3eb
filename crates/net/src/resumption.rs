//! Careful Resume (RFC 9959) for whoever accepts QUIC connections: our server, and programs that
//! have a noq endpoint of their own.

use crate::clock::WallClock;
use crate::write_behind::WriteBehind;
use bentpipe_quic::congestion::resume::ResumeState;
use bentpipe_quic::congestion::{CongestionConfig, ResumeHandle};
use bentpipe_quic::noq_proto::ServerConfig;
use bentpipe_quic::path_memory::{Holder, Limits, MemoryStore, PathStore, Prefixes, StoreError};
use bentpipe_quic::{
    ConnectionConfig, DEFAULT_LIFETIME, PathLease, PathMemory, SenderMetrics, Settings,
    SettingsError, StartLease, StartLimiter,
};
use ring::rand::{SecureRandom, SystemRandom};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use thiserror::Error;

/// Why there is no resumption.
#[derive(Debug, Error)]
pub enum ResumptionError {
    /// The memory of paths cannot be had.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Congestion control that does not exist.
    #[error(transparent)]
    Settings(#[from] SettingsError),
}

/// What a server remembers of the paths to its clients, and the congestion control that makes use
/// of it: CUBIC with the automatic start and Careful Resume, unless told otherwise. Clones share
/// the memory.
///
/// For a program that has a noq endpoint of its own. For each connection, in this order:
/// [`Resumption::connection`] gives a configuration to accept it with, and a [`PathUse`] that has
/// to live as long as the connection does, and no longer: dropping it writes down what was learned.
///
/// ```
/// # use bentpipe_net::Resumption;
/// # use bentpipe_quic::noq_proto::ServerConfig;
/// # use std::error::Error;
/// # async fn serve(endpoint: noq::Endpoint, server_config: ServerConfig) -> Result<(), Box<dyn Error>> {
/// let resumption = Resumption::open("paths.sqlite".as_ref())?;
/// while let Some(incoming) = endpoint.accept().await {
///     let (config, path) = resumption.connection(&server_config, incoming.remote_address());
///     let connecting = incoming.accept_with(config)?;
///     tokio::spawn(async move {
///         if let Ok(connection) = connecting.await {
///             // … as before; at the end:
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
    /// Nothing where only clients remember.
    memory: Option<PathMemory>,
    starts: StartLimiter<IpAddr>,
    config: ConnectionConfig,
    clock: WallClock,
}

impl Resumption {
    /// Remembers until the program ends.
    ///
    /// # Errors
    /// None that is known: as [`Resumption::open`].
    pub fn in_memory() -> Result<Self, ResumptionError> {
        Self::of(MemoryStore::new(Limits::default()), WallClock::new())
    }

    /// Remembers in `file` (SQLite), across restarts. A thread writes; connections do not wait for
    /// it.
    ///
    /// # Errors
    /// The file cannot be had.
    pub fn open(file: &Path) -> Result<Self, ResumptionError> {
        let clock = WallClock::new();
        clock.now();
        Self::of(WriteBehind::open(file, Limits::default(), clock.epoch().epoch())?, clock)
    }

    pub(crate) fn of(
        store: impl PathStore + 'static,
        clock: WallClock,
    ) -> Result<Self, ResumptionError> {
        let memory =
            PathMemory::new(store, Prefixes::default(), "any", DEFAULT_LIFETIME, clock.epoch());
        let settings = Settings { congestion: careful(), ..Settings::default() };
        let config = ConnectionConfig::new(settings, clock.base())?;
        Ok(Self { memory: Some(memory), starts: StartLimiter::default(), config, clock })
    }

    /// The same with another congestion control. A recipe's own default resumes nothing: see
    /// [`CongestionConfig::resume`].
    ///
    /// # Errors
    /// A parameter that does not exist or lies out of range.
    pub fn with(self, congestion: CongestionConfig) -> Result<Self, ResumptionError> {
        let settings = Settings { congestion, ..Settings::default() };
        Ok(Self { config: ConnectionConfig::new(settings, self.clock.base())?, ..self })
    }

    /// The same without a memory of its own.
    pub(crate) fn forgetful(self) -> Self {
        Self { memory: None, ..self }
    }

    /// How to accept a connection from `remote`: as `base` says, with a congestion controller that
    /// knows what is remembered of the path. Where the memory fails, which is logged, the
    /// connection does without.
    pub fn connection(
        &self,
        base: &ServerConfig,
        remote: SocketAddr,
    ) -> (Arc<ServerConfig>, PathUse) {
        let (begun, remembered, starting) =
            self.begin(self.config.clone(), remote.ip().to_canonical());
        let mut transport = base.transport.as_ref().clone();
        transport.congestion_controller_factory(begun.sender());
        let mut config = base.clone();
        config.transport_config(Arc::new(transport));
        let path = PathUse {
            notes: begun.resume_handle().unwrap_or_default(),
            remembered,
            starting,
            clock: self.clock.clone(),
        };
        (Arc::new(config), path)
    }

    /// Completes the configuration of a connection from `remote`: congestion control, saved
    /// parameters of the path, slot of a fast start.
    pub(crate) fn configure(&self, config: ConnectionConfig, remote: IpAddr) -> ConnectionConfig {
        self.begin(config, remote).0
    }

    fn begin(
        &self,
        config: ConnectionConfig,
        remote: IpAddr,
    ) -> (ConnectionConfig, Option<PathLease>, Option<StartLease>) {
        let now = self.clock.now();
        let factory = self.config.controller();
        let remembered = factory.resumes().then(|| {
            let Some(memory) = &self.memory else { return PathLease::without_store() };
            let mut holder = [0; 8];
            // Without random numbers two connections might hold one lease; better none.
            if SystemRandom::new().fill(&mut holder).is_err() {
                return PathLease::without_store();
            }
            memory.begin(remote, Holder(u64::from_ne_bytes(holder)), now).unwrap_or_else(|error| {
                tracing::warn!(%error, "memory of paths");
                PathLease::without_store()
            })
        });
        let starting = factory.needs_start_slot().then(|| self.starts.lease(remote));
        let config = config
            .with_controller(factory.clone())
            .with_metrics(SenderMetrics::new(false))
            .with_path_lease(remembered.clone())
            .with_start_lease(starting.clone());
        (config, remembered, starting)
    }
}

/// CUBIC, the automatic start, Careful Resume.
pub(crate) fn careful() -> CongestionConfig {
    // The name is one of the catalogue's.
    CongestionConfig {
        resume: "careful".parse().unwrap_or_default(),
        ..CongestionConfig::default()
    }
}

/// One connection's use of what is remembered of its path. Dropping it ends that use and writes
/// down what was learned.
#[derive(Debug)]
pub struct PathUse {
    notes: ResumeHandle,
    remembered: Option<PathLease>,
    starting: Option<StartLease>,
    clock: WallClock,
}

impl PathUse {
    /// What was remembered of the path, what the connection has found out since, whether the two
    /// disagree.
    pub fn resume_state(&self) -> ResumeState {
        self.notes.resume_state()
    }

    /// Whether the connection sends by what was remembered.
    pub fn in_use(&self) -> bool {
        self.notes.in_use()
    }

    /// Writes down what was learned so far: for connections that live long, now and then.
    ///
    /// # Errors
    /// The store fails.
    pub fn settle(&self) -> Result<(), StoreError> {
        self.write(false)
    }

    fn write(&self, over: bool) -> Result<(), StoreError> {
        self.clock.now();
        self.remembered.as_ref().map_or(Ok(()), |remembered| remembered.flush(over))
    }
}

impl Drop for PathUse {
    fn drop(&mut self) {
        if let Some(starting) = &self.starting {
            starting.leave();
        }
        if let Err(error) = self.write(true) {
            tracing::warn!(%error, "memory of paths");
        }
    }
}

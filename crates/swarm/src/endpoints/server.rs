//! The server: an endpoint with its path memory, tokens and Retry, which can end and start again.

use super::kit::{Kit, SEGMENTS, SkewedClock};
use super::plan::{EpisodePlan, Store};
use super::transfer;
use crate::draw::Random;
use crate::failure::Failure;
use bentpipe_net::store::{SqliteStore, WriteBehind};
use bentpipe_quic::noq_proto::{ServerConfig, ValidationTokenConfig};
use bentpipe_quic::path_memory::token::{KeyRing, PathTokens, Secret, TokenServer, Tokens};
use bentpipe_quic::path_memory::{Entry, Holder, Limits, MemoryStore, Prefixes, StoreError};
use bentpipe_quic::seeded::ExactTokenLog;
use bentpipe_quic::tls::{self, Randomness};
use bentpipe_quic::{
    Accept, Acceptor, Admission, Conn, DEFAULT_LIFETIME, Endpoint, PathLease, PathMemory,
    SimultaneousStarts,
};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Name of the interface in the keys of paths.
const INTERFACE: &str = "swarm";

/// A running server.
pub struct Server {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// What it remembers of paths.
    memory: Option<PathMemory>,
    /// Its tokens.
    tokens: Option<TokenServer>,
}

/// What outlives the processes of a server.
#[derive(Default)]
pub struct Survivors {
    /// Number of processes so far.
    generation: u64,
    /// Uploads with wrong bytes.
    pub wrong: Arc<Mutex<u64>>,
    /// Tokens that were accepted by processes that have ended.
    pub accepted: u64,
}

impl Server {
    /// Starts a process whose files are in `directory`.
    pub fn start(
        plan: &EpisodePlan,
        kit: &Kit,
        clock: &SkewedClock,
        directory: &Path,
        survivors: &mut Survivors,
    ) -> Result<Self, Failure> {
        survivors.generation += 1;
        let generation = survivors.generation;
        let keys = if plan.keys_survive { 0 } else { generation };
        let settings = |error: String| Failure::new("settings", error);
        let memory = memory(plan, clock, directory)
            .map_err(|error| Failure::new("the store opens", error.to_string()))?;
        let tokens = plan.tokens.then(|| token_server(kit, clock, keys)).transpose()?;
        let epoch = clock.epoch.clone();
        let tls = tls::server(&kit.identity, tls::ALPN_RAW, Randomness::Seeded, epoch, None)
            .map_err(|error| settings(error.to_string()))?;
        let mut config = ServerConfig::with_crypto(Arc::new(tls));
        let mut validation = ValidationTokenConfig::default();
        validation.sent(2).log(Arc::new(ExactTokenLog::default()));
        config.validation_token_config(validation).time_source(Arc::new(clock.epoch.clone()));
        let config = Arc::new(config);
        let acceptor = acceptor(kit, config.clone(), &memory, &tokens, survivors)?;
        let name = format!("server/{keys}");
        let mut endpoint =
            Endpoint::new(kit.endpoint(&name), kit.clock, Some((config, acceptor)), SEGMENTS);
        let (share, mut random) = (plan.retry, Random::new(plan.seed, "endpoints/retry/each"));
        endpoint.set_gatekeeper(Box::new(move |_, is_validated| {
            let retries = !is_validated && random.chance(share);
            if retries { Admission::Retry } else { Admission::Admit }
        }));
        Ok(Self { endpoint, memory, tokens })
    }

    /// Returns the number of tokens that this process has accepted.
    pub fn accepted_tokens(&self) -> u64 {
        self.tokens.as_ref().map_or(0, |tokens| tokens.counts().accepted)
    }

    /// Returns what is remembered of paths at the time that `clock` shows.
    pub fn paths(&self, clock: &SkewedClock) -> Result<Vec<Entry>, StoreError> {
        let list = |memory: &PathMemory| memory.store().list(clock.epoch.epoch());
        self.memory.as_ref().map_or(Ok(Vec::new()), list)
    }
}

/// Opens the store.
fn memory(
    plan: &EpisodePlan,
    clock: &SkewedClock,
    directory: &Path,
) -> Result<Option<PathMemory>, StoreError> {
    let (file, limits) = (directory.join("paths.sqlite"), Limits::default());
    let epoch = clock.epoch.clone();
    let prefixes = Prefixes::default();
    Ok(match plan.store {
        Store::None => None,
        Store::Memory => {
            let store = MemoryStore::new(limits);
            Some(PathMemory::new(store, prefixes, INTERFACE, DEFAULT_LIFETIME, epoch))
        }
        Store::Sqlite => {
            let store = SqliteStore::open(&file, limits)?;
            Some(PathMemory::new(store, prefixes, INTERFACE, DEFAULT_LIFETIME, epoch))
        }
        Store::WriteBehind => {
            let store = WriteBehind::open(&file, limits, epoch.epoch())?;
            Some(PathMemory::new(store, prefixes, INTERFACE, DEFAULT_LIFETIME, epoch))
        }
    })
}

fn token_server(kit: &Kit, clock: &SkewedClock, keys: u64) -> Result<TokenServer, Failure> {
    let secret = Secret::new(&kit.bytes(&format!("tokens/{keys}")));
    let ring = KeyRing::new(secret, KeyRing::PERIOD)
        .map_err(|error| Failure::new("settings", error.to_string()))?;
    Ok(TokenServer::new(
        PathTokens::new(ring),
        Prefixes::default(),
        DEFAULT_LIFETIME,
        clock.epoch.clone(),
        Randomness::Seeded.generator(),
    ))
}

/// Returns what a server does with each connection that begins.
fn acceptor(
    kit: &Kit,
    base: Arc<ServerConfig>,
    memory: &Option<PathMemory>,
    tokens: &Option<TokenServer>,
    survivors: &Survivors,
) -> Result<Acceptor, Failure> {
    let (memory, tokens) = (memory.clone(), tokens.clone());
    let (config, wrong) = (kit.connection()?, survivors.wrong.clone());
    let starts = SimultaneousStarts::default();
    let mut holder = survivors.generation << 32;
    Ok(Box::new(move |remote: SocketAddr| {
        holder += 1;
        let resumes = config.controller().resumes();
        let stored = memory.as_ref().filter(|_| resumes);
        let lease = stored
            .and_then(|memory| memory.begin_unconfirmed(remote.ip(), Holder(holder)).ok())
            .or_else(|| (resumes && tokens.is_some()).then(PathLease::without_store));
        let given = tokens.as_ref().zip(lease.as_ref());
        let given = given.map(|(tokens, lease)| Tokens::server(tokens, lease.resume_handle()));
        let needs_slot = config.controller().needs_start_slot();
        let slot = needs_slot.then(|| starts.lease_unconfirmed(remote.ip()));
        let config =
            config.clone().with_path_lease(lease).with_tokens(given).with_start_lease(slot);
        let (config, attachments) = config.server(&base);
        let wrong = wrong.clone();
        let app = Box::new(move |conn: Conn| transfer::server(conn, wrong));
        Some(Accept { config, attachments, app })
    }))
}

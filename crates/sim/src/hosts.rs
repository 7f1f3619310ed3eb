//! State of hosts across connections.

use crate::error::SimError;
use bentpipe_link::random;
use bentpipe_quic::path_memory::token::{
    KeyRing, MemoryPathTokenStore, PathTokens, Secret, TokenClient, TokenServer,
};
use bentpipe_quic::path_memory::{Limits, MemoryStore, Prefixes};
use bentpipe_quic::tls::Randomness;
use bentpipe_quic::{DEFAULT_LIFETIME, EpochClock, PathMemory, SimultaneousStarts, StartLease};
use rand_core::Rng;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

/// State of one host.
#[derive(Debug, Clone)]
pub struct Host {
    /// Its fast starts.
    simultaneous_starts: SimultaneousStarts,
    /// Memory of the paths it has sent over.
    pub memory: PathMemory,
    /// Issues tokens.
    pub token_server: TokenServer,
    /// Tokens it has received.
    pub token_client: TokenClient,
}

impl Host {
    /// Returns the lease of a fast start to the client at `peer`.
    pub fn start_lease(&self, peer: IpAddr) -> StartLease {
        self.simultaneous_starts.lease(peer)
    }
}

/// All hosts of a run by name: servers by their own, clients by their flow's.
#[derive(Debug)]
pub struct Hosts {
    hosts: Mutex<BTreeMap<String, Host>>,
    epoch: EpochClock,
    /// Seed and number of the run.
    seed: (u64, u64),
}

impl Hosts {
    /// Creates hosts without any state.
    pub fn new(epoch: EpochClock, seed: (u64, u64)) -> Self {
        Self { hosts: Mutex::default(), epoch, seed }
    }

    /// Returns the host called `name`.
    pub fn get(&self, name: &str) -> Result<Host, SimError> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(host) = hosts.get(name) {
            return Ok(host.clone());
        }
        let mut secret = [0; 32];
        random::stream(self.seed.0, self.seed.1, &format!("host/{name}/tokens"))
            .fill_bytes(&mut secret);
        let keys = KeyRing::new(Secret::new(&secret), KeyRing::PERIOD)
            .map_err(|error| SimError::Spec(error.to_string()))?;
        let prefixes = Prefixes::default();
        let store = MemoryStore::new(Limits::default());
        let host = Host {
            simultaneous_starts: SimultaneousStarts::default(),
            memory: PathMemory::new(store, prefixes, "sim", DEFAULT_LIFETIME, self.epoch.clone()),
            token_server: TokenServer::new(
                PathTokens::new(keys),
                prefixes,
                DEFAULT_LIFETIME,
                self.epoch.clone(),
                Randomness::Seeded.generator(),
            ),
            token_client: TokenClient::new(MemoryPathTokenStore::default(), self.epoch.clone()),
        };
        hosts.insert(name.to_owned(), host.clone());
        Ok(host)
    }
}

//! What hosts know of each other beyond a connection.

use bentpipe_quic::memory::{Limits, MemoryStore, Prefixes};
use bentpipe_quic::{DEFAULT_LIFETIME, EpochClock, PathMemory, StartGate};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

/// What one host knows.
#[derive(Debug, Clone)]
pub struct Host {
    /// One fast start at a time for each client.
    pub gate: StartGate<IpAddr>,
    /// Paths that it has sent over.
    pub memory: PathMemory,
}

/// Every host of a run, by name: servers by theirs, clients by their flow's.
#[derive(Debug)]
pub struct Hosts {
    hosts: Mutex<BTreeMap<String, Host>>,
    epoch: EpochClock,
}

impl Hosts {
    /// No host knows anything yet.
    pub fn new(epoch: EpochClock) -> Self {
        Self { hosts: Mutex::default(), epoch }
    }

    /// The host of that name.
    pub fn get(&self, name: &str) -> Host {
        let new = || Host {
            gate: StartGate::default(),
            memory: PathMemory::new(
                MemoryStore::new(Limits::default()),
                Prefixes::default(),
                "sim",
                DEFAULT_LIFETIME,
                self.epoch.clone(),
            ),
        };
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner).entry(name.to_owned()).or_insert_with(new).clone()
    }
}

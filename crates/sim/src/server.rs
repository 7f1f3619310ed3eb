//! What servers know of their clients beyond a connection.

use bentpipe_quic::StartGate;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

/// One server.
#[derive(Debug, Clone, Default)]
pub struct Server {
    /// One fast start at a time for each client.
    pub gate: StartGate<IpAddr>,
}

/// Every server of a run, by name.
#[derive(Debug, Default)]
pub struct Servers(Mutex<BTreeMap<String, Server>>);

impl Servers {
    /// The server of that name.
    pub fn get(&self, name: &str) -> Server {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(name.to_owned()).or_default().clone()
    }
}

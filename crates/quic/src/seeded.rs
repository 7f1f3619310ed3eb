//! Reproducible stand-ins for the random parts of an endpoint. For simulation only.

use noq_proto::{ConnectionId, ConnectionIdGenerator, TokenLog, TokenReuseError};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// Length of the connection identifiers that simulated endpoints issue, bytes: what most
/// deployments use.
const CID_LENGTH: usize = 8;
/// Length of a client's first destination identifier: at least 8 (RFC 9000 §7.2); the stack uses
/// 20.
const INITIAL_CID_LENGTH: usize = 20;

/// Connection identifiers from a seeded stream.
pub struct SeededCids(Pcg64Mcg);

impl SeededCids {
    /// Identifiers drawn from `seed`.
    pub fn new(seed: [u8; 16]) -> Self {
        Self(Pcg64Mcg::from_seed(seed))
    }
}

impl ConnectionIdGenerator for SeededCids {
    fn generate_cid(&mut self) -> ConnectionId {
        let mut bytes = [0; CID_LENGTH];
        self.0.fill_bytes(&mut bytes);
        ConnectionId::new(&bytes)
    }
    fn cid_len(&self) -> usize {
        CID_LENGTH
    }
    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// A provider of a client's first destination connection identifiers, drawn from `seed`.
pub fn initial_cids(seed: [u8; 16]) -> Arc<dyn Fn() -> ConnectionId + Send + Sync> {
    let generator = Mutex::new(Pcg64Mcg::from_seed(seed));
    Arc::new(move || {
        let mut bytes = [0; INITIAL_CID_LENGTH];
        generator.lock().unwrap_or_else(PoisonError::into_inner).fill_bytes(&mut bytes);
        ConnectionId::new(&bytes)
    })
}

/// Remembers every token used, exactly: the stack's Bloom filter is keyed at random and may,
/// rarely, refuse a good one.
#[derive(Debug, Default)]
pub struct ExactTokenLog(Mutex<BTreeSet<u128>>);

impl TokenLog for ExactTokenLog {
    fn check_and_insert(
        &self,
        nonce: u128,
        _issued: SystemTime,
        _lifetime: Duration,
    ) -> Result<(), TokenReuseError> {
        let fresh = self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(nonce);
        if fresh { Ok(()) } else { Err(TokenReuseError) }
    }
}

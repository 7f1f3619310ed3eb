//! Reproducible replacements of the random parts of an endpoint. For simulation only.

use noq_proto::crypto::HmacKey;
use noq_proto::{ConnectionId, ConnectionIdGenerator, TokenLog, TokenReuseError};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use web_time::SystemTime;

/// Length of the connection IDs that simulated endpoints issue, in bytes, as in most deployments.
const CID_LENGTH: usize = 8;
/// Length of a client's first destination connection ID, in bytes: at least 8 (RFC 9000 §7.2); the
/// stack uses 20.
const INITIAL_CID_LENGTH: usize = 20;

/// Connection IDs from a seeded generator.
pub struct SeededCids(Pcg64Mcg);

impl SeededCids {
    /// Draws IDs from `seed`.
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

/// Returns a provider of a client's first destination connection IDs, drawn from `seed`.
pub fn initial_cids(seed: [u8; 16]) -> Arc<dyn Fn() -> ConnectionId + Send + Sync> {
    let generator = Mutex::new(Pcg64Mcg::from_seed(seed));
    Arc::new(move || {
        let mut bytes = [0; INITIAL_CID_LENGTH];
        generator.lock().unwrap_or_else(PoisonError::into_inner).fill_bytes(&mut bytes);
        ConnectionId::new(&bytes)
    })
}

/// Returns the key of an endpoint's stateless-reset tokens (RFC 9000 §10.3), from `seed`.
pub fn reset_key(seed: [u8; 32]) -> Arc<dyn HmacKey> {
    Arc::new(ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &seed))
}

/// An exact record of used tokens. The stack's Bloom filter is keyed at random and may, rarely,
/// refuse an unused one.
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
